//! Tests of the crate as a whole: what templates give, and what Salt's environment has.

mod cases;
mod limits;
mod salt;
