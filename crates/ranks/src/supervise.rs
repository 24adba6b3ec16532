//! Forks ranks and supervises them until the last one is gone.

use std::cell::Cell;
use std::io::Write;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, waitpid};

use crate::ends::{ExitStatus, RankEnd, RankEnds, aborted_text, orphaned_text};
use crate::fork::{Forked, fork};
use crate::launch::{Launch, LaunchError};
use crate::signals::{self, SignalSet};
use crate::{Activity, CommError, ControlBlock, Processes, RankStatus, rank};

/// How often the parent looks at the ranks' counters when nothing happens.
const LOOK: Duration = Duration::from_millis(100);
/// A parent whose launched process was killed waits so long for another parent to say why.
const NOTICE_WAIT: Duration = Duration::from_secs(1);
/// After that its rank has at most so long to stop: no launcher waits for it any more.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// What the parent sees of the ranks while they run.
pub struct RanksView {
    block: &'static ControlBlock,
    is_enough: Cell<bool>,
}

impl RanksView {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.block.ranks()
    }

    /// What a rank does.
    pub fn status(&self, rank: u32) -> &RankStatus {
        self.block.status(rank)
    }

    /// Ends the run: the ranks are asked to stop as by SIGTERM, after the operation that each is in.
    pub fn stop(&self) {
        self.is_enough.set(true);
    }

    /// Samples and bytes of all ranks so far.
    pub fn recorded(&self) -> (u64, u64) {
        (0..self.ranks())
            .map(|rank| self.status(rank))
            .fold((0, 0), |sum, one| (sum.0 + one.samples(), sum.1 + one.bytes()))
    }

    /// The least advanced rank's share of the program, from 0 to 1; `None` where it is not known.
    pub fn progress(&self) -> Option<f64> {
        (0..self.ranks())
            .map(|rank| match self.status(rank).progress() {
                (_, 0) => None,
                (done, planned) => Some((done as f64 / planned as f64).min(1.0)),
            })
            .try_fold(1.0_f64, |least, share| Some(least.min(share?)))
    }
}

/// Forks `launch.ranks` ranks, runs `body` in each, and returns when all are gone.
///
/// Make files and shared memory that you want to read afterwards before the call. `watch` is called about
/// ten times a second in the parent. The first Ctrl-C, SIGTERM or SIGHUP asks the ranks to stop, which they
/// do after the operation they are in; a second one, or the end of the grace period, kills them. A rank that
/// dies or fails makes the others leave their barriers at once.
///
/// # Errors
/// When ranks cannot be started, [`LaunchError::NotAlone`] in a process with several threads; what happens
/// to them later stands in the [`RankEnds`].
pub fn processes(
    launch: &Launch,
    mut body: impl FnMut(Processes) -> Result<(), String>,
    mut watch: impl FnMut(&RanksView),
) -> Result<RankEnds, LaunchError> {
    if launch.ranks == 0 {
        return Err(LaunchError::NoRanks);
    }
    let block = ControlBlock::new(launch.ranks, launch.timeout)
        .map_err(|error| LaunchError::Memory { ranks: launch.ranks, error })?;
    // Otherwise every rank would also write what is in the parent's output buffer.
    let _ = std::io::stdout().flush();
    let supervised = SignalSet::supervised();
    let before = supervised.block();
    let ends = start(launch, block, &before, &mut body).map(|children| {
        let mut supervisor = Supervisor::new(block, children, launch.grace);
        supervisor.supervise(&supervised, &mut |view| watch(view), None);
        supervisor.ends()
    });
    before.restore();
    // SAFETY: the ranks are gone, and so is what looked at the block here.
    unsafe { block.release() };
    ends
}

