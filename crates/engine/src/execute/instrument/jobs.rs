//! Operations of an `async` block that are under way at the same time.
//!
//! Each is a *job*: one submission to the driver. Its first clock read stands before the submission, its second
//! after its completion was seen. Operations on one name keep their order where one of them changes it, and an
//! fsync waits for the transfers of its file; both before the clock is read.

use std::ffi::CStr;
use std::time::Duration;

use samples::{Outcome, Warning};

use super::bracket::SPIN_NS;
use super::guard::Makes;
use super::keys::Key;
use super::layer::Layer;
use super::opening::{Opening, Way};
use super::under_way::{After, Again, AsyncJob, Jobs};
use crate::buffers::SCRATCH_LIMIT;
use crate::content::Destined;
use crate::driver::{Driver, Handle, Submission};
use crate::execute::call::{Call, Completed, Meaning, Patience, Started, Timed};
use crate::files::{MAKE, Moment, ParentFacts, READ, Reached, Refusal};

/// The flag of an open of what must be new.
fn exclusive(makes: Makes) -> i32 {
    if makes == Makes::Surely { libc::O_EXCL } else { 0 }
}

impl Layer {
    /// In virtual time: does the operation now and lets it end later.
    pub(super) fn start_virtually(
        &mut self,
        driver: &mut dyn Driver,
        number: u32,
        call: Call<'_>,
    ) -> Result<Started, Refusal> {
        let begin = self.bracket.now();
        let timed = self.perform(driver, call)?;
        self.bracket.rewind(begin);
        self.virtual_jobs.started(number, timed);
        Ok(Started::UnderWay { begin })
    }

    /// Makes ready for `depth` operations at a time; a warning where they will be done one by one.
    pub(super) fn begin_async(&mut self, driver: &mut dyn Driver, depth: u32) -> Option<Warning> {
        if self.bracket.is_virtual() {
            self.virtual_jobs.begin(depth);
            return None;
        }
        if let Err(why) = driver.begin_async(depth) {
            self.jobs = None;
            return Some(Warning {
                code: "async-one-by-one".into(),
                text: format!("operations of `async depth={depth}` were done one after the other: {why}"),
                advice: "take their durations as those of a depth of 1, or allow io_uring \
                         (kernel.io_uring_disabled, the container's seccomp profile)"
                    .into(),
            });
        }
        if self.jobs.as_ref().is_none_or(|jobs| jobs.depth != depth || jobs.broken) {
            self.jobs = Some(Box::new(Jobs::new(depth)));
        }
        self.guard.set_concurrent();
        None
    }

    /// The `async` block is over. Says so where hardly anything was under way at the same time.
    pub(super) fn end_async(&mut self, driver: &mut dyn Driver) {
        self.restore_positions(driver);
        let Some(jobs) = &mut self.jobs else { return };
        let (total, at_once) = (jobs.total, jobs.at_once);
        (jobs.total, jobs.at_once) = (0, 0);
        if total >= 10 && at_once * 10 >= total * 9 && jobs.depth > 1 {
            self.notes.push(Warning {
                code: "async-at-once".into(),
                text: format!(
                    "{} of {} operations of a rank in `async depth={}` were done when they had been handed over: the kernel \
                     served them {}, one after the other",
                    samples::units::count(at_once),
                    samples::units::count(total),
                    jobs.depth,
                    if self.opened_to_read.direct { "itself" } else { "from memory" }
                ),
                advice: match self.opened_to_read.direct {
                    true => "files are open with O_DIRECT: look whether they were ever written, and whether their \
                             file system honours it",
                    false => "open files with O_DIRECT to keep the device busy with many at a time",
                }
                .into(),
            });
        }
    }

    /// Hands an operation over as job `number`.
    pub(super) fn start(
        &mut self,
        driver: &mut dyn Driver,
        number: u32,
        call: Call<'_>,
        verify: bool,
    ) -> Result<Started, Refusal> {
        let Some(mut jobs) = self.jobs.take() else { return Ok(Started::InOrder) };
        self.room.set_beside(jobs.bytes);
        let mut job = jobs.jobs[number as usize].take().unwrap_or_default();
        job.reset();
        job.bytes = call.bytes_written();
        let started = match Key::of(&call) {
            None => Ok(Started::InOrder),
            Some(_) if jobs.broken => Ok(Started::InOrder),
            Some(key) if jobs.conflict(&key) => Ok(Started::Conflict),
            Some(key) => {
                job.key = Some(key);
                self.hand_over(driver, &mut jobs, (number, &mut job), (call, verify))
            }
        };
        jobs.jobs[number as usize] = Some(job);
        self.jobs = Some(jobs);
        self.room.set_beside(0);
        started
    }

