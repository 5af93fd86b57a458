//! Where data comes from and where it goes.

pub mod files;
mod http_client;
pub mod pillar;
pub mod roster;
pub mod store;
