//! Why ranks could not meet.

use std::time::Duration;

use crate::signals;

/// Why ranks could not meet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommError {
    /// A rank died, failed or gave up. `reason` is a whole clause: `rank 3 was killed by SIGKILL`.
    #[error("{reason}")]
    RankLost {
        /// Its number in the world.
        rank: u32,
        /// What happened to it.
        reason: String,
    },
    /// A signal asked the run to stop.
    #[error("{}", stop_text(*.signal))]
    Signalled {
        /// Its number.
        signal: i32,
    },
    /// Something else asked the run to stop.
    #[error("the run was stopped by {by}")]
    Stopped {
        /// Who: `a panic of a worker`.
        by: String,
    },
    /// Ranks did not come to a barrier in time.
    #[error("{}", timeout_text(*.line, *.after, .missing))]
    TimedOut {
        /// Program line of the barrier; 0 where it is not known.
        line: u32,
        /// How long this rank waited.
        after: Duration,
        /// The ranks (numbers in the world) that did not come, and where they stand.
        missing: Vec<(u32, String)>,
    },
    /// Ranks that met had come to different statements: the program is wrong.
    #[error("{text}")]
    Apart {
        /// A sentence that names the ranks and both places.
        text: String,
    },
    /// More groups than the shared memory has room for.
    #[error("no room for {wanted} more groups: at most {limit} communicators in a run")]
    TooManyGroups {
        /// Groups that were to be made.
        wanted: u32,
        /// The most there can be.
        limit: u32,
    },
    /// A call of the MPI library failed.
    #[error("{call} failed: {text}")]
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// The library's own error string.
        text: String,
    },
}

/// `the run was stopped by Ctrl-C`.
pub(crate) fn stop_text(signal: i32) -> String {
    format!("the run was stopped by {}", signals::reader_name(signal))
}

fn timeout_text(line: u32, after: Duration, missing: &[(u32, String)]) -> String {
    let place = if line > 0 { format!("the barrier at line {line}") } else { "a barrier".into() };
    let seconds = after.as_secs_f64();
    let mut text = format!("{place} timed out after {seconds:.0} s, ");
    const SHOWN: usize = 8;
    let who: Vec<String> = missing
        .iter()
        .take(SHOWN)
        .map(|(rank, stands)| format!("rank {rank} never came ({stands})"))
        .collect();
    text.push_str(&who.join(", "));
    if missing.len() > SHOWN {
        text.push_str(&format!(", nor did {} more", missing.len() - SHOWN));
    }
    if missing.is_empty() {
        text.push_str("and nobody is missing: the ranks left it one by one");
    }
    text
}
