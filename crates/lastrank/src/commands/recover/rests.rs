//! Half-written files of dead processes, and which files living ones have open.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What the processes of this user have open.
pub struct OpenFiles(HashSet<PathBuf>);

impl OpenFiles {
    /// As it is now, without what this process has open itself.
    pub fn now() -> Self {
        let own = std::process::id().to_string();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let others = processes.filter(|process| {
            let name = process.file_name();
            name.to_str().is_some_and(|name| name != own && name.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let opened = others
            .flat_map(|process| std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten());
        Self(opened.filter_map(|file| std::fs::read_link(file.path()).ok()).collect())
    }

    /// Has anybody something in this folder open, or the folder itself?
    pub fn any_in(&self, folder: &Path) -> bool {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.into());
        self.0.iter().any(|file| file.starts_with(&folder))
    }
}

/// Removes the half-written files (`.NAME.RANDOM.partial`) that dead processes left beside `path`, which they were to replace:
/// ordinary ones, made no later than `until`, that nobody has open.
pub fn remove_partials(path: &Path, until: SystemTime) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let before = format!(".{}.", name.to_string_lossy());
    let partial = |name: &str| {
        let random = name.strip_prefix(&before).and_then(|rest| rest.strip_suffix(".partial"));
        random.is_some_and(|random| {
            random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    let old = |file: &std::fs::DirEntry| {
        let about = file.metadata().ok().filter(std::fs::Metadata::is_file);
        about.is_some_and(|about| {
            about.created().or_else(|_| about.modified()).is_ok_and(|made| made <= until)
        })
    };
    let left: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|file| file.file_name().to_str().is_some_and(partial) && old(file))
        .collect();
    if left.is_empty() {
        return;
    }
    let open = OpenFiles::now();
    for file in left.iter().filter(|file| !open.any_in(&file.path())) {
        let _ = std::fs::remove_file(file.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_partial_files_of_the_name_that_nobody_has_open_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let names = [
            ".u.parquet.nZqFDN.partial",
            ".u.parquet.notes.partial",
            ".v.parquet.nZqFDN.partial",
            "u.parquet",
        ];
        for name in names {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("u.parquet", place.path().join(".u.parquet.abcdef.partial")).unwrap();
        let path = place.path().join("u.parquet");
        remove_partials(&path, SystemTime::UNIX_EPOCH);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 5, "they are younger");
        remove_partials(&path, SystemTime::now());
        assert!(!place.path().join(names[0]).exists());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 4);
    }

    #[test]
    fn what_another_process_has_open_is_known() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".u.parquet.nZqFDN.partial");
        std::fs::write(&path, "").unwrap();
        let held = std::fs::File::open(&path).unwrap();
        let mut other =
            std::process::Command::new("sleep").arg("60").stdin(held).spawn().expect("sleep is everywhere");
        assert!(OpenFiles::now().any_in(place.path()));
        remove_partials(&place.path().join("u.parquet"), SystemTime::now());
        assert!(path.exists(), "somebody writes it");
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(!OpenFiles::now().any_in(place.path()));
    }
}
