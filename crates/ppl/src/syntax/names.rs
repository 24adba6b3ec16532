//! Interns the names of a program.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The number of a name in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// Names and their numbers, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Names {
    list: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32, BuildHasherDefault<WordHasher>>,
}

impl Names {
    /// The number of `name`, which is added if it is new.
    pub fn intern(&mut self, name: &str) -> Symbol {
        if let Some(&number) = self.numbers.get(name) {
            return Symbol(number);
        }
        let number = self.list.len() as u32;
        self.list.push(name.into());
        self.numbers.insert(name.into(), number);
        Symbol(number)
    }

    /// The number of `name`, if it was added.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.numbers.get(name).copied().map(Symbol)
    }

    /// The name behind a number.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.list[symbol.0 as usize]
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All names, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(AsRef::as_ref)
    }
}

/// A fast hash for short names (multiply and rotate). It does not resist deliberate collisions, which would
/// only slow down parsing of the program that contains them.
#[derive(Clone, Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            self.write_u64(rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}
