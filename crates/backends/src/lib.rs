//! Where data comes from and where it goes.

pub mod files;
pub mod pillar;
pub mod roster;
pub mod store;
