//! Backends for data: rosters, file trees, external pillars and stores.

pub mod files;
mod http_client;
pub mod pillar;
mod program;
pub mod roster;
pub mod store;