    fn hand_over(
        &mut self,
        driver: &mut dyn Driver,
        jobs: &mut Jobs,
        (number, job): (u32, &mut AsyncJob),
        (call, verify): (Call<'_>, bool),
    ) -> Result<Started, Refusal> {
        let submission = match call {
            Call::Write { .. } | Call::Read { .. } | Call::Sync { .. } | Call::Allocate { .. } => {
                self.submission_on_file(job, call, verify)
            }
            _ => self.submission_on_name(driver, job, call, verify)?,
        };
        let Some(submission) = submission else { return Ok(Started::InOrder) };
        if !driver.prepare(number, submission) {
            return Ok(Started::InOrder);
        }
        if let Call::Write { file, length, offset: None, .. }
        | Call::Read { file, length: Some(length), offset: None } = call
            && let Some(open) = self.files.get_mut(file)
        {
            open.position += length;
            open.moved = true;
        }
        self.bracket.pass_over();
        let begin = self.bracket.clock.now();
        // SAFETY: reads go to memory of the job, which only `done` reads; writes come from memory of the job, or from a
        // buffer of the program, which is given back in the ordinary way, after all jobs.
        if let Err(errno) = unsafe { driver.submit(number) } {
            jobs.broken = true;
            let end = self.bracket.clock.now();
            let timed = Timed { begin, end, outcome: Outcome::error(errno), ..Timed::default() };
            jobs.failed = Some(Completed { number, timed, wrong: None });
        } else {
            jobs.started(job);
        }
        job.begin = begin;
        jobs.total += 1;
        jobs.fresh = number;
        Ok(Started::UnderWay { begin })
    }

    /// Evaluates and allocates what an operation on an open file needs before the clock is read.
    fn submission_on_file<'c>(
        &mut self,
        job: &mut AsyncJob,
        call: Call<'c>,
        verify: bool,
    ) -> Option<Submission<'c>> {
        let (Call::Write { file, .. }
        | Call::Read { file, .. }
        | Call::Sync { file, .. }
        | Call::Allocate { file, .. }) = call
        else {
            return None;
        };
        let open = self.files.get(file)?;
        let (handle, position, name): (Handle, u64, _) = (open.handle?, open.position, open.name);
        let must_ask = open.appends && self.verifying && self.content;
        let limit = SCRATCH_LIMIT as u64;
        match call {
            // Done in order, it fails with a message.
            Call::Write { length, .. } | Call::Allocate { length, .. }
                if self.must_look_at(file, length) && self.would_fill_file(file, length) =>
            {
                None
            }
            // Where it ends is asked for in order.
            Call::Write { .. } if must_ask => None,
            Call::Write { length, offset, buffer, .. } if length <= limit => {
                let offset = offset.unwrap_or(position);
                job.meaning = Meaning::Bytes;
                let to = Destined { file: name, place: offset, appended: false };
                let from = self.source_of(job, (to, length, buffer)).ok()?;
                Some(Submission::Write { file: handle, from, length, offset })
            }
            Call::Read { length: Some(length), offset, .. } if length <= limit => {
                let offset = offset.unwrap_or(position);
                job.meaning = Meaning::Bytes;
                job.verify = verify.then(|| self.to_verify((name, offset), false));
                let into = job.own_memory(length as usize).ok()?;
                Some(Submission::Read { file: handle, into, length, offset })
            }
            Call::Sync { data_only, .. } => Some(Submission::Sync { file: handle, data_only }),
            // In order, so that what is verified later has the holes.
            Call::Allocate { mode, .. } if self.verifying && mode & !libc::FALLOC_FL_KEEP_SIZE != 0 => None,
            Call::Allocate { offset, length, mode, .. } => {
                Some(Submission::Allocate { file: handle, offset, length, mode })
            }
            _ => None,
        }
    }

    /// As [`Layer::submission_on_file`], and checks and registers the name.
    fn submission_on_name<'c>(
        &mut self,
        driver: &mut dyn Driver,
        job: &mut AsyncJob,
        call: Call<'c>,
        verify: bool,
    ) -> Result<Option<Submission<'c>>, Refusal> {
        let limit = SCRATCH_LIMIT as u64;
        if self.guard.holds_names() {
            // What is checked must stay open until the call is done: in order.
            return Ok(None);
        }
        let no_follow = self.guard.no_follow();
        Ok(match call {
            Call::WriteFile { path, length, offset, flags, buffer } => {
                let append = flags & libc::O_APPEND != 0;
                // Appended bytes that will be looked at need the file's size at that moment.
                if length > limit || (append && self.verifying) {
                    return Ok(None);
                }
                let how = Opening::whole(append, length);
                let Some(makes) = self.may_open(job, how, path)? else { return Ok(None) };
                job.meaning = Meaning::Bytes;
                job.again = Some(Again::WriteFile { length, offset, flags, buffer });
                let file = self.file_name(path);
                let counted = append && self.content && buffer.is_none();
                let place = if counted { self.catalogue.append(file, length) } else { offset };
                if !append {
                    self.emptied(file);
                    self.may_be_short(file);
                }
                let to = Destined { file, place, appended: append };
                let Ok(from) = self.source_of(job, (to, length, buffer)) else { return Ok(None) };
                let how = flags | if append { 0 } else { libc::O_TRUNC } | libc::O_WRONLY | libc::O_CREAT;
                let how = how | no_follow | exclusive(makes);
                Some(Submission::WriteFile { path, flags: how, from, length, offset })
            }
            Call::Create { path } => {
                let how = Opening::to_create();
                let Some(makes) = self.may_open(job, how, path)? else { return Ok(None) };
                job.again = Some(Again::Create);
                if self.verifying {
                    let name = self.file_name(path);
                    self.emptied(name);
                    self.may_be_short(name);
                }
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | no_follow | exclusive(makes);
                Some(Submission::Create { path, flags })
            }
            Call::ReadFile { path, length, offset, flags } => {
                let Some(way) = self.may_read(path)? else { return Ok(None) };
                let expected = length.unwrap_or_else(|| driver.stat(path).value.saturating_sub(offset));
                let asked =
                    if flags & libc::O_DIRECT == 0 { expected } else { expected.next_multiple_of(4096) };
                if asked > limit {
                    return Ok(None);
                }
                job.meaning = Meaning::Bytes;
                job.verify = verify.then(|| {
                    let file = self.file_name(path);
                    self.to_verify((file, offset), length.is_none())
                });
                let Ok(into) = job.own_memory(asked as usize) else { return Ok(None) };
                job.path.extend_from_slice(path.to_bytes_with_nul());
                job.again = Some(Again::ReadFile { length, offset, flags });
                let (flags, straight) = (libc::O_RDONLY | flags | way.no_follow, way.straight);
                Some(Submission::ReadFile { path, flags, straight, into, length: asked, offset, expected })
            }
            Call::Stat { path } => {
                self.guard.may_ask(path)?;
                Some(Submission::Stat { path })
            }
            Call::Delete { path } => {
                if !self.may_remove(job, path)? {
                    return Ok(None);
                }
                Some(Submission::Delete { path })
            }
            Call::Unlink { path } => {
                if !self.may_remove(job, path)? {
                    return Ok(None);
                }
                Some(Submission::Unlink { path })
            }
            Call::RemoveDirectory { path } => {
                if !self.may_remove(job, path)? {
                    return Ok(None);
                }
                Some(Submission::RemoveDirectory { path })
            }
            Call::MakeDirectory { path, mode } => {
                self.guard.may_have_mode(MAKE, path, mode, true)?;
                let around = self.guard.check(MAKE, path)?;
                if self.guard.is_unsteady(around) {
                    return Ok(None);
                }
                self.will_make(job, (around, Makes::Surely), path);
                Some(Submission::MakeDirectory { path, mode })
            }
            _ => None,
        })
    }

    /// Where a job's write takes its bytes from.
    fn source_of(
        &mut self,
        job: &mut AsyncJob,
        (to, length, buffer): (Destined, u64, Option<u32>),
    ) -> Result<*const u8, i32> {
        job.writes = Some((to, buffer));
        match buffer {
            None if self.content => job.filled(length as usize, |memory| self.fill(to, memory)),
            _ => self.source(to, length, buffer),
        }
    }

    /// May this file be opened to read, and how? Where a link is found the job is done again in order. `None`: at once in order.
    fn may_read(&mut self, path: &CStr) -> Result<Option<Way>, Refusal> {
        if !self.guard.judges() {
            return Ok(Some(Way::default()));
        }
        if !self.guard.may_read_unfollowed(path)? {
            return Ok(None);
        }
        let reached = Reached::unchecked(path, self.guard.check(READ, path)?);
        self.guard.leave_special(READ, path, (&reached, false))?;
        Ok(Some(self.guard.way(&reached)))
    }

    /// May this file be opened to write, and how? What this rank did not make before is to be new; where something is there,
    /// the job fails and is done again in order, where the open file is asked whose it is. `None`: at once in order.
    fn may_open(
        &mut self,
        job: &mut AsyncJob,
        Opening { what, makes, bytes, .. }: Opening,
        path: &CStr,
    ) -> Result<Option<Makes>, Refusal> {
        let reached = self.guard.reach(what, path)?;
        let around = reached.around;
        let there = self.room.known(around.device);
        // Done in order, it fails with a message.
        if self.room.must_look(there, bytes) && self.would_fill((path, &reached.path), bytes) {
            return Ok(None);
        }
        let makes = match self.guard.judges() && !around.trusted {
            false => makes,
            true if !self.guard.knows(path) => Makes::Surely,
            true if self.guard.is_unsteady(around) => return Ok(None),
            true if self.guard.own(what, path, &reached)?.is_some() => makes,
            true => Makes::Surely,
        };
        self.will_make(job, (around, makes), path);
        Ok(Some(makes))
    }

    fn will_make(&mut self, job: &mut AsyncJob, (around, makes): (ParentFacts, Makes), path: &CStr) {
        self.guard.intend(path, around, makes);
        job.after = After::Settle(around, makes, Moment::now());
        job.path.extend_from_slice(path.to_bytes_with_nul());
    }

    /// May it be removed while others are under way? Not where it may then be something else.
    fn may_remove(&mut self, job: &mut AsyncJob, path: &CStr) -> Result<bool, Refusal> {
        let reached = self.guard.reach("remove", path)?;
        if self.guard.is_unsteady(reached.around) {
            return Ok(false);
        }
        job.found = self.guard.own("remove", path, &reached)?;
        job.after = After::Forget;
        job.path.extend_from_slice(path.to_bytes_with_nul());
        Ok(true)
    }

    /// The next job that is done.
    pub(super) fn completed(&mut self, driver: &mut dyn Driver, patience: Patience) -> Option<Completed> {
        let mut jobs = self.jobs.take()?;
        let found = self.next_done(driver, &mut jobs, patience);
        self.jobs = Some(jobs);
        found
    }

    fn next_done(
        &mut self,
        driver: &mut dyn Driver,
        jobs: &mut Jobs,
        patience: Patience,
    ) -> Option<Completed> {
        if let Some(failed) = jobs.failed.take() {
            return Some(failed);
        }
        loop {
            if let Some((number, outcome)) = driver.completed() {
                let end = self.bracket.clock.now();
                jobs.ended(number);
                if patience == Patience::Look && number == jobs.fresh {
                    jobs.at_once += 1;
                }
                let mut job = jobs.jobs[number as usize].take().unwrap_or_default();
                let done = self.done(driver, number, &mut job, (outcome, end));
                jobs.jobs[number as usize] = Some(job);
                return Some(done);
            }
            if jobs.active == 0 {
                return None;
            }
            match patience {
                Patience::Look => return None,
                Patience::Wait => driver.wait(None),
                Patience::Until(ticks) => {
                    let now = self.bracket.clock.now();
                    if now >= ticks {
                        return None;
                    }
                    let left_ns = self.bracket.clock.picoseconds(now, ticks) / 1000;
                    match left_ns.checked_sub(SPIN_NS) {
                        Some(nap) if nap > 0 => driver.wait(Some(Duration::from_nanos(nap))),
                        _ => std::hint::spin_loop(),
                    }
                }
            }
        }
    }

    fn done(
        &mut self,
        driver: &mut dyn Driver,
        number: u32,
        job: &mut AsyncJob,
        (outcome, end): (Outcome, u64),
    ) -> Completed {
        let path = job.path();
        match job.after {
            After::Nothing => {}
            After::Settle(around, makes, since) => {
                if outcome.ok() && makes == Makes::Surely {
                    self.guard.made(&Reached::unchecked(path, around), since);
                }
                self.guard.settle(path, around, makes, outcome.errno);
            }
            After::Forget if outcome.ok() => {
                self.guard.gone(job.found.as_ref());
                self.guard.removed(path);
                self.content_removed(path);
            }
            After::Forget => {}
        }
        let mut wrong = None;
        let mut timed = Timed { begin: job.begin, end, outcome, meaning: job.meaning, ..Timed::default() };
        if let (libc::ELOOP | libc::EEXIST, Some(again)) = (timed.outcome.errno, job.again) {
            // If the link leads to a place that is allowed, or what is there is the run's.
            let again = match again {
                Again::Create => Call::Create { path },
                Again::ReadFile { length, offset, flags } => Call::ReadFile { path, length, offset, flags },
                Again::WriteFile { length, offset, flags, buffer } => {
                    Call::WriteFile { path, length, offset, flags, buffer }
                }
            };
            match self.perform(driver, again) {
                Ok(followed) => {
                    timed = followed;
                    // What was read is not in the memory of the job.
                    if job.verify.take().is_some() {
                        wrong = self.verify();
                    }
                }
                Err(refusal) => {
                    timed.outcome.errno = libc::EPERM;
                    self.notes.push(Warning {
                        code: "refused".into(),
                        text: refusal.to_string(),
                        ..Warning::default()
                    });
                }
            }
        }
        if let Some((to, buffer)) = job.writes {
            self.wrote(to, timed.outcome.value, buffer);
            let is_whole =
                matches!(job.again, Some(Again::WriteFile { flags, .. }) if flags & libc::O_APPEND == 0);
            self.wrote_beside_others(to, timed.outcome, is_whole);
        }
        let wrong = self.verify_job(job, timed.outcome).or(wrong);
        Completed { number, timed, wrong }
    }
}
