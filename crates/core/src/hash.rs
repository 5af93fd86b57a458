//! Hash tables for untrusted data: fast, and seeded at random, so that nobody can choose colliding keys.

/// What all of them hash with.
pub type Hasher = foldhash::fast::RandomState;

pub type HashMap<K, V> = std::collections::HashMap<K, V, Hasher>;
pub type HashSet<T> = std::collections::HashSet<T, Hasher>;
pub type IndexMap<K, V> = indexmap::IndexMap<K, V, Hasher>;
