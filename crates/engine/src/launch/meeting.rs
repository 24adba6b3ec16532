//! How do the parents of an MPI job tell each other that a rank is lost?
//!
//! By files in a directory that they share. Nothing is made and nothing is looked for while all is
//! well: a parent looks only when its own rank has made no progress for a while, so that a thousand
//! ranks at work do not ask a metadata server for anything.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::comm::shared::Region;

/// A rank without progress for so long makes its parent look, and look again as often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The place where the parents of one job meet, should they need to.
pub(super) struct Meeting {
    directory: PathBuf,
    region: &'static Region,
}

impl Meeting {
    pub(super) fn new(directory: &Path, region: &'static Region) -> Self {
        Self { directory: directory.to_path_buf(), region }
    }

    /// The directory, and our rank and size; `None` before MPI has started.
    fn place(&self) -> Option<(PathBuf, u32, u32)> {
        let (job, rank, size) = self.region.job()?;
        Some((self.directory.join(format!(".lastrank-{job:016x}")), rank, size))
    }

    /// Tells the others that our rank is lost. Best effort: without a shared directory they notice
    /// when the launcher ends the job.
    pub(super) fn tell(&self, reason: &str) {
        let Some((place, rank, size)) = self.place() else { return };
        if size == 1 {
            return;
        }
        let _ = std::fs::create_dir_all(&place);
        let whole = place.join(format!("telling-{rank}"));
        if std::fs::write(&whole, reason).is_ok() {
            let _ = std::fs::rename(whole, place.join(format!("lost-{rank}")));
        }
    }

    /// Something to ask ten times a second: the lost rank and why, once another parent told it.
    pub(super) fn news(&self) -> impl FnMut() -> Option<(u32, String)> {
        let mut seen = self.progress();
        let mut looked = Instant::now();
        move || {
            let now = self.progress();
            if now != seen {
                seen = now;
                looked = Instant::now();
                return None;
            }
            if looked.elapsed() < LOOK_EVERY {
                return None;
            }
            looked = Instant::now();
            self.hear()
        }
    }

    /// The lost rank and why, if another parent has told it. Looks at once.
    pub(super) fn hear(&self) -> Option<(u32, String)> {
        let (place, ..) = self.place()?;
        std::fs::read_dir(place).ok()?.flatten().find_map(|entry| {
            let name = entry.file_name();
            let rank = name.to_str()?.strip_prefix("lost-")?.parse().ok()?;
            Some((rank, std::fs::read_to_string(entry.path()).ok()?))
        })
    }

    fn progress(&self) -> (u64, u32) {
        let standing = &self.region.rank(0).standing;
        (standing.samples(), standing.line())
    }

    /// Says that our samples are saved, and waits until all others have said so, at most twice `grace`:
    /// they may first have to wait for a rank that does not stop.
    pub(super) fn wait_for_all(&self, grace: Duration) {
        let Some((place, rank, size)) = self.place() else { return };
        if size == 1 || std::fs::create_dir_all(&place).is_err() {
            return;
        }
        let _ = std::fs::write(place.join(format!("saved-{rank}")), "");
        let until = Instant::now() + grace * 2 + LOOK_EVERY;
        let saved = || {
            let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("saved-")).count()
        };
        // A launcher may kill the job as soon as one parent has left with a failure. So the place is
        // taken away before that: by the first parent when all have saved, while the others wait for it.
        let done = || if rank == 0 { saved() >= size as usize } else { !place.exists() };
        while !done() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        if rank == 0 {
            let _ = std::fs::remove_dir_all(&place);
        }
    }
}
