//! Forks ranks and supervises them until the last one is gone.

use std::time::{Duration, Instant};

use crate::shared::Region;
use crate::{CommError, Processes, Standing, State};

use crate::launch::{Launch, LaunchError};
use crate::outcome::{self, End, Outcome};
use crate::{rank, signals};

/// How often the parent looks at the ranks' counters when nothing happens.
const LOOK: Duration = Duration::from_millis(100);
/// Whose launcher killed its process waits so long for another keeper to say why.
const HEARSAY: Duration = Duration::from_secs(1);
/// And gives its rank at most so long to stop: nobody waits for it any more.
const ORPHANS_GRACE: Duration = Duration::from_secs(2);

/// What the parent sees of the ranks while they run.
pub struct Watch {
    region: &'static Region,
}

impl Watch {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.region.ranks()
    }

    /// Where a rank stands.
    pub fn standing(&self, rank: u32) -> &Standing {
        &self.region.rank(rank).standing
    }

    /// Samples and bytes of all ranks so far.
    pub fn recorded(&self) -> (u64, u64) {
        (0..self.ranks())
            .map(|rank| self.standing(rank))
            .fold((0, 0), |sum, one| (sum.0 + one.samples(), sum.1 + one.bytes()))
    }

    /// The least advanced rank's share of the program, from 0 to 1; `None` where it is not known.
    pub fn progress(&self) -> Option<f64> {
        (0..self.ranks())
            .map(|rank| match self.standing(rank).progress() {
                (_, 0) => None,
                (done, planned) => Some((done as f64 / planned as f64).min(1.0)),
            })
            .try_fold(1.0_f64, |least, share| Some(least.min(share?)))
    }
}

/// Forks `launch.ranks` ranks, runs `body` in each, and returns when all are gone.
///
/// The caller must have one thread only (a fork copies no other), and should make files and
/// shared memory that it wants to read afterwards before the call. `watch` is called about ten times a second
/// in the parent. The first Ctrl-C, SIGTERM or SIGHUP asks the ranks to stop, which they do after
/// the operation they are in; a second one, or the end of the grace period, kills them. A rank that
/// dies or fails makes the others leave their barriers at once.
///
/// # Errors
/// When ranks cannot be started; what happens to them later stands in the [`Outcome`].
pub fn processes(
    launch: &Launch,
    mut body: impl FnMut(Processes) -> Result<(), String>,
    mut watch: impl FnMut(&Watch),
) -> Result<Outcome, LaunchError> {
    if launch.ranks == 0 {
        return Err(LaunchError::NoRanks);
    }
    let region = Region::new(launch.ranks, launch.timeout)
        .map_err(|error| LaunchError::Memory { ranks: launch.ranks, error })?;
    // What stands in our own output buffer would be written by every rank as well.
    let _ = std::io::Write::flush(&mut std::io::stdout());
    let taken = signals::taken();
    let before = signals::block(&taken);
    let started = start(launch, region, &before, &mut body);
    let outcome = started.map(|children| {
        let mut family = Family::new(region, children, launch.grace);
        family.look_after(&taken, &mut |watching| watch(watching), None);
        family.outcome()
    });
    signals::restore(&before);
    // SAFETY: the ranks are gone, and so is what looked at the region here.
    unsafe { region.release() };
    outcome
}

/// Forks the ranks. `mask` is the signal mask they restore.
///
/// # Errors
/// When one cannot be forked; those started before are ended.
pub fn start(
    launch: &Launch,
    region: &'static Region,
    mask: &libc::sigset_t,
    body: &mut dyn FnMut(Processes) -> Result<(), String>,
) -> Result<Vec<Child>, LaunchError> {
    // SAFETY: getpid has no arguments and no effects.
    let parent = unsafe { libc::getpid() };
    let mut children: Vec<Child> = Vec::with_capacity(launch.ranks as usize);
    for me in 0..launch.ranks {
        // SAFETY: the caller has one thread, so the child owns a consistent copy of everything; it
        // leaves through _exit only.
        match unsafe { libc::fork() } {
            0 => rank::run(region, me, parent, mask, body),
            pid if pid > 0 => children.push(Child { pid, end: None }),
            _ => {
                let error = std::io::Error::last_os_error();
                for child in &children {
                    child.signal(libc::SIGKILL);
                    child.wait(0);
                }
                return Err(LaunchError::Fork { rank: me, ranks: launch.ranks, error });
            }
        }
    }
    Ok(children)
}

/// A forked rank.
pub struct Child {
    pid: libc::pid_t,
    end: Option<End>,
}

impl Child {
    fn signal(&self, signal: i32) {
        // SAFETY: the process is our child and not yet waited for, so the number is still its own.
        unsafe { libc::kill(self.pid, signal) };
    }

    /// The wait status, when it has ended.
    fn wait(&self, flags: i32) -> Option<i32> {
        let mut status = 0;
        // SAFETY: status is a live integer; the process is our child.
        let pid = unsafe { libc::waitpid(self.pid, &raw mut status, flags) };
        (pid == self.pid).then_some(status)
    }
}

/// Supervises forked ranks until the last one is gone.
pub struct Family {
    region: &'static Region,
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

    /// The lost rank and why, if another parent has told it. Looks at once.
    fn lost_rank(&self) -> Option<(u32, String)>;

    /// As [`JobLink::lost_rank`], cheap enough to ask ten times a second.
    fn poll_lost_rank(&mut self) -> Option<(u32, String)>;
}

