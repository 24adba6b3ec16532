//! Exchanges notices between the keepers of an MPI job through files in a shared directory.
//!
//! No file is created or looked up during normal operation. A keeper reads the directory only if its own rank
//! has made no progress for a while, so that thousands of working ranks do not load a metadata server.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ranks::{CommError, ControlBlock};
use serde::{Deserialize, Serialize};

/// If its rank makes no progress for this time, a keeper reads the directory, and again after each such
/// interval.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Ranks whose launcher is gone have three seconds to stop ([`ranks::job::Supervisor`]); the rest is for saving.
const AFTER_KILL: Duration = Duration::from_secs(8);
/// Keepers that are silent are waited for longer by one part in so many of the run.
const PART_OF_RUN: u32 = 50;

/// Reason why a rank ended before its program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Notice {
    /// The rank is lost, for this reason.
    Lost(String),
    /// This signal asked the run to stop.
    Signalled(i32),
}

/// The directory through which the keepers of one job exchange notices.
pub(crate) struct LossBoard {
    directory: PathBuf,
    block: &'static ControlBlock,
    /// The rank's progress at the last look.
    seen: (u64, u32),
    /// Time at which the progress last changed or the directory was last read.
    looked: Instant,
    began: Instant,
}

impl LossBoard {
    pub(crate) fn new(directory: &Path, block: &'static ControlBlock) -> Self {
        let (directory, now) = (directory.to_path_buf(), Instant::now());
        let mut board = Self { directory, block, seen: (0, 0), looked: now, began: now };
        board.seen = board.progress();
        board
    }

    /// The directory, and this rank and the size; `None` before MPI has started.
    fn place(&self) -> Option<(PathBuf, u32, u32)> {
        let job = self.block.job()?;
        Some((self.directory.join(format!(".lastrank-{:016x}", job.id)), job.rank, job.size))
    }

    /// Tells the other keepers why this rank ends. Best effort: without a shared directory they notice it
    /// when the launcher ends the job.
    pub(crate) fn post(&self, notice: &Notice) {
        let Some((place, rank, size)) = self.place() else { return };
        if size == 1 {
            return;
        }
        let _ = std::fs::create_dir_all(&place);
        let unfinished = place.join(format!("unfinished-{rank}"));
        let text = serde_json::to_vec(notice).unwrap_or_default();
        if std::fs::write(&unfinished, text).is_ok() {
            let _ = std::fs::rename(unfinished, place.join(format!("ends-{rank}")));
        }
    }

    /// The reason for the end of the job, if another keeper has posted it. Reads the directory only while
    /// this rank makes no progress, so it is cheap enough to call ten times a second.
    pub(crate) fn poll(&mut self) -> Option<CommError> {
        let now = self.progress();
        if now != self.seen {
            self.seen = now;
            self.looked = Instant::now();
            return None;
        }
        if self.looked.elapsed() < LOOK_EVERY {
            return None;
        }
        self.looked = Instant::now();
        self.read()
    }

    /// The reason for the end of the job, if another keeper has posted it. Always reads the directory.
    pub(crate) fn read(&self) -> Option<CommError> {
        let (place, ..) = self.place()?;
        std::fs::read_dir(place).ok()?.flatten().find_map(|entry| {
            let name = entry.file_name();
            let rank = name.to_str()?.strip_prefix("ends-")?.parse().ok()?;
            Some(match serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()? {
                Notice::Lost(reason) => CommError::RankLost { rank, reason },
                Notice::Signalled(signal) => CommError::Signalled { signal },
            })
        })
    }

    fn progress(&self) -> (u64, u32) {
        let status = self.block.status(0);
        (status.samples(), status.line())
    }

    /// Posts that the samples are saved and waits until all other keepers have posted the same, at most for
    /// twice `grace`, since they may first have to wait for a rank that does not stop, and longer after a long run, of which
    /// there is more to save. Where `is_killed` tells that the launcher has killed the job, ranks have [`AFTER_KILL`]. On rank 0
    /// it returns the ranks that did not post it.
    pub(crate) fn wait_for_all(&self, grace: Duration, is_killed: impl Fn() -> bool) -> Vec<u32> {
        let Some((place, rank, size)) = self.place() else { return Vec::new() };
        if size == 1 || std::fs::create_dir_all(&place).is_err() {
            return Vec::new();
        }
        let _ = std::fs::write(place.join(format!("saved-{rank}")), "");
        let longer = self.began.elapsed() / PART_OF_RUN;
        let mut until = Instant::now() + grace * 2 + LOOK_EVERY + longer;
        let mut killed = false;
        let saved = || saved_in(&place);
        // A launcher may kill the job as soon as one keeper has exited with a failure. The keeper of rank 0
        // therefore removes the directory once all have saved, and the others wait for that.
        let done = || if rank == 0 { saved().len() >= size as usize } else { !place.exists() };
        while !done() && Instant::now() < until {
            if !killed && is_killed() {
                killed = true;
                until = until.min(Instant::now() + AFTER_KILL + longer);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if rank > 0 {
            return Vec::new();
        }
        let saved = saved();
        remove(&place);
        (0..size).filter(|rank| !saved.contains(rank)).collect()
    }
}

/// The ranks whose keepers have posted that they saved.
fn saved_in(place: &Path) -> HashSet<u32> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let rank_of = |name: OsString| name.to_str()?.strip_prefix("saved-")?.parse().ok();
    entries.filter_map(|entry| rank_of(entry.file_name())).collect()
}

/// Removes a directory of notices, and nothing that was put in its place.
fn remove(place: &Path) {
    // What a link leads to is somebody else's.
    if !place.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return;
    }
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_notice = |prefix: &str| {
            let rank = name.to_str().and_then(|name| name.strip_prefix(prefix));
            rank.is_some_and(|rank| rank.parse::<u32>().is_ok())
        };
        if ["saved-", "ends-", "unfinished-"].into_iter().any(is_notice) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_dir(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_notices_goes_and_what_came_in_its_place_stays() {
        let around = tempfile::tempdir().expect("a directory");
        let place = around.path().join(".lastrank-0");
        std::fs::create_dir_all(place.join("src")).expect("mkdir");
        for name in ["saved-0", "ends-1", "src/saved-2", "saved-by-me"] {
            std::fs::write(place.join(name), "").expect("a file");
        }
        assert_eq!(saved_in(&place), HashSet::from([0]));
        remove(&place);
        assert!(place.join("src/saved-2").exists() && place.join("saved-by-me").exists());
        assert!(!place.join("saved-0").exists() && !place.join("ends-1").exists());
        std::fs::remove_dir_all(&place).expect("a directory");
        std::fs::create_dir(&place).expect("mkdir");
        std::fs::write(place.join("saved-0"), "").expect("a file");
        remove(&place);
        assert!(!place.exists());
    }
}
