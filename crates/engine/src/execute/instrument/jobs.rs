//! How are operations of an `async` block under way at the same time?
//!
//! Each is a *job*: one call of the kernel, or open, transfer and close one after another. Its first
//! clock read stands before its first submission, its second after its last completion was seen.
//! Operations on one name keep their order where one of them changes it, and an fsync waits for the
//! transfers of its file; both before the clock is read.

mod job;

use std::time::Duration;

use super::{Posix, SPIN_NS};
use crate::execute::backend::{Call, Completed, Meaning, Patience, Started, Timed};
use crate::files::Refusal;
use crate::ops::buffers::{Buffer, SCRATCH_LIMIT};
use samples::Outcome;

use crate::ops::posix;
use crate::ops::ring::Ring;
use job::{After, Job, Key, Next, Work};

/// What is under way.
pub(super) struct Flights {
    ring: Ring,
    depth: u32,
    jobs: Vec<Job>,
    /// The numbers of the jobs under way.
    active: Vec<u32>,
    /// Tells a completion from one of an earlier job of the same number.
    generation: u32,
    /// Jobs so far, and those of them that were done when their submission returned.
    total: u64,
    at_once: u64,
    /// The job submitted last.
    fresh: u32,
    /// A job that the kernel did not take.
    failed: Option<Completed>,
    broken: bool,
}

impl Flights {
    fn new(depth: u32) -> std::io::Result<Self> {
        Ok(Self {
            ring: Ring::new(depth)?,
            depth,
            jobs: (0..depth).map(|_| Job::default()).collect(),
            active: Vec::with_capacity(depth as usize),
            generation: 0,
            total: 0,
            at_once: 0,
            fresh: u32::MAX,
            failed: None,
            broken: false,
        })
    }

    /// Must a job with these keys wait for one that is under way?
    fn conflict(&self, keys: &[Option<Key>; 2], work: &Work) -> bool {
        let mine = keys.iter().flatten();
        mine.clone().any(|key| {
            self.active.iter().any(|&number| {
                let other = &self.jobs[number as usize];
                other.keys.iter().flatten().any(|taken| key.waits_for(taken, work, &other.work))
            })
        })
    }
}

impl Posix {
    /// Makes a ring for `depth` operations at a time; the reason where there is none.
    pub(super) fn begin_flights(&mut self, depth: u32) -> Result<(), String> {
        if self.flights.as_ref().is_none_or(|flights| flights.depth != depth || flights.broken) {
            self.flights = None;
            let flights = Flights::new(depth).map_err(|error| error.to_string())?;
            self.flights = Some(Box::new(flights));
        }
        self.scratch.keep_replaced(true);
        Ok(())
    }

    /// Nothing is under way: the kernel's positions of files are ours again.
    pub(super) fn land(&mut self) {
        for open in self.files.iter_mut().flatten().filter(|open| open.moved) {
            posix::seek(open.fd, open.position as i64, libc::SEEK_SET);
            open.moved = false;
        }
    }

    /// The `async` block is over. Says so where hardly anything was under way at the same time.
    pub(super) fn end_flights(&mut self) {
        self.land();
        self.scratch.keep_replaced(false);
        let Some(flights) = &mut self.flights else { return };
        let (total, at_once) = (flights.total, flights.at_once);
        (flights.total, flights.at_once) = (0, 0);
        if total >= 10 && at_once * 10 >= total * 9 && flights.depth > 1 {
            self.notes.push(samples::Warning {
                code: "async-at-once".into(),
                text: format!(
                    "{at_once} of {total} operations of `async depth={}` were done when they had been \
                     handed over: the kernel served them from memory, one after the other",
                    flights.depth
                ),
                advice: "open files with O_DIRECT to keep the device busy with many at a time".into(),
            });
        }
    }

    /// Hands an operation over as job `number`.
    pub(super) fn start_flight(
        &mut self,
        number: u32,
        call: Call<'_>,
        verify: bool,
    ) -> Result<Started, Refusal> {
        let Some(mut flights) = self.flights.take() else { return Ok(Started::InOrder) };
        let started = self.launch(&mut flights, number, call, verify);
        self.flights = Some(flights);
        started
    }

