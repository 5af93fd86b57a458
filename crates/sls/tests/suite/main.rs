//! Tests of the crate's public interface.

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
