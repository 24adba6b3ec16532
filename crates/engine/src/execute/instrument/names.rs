//! Opens, makes, changes and removes what has a name, within what the program may touch.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;

use samples::Outcome;

use super::guard::Makes;
use super::judge::{OpenJudge, Verdict};
use super::layer::Layer;
use super::opening::{Opening, Way};
use super::space_watch::OF_A_NAME;
use super::table::OpenFile;
use crate::driver::{AttributeChange, Driver, Handle, Striping};
use crate::execute::call::{Meaning, Timed};
use crate::files::{FoundFile, MAKE, Moment, READ, Refusal};
use crate::flags;

impl Layer {
    /// Checks and registers what surrounds a call that opens `path` to write, and may make it, and times it. `call` gets the
    /// path to use, and opens it by the judge.
    pub(super) fn creating<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        how: Opening,
        path: &CStr,
        call: impl Fn(&mut D, &CStr, &OpenJudge<'_>) -> Outcome,
    ) -> Result<Timed, Refusal> {
        let timed = self.creating_unfollowed(driver, how, path, &call)?;
        if timed.outcome.errno != libc::ELOOP {
            return Ok(timed);
        }
        // A link at the end of the path: where it leads must be allowed as well.
        let real = self.guard.check_followed(how.what, path)?;
        let real = real.and_then(|real| CString::new(real.as_os_str().as_bytes()).ok());
        match real {
            Some(real) => self.creating_unfollowed(driver, how, &real, &call),
            None => Ok(timed),
        }
    }

    /// As [`Layer::creating`]; a link at the end of the path is ELOOP.
    fn creating_unfollowed<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        how: Opening,
        path: &CStr,
        call: &impl Fn(&mut D, &CStr, &OpenJudge<'_>) -> Outcome,
    ) -> Result<Timed, Refusal> {
        let Opening { what, meaning, makes, bytes } = how;
        let reached = self.guard.reach(what, path)?;
        let around = reached.around;
        // A call that makes what it opens opens nothing that is there: no look is needed until it has said that something is.
        let expects = makes == Makes::Nothing || self.guard.expects_it_there();
        let mut is_seen = expects || self.guard.knows(path);
        if is_seen && makes != Makes::Surely {
            self.guard.leave_special(what, path, (&reached, false))?;
        }
        let there = self.room.known(around.device);
        let looked = (makes != Makes::Nothing || bytes > 0) && self.room.must_look(there, bytes);
        if looked && self.would_fill((path, &reached.path), bytes) {
            return Ok(self.bracket.failed(driver, libc::ENOSPC));
        }
        if makes != Makes::Nothing {
            self.guard.intend(path, around, makes);
        }
        let (timed, verdict, device) = loop {
            let judge = self.guard.judge(path, &reached, is_seen);
            let timed = self.bracket.time(driver, meaning, |driver| call(driver, &reached.path, &judge));
            let (verdict, device) = (judge.verdict.get(), judge.device.get());
            if verdict != Verdict::NotLooked {
                break (timed, verdict, device);
            }
            if let Err(refusal) = self.guard.leave_special_there(what, path, (&reached, false)) {
                self.guard.settle(path, around, makes, libc::EEXIST);
                return Err(refusal);
            }
            is_seen = true;
        };
        self.opened_on = self.room.known(device);
        if looked {
            self.room.wrote(self.room.known(around.device), bytes);
        }
        if makes != Makes::Nothing {
            // What was there before is not entered as made.
            let settled = if verdict == Verdict::Refused { libc::EEXIST } else { timed.outcome.errno };
            self.guard.settle(path, around, makes, settled);
        }
        match verdict {
            Verdict::Refused => Err(self.guard.refused(what, path)),
            _ => Ok(timed),
        }
    }

