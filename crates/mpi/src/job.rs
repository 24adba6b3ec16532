//! How does one process of an MPI job run its rank?
//!
//! The process that `mpirun` or `srun` started does not run the program itself. It forks a keeper
//! ([`crate::keeper`]), and that forks the rank, which starts MPI and runs; the keeper sees when the rank
//! dies, of whatever, still holds its samples, and says what happened. Keepers of one job hear of each
//! other's losses through [`crate::losses`], since MPI has no words for a rank that is gone.

use std::path::Path;
use std::time::Duration;

use crate::{Mpi, MpiChoice, MpiError, Search};
use ranks::shared::Region;
use ranks::{Comm, CommError};

use ranks::launch::{End, Launch, LaunchError, Outcome, Watch};
use ranks::supervise::{Abort, Family, JobLink, start};
use ranks::{rank, signals};

use crate::find;
use crate::keeper::{self, Launched, Role};
use crate::losses::LossBoard;
use crate::relay::Relay;

/// What surrounds this process.
#[derive(Clone, Debug)]
pub enum Surroundings {
    /// No launcher: ranks are to be forked with [`ranks::launch::processes`].
    Alone,
    /// We are one of several processes that a launcher started, or the user named an MPI library.
    Job(Job),
}

/// Finds out whether a launcher started this process. Starts and opens nothing.
///
/// # Errors
/// When a launcher says that there are several ranks and no usable library is found: ranks never
/// run as so many worlds of one.
pub fn surroundings(choice: &MpiChoice) -> Surroundings {
    match (choice, find::this_launcher()) {
        (MpiChoice::None, _) | (MpiChoice::Auto, None) => Surroundings::Alone,
        (_, launcher) => Surroundings::Job(Job {
            choice: choice.clone(),
            rank: launcher.as_ref().and_then(|launcher| launcher.rank).unwrap_or(0),
            ranks: launcher.as_ref().and_then(|launcher| launcher.ranks),
        }),
    }
}

/// One process of an MPI job.
#[derive(Clone, Debug)]
pub struct Job {
    choice: MpiChoice,
    rank: u32,
    ranks: Option<u32>,
}

impl Job {
    /// Our rank, as the launcher says; 0 where it does not.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of ranks, where the launcher says it.
    pub fn ranks(&self) -> Option<u32> {
        self.ranks
    }

    /// Forks a keeper and from it the one rank of this process, starts MPI in it, runs `body` there, and
    /// looks after it. Returns in the keeper; the process that the launcher started waits for the end
    /// of the keeper and ends with its exit status.
    ///
    /// `launch.ranks` is how many the run was planned for; 0: however many there are. `directory` is one that the processes of the job share (where the
    /// run file goes): when a rank is lost, a small directory appears in it for some seconds, by
    /// which the parents tell each other. `save` is called in the parent, whatever happened: it
    /// keeps the samples and prints the failures. Only when every parent has saved does the first of
    /// them return, since a launcher kills a whole job as soon as one process of it fails.
    ///
    /// # Errors
    /// When the rank cannot be forked, or no MPI world can be made: [`LaunchError::Mpi`].
    pub fn run(
        &self,
        launch: &Launch,
        directory: &Path,
        mut body: impl FnMut(&Mpi) -> Result<(), String>,
        save: impl FnOnce(&Outcome),
        mut watch: impl FnMut(&Watch),
    ) -> Result<Outcome, LaunchError> {
        let region =
            Region::new(1, launch.timeout).map_err(|error| LaunchError::Memory { ranks: 1, error })?;
        let _ = std::io::Write::flush(&mut std::io::stdout());
        let taken = signals::taken();
        let before = signals::block(&taken);
        let mut losses = LossBoard::new(directory, region);
        let role = keeper::part(&taken, region).inspect_err(|_| signals::restore(&before))?;
        let mut outcome = match role {
            Role::Bereaved(signal) => Outcome { ends: vec![End::Killed(signal)], ..Outcome::default() },
            Role::Keeper(launched) => {
                let one = Launch { ranks: 1, ..*launch };
                let mut relay = Relay::new(&taken);
                let children = start(&one, region, &before, &mut |_| {
                    if let Some(relay) = &mut relay {
                        relay.enter_rank();
                    }
                    self.rank_main(launch, region, &mut body)
                });
                let children = children.inspect_err(|_| signals::restore(&before))?;
                if let Some(relay) = &mut relay {
                    relay.rank_has_started();
                }
                let mut family = Family::new(region, children, launch.grace);
                let mut outside = Outside { losses: &mut losses, launched, relay, rank: self.rank };
                family.look_after(&taken, &mut |watching| watch(watching), Some(&mut outside));
                family.outcome()
            }
        };
        (outcome.job, outcome.first) = region.job().map_or((0, self.rank), |(job, rank, _)| (job, rank));
        if region.job().is_none()
            && let Some(End::Failed(why)) = outcome.ends.first()
        {
            signals::restore(&before);
            return Err(LaunchError::Mpi(why.clone()));
        }
        if let Some(cause) = outcome.failures().first() {
            losses.tell(cause);
        }
        save(&outcome);
        region.set_saved();
        if !outcome.complete() {
            losses.wait_for_all(launch.grace);
            // Before MPI has started, nobody else can end the others but the launcher.
            if region.job().is_some() {
                take_leave();
            }
        }
        // Signals stay blocked: this process is about to end, with a status that tells what happened.
        Ok(outcome)
    }

