//! Runs the one rank of a process that an MPI launcher started.
//!
//! The process that `mpirun` or `srun` started does not run the program itself. It forks a keeper
//! (`keeper`), which forks the rank; the rank starts MPI and runs the program. If the rank dies for any
//! reason, its keeper still holds its samples and reports what happened. Keepers of one job learn of each
//! other's losses through files (`loss_board`), since MPI cannot tell that a rank is gone.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ranks::job::{Abort, ExitStatus, JobLink, SignalSet, Supervisor, start};
use ranks::launcher::{MpiChoice, refuse_alone, this_launcher};
use ranks::{Comm, CommError, ControlBlock, Launch, LaunchError, RankEnd, RankEnds, RanksView};

use crate::communicator::Mpi;
use crate::error::MpiError;
use crate::find::{self, LibrarySearch};
use crate::keeper::{Launched, Role, fork_keeper};
use crate::loss_board::{LossBoard, Notice};
use crate::relay::{self, Relay};

/// Whether a launcher started this process.
#[derive(Clone, Debug)]
pub enum Surroundings {
    /// No launcher: fork ranks with [`ranks::processes`].
    Alone,
    /// This is one of the processes that a launcher started, or the user named an MPI library.
    Job(Job),
}

/// Detects whether a launcher started this process, from the environment alone.
///
/// # Errors
/// If MPI is disabled although the launcher started several processes: each would run as a world of its own.
pub fn surroundings(choice: &MpiChoice) -> Result<Surroundings, LaunchError> {
    let launcher = this_launcher();
    if *choice == MpiChoice::None {
        refuse_alone(launcher.as_ref())?;
    }
    Ok(match (choice, launcher) {
        (MpiChoice::None, _) | (MpiChoice::Auto, None) => Surroundings::Alone,
        (_, launcher) => Surroundings::Job(Job {
            choice: choice.clone(),
            rank: launcher.as_ref().and_then(|launcher| launcher.rank).unwrap_or(0),
            ranks: launcher.as_ref().and_then(|launcher| launcher.ranks),
        }),
    })
}

/// One process of an MPI job.
#[derive(Clone, Debug)]
pub struct Job {
    choice: MpiChoice,
    rank: u32,
    ranks: Option<u32>,
}

impl Job {
    /// The rank that the launcher assigned; 0 if it assigned none.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of ranks, if the launcher states it.
    pub fn ranks(&self) -> Option<u32> {
        self.ranks
    }

    /// Forks a keeper, which forks and supervises the one rank of this process; the rank starts MPI and runs
    /// `body`. Returns in the keeper. The process that the launcher started waits for the keeper and exits
    /// with its status.
    ///
    /// `launch.ranks` is the number of ranks that the run is planned for, or 0 for any. `directory` is shared
    /// by all processes of the job (it is where the run file goes); after a loss the keepers exchange notices
    /// there, in a directory that exists for a few seconds. `save` is always called, in the keeper, to store
    /// the samples and print the failures. No keeper returns before all have saved, since a launcher kills
    /// the whole job as soon as one process fails.
    ///
    /// # Errors
    /// If the rank cannot be forked ([`LaunchError::NotAlone`] in a process with several threads), or MPI
    /// cannot be started ([`LaunchError::Mpi`]).
    pub fn run(
        &self,
        launch: &Launch,
        directory: &Path,
        mut body: impl FnMut(&Mpi) -> Result<(), String>,
        save: impl FnOnce(&RankEnds),
        mut watch: impl FnMut(&RanksView),
    ) -> Result<RankEnds, LaunchError> {
        let block =
            ControlBlock::new(1, launch.timeout).map_err(|error| LaunchError::Memory { ranks: 1, error })?;
        // Otherwise every forked process would write the content of this output buffer again.
        let _ = std::io::stdout().flush();
        let supervised = SignalSet::supervised();
        let before = supervised.block();
        let mut losses = LossBoard::new(directory, block);
        let role = fork_keeper(&supervised, block).inspect_err(|_| before.restore())?;
        let launched = if let Role::Keeper(launched) = &role { Some(*launched) } else { None };
        let mut ends = match role {
            Role::WithoutKeeper(signal) => {
                RankEnds { ends: vec![RankEnd::Killed(signal)], ..RankEnds::default() }
            }
            Role::Keeper(launched) => {
                let one = Launch { ranks: 1, ..*launch };
                let mut relay = Relay::new(&supervised);
                let children = start(&one, block, &before, &mut |_| {
                    if let Some(relay) = &mut relay {
                        relay.enter_rank();
                    }
                    self.rank_main(launch, block, &mut body)
                });
                let children = children.inspect_err(|_| before.restore())?;
                if let Some(relay) = &mut relay {
                    relay.rank_has_started();
                }
                let mut supervisor = Supervisor::new(block, children, launch.grace);
                let mut outside =
                    OtherRanks { losses: &mut losses, launched, relay, rank: self.rank, block, apart: None };
                supervisor.supervise(&supervised, &mut |view| watch(view), Some(&mut outside));
                let ends = supervisor.ends();
                if ends.library_left && outside.relay.is_some_and(|relay| !relay.finalized()) {
                    // Otherwise the launcher would kill the other processes, which save what their ranks measured.
                    relay::finalize();
                }
                ends
            }
        };
        let job = block.job();
        (ends.job, ends.first) = job.map_or((0, self.rank), |job| (job.id, job.rank));
        if job.is_none()
            && let Some(RankEnd::Failed(why)) = ends.ends.first()
        {
            before.restore();
            return Err(LaunchError::Mpi(why.clone()));
        }
        post_end(&ends, &losses);
        save(&ends);
        block.set_saved();
        if !ends.complete() {
            ends.silent =
                losses.wait_for_all(launch.grace, || launched.is_some_and(|launched| launched.is_gone()));
            // Before MPI has started, only the launcher can end the other processes.
            if job.is_some() {
                relay::finalize();
            }
        }
        // Signals stay blocked, since this process is about to exit with a meaningful status.
        Ok(ends)
    }