    fn launch(
        &mut self,
        flights: &mut Flights,
        number: u32,
        call: Call<'_>,
        verify: bool,
    ) -> Result<Started, Refusal> {
        if flights.broken || !flights.ring.offers(job::code(&call)) {
            return Ok(Started::InOrder);
        }
        let mut job = std::mem::take(&mut flights.jobs[number as usize]);
        job.reset();
        job.verify = verify;
        let ready = self.prepare(flights, &mut job, call);
        let started = match ready {
            Ok(Started::UnderWay { .. }) => {
                job.begin = self.clock.now();
                flights.generation = flights.generation.wrapping_add(1);
                job.tag = u64::from(flights.generation) << 32 | u64::from(number);
                let entry = job.entry();
                // SAFETY: the job owns, or keeps the number of, all memory that the entry names; it
                // stays in `flights.jobs`, which never grows, until its completion was taken. Paths,
                // buffers and results are allocations of their own that do not move with the job.
                let submitted = unsafe { flights.ring.submit(&entry) };
                let begin = job.begin;
                if let Err(errno) = submitted {
                    // What it points to stays where it is: the entry may lie in the queue still.
                    flights.broken = true;
                    let timed = Timed {
                        begin,
                        end: self.clock.now(),
                        outcome: Outcome::error(errno),
                        ..Timed::default()
                    };
                    flights.failed = Some(Completed { number, timed, wrong: None });
                } else {
                    flights.active.push(number);
                }
                flights.total += 1;
                flights.fresh = number;
                Ok(Started::UnderWay { begin })
            }
            other => other,
        };
        flights.jobs[number as usize] = job;
        started
    }

