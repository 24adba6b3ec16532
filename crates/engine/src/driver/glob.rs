//! Names of this machine that match a shell pattern.

use std::ffi::{CStr, CString};

/// Names that match a shell pattern (`*`, `?`, `[…]`), sorted; none where nothing matches.
pub fn glob(pattern: &str) -> Vec<String> {
    let Ok(pattern) = CString::new(pattern) else { return Vec::new() };
    // SAFETY: all-zero bytes are an empty result.
    let mut found: libc::glob_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pattern is NUL-terminated and `found` is valid to write to.
    let result = unsafe { libc::glob(pattern.as_ptr(), 0, None, &mut found) };
    let mut names = Vec::new();
    if result == 0 {
        for index in 0..found.gl_pathc {
            // SAFETY: a successful glob holds `gl_pathc` NUL-terminated names.
            let name = unsafe { CStr::from_ptr(*found.gl_pathv.add(index)) };
            names.push(name.to_string_lossy().into_owned());
        }
    }
    // SAFETY: `found` was filled, or left empty, by glob.
    unsafe { libc::globfree(&mut found) };
    names
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_come_sorted_and_nothing_for_nothing() {
        let home = tempfile::tempdir().expect("a directory");
        for name in ["b.dat", "a.dat", "c.txt"] {
            std::fs::write(home.path().join(name), "").expect("write");
        }
        let found = super::glob(&format!("{}/*.dat", home.path().display()));
        let names: Vec<_> = found.iter().filter_map(|name| name.rsplit('/').next()).collect();
        assert_eq!(names, ["a.dat", "b.dat"]);
        assert!(super::glob("/nowhere/*").is_empty());
    }
}
