//! Opens files to write, and lets through only what belongs to the run.

use std::cell::Cell;
use std::ffi::{CStr, CString};

use samples::Outcome;

use crate::driver::{Driver, Handle};
use crate::files::{Moment, Ownership, ParentFacts, look_at};
use crate::flags;

/// Empties a file that is open.
fn empty<D: Driver + ?Sized>(driver: &mut D, file: Handle, open_flags: i32) -> Outcome {
    if open_flags & libc::O_ACCMODE != libc::O_RDONLY {
        return driver.truncate(file, 0);
    }
    // Linux empties a file that is opened to read as well.
    let path = CString::new(format!("/proc/self/fd/{}", file.0)).unwrap_or_default();
    let again = driver.open(&path, libc::O_WRONLY | libc::O_TRUNC, 0);
    if again.ok() { driver.close(Handle(again.value)) } else { again }
}

/// What became of an open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing is open, or only to read.
    #[default]
    Nothing,
    /// The call made the file.
    Made,
    /// It was there, and may be changed.
    Ours,
    /// It was there, and is not the program's.
    Refused,
}

/// Opens files of one directory. Whether the file was there, and whose it is, is asked of the open descriptor, which no
/// renaming can change; until that is known nothing is emptied. A new file is opened by the same one call as without.
pub(super) struct OpenJudge<'g> {
    /// `None`: nobody is asked.
    pub(super) own: Option<&'g Ownership>,
    pub(super) around: ParentFacts,
    /// The user named this very file.
    pub(super) named: bool,
    pub(super) no_follow: i32,
    /// What was born since was made by the call.
    pub(super) since: Moment,
    /// Without birth times: nothing had the name.
    pub(super) was_free: bool,
    /// Without birth times, and where the directory may become another: only `O_EXCL` tells.
    pub(super) exclusive: bool,
    pub(super) verdict: Cell<Verdict>,
}

impl OpenJudge<'_> {
    /// As open(2); EPERM where it is refused, with nothing changed.
    #[inline]
    pub(super) fn open<D: Driver + ?Sized>(
        &self,
        driver: &mut D,
        path: &CStr,
        open_flags: i32,
        mode: u32,
    ) -> Outcome {
        let open_flags = open_flags | self.no_follow;
        let Some(own) = self.own.filter(|_| flags::writes(open_flags)) else {
            return driver.open(path, open_flags, mode);
        };
        let nameless = open_flags & libc::O_TMPFILE == libc::O_TMPFILE;
        let creates = open_flags & libc::O_CREAT != 0 && !nameless;
        let mut surely = nameless || creates && open_flags & libc::O_EXCL != 0;
        let kept = open_flags & !libc::O_TRUNC;
        let mut opened = Outcome::error(libc::EEXIST);
        if creates && self.exclusive && !surely {
            opened = driver.open(path, kept | libc::O_EXCL, mode);
            surely = opened.ok();
        }
        if opened.errno == libc::EEXIST {
            let how = if self.around.trusted { open_flags } else { kept };
            opened = driver.open(path, how, mode);
        }
        if !opened.ok() {
            return opened;
        }
        let handle = Handle(opened.value);
        let Some(found) = look_at(handle.0 as i32) else { return self.refuse(driver, handle) };
        let born = || match self.around.birth_times {
            true => found.is_born_since(self.since),
            false => self.was_free,
        };
        let made = surely || creates && born();
        let only_reads = open_flags & (libc::O_ACCMODE | libc::O_TRUNC) == libc::O_RDONLY;
        if made {
            own.made(found.object());
        } else if only_reads {
            return opened;
        } else if !(self.around.trusted || self.named || own.is_ours(found.object())) {
            return self.refuse(driver, handle);
        }
        self.verdict.set(if made { Verdict::Made } else { Verdict::Ours });
        if open_flags & libc::O_TRUNC == 0 || self.around.trusted {
            return opened;
        }
        // Another rank may have made it and written to it a moment ago.
        if found.size > 0 {
            let emptied = empty(driver, handle, open_flags);
            if !emptied.ok() {
                driver.close(handle);
                return emptied;
            }
        }
        // Nothing is left of what others may have written to it since an earlier run.
        if !made && !self.named {
            own.made(found.object());
        }
        opened
    }

    #[cold]
    fn refuse<D: Driver + ?Sized>(&self, driver: &mut D, handle: Handle) -> Outcome {
        driver.close(handle);
        self.verdict.set(Verdict::Refused);
        Outcome::error(libc::EPERM)
    }
}
