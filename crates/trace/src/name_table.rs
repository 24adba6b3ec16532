//! Names by numbers, one behind the other in memory: a trace may have as many names as calls.

/// Names, each kept once, as bytes.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    /// All names, one behind the other.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u64>,
    /// The number of a name and 1, at the place that its hash gives or the next ones behind it; a power of two of them.
    slots: Vec<u32>,
    hasher: ahash::RandomState,
}

impl NameTable {
    /// The number of a name.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if (self.ends.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let slot = self.slot(name);
        if self.slots[slot] == 0 {
            self.bytes.extend_from_slice(name);
            self.ends.push(self.bytes.len() as u64);
            self.slots[slot] = self.ends.len() as u32;
        }
        self.slots[slot] - 1
    }

    /// The number of a name that is there already.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.slot(name)].checked_sub(1)
    }

    /// The name of a number; nothing where it is none's.
    pub fn get(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let Some(end) = self.ends.get(number) else { return &[] };
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..*end as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All names in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len() as u32).map(|number| self.get(number))
    }

    /// The place of a name, or the free one where it would stand.
    fn slot(&self, name: &[u8]) -> usize {
        let mut slot = self.hasher.hash_one(name) as usize % self.slots.len();
        loop {
            match self.slots[slot] {
                0 => return slot,
                number if self.get(number - 1) == name => return slot,
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
    }

    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(16);
        self.slots = Vec::new();
        self.slots.resize(length, 0);
        for number in 0..self.ends.len() as u32 {
            let mut slot = self.hasher.hash_one(self.get(number)) as usize % length;
            while self.slots[slot] != 0 {
                slot = (slot + 1) % length;
            }
            self.slots[slot] = number + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number() {
        let mut names = NameTable::default();
        assert_eq!((names.find(b"/a"), names.get(0)), (None, &b""[..]));
        assert_eq!((names.intern(b"/a"), names.intern(b"/b"), names.intern(b"/a")), (0, 1, 0));
        assert_eq!((names.get(1), names.get(u32::MAX)), (&b"/b"[..], &b""[..]));
        assert_eq!(names.intern(b""), 2);
        let name = |at: u32| format!("/some/{at}").into_bytes();
        assert!((3..5000).all(|at| names.intern(&name(at)) == at));
        assert!((3..5000).all(|at| names.find(&name(at)) == Some(at) && names.get(at) == name(at)));
        assert_eq!((names.len(), names.iter().nth(7)), (5000, Some(name(7).as_slice())));
        assert_eq!((names.find(b""), names.find(b"/c")), (Some(2), None));
    }
}
