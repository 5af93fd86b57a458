//! Where data comes from and where it goes.

pub mod files;
pub mod roster;