impl Family {
    /// Supervises `children`; ranks that were told to stop have `grace` to do so.
    pub fn new(region: &'static Region, children: Vec<Child>, grace: Duration) -> Self {
        Self {
            region,
            children,
            stopped: None,
            stop_since: None,
            grace,
            killed: false,
            orphan_since: None,
            aborted: None,
        }
    }

    /// Returns when all ranks are gone. `outside` may bring a reason to stop: a rank of the MPI job was
    /// lost, or our launcher killed the process that it started.
    pub fn look_after(
        &mut self,
        taken: &libc::sigset_t,
        watch: &mut dyn FnMut(&Watch),
        mut outside: Option<&mut dyn JobLink>,
    ) {
        let watching = Watch { region: self.region };
        let mut shown = Instant::now();
        loop {
            if let Some(abort) = outside.as_deref_mut().and_then(JobLink::forward)
                && self.aborted.is_none()
            {
                // It waits for the end that it asked for.
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
            let signal = signals::take(taken, if waited { Duration::ZERO } else { LOOK });
            if let Some(outside) = outside.as_deref()
                && outside.launcher_is_gone()
            {
                self.orphaned(outside);
                continue;
            }
            match signal {
                None | Some(libc::SIGCHLD) => {}
                Some(signal) => match outside.as_deref().and_then(JobLink::lost_rank) {
                    // The launcher ends everybody because of one rank.
                    Some((rank, reason)) if self.stop_since.is_none() => {
                        self.region.lose(rank, &reason);
                        self.interrupt();
                    }
                    _ => self.asked_to_stop(signal),
                },
            }
            if shown.elapsed() >= LOOK {
                shown = Instant::now();
                watch(&watching);
                if self.stop_since.is_none()
                    && let Some((rank, reason)) = outside.as_deref_mut().and_then(JobLink::poll_lost_rank)
                {
                    self.region.lose(rank, &reason);
                    self.interrupt();
                }
            }
        }
        watch(&watching);
    }

    /// The launcher killed its process, most often because of another rank, whose keeper will tell.
    fn orphaned(&mut self, outside: &dyn JobLink) {
        let since = *self.orphan_since.get_or_insert_with(Instant::now);
        if self.stop_since.is_some() {
            self.grace = self.grace.min(ORPHANS_GRACE);
            return;
        }
        // A launcher that stops everybody because of us is no excuse.
        match outside.lost_rank().filter(|(_, reason)| !outcome::is_stop(reason)) {
            Some((rank, reason)) => self.region.lose(rank, &reason),
            None if since.elapsed() < HEARSAY => return,
            None => {
                let rank = self.region.job().map_or_else(|| outside.rank(), |(_, rank, _)| rank);
                self.region.lose(rank, &outcome::orphaned(rank));
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
        self.region.stop(signal);
        self.interrupt();
    }

    /// Ranks that sleep in a call should look whether to stop.
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
            let Some(status) = child.wait(libc::WNOHANG) else { continue };
            let rank = rank as u32;
            let mut end = end_of(status, self.region, rank);
            if let (Some(abort), End::Exited(_) | End::Killed(_)) = (self.aborted, &end) {
                end = End::Aborted(abort);
            } else if self.killed && end == End::Killed(libc::SIGKILL) {
                end = End::Stuck(self.region.rank(rank).standing.words());
            }
            if end != End::Finished {
                self.region.rank(rank).standing.set_state(State::Lost);
            }
            match &end {
                End::Finished => self.region.end(rank),
                End::Left(_) | End::Stuck(_) | End::Orphaned => {}
                End::Failed(why) => self.region.lose(rank, &format!("rank {rank} gave up: {why}")),
                End::Panicked(why) => self.region.lose(rank, &format!("rank {rank} met a defect: {why}")),
                End::Killed(signal) => {
                    self.region.lose(rank, &format!("rank {rank} was killed by {}", signals::name(*signal)));
                }
                End::Exited(status) => {
                    self.region.lose(rank, &format!("rank {rank} exited with status {status}"));
                }
                End::Aborted(status) => self.region.lose(rank, &outcome::aborted(rank, *status)),
            }
            lost |= !matches!(end, End::Finished | End::Left(_) | End::Stuck(_) | End::Orphaned);
            child.end = Some(end);
        }
        if lost && self.stop_since.is_none() {
            self.interrupt();
        }
    }

    /// How each rank ended.
    pub fn outcome(self) -> Outcome {
        let own = self.region.job().map_or(0, |(_, rank, _)| rank);
        // A rank that was ended because our own process was killed is to blame only where nobody else is.
        let blamed = match self.region.stopped() {
            Some(CommError::RankLost { rank, reason }) if rank != own => End::Left(reason),
            _ => End::Orphaned,
        };
        let ends = self.children.into_iter().filter_map(|child| child.end).map(|end| match end {
            end if self.orphan_since.is_none() || self.stopped.is_some() => end,
            End::Failed(_) | End::Stuck(_) => blamed.clone(),
            End::Left(reason) if outcome::is_stop(&reason) => End::Orphaned,
            end => end,
        });
        Outcome { ends: ends.collect(), stopped: self.stopped, ..Outcome::default() }
    }
}

fn end_of(status: i32, region: &Region, rank: u32) -> End {
    if libc::WIFSIGNALED(status) {
        return End::Killed(libc::WTERMSIG(status));
    }
    let message = || region.message(rank).unwrap_or_else(|| "no reason given".into());
    match libc::WEXITSTATUS(status) {
        rank::FINISHED => End::Finished,
        rank::LEFT => End::Left(message()),
        rank::FAILED => End::Failed(message()),
        rank::PANICKED => End::Panicked(message()),
        rank::UNUSABLE => End::Failed(message()),
        other => End::Exited(other),
    }
}
