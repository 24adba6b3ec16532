//! Maps and sets with a quick hash: a trace of a million calls is looked up many million times.

/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, ahash::RandomState>;
/// A set.
pub type HashSet<T> = std::collections::HashSet<T, ahash::RandomState>;
