//! One number of each run file: which number, and which files.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::WatchArgs;
use crate::statistic::Statistic;

/// What `--statistic` says; none without it.
pub fn statistic(args: &WatchArgs) -> anyhow::Result<Option<Statistic>> {
    args.statistic.as_deref().map(|word| Statistic::of("--statistic", word)).transpose()
}

/// The run files of a directory.
pub fn runs_of(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read the directory {}", directory.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(cannot)? {
        let file = entry.with_context(cannot)?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".parquet") && !name.starts_with('.') {
            found.push(file);
        }
    }
    Ok(found)
}
