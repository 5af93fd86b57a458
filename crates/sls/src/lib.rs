//! Turns state files into a schedule of steps.

pub mod fault;
pub mod files;
pub mod low;
pub mod schedule;
