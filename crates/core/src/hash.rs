//! Hash tables for untrusted data: fast, and seeded randomly, so that nobody can construct colliding keys.

/// The hasher of all these tables.
pub type Hasher = foldhash::fast::RandomState;

pub type HashMap<K, V> = std::collections::HashMap<K, V, Hasher>;
pub type HashSet<T> = std::collections::HashSet<T, Hasher>;
pub type IndexMap<K, V> = indexmap::IndexMap<K, V, Hasher>;
