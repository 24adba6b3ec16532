//! Tells the parents of an MPI job that a rank is lost.
//!
//! By files in a directory that they share. Nothing is made and nothing is looked for while all is
//! well: a parent looks only when its own rank has made no progress for a while, so that a thousand
//! ranks at work do not ask a metadata server for anything.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ranks::shared::Region;

/// A rank without progress for so long makes its parent look, and look again as often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where the parents of one job tell each other which rank is lost and why.
pub(crate) struct LossBoard {
    directory: PathBuf,
    region: &'static Region,
    /// The rank's progress when it was looked at last, and when it last changed or others were asked.
    seen: (u64, u32),
    looked: Instant,
}

impl LossBoard {
    pub(crate) fn new(directory: &Path, region: &'static Region) -> Self {
        let mut board =
            Self { directory: directory.to_path_buf(), region, seen: (0, 0), looked: Instant::now() };
        board.seen = board.progress();
        board
    }

    /// The directory, and our rank and size; `None` before MPI has started.
    fn place(&self) -> Option<(PathBuf, u32, u32)> {
        let (job, rank, size) = self.region.job()?;
        Some((self.directory.join(format!(".lastrank-{job:016x}")), rank, size))
    }

    /// Tells the others that our rank is lost. Best effort: without a shared directory they notice
    /// when the launcher ends the job.
    pub(crate) fn tell(&self, reason: &str) {
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

    /// The lost rank and why, once another parent told it. Asks the directory only while our own rank makes
    /// no progress, so it can be called ten times a second.
    pub(crate) fn poll(&mut self) -> Option<(u32, String)> {
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

    /// The lost rank and why, if another parent has told it. Looks at once.
    pub(crate) fn read(&self) -> Option<(u32, String)> {
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
    pub(crate) fn wait_for_all(&self, grace: Duration) {
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
