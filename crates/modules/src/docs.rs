//! stub
pub fn doc(_: &str) -> rocksalt_core::Map { rocksalt_core::Map::new() }