/// Forks the ranks. `mask` is the signal mask they restore.
///
/// # Errors
/// When one cannot be forked; those started before are ended.
pub fn start(
    launch: &Launch,
    block: &'static ControlBlock,
    mask: &SignalSet,
    body: &mut dyn FnMut(Processes) -> Result<(), String>,
) -> Result<Vec<Child>, LaunchError> {
    let parent = getpid();
    let mut children: Vec<Child> = Vec::with_capacity(launch.ranks as usize);
    for me in 0..launch.ranks {
        match fork() {
            Ok(Forked::Child) => rank::run(block, me, parent, mask, body),
            Ok(Forked::Parent(pid)) => children.push(Child { pid, end: None }),
            Err(error) => {
                for child in &children {
                    child.signal(libc::SIGKILL);
                    child.wait(WaitOptions::empty());
                }
                return Err(LaunchError::of_fork(error, me, launch.ranks));
            }
        }
    }
    Ok(children)
}

/// A forked rank.
pub struct Child {
    pid: Pid,
    end: Option<RankEnd>,
}

impl Child {
    /// The process is not yet waited for, so the number is still its own.
    fn signal(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = kill_process(self.pid, signal);
        }
    }

    /// The wait status, when it has ended.
    fn wait(&self, options: WaitOptions) -> Option<WaitStatus> {
        waitpid(Some(self.pid), options).ok().flatten().map(|(_, status)| status)
    }
}

/// Supervises forked ranks until the last one is gone.
pub struct Supervisor {
    block: &'static ControlBlock,
    children: Vec<Child>,
    /// First signal that asked us to stop.
    stopped: Option<i32>,
    /// When the ranks were told to stop, because of it or because of a lost rank.
    stop_since: Option<Instant>,
    grace: Duration,
    /// We killed what did not stop.
    killed: bool,
    /// When the process that the launcher started was found gone.
    orphan_since: Option<Instant>,
    /// The rank called `MPI_Abort`.
    aborted: Option<Abort>,
    /// Ranks wait for each other at different places inside of a library: a sentence that names them.
    apart: Option<String>,
    /// The rank had reached the end of the program, and its library did not end.
    library_left: bool,
}

/// `MPI_Abort` with this status; some protocols do not tell it.
pub type Abort = Option<i32>;

/// The rest of a job whose ranks other parents supervise (MPI), as the parent of one rank sees it.
pub trait JobLink {
    /// Our rank, where it has not said so itself yet.
    fn rank(&self) -> u32;

    /// Passes on what the rank has to say to the launcher; `Some` once the rank called `MPI_Abort`.
    fn forward(&mut self) -> Option<Abort>;

    /// Waits at most for `limit` until there is something to forward or a signal has come; `false` where
    /// there is nothing to wait for but signals.
    fn wait(&mut self, limit: Duration) -> bool;

    /// Was the process that the launcher started killed?
    fn launcher_is_gone(&self) -> bool;

    /// Why the job ends, if another parent has told it: [`CommError::RankLost`] or [`CommError::Signalled`].
    /// Looks at once.
    fn notice(&self) -> Option<CommError>;

    /// As [`JobLink::notice`], cheap enough to ask ten times a second; and [`CommError::Apart`] if the rank waits inside
    /// of a library for ranks that have come to another meeting.
    fn poll_notice(&mut self) -> Option<CommError>;
}

impl Supervisor {
    /// Supervises `children`; ranks that were told to stop have `grace` to do so.
    pub fn new(block: &'static ControlBlock, children: Vec<Child>, grace: Duration) -> Self {
        Self {
            block,
            children,
            stopped: None,
            stop_since: None,
            grace,
            killed: false,
            orphan_since: None,
            aborted: None,
            apart: None,
            library_left: false,
        }
    }

