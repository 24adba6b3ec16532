//! Opens files to write, and lets through only what belongs to the run.

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};

use samples::Outcome;

use super::opening::Way;
use crate::driver::{Driver, Handle};
use crate::files::{FoundFile, Moment, Object, Ownership, ParentFacts, look_at};
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

/// Does it belong to the run? Another rank may have made it a moment ago, and be about to say so.
#[inline]
pub(super) fn is_ours(own: &Ownership, found: &FoundFile) -> bool {
    own.is_ours(found.object()) || is_said_soon(own, found)
}

#[cold]
fn is_said_soon(own: &Ownership, found: &FoundFile) -> bool {
    const LATEST: Duration = Duration::from_secs(1);
    let begun = Instant::now();
    while found.is_born_since(Moment::now().before(LATEST)) && begun.elapsed() < LATEST {
        std::thread::sleep(Duration::from_micros(100));
        if own.is_ours(found.object()) {
            return true;
        }
    }
    false
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
    /// It is there, and must be looked at before it is opened.
    NotLooked,
}

/// Opens files of one directory. Whether the file was there, and whose it is, is asked of the open descriptor, which no
/// renaming can change; until that is known nothing is emptied. A new file is opened by the same one call as without.
pub(super) struct OpenJudge<'g> {
    /// `None`: nobody is asked.
    pub(super) own: Option<&'g Ownership>,
    pub(super) around: ParentFacts,
    /// The file that the user named by this name.
    pub(super) named: Option<Object>,
    pub(super) way: Way,
    /// What has the name is nothing to be left alone, if there is something.
    pub(super) looked: bool,
    /// Where the name is there already, asked first whether it is, as it was the last time: saves a call of two.
    pub(super) was_there: &'g Cell<bool>,
    pub(super) verdict: Cell<Verdict>,
    /// The device on which the file that was opened lies.
    pub(super) device: Cell<u64>,
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
        let Some(own) = self.own.filter(|_| flags::writes(open_flags)) else {
            return self.way.open(driver, path, open_flags, mode);
        };
        let nameless = open_flags & libc::O_TMPFILE == libc::O_TMPFILE;
        let creates = open_flags & libc::O_CREAT != 0 && !nameless;
        let how = if self.around.trusted { open_flags } else { open_flags & !libc::O_TRUNC };
        let (opened, made) = match creates && open_flags & libc::O_EXCL == 0 {
            true => self.open_or_make(driver, path, how, mode),
            false => (self.way.open(driver, path, how, mode), creates || nameless),
        };
        if !opened.ok() {
            return opened;
        }
        let handle = Handle(opened.value);
        let Some(found) = look_at(handle.0 as i32) else { return self.refuse(driver, handle) };
        self.device.set(found.object().device());
        let named = self.named.is_some_and(|named| named.is(found.object()));
        let only_reads = open_flags & (libc::O_ACCMODE | libc::O_TRUNC) == libc::O_RDONLY;
        if made {
            own.made(found.object());
        } else if only_reads {
            return opened;
        } else if !(self.around.trusted || named || is_ours(own, &found)) {
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
        if !made && !named {
            own.made(found.object());
        }
        opened
    }

    /// As open(2) with O_CREAT, and whether the call made the file. Only O_EXCL tells: another one may have made it in the
    /// same moment.
    #[inline]
    fn open_or_make<D: Driver + ?Sized>(
        &self,
        driver: &mut D,
        path: &CStr,
        how: i32,
        mode: u32,
    ) -> (Outcome, bool) {
        // As often as somebody else makes and removes it in between.
        const MOST: u32 = 100;
        // To read, the kernel refuses a directory with O_CREAT only.
        let reads = how & libc::O_ACCMODE == libc::O_RDONLY;
        let there = if reads { how } else { how & !libc::O_CREAT };
        let mut asks_first = self.was_there.get() && !reads && how & libc::O_DIRECTORY == 0;
        let mut opened = Outcome::error(libc::EEXIST);
        for _ in 0..MOST {
            if asks_first {
                if !self.looked {
                    self.was_there.set(true);
                    self.verdict.set(Verdict::NotLooked);
                    return (opened, false);
                }
                opened = self.way.open(driver, path, there, mode);
                self.was_there.set(opened.ok());
                if opened.errno != libc::ENOENT {
                    return (opened, false);
                }
            }
            opened = self.way.open(driver, path, how & !libc::O_TRUNC | libc::O_EXCL, mode);
            if opened.errno != libc::EEXIST {
                return (opened, opened.ok());
            }
            asks_first = true;
        }
        (opened, false)
    }

    #[cold]
    fn refuse<D: Driver + ?Sized>(&self, driver: &mut D, handle: Handle) -> Outcome {
        driver.close(handle);
        self.verdict.set(Verdict::Refused);
        Outcome::error(libc::EPERM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    /// Opens by a judge of a directory that others can write to as well.
    fn open(own: &Ownership, was_there: &Cell<bool>, path: &std::path::Path, how: i32) -> (Outcome, Verdict) {
        let around =
            ParentFacts { birth_times: true, place: 0, device: 0, trusted: false, replaceable: true };
        let judge = OpenJudge {
            own: Some(own),
            around,
            named: None,
            way: Way { no_follow: libc::O_NOFOLLOW, straight: false },
            looked: true,
            was_there,
            verdict: Cell::default(),
            device: Cell::default(),
        };
        let path = CString::new(path.as_os_str().as_bytes()).expect("no NUL");
        let mut driver = crate::driver::Posix::default();
        let opened = judge.open(&mut driver, &path, how, 0o600);
        if opened.ok() {
            driver.close(Handle(opened.value));
        }
        (opened, judge.verdict.get())
    }

    #[test]
    fn what_another_makes_in_the_same_tick_of_the_clock_is_not_the_runs() {
        let home = tempfile::tempdir().expect("a directory");
        let (own, was_there) = (Ownership::new(), Cell::default());
        for number in 0..50 {
            let path = home.path().join(format!("late-{number}"));
            std::fs::write(&path, "the user's").expect("write");
            let to_read = open(&own, &was_there, &path, libc::O_RDONLY | libc::O_CREAT);
            assert!(to_read.0.ok() && to_read.1 == Verdict::Nothing, "{to_read:?}");
            for how in [libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC, libc::O_WRONLY | libc::O_CREAT] {
                let (refused, verdict) = open(&own, &was_there, &path, how);
                assert_eq!((refused.errno, verdict), (libc::EPERM, Verdict::Refused));
            }
            assert_eq!(std::fs::read_to_string(&path).expect("read"), "the user's");
        }
    }

    #[test]
    fn what_the_call_makes_is_the_runs_whether_the_last_name_was_there_or_not() {
        let home = tempfile::tempdir().expect("a directory");
        let (own, was_there) = (Ownership::new(), Cell::default());
        let how = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
        for name in ["a", "a", "b", "a", "b", "c"] {
            let path = home.path().join(name);
            let expected = if path.exists() { Verdict::Ours } else { Verdict::Made };
            let (opened, verdict) = open(&own, &was_there, &path, how);
            assert!(opened.ok() && verdict == expected, "{name}: {opened:?} {verdict:?}");
        }
        let directory = open(&own, &was_there, home.path(), how);
        assert_eq!(directory.0.errno, libc::EISDIR);
        std::os::unix::fs::symlink("a", home.path().join("l")).expect("symlink");
        assert_eq!(open(&own, &was_there, &home.path().join("l"), how).0.errno, libc::ELOOP);
        let twice = open(&own, &was_there, &home.path().join("a"), how | libc::O_EXCL);
        assert_eq!(twice.0.errno, libc::EEXIST);
    }

    #[test]
    fn what_another_rank_is_about_to_own_is_waited_for() {
        let home = tempfile::tempdir().expect("a directory");
        let (own, path) = (Ownership::new(), home.path().join("shared"));
        std::fs::write(&path, "").expect("write");
        let file = std::fs::File::open(&path).expect("open");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(2));
                let found = look_at(std::os::fd::AsRawFd::as_raw_fd(&file)).expect("there");
                own.made(found.object());
            });
            let (opened, verdict) = open(&own, &Cell::default(), &path, libc::O_WRONLY | libc::O_CREAT);
            assert!(opened.ok() && verdict == Verdict::Ours, "{opened:?}");
        });
    }
}