    /// Evaluates, checks, allocates: everything that is to be done before the clock is read.
    fn prepare(&mut self, flights: &mut Flights, job: &mut Job, call: Call<'_>) -> Result<Started, Refusal> {
        let under_way = Ok(Started::UnderWay { begin: 0 });
        let limit = SCRATCH_LIMIT as u64;
        match call {
            Call::Write { file, length, offset, buffer }
            | Call::Read { file, length: Some(length), offset, buffer } => {
                let write = matches!(call, Call::Write { .. });
                let Some(open) = self.file(file).filter(|open| open.fd >= 0) else {
                    return Ok(Started::InOrder);
                };
                let (fd, place) = (open.fd, offset.unwrap_or(open.position));
                if length > limit {
                    return Ok(Started::InOrder);
                }
                job.keys[0] = Some(Key::File(file));
                job.work = if write { Work::Write } else { Work::Read };
                if flights.conflict(&job.keys, &job.work) {
                    return Ok(Started::Conflict);
                }
                let memory = match (write, buffer) {
                    (true, _) => self.source(place, length, buffer).map(<*const u8>::cast_mut),
                    (false, None) => job.own_memory(length as usize),
                    (false, Some(_)) => self.program_memory(length, buffer),
                };
                let Ok(memory) = memory else { return Ok(Started::InOrder) };
                job.verify &= buffer.is_none();
                job.transfer(fd, memory, place, length);
                if offset.is_none() {
                    self.advance(file, place + length);
                    if let Some(Some(open)) = self.files.get_mut(file as usize) {
                        open.moved = true;
                    }
                }
            }
            Call::Sync { file, .. } | Call::Allocate { file, .. } => {
                let Some(open) = self.file(file).filter(|open| open.fd >= 0) else {
                    return Ok(Started::InOrder);
                };
                job.fd = open.fd;
                job.keys[0] = Some(Key::File(file));
                job.work = match call {
                    Call::Allocate { offset, length, mode, .. } => Work::Allocate { offset, length, mode },
                    Call::Sync { data_only, .. } => Work::Sync { data_only },
                    _ => return Ok(Started::InOrder),
                };
                if flights.conflict(&job.keys, &job.work) {
                    return Ok(Started::Conflict);
                }
            }
            Call::WriteFile { path, length, offset, flags, buffer } => {
                let append = flags & libc::O_APPEND != 0;
                // Appended bytes that will be looked at need the file's size at that moment.
                if length > limit || (append && self.verifying) {
                    return Ok(Started::InOrder);
                }
                job.name(path, true);
                job.work = Work::WriteFile;
                if flights.conflict(&job.keys, &job.work) {
                    return Ok(Started::Conflict);
                }
                let around = self.confinement.check("write to", path)?;
                self.registry.intend(path, around.birth_times);
                job.after = After::Settle { birth_times: around.birth_times };
                let Ok(from) = self.source(if append { 0 } else { offset }, length, buffer) else {
                    return Ok(Started::InOrder);
                };
                job.transfer(-1, from.cast_mut(), offset, length);
                job.flags = flags | if append { 0 } else { libc::O_TRUNC } | libc::O_WRONLY | libc::O_CREAT;
                job.flags |= libc::O_NOFOLLOW | libc::O_CLOEXEC;
                job.mode = 0o666;
                job.program_buffer = buffer;
            }
            Call::Create { path } => {
                job.name(path, true);
                job.work = Work::Create;
                if flights.conflict(&job.keys, &job.work) {
                    return Ok(Started::Conflict);
                }
                let around = self.confinement.check("create", path)?;
                self.registry.intend(path, around.birth_times);
                job.after = After::Settle { birth_times: around.birth_times };
                job.flags =
                    libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW | libc::O_CLOEXEC;
                job.mode = 0o666;
            }
            Call::ReadFile { path, length, offset, flags } => {
                self.may_read(path)?;
                job.name(path, false);
                job.work = Work::ReadFile;
                if flights.conflict(&job.keys, &job.work) {
                    return Ok(Started::Conflict);
                }
                let expected = length.unwrap_or_else(|| posix::stat(path).value.saturating_sub(offset));
                let asked =
                    if flags & libc::O_DIRECT == 0 { expected } else { expected.next_multiple_of(4096) };
                if asked > limit {
                    return Ok(Started::InOrder);
                }
                let Ok(into) = job.own_memory(asked as usize) else { return Ok(Started::InOrder) };
                job.transfer(-1, into, offset, asked);
                job.expected = expected;
                job.flags = libc::O_RDONLY | libc::O_CLOEXEC | flags;
            }
            Call::Stat { path } => {
                self.may_read(path)?;
                job.name(path, false);
                job.work = Work::Stat;
                if flights.conflict(&job.keys, &job.work) {
                    return Ok(Started::Conflict);
                }
            }
            Call::Delete { path } | Call::Unlink { path } | Call::RemoveDirectory { path } => {
                job.name(path, true);
                job.work = Work::Remove {
                    directory: matches!(call, Call::RemoveDirectory { .. }),
                    either: matches!(call, Call::Delete { .. }),
                };
                if flights.conflict(&job.keys, &job.work) {
                    return Ok(Started::Conflict);
                }
                self.confinement.check("remove", path)?;
                job.after = After::Forget;
            }
            Call::MakeDirectory { path, mode } => {
                job.name(path, true);
                job.work = Work::MakeDirectory;
                if flights.conflict(&job.keys, &job.work) {
                    return Ok(Started::Conflict);
                }
                let around = self.confinement.check("make", path)?;
                self.registry.intend(path, around.birth_times);
                job.after = After::Settle { birth_times: around.birth_times };
                job.mode = mode;
            }
            _ => return Ok(Started::InOrder),
        }
        under_way
    }

    /// The next job that is done.
    pub(super) fn next_landed(&mut self, patience: Patience) -> Option<Completed> {
        let mut flights = self.flights.take()?;
        let found = self.land_one(&mut flights, patience);
        self.flights = Some(flights);
        found
    }