    fn rank_main(
        &self,
        launch: &Launch,
        region: &'static Region,
        body: &mut dyn FnMut(&Mpi) -> Result<(), String>,
    ) -> Result<(), String> {
        let world = match self.start_mpi(launch, region) {
            Ok(world) => world,
            Err(error) => {
                region.set_message(0, &error.to_string());
                // SAFETY: _exit ends the process without running what was registered for its end.
                unsafe { libc::_exit(rank::UNUSABLE) }
            }
        };
        match body(&world) {
            Ok(()) => match world.conclude() {
                // Some libraries take leave of the launcher in a function registered with atexit.
                // SAFETY: a single-threaded rank ends here, after the library's own end.
                Ok(()) => unsafe { libc::exit(rank::FINISHED) },
                Err(error) => Err(error.to_string()),
            },
            Err(why) => {
                world.leave(&why);
                Err(why)
            }
        }
        .inspect_err(|_| note_cause(&world, region))
    }

    fn start_mpi(&self, launch: &Launch, region: &'static Region) -> Result<Mpi, MpiError> {
        let (search, library) = find::search(&self.choice);
        let library = library.ok_or_else(|| no_library(&self.choice, &search))?;
        Mpi::start(library, search, launch.ranks, launch.timeout, region)
    }
}

/// What a keeper has to do with besides its rank: the rest of an MPI job.
struct Outside<'a> {
    losses: &'a mut LossBoard,
    launched: Launched,
    relay: Option<Relay>,
    /// Our rank, where it has not said so itself yet.
    rank: u32,
}

impl JobLink for Outside<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn forward(&mut self) -> Option<Abort> {
        let relay = self.relay.as_mut()?;
        relay.drain();
        relay.aborted()
    }

    fn wait(&mut self, limit: Duration) -> bool {
        let Some(relay) = &mut self.relay else { return false };
        relay.wait(limit);
        true
    }

    fn launcher_is_gone(&self) -> bool {
        self.launched.is_gone()
    }

    fn lost_rank(&self) -> Option<(u32, String)> {
        self.losses.read()
    }

    fn poll_lost_rank(&mut self) -> Option<(u32, String)> {
        self.losses.poll()
    }
}

/// Takes leave of a process manager that speaks PMI-1 (Hydra) in place of the rank that could not:
/// so that it keeps our exit status instead of killing the others, who leave at the same time.
fn take_leave() {
    let Some(socket) = std::env::var("PMI_FD").ok().and_then(|number| number.parse::<i32>().ok()) else {
        return;
    };
    let words = b"cmd=finalize\n";
    let mut answer = [0_u8; 64];
    // SAFETY: the descriptor was inherited from the launcher for this purpose; the buffers live
    // through the calls, and the wait for an answer is limited.
    unsafe {
        if libc::send(socket, words.as_ptr().cast(), words.len(), libc::MSG_NOSIGNAL) != words.len() as isize
        {
            return;
        }
        let mut ready = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
        if libc::poll(&raw mut ready, 1, 500) == 1 {
            libc::recv(socket, answer.as_mut_ptr().cast(), answer.len(), libc::MSG_DONTWAIT);
        }
    }
}

/// A rank that leaves because of another one says so through the region: then it did not fail itself.
fn note_cause(world: &Mpi, region: &Region) {
    if let Some(CommError::RankLost { rank, reason }) = world.stopped()
        && rank != world.rank()
    {
        region.lose(rank, &reason);
    }
}

fn no_library(choice: &MpiChoice, search: &Search) -> MpiError {
    let refusals = search.refusals().join("\n  ");
    match &search.launcher {
        Some(launcher) if *choice == MpiChoice::Auto => {
            MpiError::NoLibrary { evidence: launcher.evidence.clone(), refusals }
        }
        _ => MpiError::Unusable { refusals },
    }
}
