//! Where data comes from and where it goes.

pub mod roster;