    /// Returns when all ranks are gone. `outside` may bring a reason to stop: a rank of the MPI job was
    /// lost, or our launcher killed the process that it started.
    pub fn supervise(
        &mut self,
        supervised: &SignalSet,
        watch: &mut dyn FnMut(&RanksView),
        mut outside: Option<&mut dyn JobLink>,
    ) {
        let view = RanksView { block: self.block, is_enough: Cell::new(false) };
        let mut shown = Instant::now();
        loop {
            if let Some(abort) = outside.as_deref_mut().and_then(JobLink::forward)
                && self.aborted.is_none()
            {
                // The user asked for the end and waits for it.
                self.aborted = Some(abort);
                self.signal_all(libc::SIGKILL);
            }
            self.collect();
            if self.children.iter().all(|child| child.end.is_some()) {
                break;
            }
            if self.stop_since.is_some_and(|since| since.elapsed() > self.grace) {
                self.kill();
            }
            let waited = outside.as_deref_mut().is_some_and(|outside| outside.wait(LOOK));
            let signal = supervised.take(if waited { Duration::ZERO } else { LOOK });
            let launcher_is_gone = outside.as_deref().is_some_and(JobLink::launcher_is_gone);
            if self.block.announcement().is_last()
                && (launcher_is_gone || signal.is_some_and(|signal| signal != libc::SIGCHLD))
            {
                // Nothing is left to stop but the library; a launcher ends all where the library of one process failed.
                self.signal_all(libc::SIGKILL);
                continue;
            }
            if let Some(outside) = outside.as_deref()
                && launcher_is_gone
            {
                self.orphaned(outside);
                continue;
            }
            match signal {
                None | Some(libc::SIGCHLD) => {}
                Some(signal) => match outside.as_deref().and_then(JobLink::notice) {
                    // The launcher kills all processes because of one rank.
                    Some(cause) if self.stop_since.is_none() => {
                        self.block.stop_because(&cause);
                        self.interrupt();
                    }
                    _ => self.asked_to_stop(signal),
                },
            }
            if shown.elapsed() >= LOOK {
                shown = Instant::now();
                watch(&view);
                if view.is_enough.get() && self.stopped.is_none() {
                    self.asked_to_stop(libc::SIGTERM);
                }
                if self.stop_since.is_none()
                    && let Some(cause) = outside.as_deref_mut().and_then(JobLink::poll_notice)
                {
                    if let CommError::Apart { text } = &cause {
                        self.apart = Some(text.clone());
                        self.grace = self.grace.min(ORPHAN_GRACE);
                    }
                    self.block.stop_because(&cause);
                    self.interrupt();
                }
            }
        }
        watch(&view);
    }

    /// The launcher killed its process, most often because of another rank, whose parent will tell.
    fn orphaned(&mut self, outside: &dyn JobLink) {
        let since = *self.orphan_since.get_or_insert_with(Instant::now);
        if self.stop_since.is_some() {
            self.grace = self.grace.min(ORPHAN_GRACE);
            return;
        }
        match outside.notice() {
            Some(CommError::RankLost { rank, reason }) => self.block.lose(rank, &reason),
            // The launcher's signal to all processes does not explain why this one was killed.
            Some(_) | None if since.elapsed() < NOTICE_WAIT => return,
            Some(_) | None => {
                let rank = self.block.job().map_or_else(|| outside.rank(), |job| job.rank);
                self.block.lose(rank, &orphaned_text(rank));
            }
        }
        self.interrupt();
    }

    fn asked_to_stop(&mut self, signal: i32) {
        if self.stopped.is_some() {
            self.kill();
            return;
        }
        self.stopped = Some(signal);
        self.block.stop(signal);
        self.interrupt();
    }

    /// Wakes ranks that sleep in a call, so that they look whether to stop.
    fn interrupt(&mut self) {
        self.stop_since.get_or_insert_with(Instant::now);
        self.signal_all(libc::SIGTERM);
    }

    fn kill(&mut self) {
        self.killed = true;
        self.signal_all(libc::SIGKILL);
    }

    fn signal_all(&self, signal: i32) {
        self.children.iter().filter(|child| child.end.is_none()).for_each(|child| child.signal(signal));
    }

