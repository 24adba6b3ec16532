//! What a recorder gives, and why it gives nothing.

use std::io;
use std::path::PathBuf;

use trace::Trace;

use crate::folder::SpoolFolder;

/// Why the quiet recorder sees nothing of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// It has no dynamic linker: a static program, or one of Go.
    Static,
    /// It runs with the rights of its owner, and the dynamic linker drops preloaded libraries.
    SetId,
    /// Its C library is not that of GNU.
    OtherLibrary,
    /// It is for another processor, or no program.
    OtherFormat,
}

impl std::fmt::Display for Unseen {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Static => "a program without a dynamic linker (static, or of Go)",
            Self::SetId => "a program with the rights of its owner or capabilities",
            Self::OtherLibrary => "a program of another C library than that of GNU",
            Self::OtherFormat => "which is no program for this processor",
        })
    }
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The command was not found.
    #[error("no program {0} in PATH")]
    NotFound(String),
    /// A word of the command holds a NUL, or there are too many.
    #[error("the command cannot be passed on: {0}")]
    Command(&'static str),
    /// The system refuses to trace.
    #[error("cannot trace here: {0}; containers may forbid ptrace (`--cap-add SYS_PTRACE`)")]
    Refused(io::Error),
    /// This process has several threads.
    #[error("cannot start the application: this process has {0} threads")]
    Threads(usize),
    /// The application could not be started.
    #[error("cannot start {0}: {1}")]
    Start(String, io::Error),
    /// The preloaded library sees nothing of it.
    #[error("the quiet recorder sees nothing of {0}, {1}; without --quiet every program is recorded")]
    Unseen(String, Unseen),
    /// The binary carries no library.
    #[error("this lastrank has no quiet recorder: it needs Linux with the GNU C library on x86-64 or ARM64")]
    NoLibrary,
    /// The library's directory cannot be written or read.
    #[error(
        "cannot keep the calls in {} (TMPDIR, or /tmp where that is not set): {error}; make it, or set TMPDIR to a directory with \
         room", place.display()
    )]
    Spool {
        /// The directory.
        place: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// How many reads and writes were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Calls that read or write which were recorded.
    pub recorded: u64,
    /// The same as Linux counted them (`/proc/PID/io`).
    pub counted: u64,
}

/// What `recover` makes a recording of, where the recorder is killed before its file is whole. It goes when this does.
#[derive(Default)]
pub struct Kept(pub(crate) Vec<SpoolFolder>);

impl Kept {
    /// Leaves it to `recover`; false where there is nothing.
    pub fn leave(self) -> bool {
        let is_any = !self.0.is_empty();
        self.0.into_iter().for_each(std::mem::forget);
        is_any
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Kept").field(&self.0.len()).finish()
    }
}

/// What an application did.
#[derive(Debug)]
pub struct Recorded {
    /// Its calls.
    pub trace: Trace,
    /// Reads and writes that were seen.
    pub seen: Seen,
    /// Programs that were started and of which nothing was seen.
    pub unseen: u64,
    /// Threads whose last calls are missing, since the file systems had no room for records.
    pub cut: u64,
    /// What recording one call cost, in nanoseconds.
    pub cost_ns: u64,
    /// How long it ran, in nanoseconds.
    pub elapsed_ns: u64,
    /// Its status as wait gives it.
    pub status: i32,
    /// How many names of its directory were compared before and after; `None` where none was.
    pub tree: Option<u64>,
    /// The records, until the recording has its file.
    pub kept: Kept,
}
