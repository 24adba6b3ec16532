//! Refuses before anything runs what names directories that are not there.

use std::path::{Path, PathBuf};

use anyhow::bail;
use engine::run::Options;
use ppl::count::{Touch, details};
use report::shell::{file_argument, quoted};

use crate::program::Planned;

/// Operations that are followed to see what a program does below its places.
const FOLLOWED: u64 = 10_000;

/// Says of a directory that is missing how it is made.
///
/// # Errors
/// Where `--root` is no directory, or the program begins below a place that is not there and that it does not make.
pub fn are_there(planned: &Planned, options: &Options) -> anyhow::Result<()> {
    if let Some(root) = options.root.as_deref().filter(|root| !root.is_dir()) {
        bail!("--root {}: {}", root.display(), missing(root));
    }
    if !options.backend.capabilities().local_files || options.backend.capabilities().virtual_time {
        return Ok(());
    }
    let absent: Vec<&PathBuf> = options.named.iter().filter(|place| !place.exists()).collect();
    if absent.is_empty() {
        return Ok(());
    }
    let touched = details(&planned.plan, 0, FOLLOWED).touched;
    for place in absent {
        let below = |(name, _): &(&str, Touch)| Path::new(name).starts_with(place);
        // A place may be a file, and a program may make its directory.
        if let Some((name, _)) = touched.iter().find(below).filter(|(name, _)| Path::new(name) != place) {
            bail!("the program begins with {name}, and {}", missing(place));
        }
    }
    Ok(())
}

fn missing(directory: &Path) -> String {
    let shown = directory.display();
    match directory.symlink_metadata() {
        Ok(_) => format!("{shown} is no directory"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let word = quoted(&file_argument(&directory.to_string_lossy()));
            format!("there is no directory {shown}; `mkdir -p {word}` makes it")
        }
        Err(error) => format!("{shown} cannot be used: {error}"),
    }
}
