//! Reads small text files of the kernel, any of which may be missing.

use std::fs;
use std::path::{Path, PathBuf};

/// The path to read a kernel file from: `path` itself, or in tests its counterpart in [`tests::KernelFiles`].
pub fn located(path: impl AsRef<Path>) -> PathBuf {
    #[cfg(test)]
    if let Some(root) = tests::root() {
        let below = path.as_ref().strip_prefix("/").map(Path::to_path_buf);
        return root.join(below.unwrap_or_else(|_| path.as_ref().to_path_buf()));
    }
    path.as_ref().to_path_buf()
}

/// The trimmed text of a file; `None` if it is missing, unreadable or empty.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(located(path)).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number that is the whole content of a file.
pub fn number<T: std::str::FromStr>(path: impl AsRef<Path>) -> Option<T> {
    text(path)?.parse().ok()
}

/// The chosen word of a line such as `always [madvise] never`.
pub fn chosen(line: &str) -> Option<String> {
    let begin = line.find('[')? + 1;
    let end = begin + line[begin..].find(']')?;
    Some(line[begin..end].to_owned())
}

/// Expands a list such as `0-3,8,10-11`; parts that are not numbers are skipped.
pub fn list(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for part in text.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(low), Ok(high)) = (low.trim().parse::<u32>(), high.trim().parse::<u32>()) {
            found.extend(low..=high.min(low.saturating_add(65_535)));
        }
    }
    found
}

/// The value of `key` in lines `key : value` or `key value`, such as `/proc/meminfo`.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let rest = rest.trim_start();
        let value = rest.strip_prefix(':').unwrap_or(rest);
        (value.len() != line.len() - key.len() || rest.is_empty()).then(|| value.trim())
    })
}

/// Bytes of a size such as `32K`, `1024 kB`, `4M`.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim().chars().next() {
        None | Some('B') => 1,
        Some('K' | 'k') => 1 << 10,
        Some('M' | 'm') => 1 << 20,
        Some('G' | 'g') => 1 << 30,
        Some(_) => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
pub mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        static ROOT: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
    }

    pub fn root() -> Option<PathBuf> {
        ROOT.with_borrow(Clone::clone)
    }

    /// Kernel files of another machine, which this thread reads in place of the real ones.
    pub struct KernelFiles(tempfile::TempDir);

    impl KernelFiles {
        /// Creates these files, `(path, text)`.
        pub fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let other = Self(folder);
            files.iter().for_each(|(path, text)| other.write(path, text));
            ROOT.set(Some(other.0.path().to_path_buf()));
            other
        }

        /// Adds or replaces a file.
        pub fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().expect("a folder above")).expect("temporary folder");
            fs::write(path, text).expect("temporary file");
        }
    }

    impl Drop for KernelFiles {
        fn drop(&mut self) {
            ROOT.set(None);
        }
    }

    #[test]
    fn the_word_in_brackets_is_the_chosen_one() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none"), None);
    }

    #[test]
    fn lists_of_processors_expand() {
        assert_eq!(list("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(list(""), [0u32; 0]);
    }

    #[test]
    fn sizes_carry_their_unit() {
        assert_eq!(
            ["32K", "12334492 kB", "7", "2 GB"].map(size).map(Option::unwrap_or_default),
            [32768, 12_334_492 << 10, 7, 2 << 30]
        );
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "MemTotal:       100 kB\nMemFree: 50 kB\nnr_throttled 3\n";
        assert_eq!(field(text, "MemFree"), Some("50 kB"));
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(field(text, "nr_throttled"), Some("3"));
    }
}