    fn land_one(&mut self, flights: &mut Flights, patience: Patience) -> Option<Completed> {
        if let Some(failed) = flights.failed.take() {
            return Some(failed);
        }
        loop {
            while let Some((tag, result)) = flights.ring.completed() {
                let end = self.clock.now();
                if let Some(done) = self.arrived(flights, tag, result, end) {
                    if patience == Patience::Look && done.number == flights.fresh {
                        flights.at_once += 1;
                    }
                    return Some(done);
                }
            }
            if flights.active.is_empty() {
                return None;
            }
            match patience {
                Patience::Look => return None,
                Patience::Wait => flights.ring.wait(None),
                Patience::Until(ticks) => {
                    let now = self.clock.now();
                    if now >= ticks {
                        return None;
                    }
                    let left_ns = self.clock.picoseconds(now, ticks) / 1000;
                    match left_ns.checked_sub(SPIN_NS) {
                        Some(nap) if nap > 0 => flights.ring.wait(Some(Duration::from_nanos(nap))),
                        _ => std::hint::spin_loop(),
                    }
                }
            }
        }
    }

    /// A call of a job came back: the next one is submitted, or the job is done.
    fn arrived(&mut self, flights: &mut Flights, tag: u64, result: i32, end: u64) -> Option<Completed> {
        let number = tag as u32;
        let job = flights.jobs.get_mut(number as usize).filter(|job| job.tag == tag)?;
        if job.step(result) == Next::Call {
            let entry = job.entry();
            // SAFETY: as for the job's first call.
            match unsafe { flights.ring.submit(&entry) } {
                Ok(()) => return None,
                Err(errno) => {
                    flights.broken = true;
                    job.outcome.errno = errno;
                }
            }
        }
        flights.active.retain(|active| *active != number);
        let mut job = std::mem::take(&mut flights.jobs[number as usize]);
        let completed = self.done(number, &mut job, end);
        flights.jobs[number as usize] = job;
        Some(completed)
    }

    fn done(&mut self, number: u32, job: &mut Job, end: u64) -> Completed {
        let path = job.path();
        match job.after {
            After::Nothing => {}
            After::Settle { birth_times } => self.registry.settle(path, birth_times),
            After::Forget if job.outcome.ok() => self.registry.forget(path),
            After::Forget => {}
        }
        let meaning = job.meaning();
        let mut timed = Timed { begin: job.begin, end, outcome: job.outcome, meaning, ..Timed::default() };
        if timed.outcome.errno == libc::ELOOP && matches!(job.work, Work::WriteFile | Work::Create) {
            // A link at the end of the path: done again, in the ordinary way, if it leads to a place
            // that is allowed.
            let flags = job.flags & (libc::O_APPEND | libc::O_DIRECT);
            let again = match job.work {
                Work::Create => Call::Create { path },
                _ => Call::WriteFile {
                    path,
                    length: job.length,
                    offset: job.offset,
                    flags,
                    buffer: job.program_buffer,
                },
            };
            if let Ok(followed) = self.perform_other(again) {
                timed = followed;
            }
        }
        let mut wrong = None;
        if job.verify && meaning == Meaning::Bytes && matches!(job.work, Work::Read | Work::ReadFile) {
            let length = timed.outcome.value as usize;
            if let (true, Some(found)) = (timed.outcome.ok(), &job.memory) {
                wrong = self
                    .scratch
                    .differs(job.offset, &found.bytes()[..length.min(found.length())])
                    .map(|at| job.offset + at as u64);
            }
        }
        Completed { number, timed, wrong }
    }

    fn program_memory(&self, length: u64, buffer: Option<u32>) -> Result<*mut u8, i32> {
        let number = buffer.ok_or(libc::EFAULT)? as usize;
        match self.buffers.get(number) {
            Some(Some(own)) if own.length() as u64 >= length => Ok(Buffer::pointer(own)),
            _ => Err(libc::EFAULT),
        }
    }
}

impl Drop for Flights {
    /// What the kernel may still write to is not given back before it is done.
    fn drop(&mut self) {
        while !self.active.is_empty() {
            while let Some((tag, _)) = self.ring.completed() {
                self.active.retain(|number| self.jobs[*number as usize].tag != tag);
            }
            if !self.active.is_empty() {
                self.ring.wait(None);
            }
        }
    }
}
