//! Hash tables for data that others write: quick, and seeded at random, so that nobody can make keys collide at will.

/// What all of them hash with.
pub type Hasher = foldhash::fast::RandomState;

pub type HashMap<K, V> = std::collections::HashMap<K, V, Hasher>;
pub type HashSet<T> = std::collections::HashSet<T, Hasher>;
pub type IndexMap<K, V> = indexmap::IndexMap<K, V, Hasher>;
