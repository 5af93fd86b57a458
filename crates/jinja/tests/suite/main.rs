//! Tests of the whole crate: the output of templates, and Salt's environment.

mod cases;
mod limits;
mod salt;
