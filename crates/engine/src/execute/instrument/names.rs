//! How are names opened, made, changed and removed, within what the program may touch?

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{OpenFile, Posix};
use crate::execute::backend::{Meaning, Timed};
use crate::files::Refusal;
use probes::Request;
use samples::Outcome;

use crate::ops::posix;
use crate::ops::{flags, stripes};

/// Programs that any program of the language may start: they do nothing.
const HARMLESS: [&str; 3] = ["true", "false", "sh -c :"];

impl Posix {
    /// Checks and registers what surrounds a call that may make `path`, and times it. `call` gets the
    /// path to use and flags to add to an `open`.
    pub(super) fn creating(
        &mut self,
        what: &'static str,
        path: &CStr,
        call: impl Fn(&CStr, i32) -> Outcome,
        meaning: Meaning,
    ) -> Result<Timed, Refusal> {
        let around = self.confinement.check(what, path)?;
        self.registry.intend(path, around.birth_times);
        let mut timed = self.time(meaning, || call(path, libc::O_NOFOLLOW));
        self.registry.settle(path, around.birth_times);
        if timed.outcome.errno == libc::ELOOP {
            // A link at the end of the path: where it leads must be allowed as well.
            let real = self.confinement.check_followed(what, path)?;
            let Ok(real) = CString::new(real.as_os_str().as_bytes()) else { return Ok(timed) };
            self.registry.intend(&real, around.birth_times);
            timed = self.time(meaning, || call(&real, libc::O_NOFOLLOW));
            self.registry.settle(&real, around.birth_times);
        }
        Ok(timed)
    }

    /// Times a call that changes `path` itself and makes nothing.
    pub(super) fn changing(
        &mut self,
        what: &'static str,
        path: &CStr,
        call: impl Fn(&CStr) -> Outcome,
    ) -> Result<Timed, Refusal> {
        self.confinement.check(what, path)?;
        Ok(self.time(Meaning::Value, || call(path)))
    }

    pub(super) fn reading(
        &mut self,
        path: &CStr,
        meaning: Meaning,
        call: impl Fn(&CStr) -> Outcome,
    ) -> Result<Timed, Refusal> {
        self.may_read(path)?;
        Ok(self.time(meaning, || call(path)))
    }

    /// May the program read there?
    #[inline(always)]
    pub(super) fn may_read(&mut self, path: &CStr) -> Result<(), Refusal> {
        if self.confinement.reads_too() {
            self.confinement.check("read", path)?;
            self.confinement.check_followed("read", path)?;
        }
        Ok(())
    }

    pub(super) fn open(&mut self, path: &CStr, open_flags: i32, mode: u32) -> Result<Timed, Refusal> {
        let nameless = open_flags & libc::O_TMPFILE == libc::O_TMPFILE;
        let mut timed = if open_flags & libc::O_CREAT != 0 && !nameless {
            let opening = |path: &CStr, more| posix::open(path, open_flags | more, mode);
            self.creating("write to", path, opening, Meaning::Value)?
        } else if flags::writes(open_flags) {
            self.confinement.check("write to", path)?;
            let more = if nameless { 0 } else { libc::O_NOFOLLOW };
            let first = self.time(Meaning::Value, || posix::open(path, open_flags | more, mode));
            if first.outcome.errno == libc::ELOOP {
                self.confinement.check_followed("write to", path)?;
                self.time(Meaning::Value, || posix::open(path, open_flags, mode))
            } else {
                first
            }
        } else {
            self.reading(path, Meaning::Value, |path| posix::open(path, open_flags, mode))?
        };
        if timed.outcome.ok() {
            let fd = timed.outcome.value as i32;
            let position = if open_flags & libc::O_APPEND != 0 { posix::size(fd).value } else { 0 };
            let open =
                OpenFile { fd, path: path.to_owned(), position, moved: false, shared: false, parallel: None };
            timed.outcome.value = u64::from(self.keep(open));
        }
        Ok(timed)
    }

    pub(super) fn rename(&mut self, from: &CStr, to: &CStr) -> Result<Timed, Refusal> {
        self.confinement.check("rename", from)?;
        let timed = self.creating("rename to", to, |to, _| posix::rename(from, to), Meaning::Value)?;
        if timed.outcome.ok() {
            self.registry.forget(from);
            self.registry.moved(from, to);
            self.confinement.forget();
        }
        Ok(timed)
    }

    pub(super) fn symbolic_link(&mut self, target: &CStr, path: &CStr) -> Result<Timed, Refusal> {
        // A link that leads outside would be a way outside.
        self.confinement.check_target(target, path)?;
        let timed = self.creating("make", path, |path, _| posix::symlink(target, path), Meaning::Value)?;
        self.confinement.forget();
        Ok(timed)
    }

    pub(super) fn stripe(&mut self, path: &CStr, count: u32, size: Option<u64>) -> Result<Timed, Refusal> {
        let around = self.confinement.check("stripe", path)?;
        self.registry.intend(path, around.birth_times);
        let begin = self.clock.now();
        let result = stripes::set(path, count, size);
        let end = self.clock.now();
        self.registry.settle(path, around.birth_times);
        let outcome = match result {
            Ok(()) => Outcome::default(),
            Err(stripes::NotStriped::OtherFileSystem(note)) => {
                self.notes.push(note);
                Outcome::default()
            }
            Err(stripes::NotStriped::Failed(note)) => {
                self.notes.push(note);
                Outcome::error(libc::EIO)
            }
        };
        Ok(Timed { begin, end, outcome, ..Timed::default() })
    }

    /// A kernel that makes a file, or starts a program, may do so where the program may.
    pub(super) fn may_use(&mut self, request: &Request) -> Result<(), Refusal> {
        let named = |path: PathBuf| CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        if let Some(directory) = request.writes_in() {
            self.confinement.check("make files in", &named(directory.join("x")))?;
        }
        if let Request::Spawn { program } = request
            && !HARMLESS.contains(&program.as_str())
        {
            let first = program.split_whitespace().next().unwrap_or_default();
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found =
                std::env::split_paths(&path).map(|folder| folder.join(first)).find(|path| path.is_file());
            let found = found.filter(|_| !first.contains('/')).unwrap_or_else(|| PathBuf::from(first));
            self.confinement.check_followed("start", &named(found))?;
        }
        Ok(())
    }

    pub(super) fn removing(
        &mut self,
        path: &CStr,
        call: impl Fn(&CStr) -> Outcome,
    ) -> Result<Timed, Refusal> {
        let timed = self.changing("remove", path, call)?;
        if timed.outcome.ok() {
            self.registry.forget(path);
        }
        Ok(timed)
    }
}
