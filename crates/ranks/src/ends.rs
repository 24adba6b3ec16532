//! How each rank ended, and in which words that is told.

use crate::error::stop_text;
use crate::signals;

/// How one rank ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankEnd {
    /// It reached the end of the program.
    Finished,
    /// It left because another rank is lost; the message says which.
    Left(String),
    /// It left because the run was stopped; the message says by what.
    Stopped(String),
    /// It gave up with this message.
    Failed(String),
    /// A defect of ours: the message of the panic and where it happened.
    Panicked(String),
    /// A signal ended it.
    Killed(i32),
    /// Something inside it called `exit` with this status.
    Exited(i32),
    /// It called `MPI_Abort`, or its MPI library did, with this status where that is known.
    Aborted(Option<i32>),
    /// The process that the MPI launcher started for it was killed, so that it was ended as well.
    Orphaned,
    /// It did not stop within the grace period and was killed; what it was doing.
    Stuck(String),
}

/// The exit status by which a rank tells its parent how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ExitStatus {
    /// It reached the end of the program.
    Finished = 0,
    /// It left because another rank is lost.
    Left = 40,
    /// It gave up.
    Failed = 41,
    /// It panicked.
    Panicked = 42,
    /// No world could be made at all.
    NoWorld = 43,
    /// It left because the run was stopped.
    Stopped = 44,
    /// Under MPI: it reached the end of the program, and the library did not end.
    EndedAlone = 45,
}

impl ExitStatus {
    /// The one of this number; `None` where something else in the rank called `exit`.
    pub(crate) fn of(status: i32) -> Option<Self> {
        [
            Self::Finished,
            Self::Left,
            Self::Failed,
            Self::Panicked,
            Self::NoWorld,
            Self::Stopped,
            Self::EndedAlone,
        ]
        .into_iter()
        .find(|known| *known as i32 == status)
    }
}

/// What became of the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankEnds {
    /// One end a rank.
    pub ends: Vec<RankEnd>,
    /// The rank of the first end: 0 but under MPI, where each process looks after one rank.
    pub first: u32,
    /// The signal that asked the run to stop, if one did.
    pub stopped: Option<i32>,
    /// Under MPI: a number that all ranks of the job agreed on; 0 without, and before MPI has started.
    pub job: u64,
    /// Under MPI: all ranks had reached the end of the program, and the library did not end as it should.
    pub library_left: bool,
    /// Under MPI, on rank 0 after a run that broke off: the ranks of which nothing was heard, whose parts may be missing.
    pub silent: Vec<u32>,
}

impl RankEnds {
    /// Did every rank reach the end of the program?
    pub fn complete(&self) -> bool {
        self.ends.iter().all(|end| *end == RankEnd::Finished)
    }

    /// Who asked the run to stop, in a reader's words.
    pub fn stopped_by(&self) -> Option<String> {
        self.stopped.map(|signal| signals::reader_name(signal).to_string())
    }

    /// What went wrong, one line each: causes only, not the ranks that left because of them.
    pub fn failures(&self) -> Vec<String> {
        let own = (self.first..).zip(&self.ends).filter_map(|(rank, end)| loss_text(rank, end));
        self.stopped.map(stop_text).into_iter().chain(own).collect()
    }

    /// Why ranks left that are not to blame, one line for each different reason.
    pub fn left_because(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        for end in &self.ends {
            if let RankEnd::Left(why) | RankEnd::Stopped(why) = end
                && !reasons.contains(why)
            {
                reasons.push(why.clone());
            }
        }
        reasons
    }
}

/// A reason that a rank told the others already has `rank 1 gave up: ` in front.
fn without_itself(why: &str) -> &str {
    let after =
        why.strip_prefix("rank ").map(|rest| rest.trim_start_matches(|sign: char| sign.is_ascii_digit()));
    after.and_then(|rest| rest.strip_prefix(" gave up: ")).unwrap_or(why)
}

impl RankEnd {
    /// What became of a rank that is to blame for its own end, as what is said of it: `was killed by SIGKILL`.
    pub fn loss(&self) -> Option<String> {
        Some(match self {
            Self::Finished | Self::Left(_) | Self::Stopped(_) => return None,
            Self::Stuck(doing) => format!("did not stop and was killed: {doing}"),
            Self::Failed(why) => format!("gave up: {}", without_itself(why)),
            Self::Panicked(why) => format!("met a defect of lastrank: {why}"),
            Self::Killed(signal) => format!("was killed by {}", signals::name(*signal)),
            Self::Exited(status) => format!("exited with status {status}"),
            Self::Aborted(status) => {
                let with = status.map(|status| format!(" with status {status}")).unwrap_or_default();
                format!("called MPI_Abort{with}, or its MPI library did")
            }
            Self::Orphaned => "was ended: the launcher, or somebody else, killed its process".into(),
        })
    }
}

/// What is told of a rank that is to blame for its own end.
fn loss_text(rank: u32, end: &RankEnd) -> Option<String> {
    end.loss().map(|loss| format!("rank {rank} {loss}"))
}

pub(crate) fn aborted_text(rank: u32, status: Option<i32>) -> String {
    loss_text(rank, &RankEnd::Aborted(status)).unwrap_or_default()
}

pub(crate) fn orphaned_text(rank: u32) -> String {
    loss_text(rank, &RankEnd::Orphaned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_gives_up_once() {
        let told = |why: &str| loss_text(1, &RankEnd::Failed(why.into()));
        assert_eq!(
            told("rank 1 gave up: the disk is full").as_deref(),
            Some("rank 1 gave up: the disk is full")
        );
        assert_eq!(told("rank 1 waits").as_deref(), Some("rank 1 gave up: rank 1 waits"));
    }
}