    /// Checks and registers what surrounds a call that makes `path`, or fails where something is there, and times it.
    pub(super) fn making<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        call: impl Fn(&mut D, &CStr) -> Outcome,
    ) -> Result<Timed, Refusal> {
        let reached = self.guard.reach_fixed(MAKE, path)?;
        let there = self.room.known(reached.around.device);
        if self.room.must_look(there, OF_A_NAME) && self.would_fill((path, &reached.path), OF_A_NAME) {
            return Ok(self.bracket.failed(driver, libc::ENOSPC));
        }
        self.guard.intend(path, reached.around, Makes::Surely);
        let since = Moment::now();
        let timed = self.bracket.time(driver, Meaning::Value, |driver| call(driver, &reached.path));
        if timed.outcome.ok() {
            self.guard.made(&reached, since);
        }
        self.guard.settle(path, reached.around, Makes::Surely, timed.outcome.errno);
        Ok(timed)
    }

    /// Times a call that asks about a name and opens nothing.
    #[inline(always)]
    pub(super) fn asking<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        call: impl Fn(&mut D, &CStr) -> Outcome,
    ) -> Result<Timed, Refusal> {
        self.guard.may_ask(path)?;
        Ok(self.bracket.time(driver, Meaning::Value, |driver| call(driver, path)))
    }

    /// Asks for the metadata of `path`, where the program may ask freely.
    #[inline(always)]
    pub(super) fn stat<D: Driver + ?Sized>(&mut self, driver: &mut D, path: &CStr) -> Timed {
        let begun = self.bracket.begin(driver);
        let outcome = driver.stat(path);
        self.bracket.end(driver, begun, Meaning::Value, outcome)
    }

    pub(super) fn open<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        open_flags: i32,
        mode: u32,
    ) -> Result<Timed, Refusal> {
        let nameless = open_flags & libc::O_TMPFILE == libc::O_TMPFILE;
        let creates = open_flags & libc::O_CREAT != 0 || nameless;
        // Linux opens what is there where only O_EXCL is given.
        let makes = match (creates && open_flags & libc::O_EXCL != 0, open_flags & libc::O_TRUNC) {
            (true, _) => Makes::Surely,
            (false, 0) => Makes::Keeps,
            (false, _) => Makes::Perhaps,
        };
        if creates {
            self.guard.may_have_mode(MAKE, path, mode, false)?;
        }
        let mut timed = if open_flags & libc::O_CREAT != 0 && !nameless {
            let how = Opening::to_write(makes);
            let call = |driver: &mut D, path: &CStr, judge: &OpenJudge<'_>| {
                judge.open(driver, path, open_flags, mode)
            };
            match open_flags & libc::O_NOFOLLOW {
                0 => self.creating(driver, how, path, call)?,
                _ => self.creating_unfollowed(driver, how, path, &call)?,
            }
        } else if flags::writes(open_flags) {
            self.open_to_write(driver, path, (open_flags, mode))?
        } else if open_flags & libc::O_NOFOLLOW != 0 {
            // A link on the way is followed: its directory is held instead.
            let reached = self.guard.reach_unfollowed(path)?;
            self.guard.leave_special(READ, path, (&reached, false))?;
            self.bracket.time(driver, Meaning::Value, |driver| driver.open(&reached.path, open_flags, mode))
        } else {
            self.open_to_read(driver, path, (open_flags, mode))?
        };
        if timed.outcome.ok() {
            let handle = Handle(timed.outcome.value);
            let (kept, mut name) = self.opened_name(path);
            if nameless {
                name = self.nameless(path);
            }
            if nameless || open_flags & libc::O_TRUNC != 0 || makes == Makes::Surely {
                self.emptied(name);
            } else if creates {
                self.emptied_if_empty(driver, name, handle);
            }
            self.opened_to_read.opened(&kept, open_flags);
            self.others_append |= open_flags & libc::O_APPEND != 0 && !self.alone;
            let position = if open_flags & libc::O_APPEND != 0 { driver.size(handle).value } else { 0 };
            let open = OpenFile {
                made: makes == Makes::Surely,
                file_system: std::mem::take(&mut self.opened_on),
                nameless,
                appends: open_flags & libc::O_APPEND != 0,
                ..OpenFile::new(Some(handle), (kept, name), position)
            };
            timed.outcome.value = self.files.keep(open).into();
        }
        Ok(timed)
    }

    #[inline(always)]
    pub(super) fn close<D: Driver + ?Sized>(&mut self, driver: &mut D, file: u32) -> Timed {
        let handle = self.files.handle(file);
        let timed = match handle {
            Some(handle) => {
                let nameless = self.files.get(file).is_some_and(|open| open.nameless);
                let lost = if nameless { self.guard.without_name(handle) } else { None };
                let begun = self.bracket.begin(driver);
                let outcome = driver.close(handle);
                let timed = self.bracket.end(driver, begun, Meaning::Value, outcome);
                self.guard.gone(lost.as_ref());
                timed
            }
            // A file of a group stays open: `pfclose` closes it.
            None => return self.bracket.failed(driver, libc::EBADF),
        };
        self.files.remove(file);
        timed
    }

    /// Opens what is there, for writing, or what has no name.
    fn open_to_write<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        (open_flags, mode): (i32, u32),
    ) -> Result<Timed, Refusal> {
        let how = Opening::to_write(Makes::Nothing);
        if open_flags & libc::O_TMPFILE == libc::O_TMPFILE {
            let reached = self.guard.reach("write to", path)?;
            let there = self.room.known(reached.around.device);
            if self.room.must_look(there, OF_A_NAME) && self.would_fill((path, &reached.path), OF_A_NAME) {
                return Ok(self.bracket.failed(driver, libc::ENOSPC));
            }
            let judge = OpenJudge { way: Way::default(), ..self.guard.judge(path, &reached, true) };
            let open = |driver: &mut D| judge.open(driver, &reached.path, open_flags, mode);
            return Ok(self.bracket.time(driver, Meaning::Value, open));
        }
        let call =
            |driver: &mut D, path: &CStr, judge: &OpenJudge<'_>| judge.open(driver, path, open_flags, mode);
        match open_flags & libc::O_NOFOLLOW {
            0 => self.creating(driver, how, path, call),
            _ => self.creating_unfollowed(driver, how, path, &call),
        }
    }

    pub(super) fn rename<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        from: &CStr,
        to: &CStr,
    ) -> Result<Timed, Refusal> {
        let old = self.guard.reach_fixed("rename", from)?;
        let moved = self.guard.own("rename", from, &old)?;
        self.guard.own_whole("rename", (from, &old), moved.as_ref())?;
        self.guard.check_moved(moved.as_ref(), &old, to)?;
        let new = self.guard.reach_fixed("rename to", to)?;
        let around = new.around;
        let intended = self.guard.intend_rename(from, to);
        // Nobody looks whether the name is free: the call says so.
        let free = |driver: &mut D| driver.rename_to_free(&old.path, &new.path);
        let first = self.guard.judges().then(|| self.bracket.time(driver, Meaning::Value, free));
        let done = first.filter(|first| !matches!(first.outcome.errno, libc::EEXIST | libc::EINVAL));
        let (timed, replaced) = match done {
            Some(done) => (done, None),
            None => {
                let owned = self.guard.own("rename to", to, &new);
                if intended && owned.is_err() {
                    self.guard.removed(to);
                }
                let replaced = owned?;
                let replace = |driver: &mut D| driver.rename(&old.path, &new.path);
                (self.bracket.time(driver, Meaning::Value, replace), replaced)
            }
        };
        if timed.outcome.ok() {
            let is_same = |one: &FoundFile| moved.as_ref().is_some_and(|moved| moved.is(one));
            self.guard.gone(replaced.as_ref().filter(|one| !is_same(one)));
            self.content_renamed(from, to);
            if moved.as_ref().is_some_and(|moved| moved.is_directory() || moved.is_link()) {
                self.kernels.drop_files();
            }
            self.guard.renamed(from, to, around);
        } else if intended {
            self.guard.removed(to);
        }
        Ok(timed)
    }

    pub(super) fn symbolic_link<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        target: &CStr,
        path: &CStr,
    ) -> Result<Timed, Refusal> {
        // A link to a place outside would escape the confinement.
        self.guard.check_target(target, path)?;
        let timed = self.making(driver, path, |driver, path| driver.symlink(target, path))?;
        self.guard.forget_directories();
        if timed.outcome.ok() && !target.to_bytes().is_empty() {
            // It leads from the directory of the link.
            let directory =
                path.to_bytes().iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            let base = if target.to_bytes()[0] == b'/' { &[][..] } else { &path.to_bytes()[..directory] };
            if let Ok(leads) = CString::new([base, target.to_bytes()].concat()) {
                self.content_leads(path, &leads);
            }
        }
        Ok(timed)
    }

    pub(super) fn stripe<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        count: u32,
        size: Option<u64>,
    ) -> Result<Timed, Refusal> {
        let reached = self.guard.reach_fixed("stripe", path)?;
        let there = self.guard.own("stripe", path, &reached)?.is_some();
        let (around, since) = (reached.around, Moment::now());
        let prepared = driver.prepare_stripe(&reached.path, count, size);
        let mut striping = match prepared {
            Ok(striping) => striping,
            Err(note) => {
                self.notes.push(note);
                Striping::default()
            }
        };
        self.guard.intend(path, around, Makes::Keeps);
        let (timed, ()) = self.bracket.time_unwatched(driver, |_| striping.set());
        let may_have_made = striping.sets() && !there;
        let outcome = match striping.failure() {
            None => Outcome::default(),
            Some(note) => {
                self.notes.push(note);
                Outcome::error(libc::EIO)
            }
        };
        if outcome.ok() && may_have_made {
            self.guard.made(&reached, since);
        }
        self.guard.settle(path, around, Makes::Keeps, outcome.errno);
        Ok(Timed { outcome, ..timed })
    }

    /// Gives `path` other attributes. What it leads to is held meanwhile, so that no link in its place is followed.
    pub(super) fn change<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        change: AttributeChange,
    ) -> Result<Timed, Refusal> {
        const WHAT: &str = "change";
        let reached = self.guard.reach(WHAT, path)?;
        let held = self.guard.hold(WHAT, path)?;
        match &held {
            Some((_, _, held)) => self.guard.own_open(WHAT, path, held.number())?,
            // What was not there a moment ago may be somebody's now: nothing is done by the name.
            None if self.guard.judges() => {
                self.guard.own(WHAT, path, &reached)?;
                return Ok(self.bracket.failed(driver, libc::ENOENT));
            }
            None => {}
        }
        if let AttributeChange::Mode(mode) = change {
            let is_directory =
                held.as_ref().is_some_and(|(_, found, _)| found & libc::S_IFMT == libc::S_IFDIR);
            self.guard.may_have_mode(WHAT, path, mode, is_directory)?;
        }
        Ok(self.bracket.time(driver, Meaning::Value, |driver| match &held {
            Some((reached, _, held)) => driver.change_held(held.number(), reached, change),
            None => driver.change(path, change),
        }))
    }

    /// Gives an open file other attributes.
    pub(super) fn change_open<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        file: u32,
        change: AttributeChange,
    ) -> Result<Timed, Refusal> {
        const WHAT: &str = "change";
        if let Some(open) = self.files.get(file)
            && let Some(handle) = open.handle
        {
            if let AttributeChange::Mode(mode) = change {
                self.guard.may_have_mode(WHAT, &open.path, mode, false)?;
            }
            if !open.made {
                self.guard.own_open(WHAT, &open.path, handle.0 as i32)?;
            }
        }
        Ok(self.on_file(driver, file, |driver, handle| driver.change_open(handle, change)))
    }

    /// Refuses what is done to an open file that this run did not make, and keeps that it made it.
    pub(super) fn must_have_made(
        &mut self,
        what: &'static str,
        file: u32,
        handle: Handle,
    ) -> Result<(), Refusal> {
        if let Some(open) = self.files.get_mut(file) {
            self.guard.made_by_run(what, &open.path, handle)?;
            open.made = true;
        }
        Ok(())
    }

    pub(super) fn removing<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        call: impl Fn(&mut D, &CStr) -> Outcome,
    ) -> Result<Timed, Refusal> {
        let reached = self.guard.reach_fixed("remove", path)?;
        let found = self.guard.own("remove", path, &reached)?;
        let timed = self.bracket.time(driver, Meaning::Value, |driver| call(driver, &reached.path));
        if timed.outcome.ok() {
            self.guard.gone(found.as_ref());
            self.guard.removed(path);
            if found.as_ref().is_some_and(FoundFile::is_link) {
                self.guard.forget_directories();
            }
            self.content_removed(path);
        }
        Ok(timed)
    }
}

/// Removes a file, or, as the original did, an empty directory.
#[inline]
pub(super) fn delete<D: Driver + ?Sized>(driver: &mut D, path: &CStr) -> Outcome {
    let first = driver.unlink(path);
    match first.errno {
        // For a directory Linux returns EISDIR and POSIX EPERM.
        libc::EISDIR | libc::EPERM => match driver.rmdir(path) {
            second if second.errno == libc::ENOTDIR => first,
            second => second,
        },
        _ => first,
    }
}
