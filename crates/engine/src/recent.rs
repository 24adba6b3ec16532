//! Answers about the directories that were asked about last.

/// So many are kept: a program that copies alternates between two, and makes some below them.
const KEPT: usize = 4;

/// What is known of the few directories that were asked about last, by how they were written. Quicker than any table where a
/// program opens many files of one directory, or alternates between two.
#[derive(Clone, Debug)]
pub struct RecentDirectories<T> {
    kept: [(Vec<u8>, Option<T>); KEPT],
    /// Where the next one goes.
    next: usize,
}

impl<T> Default for RecentDirectories<T> {
    fn default() -> Self {
        Self { kept: [const { (Vec::new(), None) }; KEPT], next: 0 }
    }
}

impl<T: Copy> RecentDirectories<T> {
    /// What was kept of `directory`, if it is one of them.
    #[inline]
    pub fn get(&self, directory: &[u8]) -> Option<T> {
        self.kept.iter().find_map(|(written, known)| known.filter(|_| written == directory))
    }

    /// Keeps what is known of `directory`, of which nothing is kept, in place of that which was kept first.
    pub fn keep(&mut self, directory: &[u8], known: T) {
        let (written, place) = &mut self.kept[self.next % KEPT];
        written.clear();
        written.extend_from_slice(directory);
        *place = Some(known);
        self.next = (self.next + 1) % KEPT;
    }

    /// Keeps nothing.
    pub fn clear(&mut self) {
        for (_, known) in &mut self.kept {
            *known = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_directories_are_kept_until_all_are_forgotten() {
        let mut recent = RecentDirectories::<usize>::default();
        assert_eq!(recent.get(b""), None);
        for number in 0..KEPT + 2 {
            recent.keep(format!("d-{number}/").as_bytes(), number);
        }
        let found = |recent: &RecentDirectories<usize>| {
            (0..KEPT + 2)
                .filter_map(|number| recent.get(format!("d-{number}/").as_bytes()))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&recent), (2..KEPT + 2).collect::<Vec<_>>());
        recent.clear();
        assert!(found(&recent).is_empty());
        recent.keep(b"", 7);
        assert_eq!(recent.get(b""), Some(7));
    }
}
