//! Tells the parents of an MPI job why it ends, by files in a directory that they share.
//!
//! Nothing is created and nothing is looked up while all is well: a parent looks only when its own rank has
//! made no progress for a while, so that a thousand working ranks ask a metadata server for nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ranks::{CommError, ControlBlock};
use serde::{Deserialize, Serialize};

/// A rank without progress for so long makes its parent look, and look again as often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why a parent's rank ends before its program does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Notice {
    /// The rank is lost, for this reason.
    Lost(String),
    /// This signal asked the run to stop.
    Signalled(i32),
}

/// Where the parents of one job tell each other why it ends.
pub(crate) struct LossBoard {
    directory: PathBuf,
    block: &'static ControlBlock,
    /// The rank's progress when it was looked at last, and when it last changed or others were asked.
    seen: (u64, u32),
    looked: Instant,
}

impl LossBoard {
    pub(crate) fn new(directory: &Path, block: &'static ControlBlock) -> Self {
        let mut board =
            Self { directory: directory.to_path_buf(), block, seen: (0, 0), looked: Instant::now() };
        board.seen = board.progress();
        board
    }

    /// The directory, and our rank and size; `None` before MPI has started.
    fn place(&self) -> Option<(PathBuf, u32, u32)> {
        let job = self.block.job()?;
        Some((self.directory.join(format!(".lastrank-{:016x}", job.id)), job.rank, job.size))
    }

    /// Tells the others why our rank ends. Best effort: without a shared directory they notice when the
    /// launcher ends the job.
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

    /// Why the job ends, once another parent told it. Asks the directory only while our own rank makes no
    /// progress, so it can be called ten times a second.
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

    /// Why the job ends, if another parent has told it. Looks at once.
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
        // A launcher may kill the job as soon as one parent has left with a failure. So the directory is
        // removed before that: by the first parent when all have saved, while the others wait for it.
        let done = || if rank == 0 { saved() >= size as usize } else { !place.exists() };
        while !done() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        if rank == 0 {
            let _ = std::fs::remove_dir_all(&place);
        }
    }
}
