//! The `rocksalt` command.
fn main() {}
