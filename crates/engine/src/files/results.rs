//! The names that lastrank itself writes to: no program puts a link there that its own writing would follow.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::real_path::real_path;
use super::written::READ;

/// Where run file, parts, page and rows go.
#[derive(Clone, Debug, Default)]
pub(super) struct Results(Arc<[PathBuf]>);

impl Results {
    pub(super) fn of(paths: &[PathBuf]) -> Self {
        Self(paths.iter().filter_map(|path| whole(path)).collect())
    }

    /// May a program not do `what` to `path`: make, change or remove what has such a name, or move a directory around it?
    pub(super) fn forbid(&self, what: &str, path: &[u8]) -> bool {
        // Most have no such name, and are not looked up.
        let Some(name) = Path::new(OsStr::from_bytes(path)).file_name().filter(|_| what != READ) else {
            return false;
        };
        let moves = ["remove", "rename", "rename to"].contains(&what);
        let is_named = |result: &PathBuf| match moves {
            true => result.components().any(|part| part.as_os_str() == name),
            false => result.file_name() == Some(name),
        };
        self.0.iter().any(is_named)
            && whole(Path::new(OsStr::from_bytes(path))).is_some_and(|real| {
                self.0.iter().any(|result| *result == real || moves && result.starts_with(&real))
            })
    }
}

/// Where the name lies; what it is a link to is not asked.
fn whole(path: &Path) -> Option<PathBuf> {
    let around = path.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(real_path(around)?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_names_whatever_way_leads_there() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = home.path().canonicalize().expect("there");
        std::fs::create_dir_all(folder.join("d/e")).expect("mkdir");
        std::os::unix::fs::symlink("d", folder.join("l")).expect("symlink");
        let results = Results::of(&[folder.join("d/e/r.parquet"), folder.join("l/r.parts")]);
        let forbid = |what, name: &str| results.forbid(what, folder.join(name).as_os_str().as_bytes());
        for name in
            ["d/r.parts", "l/r.parts", "d/r.parts/", "l/./r.parts", "d/e/r.parquet", "l/e/../e/r.parquet"]
        {
            assert!(forbid("make", name) && forbid("write to", name) && forbid("rename to", name), "{name}");
            assert!(!forbid("read", name), "{name}");
        }
        // Directories around them stay; what is made beside them is free.
        assert!(forbid("rename", "d") && forbid("rename", "d/e") && forbid("remove", "l/e"));
        for name in ["r.parts", "d/e/r.parts", "d/e", "d", "l", "d/r.parquet", "d/r.parts/f", ".."] {
            assert!(!forbid("make", name), "{name}");
        }
        assert!(!forbid("rename", "l") && !forbid("rename", "e") && !Results::default().forbid("make", b"f"));
    }
}