    fn rank_main(
        &self,
        launch: &Launch,
        block: &'static ControlBlock,
        body: &mut dyn FnMut(&Mpi) -> Result<(), String>,
    ) -> Result<(), String> {
        let world = match self.start_mpi(launch, block) {
            Ok(world) => world,
            Err(error) => {
                block.set_message(0, &error.to_string());
                // SAFETY: `_exit` ends the process without running exit handlers.
                unsafe { libc::_exit(ExitStatus::NoWorld as i32) }
            }
        };
        match body(&world) {
            Ok(()) => match world.conclude() {
                // Some libraries disconnect from the launcher in an exit handler, so `exit` is used.
                // SAFETY: the rank has one thread and has finalized MPI.
                Ok(()) => unsafe { libc::exit(ExitStatus::Finished as i32) },
                Err(error) => Err(error.to_string()),
            },
            Err(why) => {
                world.leave(&why);
                Err(why)
            }
        }
        .inspect_err(|_| note_cause(&world, block))
    }

    fn start_mpi(&self, launch: &Launch, block: &'static ControlBlock) -> Result<Mpi, MpiError> {
        let (search, library) = find::search(&self.choice, this_launcher());
        let library = library.ok_or_else(|| no_library(&self.choice, &search))?;
        Mpi::start(library, search, launch.ranks, launch.timeout, block)
    }
}

/// Notifies the other keepers of how this rank ended.
fn post_end(ends: &RankEnds, losses: &LossBoard) {
    match (ends.stopped, ends.failures().into_iter().next()) {
        (Some(signal), _) => losses.post(&Notice::Signalled(signal)),
        (None, Some(failure)) => losses.post(&Notice::Lost(failure)),
        (None, None) => {}
    }
}

/// The rest of an MPI job, as the keeper of one rank sees it.
struct OtherRanks<'a> {
    losses: &'a mut LossBoard,
    launched: Launched,
    relay: Option<Relay>,
    /// The rank that the launcher assigned, used until MPI reports it.
    rank: u32,
    block: &'static ControlBlock,
    /// What the last look found of ranks that have announced different meetings.
    apart: Option<String>,
}

impl JobLink for OtherRanks<'_> {
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

    fn notice(&self) -> Option<CommError> {
        self.losses.read()
    }

    fn poll_notice(&mut self) -> Option<CommError> {
        // The rank itself tells it if it is not inside of the library, so that the keeper looks twice.
        let before = std::mem::replace(&mut self.apart, self.block.announcement().apart());
        match &self.apart {
            Some(text) if before.as_ref() == Some(text) => Some(CommError::Apart { text: text.clone() }),
            _ => self.losses.poll(),
        }
    }
}

/// Tells the keeper, through the control block, that the rank leaves because of another rank or a signal and
/// did not fail itself.
fn note_cause(world: &Mpi, block: &ControlBlock) {
    match world.stopped() {
        Some(CommError::RankLost { rank, .. }) if rank == world.rank() => {}
        // This rank has detected that ranks reached different meetings.
        Some(CommError::Apart { .. }) | None => {}
        Some(cause) => block.stop_because(&cause),
    }
}

fn no_library(choice: &MpiChoice, search: &LibrarySearch) -> MpiError {
    let refusals = search.refusals().join("\n  ");
    match &search.launcher {
        Some(launcher) if *choice == MpiChoice::Auto => {
            MpiError::NoLibrary { evidence: launcher.evidence.clone(), refusals }
        }
        _ => MpiError::Unusable { refusals },
    }
}
