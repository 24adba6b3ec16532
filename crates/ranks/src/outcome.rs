//! How did each rank end?

use crate::signals;

/// How one rank ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It reached the end of the program.
    Finished,
    /// It left because of another rank or because the run was stopped; the message says which.
    Left(String),
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
    /// It was told to stop, did not within the grace period, and was killed; where it stood.
    Stuck(String),
}

/// What became of the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// One end a rank.
    pub ends: Vec<End>,
    /// The rank of the first end: 0 but under MPI, where each process looks after one rank.
    pub first: u32,
    /// The signal that asked the run to stop, if one did.
    pub stopped: Option<i32>,
    /// Under MPI: a number that all ranks of the job agreed on; 0 without, and before MPI has started.
    pub job: u64,
}

impl Outcome {
    /// Did every rank reach the end of the program?
    pub fn complete(&self) -> bool {
        self.ends.iter().all(|end| *end == End::Finished)
    }

    /// What went wrong, one line each: causes only, not the ranks that left because of them.
    pub fn failures(&self) -> Vec<String> {
        let stop = self.stopped.map(|signal| format!("{STOPPED} {}", signals::words(signal)));
        let own = (self.first..).zip(&self.ends).filter_map(|(rank, end)| match end {
            End::Finished | End::Left(_) => None,
            End::Stuck(stood) => Some(format!("rank {rank} did not stop and was killed: {stood}")),
            End::Failed(why) => Some(format!("rank {rank} gave up: {why}")),
            End::Panicked(why) => Some(format!("rank {rank} met a defect of lastrank: {why}")),
            End::Killed(signal) => Some(format!("rank {rank} was killed by {}", signals::name(*signal))),
            End::Exited(status) => Some(format!("rank {rank} exited with status {status}")),
            End::Aborted(status) => Some(aborted(rank, *status)),
            End::Orphaned => Some(orphaned(rank)),
        });
        stop.into_iter().chain(own).collect()
    }

    /// Why ranks left that are not to blame, one line for each different reason.
    pub fn left_because(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        for end in &self.ends {
            if let End::Left(why) = end
                && !reasons.contains(why)
            {
                reasons.push(why.clone());
            }
        }
        reasons
    }
}

const STOPPED: &str = "the run was stopped by";

/// Whether the reason is a signal to the run, and no rank to blame.
pub fn is_stop(reason: &str) -> bool {
    reason.starts_with(STOPPED)
}

pub fn aborted(rank: u32, status: Option<i32>) -> String {
    let with = status.map(|status| format!(" with status {status}")).unwrap_or_default();
    format!("rank {rank} called MPI_Abort{with}, or its MPI library did")
}

pub fn orphaned(rank: u32) -> String {
    format!("rank {rank} was ended: the launcher, or somebody else, killed its process")
}
