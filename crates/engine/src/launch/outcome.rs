//! How did each rank end?

use super::signals;

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
}

impl Outcome {
    /// Did every rank reach the end of the program?
    pub fn complete(&self) -> bool {
        self.ends.iter().all(|end| *end == End::Finished)
    }

    /// What went wrong, one line each: causes only, not the ranks that left because of them.
    pub fn failures(&self) -> Vec<String> {
        let stop = self.stopped.map(|signal| format!("the run was stopped by {}", signals::words(signal)));
        let own = (self.first..).zip(&self.ends).filter_map(|(rank, end)| match end {
            End::Finished | End::Left(_) => None,
            End::Stuck(stood) => Some(format!("rank {rank} did not stop and was killed: {stood}")),
            End::Failed(why) => Some(format!("rank {rank} gave up: {why}")),
            End::Panicked(why) => Some(format!("rank {rank} met a defect of lastrank: {why}")),
            End::Killed(signal) => Some(format!("rank {rank} was killed by {}", signals::name(*signal))),
            End::Exited(status) => Some(format!("rank {rank} exited with status {status}")),
        });
        stop.into_iter().chain(own).collect()
    }
}
