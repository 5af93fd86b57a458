//! Everything that is tested through the crate's own door.

mod case;
mod cases;
mod compare;
mod compat;
mod faults;
mod functions;
mod renderers;
mod run;
mod sort;
mod trees;
