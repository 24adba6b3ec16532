//! Counts files by their names, and the space that they take, where a round of a loop stands for others.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The largest number of distinct names that are tracked.
const MAX_NAMES: usize = 100_000;

/// The size of a file, which stands for as many files as rounds made one.
#[derive(Clone, Copy)]
struct CountedSize {
    bytes: u64,
    files: u64,
}

/// All files of a rank. A `factor` is the number of rounds that what is counted stands for.
#[derive(Default)]
pub(crate) struct NamedFiles {
    sizes: BTreeMap<Arc<str>, CountedSize>,
    names: HashSet<Arc<str>>,
    live: u64,
    /// Bytes that they took at a time, at most: an upper bound.
    pub most: u64,
}

impl NamedFiles {
    /// Creates a file of a size, and says how many files are new. A name that is new in the second round of a loop is taken to
    /// be new in all: an upper bound where names come again later.
    pub fn create(&mut self, name: &str, size: u64, factor: u64) -> u64 {
        // Further names all count as new, which gives an upper bound.
        let full = self.names.len() >= MAX_NAMES;
        let is_new = full || self.names.insert(name.into());
        self.grow(name, size, factor);
        if is_new { factor } else { 0 }
    }

    /// Extends a file to at least `size` bytes, of which no other round makes more.
    pub fn grow(&mut self, name: &str, size: u64, factor: u64) {
        let known = self.sizes.get(name).copied();
        let CountedSize { bytes, files } = known.unwrap_or(CountedSize { bytes: 0, files: factor });
        if size > bytes {
            if self.sizes.len() < MAX_NAMES || known.is_some() {
                self.sizes.insert(name.into(), CountedSize { bytes: size, files });
            }
            self.live = self.live.saturating_add((size - bytes).saturating_mul(files));
            self.most = self.most.max(self.live);
        }
    }

    /// Makes a file longer by so many bytes, in each round in which it is there.
    pub fn lengthen(&mut self, name: &str, by: u64, factor: u64) {
        let rounds = self.sizes.get(name).map_or(1, |size| (factor / size.files.max(1)).max(1));
        self.grow(name, self.size_of(name).saturating_add(by.saturating_mul(rounds)), factor);
    }

    /// Removes a file, if it is known.
    pub fn remove(&mut self, name: &str) {
        if let Some(CountedSize { bytes, files }) = self.sizes.remove(name) {
            self.live = self.live.saturating_sub(bytes.saturating_mul(files));
        }
    }

    /// Gives a file another name.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(size) = self.sizes.remove(from) {
            self.sizes.insert(to.into(), size);
        }
    }

    /// The size of a file; 0 of one that is not known.
    pub fn size_of(&self, name: &str) -> u64 {
        self.sizes.get(name).map_or(0, |size| size.bytes)
    }
}