    fn collect(&mut self) {
        let mut lost = false;
        for (rank, child) in self.children.iter_mut().enumerate() {
            if child.end.is_some() {
                continue;
            }
            let Some(status) = child.wait(WaitOptions::NOHANG) else { continue };
            let rank = rank as u32;
            let mut end = end_of(status, self.block, rank);
            if let (Some(abort), RankEnd::Exited(_) | RankEnd::Killed(_)) = (self.aborted, &end) {
                end = RankEnd::Aborted(abort);
            } else if self.killed && end == RankEnd::Killed(libc::SIGKILL) {
                end = match self.apart.take() {
                    Some(text) => RankEnd::Failed(text),
                    None => RankEnd::Stuck(self.block.status(rank).describe()),
                };
            }
            if self.block.announcement().is_last()
                && matches!(end, RankEnd::Exited(_) | RankEnd::Killed(_) | RankEnd::Aborted(_))
            {
                // All ranks had met at the end of the program: what became of the library takes nothing from the run.
                (end, self.library_left) = (RankEnd::Finished, true);
            }
            self.library_left |= status.exit_status() == Some(ExitStatus::EndedAlone as i32);
            if end != RankEnd::Finished {
                self.block.status(rank).set_activity(Activity::Lost);
            }
            lost |= tell_end(self.block, rank, &end);
            child.end = Some(end);
        }
        if lost && self.stop_since.is_none() {
            self.interrupt();
        }
    }

    /// How each rank ended.
    pub fn ends(self) -> RankEnds {
        let own = self.block.job().map_or(0, |job| job.rank);
        // A rank ended because its parent was killed is named as the cause only if there is no other.
        let blamed = match self.block.stopped() {
            Some(CommError::RankLost { rank, reason }) if rank != own => RankEnd::Left(reason),
            Some(cause @ CommError::Signalled { .. }) => RankEnd::Stopped(cause.to_string()),
            Some(_) | None => RankEnd::Orphaned,
        };
        let ends = self.children.into_iter().filter_map(|child| child.end).map(|end| match end {
            end if self.orphan_since.is_none() || self.stopped.is_some() => end,
            RankEnd::Failed(_) | RankEnd::Stuck(_) => blamed.clone(),
            RankEnd::Stopped(_) => RankEnd::Orphaned,
            end => end,
        });
        RankEnds {
            ends: ends.collect(),
            stopped: self.stopped,
            library_left: self.library_left,
            ..RankEnds::default()
        }
    }
}

/// Tells the other ranks how this one ended; true where they are to stop because of it.
fn tell_end(block: &ControlBlock, rank: u32, end: &RankEnd) -> bool {
    let reason = match end {
        RankEnd::Finished => {
            block.end(rank);
            return false;
        }
        RankEnd::Left(_) | RankEnd::Stopped(_) | RankEnd::Stuck(_) | RankEnd::Orphaned => return false,
        RankEnd::Failed(why) => format!("rank {rank} gave up: {why}"),
        RankEnd::Panicked(why) => format!("rank {rank} met a defect: {why}"),
        RankEnd::Killed(signal) => format!("rank {rank} was killed by {}", signals::name(*signal)),
        RankEnd::Exited(status) => format!("rank {rank} exited with status {status}"),
        RankEnd::Aborted(status) => aborted_text(rank, *status),
    };
    block.lose(rank, &reason);
    true
}

fn end_of(status: WaitStatus, block: &ControlBlock, rank: u32) -> RankEnd {
    if let Some(signal) = status.terminating_signal() {
        return RankEnd::Killed(signal);
    }
    let message = || block.message(rank).unwrap_or_else(|| "no reason given".into());
    let status = status.exit_status().unwrap_or_default();
    match ExitStatus::of(status) {
        Some(ExitStatus::Finished | ExitStatus::EndedAlone) => RankEnd::Finished,
        Some(ExitStatus::Left) => RankEnd::Left(message()),
        Some(ExitStatus::Stopped) => RankEnd::Stopped(message()),
        Some(ExitStatus::Failed | ExitStatus::NoWorld) => RankEnd::Failed(message()),
        Some(ExitStatus::Panicked) => RankEnd::Panicked(message()),
        None => RankEnd::Exited(status),
    }
}
