//! A job that its scheduler began again: what its attempt before left is kept.

use std::fs;
use std::path::{Path, PathBuf};

use store::PartsFolder;

/// Moves the parts of the attempt before out of the way of this one, and says where they are. Rank 0 does, for all: the
/// others make the directory anew where it has gone.
pub fn keep_earlier_attempt(run: &Path) {
    let restarts =
        std::env::var("SLURM_RESTART_COUNT").ok().and_then(|count| count.trim().parse::<u32>().ok());
    let Some(restarts) = restarts.filter(|count| *count > 0) else { return };
    let parts = run.with_extension("parts");
    // A link, or what is no directory of parts, stays; that is told where it is in the way.
    if !PartsFolder::open(&parts).is_ok_and(|found| found.is_some()) {
        return;
    }
    let kept = name_of_attempt(run, restarts);
    match kept.try_exists() {
        Ok(false) => {}
        // A job of the same name left it.
        _ => return,
    }
    match fs::rename(&parts, &kept) {
        Ok(()) => eprintln!(
            "note: this job was requeued; the samples of its attempt {restarts} are in {}",
            kept.display()
        ),
        Err(error) => eprintln!("warning: cannot keep {}: {error}", parts.display()),
    }
}

/// `run-17.parquet` and its first attempt: `run-17-attempt-1.parts`.
fn name_of_attempt(run: &Path, attempt: u32) -> PathBuf {
    let stem = run.file_stem().unwrap_or_default().to_string_lossy();
    run.with_file_name(format!("{stem}-attempt-{attempt}.parts"))
}
