//! Everything that is tested through the crate's own door.

mod case;
mod cases;
mod compare;
mod compat;
mod functions;
mod run;
