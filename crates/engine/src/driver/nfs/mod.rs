//! The driver of NFS in user space, through libnfs: no mount, no kernel client, no page cache.
//!
//! libnfs (Ronnie Sahlberg) is loaded at run time. Names are those below the exported directory, which confines the program:
//! libnfs follows no `..` out of it.

mod library;

use std::ffi::{CStr, CString, c_int};

use samples::{Cause, Outcome};

use super::attribute::AttributeChange;
use super::submission::Handle;
use super::table::{Capabilities, Driver, Listed, Seat};
use library::{Context, Directory, Library, NfsFile, NfsStatus, library};

/// The most that one call of the library moves: it counts in an `int`.
const MOST: usize = 1 << 30;

/// How long a request may go unanswered, in milliseconds; then it has failed.
const PATIENCE_MS: c_int = 30_000;

/// An open file, and how it was opened.
struct NfsOpenFile {
    file: NfsFile,
    flags: i32,
    path: CString,
}

/// A connection to the server of one export.
pub struct Nfs {
    library: &'static Library,
    context: Context,
    url: Url,
    files: Vec<Option<NfsOpenFile>>,
}

// SAFETY: a context and its files belong to the one driver that holds them, and libnfs ties neither to a thread: one
// thread at a time may use them.
unsafe impl Send for Nfs {}

/// `nfs://SERVER/EXPORT[?ARGUMENTS]`, as libnfs reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url(String);

/// Of a call of the library: 0 or more, or an errno below 0.
fn outcome(result: c_int) -> Outcome {
    match result {
        0.. => Outcome::value(result.unsigned_abs().into()),
        errno => Outcome::error(-errno),
    }
}

/// Repeats `call(done, part)`, which moves bytes from position `done` on, until `length` bytes are moved, it fails, or
/// it moves nothing.
fn complete(length: usize, mut call: impl FnMut(usize, u64) -> c_int) -> Outcome {
    let mut total = Outcome::default();
    loop {
        let done = total.value as usize;
        let part = (length - done).min(MOST);
        let moved = outcome(call(done, part as u64));
        total.value += moved.value;
        total.errno = moved.errno;
        if !total.ok() || moved.value == 0 || total.value >= length as u64 {
            return total;
        }
        if moved.value < part as u64 {
            total.causes = total.causes.with(Cause::ShortTransfer);
        }
    }
}

impl Nfs {
    fn mount(url: &Url) -> Result<Self, String> {
        let library = library()?;
        let text = CString::new(url.0.as_str()).map_err(|error| error.to_string())?;
        // SAFETY: the functions are called as the library's header says: strings end in NUL, the parsed URL lives
        // until it is destroyed, and nothing is used after that.
        unsafe {
            let context = (library.nfs_init_context)();
            if context.is_null() {
                return Err("libnfs: no memory for a connection".into());
            }
            let driver = Self { library, context, url: url.clone(), files: Vec::new() };
            // A dead server gives an errno instead of an endless wait; options in the URL are applied afterwards.
            (library.nfs_set_autoreconnect)(context, 0);
            (library.nfs_set_timeout)(context, PATIENCE_MS);
            (library.nfs_set_dircache)(context, 0);
            let parsed = (library.nfs_parse_url_dir)(context, text.as_ptr());
            if parsed.is_null() {
                return Err(format!("{}: {}", url.0, driver.why()));
            }
            let mounted = (library.nfs_mount)(context, (*parsed).server, (*parsed).path);
            (library.nfs_destroy_url)(parsed);
            match mounted {
                0 => Ok(driver),
                _ => Err(format!("cannot mount {}: {}", url.0, driver.why())),
            }
        }
    }

    /// The library's words for what failed last.
    fn why(&self) -> String {
        // SAFETY: the context lives; the text, if there is one, ends in NUL and lives until the next call.
        unsafe {
            let text = (self.library.nfs_get_error)(self.context);
            if text.is_null() {
                return "libnfs gives no reason".into();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }

    fn file(&self, handle: Handle) -> Result<NfsFile, Outcome> {
        match self.files.get(handle.0 as usize) {
            Some(Some(opened)) => Ok(opened.file),
            _ => Err(Outcome::error(libc::EBADF)),
        }
    }

    /// Makes a call on an open file.
    fn on_file(&self, handle: Handle, call: impl FnOnce(&Library, Context, NfsFile) -> c_int) -> Outcome {
        match self.file(handle) {
            Ok(file) => outcome(call(self.library, self.context, file)),
            Err(bad) => bad,
        }
    }

    /// Moves bytes of an open file.
    fn transfer(
        &self,
        handle: Handle,
        length: usize,
        call: impl Fn(&Library, NfsFile, usize, u64) -> c_int,
    ) -> Outcome {
        match self.file(handle) {
            Ok(file) => complete(length, |done, part| call(self.library, file, done, part)),
            Err(bad) => bad,
        }
    }

    /// Gives each name in a directory to `each`, `.` and `..` left out.
    fn names(&self, path: &CStr, mut each: impl FnMut(&CStr)) -> Outcome {
        // SAFETY: the path ends in NUL; entries live until the directory is closed, and their names end in NUL.
        unsafe {
            let mut directory: Directory = std::ptr::null_mut();
            let opened = outcome((self.library.nfs_opendir)(self.context, path.as_ptr(), &mut directory));
            if !opened.ok() {
                return opened;
            }
            while let Some(entry) = (self.library.nfs_readdir)(self.context, directory).as_ref() {
                let name = CStr::from_ptr(entry.name);
                if name != c"." && name != c".." {
                    each(name);
                }
            }
            (self.library.nfs_closedir)(self.context, directory);
        }
        Outcome::default()
    }
}

// SAFETY of the calls below: the context lives as long as the driver, files are those that it opened and did not close,
// paths end in NUL, and results are valid places to write to.
impl Driver for Nfs {
    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    fn make_room(&mut self) {
        self.files.reserve(1);
    }

    fn open(&mut self, path: &CStr, flags: i32, mode: u32) -> Outcome {
        let mut file: NfsFile = std::ptr::null_mut();
        // SAFETY: as said above.
        let opened = outcome(unsafe {
            (self.library.nfs_open2)(self.context, path.as_ptr(), flags, mode as c_int, &mut file)
        });
        if !opened.ok() {
            return opened;
        }
        let number = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        if number == self.files.len() {
            self.files.push(None);
        }
        self.files[number] = Some(NfsOpenFile { file, flags, path: path.into() });
        Outcome::value(number as u64)
    }

    fn close(&mut self, handle: Handle) -> Outcome {
        match self.files.get_mut(handle.0 as usize).and_then(Option::take) {
            // SAFETY: as said above; the file is not used again.
            Some(opened) => outcome(unsafe { (self.library.nfs_close)(self.context, opened.file) }),
            None => Outcome::error(libc::EBADF),
        }
    }

    unsafe fn write(&mut self, file: Handle, from: *const u8, length: usize) -> Outcome {
        // SAFETY: as said above, and the caller's promise about the memory.
        self.transfer(file, length, |library, file, done, part| unsafe {
            (library.nfs_write)(self.context, file, part, from.add(done).cast())
        })
    }

    unsafe fn pwrite(&mut self, file: Handle, from: *const u8, length: usize, offset: u64) -> Outcome {
        // SAFETY: as said above, and the caller's promise about the memory.
        self.transfer(file, length, |library, file, done, part| unsafe {
            (library.nfs_pwrite)(self.context, file, offset + done as u64, part, from.add(done).cast())
        })
    }

    unsafe fn read(&mut self, file: Handle, into: *mut u8, length: usize) -> Outcome {
        // SAFETY: as said above, and the caller's promise about the memory.
        self.transfer(file, length, |library, file, done, part| unsafe {
            (library.nfs_read)(self.context, file, part, into.add(done).cast())
        })
    }

    unsafe fn pread(&mut self, file: Handle, into: *mut u8, length: usize, offset: u64) -> Outcome {
        // SAFETY: as said above, and the caller's promise about the memory.
        self.transfer(file, length, |library, file, done, part| unsafe {
            (library.nfs_pread)(self.context, file, offset + done as u64, part, into.add(done).cast())
        })
    }

    /// COMMIT writes data and metadata: there is no `fdatasync` of its own.
    fn sync(&mut self, file: Handle, _data_only: bool) -> Outcome {
        // SAFETY: as said above.
        self.on_file(file, |library, context, file| unsafe { (library.nfs_fsync)(context, file) })
    }

    fn seek(&mut self, file: Handle, offset: i64, whence: i32) -> Outcome {
        let mut position = 0;
        // SAFETY: as said above.
        let sought = self.on_file(file, |library, context, file| unsafe {
            (library.nfs_lseek)(context, file, offset, whence, &mut position)
        });
        if sought.ok() { Outcome::value(position) } else { sought }
    }

    fn size(&mut self, file: Handle) -> Outcome {
        let mut found = NfsStatus::default();
        // SAFETY: as said above.
        let asked = self.on_file(file, |library, context, file| unsafe {
            (library.nfs_fstat64)(context, file, &mut found)
        });
        if asked.ok() { Outcome::value(found.size) } else { asked }
    }

    fn truncate(&mut self, file: Handle, length: u64) -> Outcome {
        // SAFETY: as said above.
        self.on_file(file, |library, context, file| unsafe { (library.nfs_ftruncate)(context, file, length) })
    }

    fn stat(&mut self, path: &CStr) -> Outcome {
        let mut found = NfsStatus::default();
        // SAFETY: as said above.
        let asked = outcome(unsafe { (self.library.nfs_stat64)(self.context, path.as_ptr(), &mut found) });
        if asked.ok() { Outcome::value(found.size) } else { asked }
    }

    fn lookup(&mut self, path: &CStr) -> Outcome {
        // SAFETY: as said above.
        outcome(unsafe { (self.library.nfs_access)(self.context, path.as_ptr(), libc::F_OK) })
    }

    fn unlink(&mut self, path: &CStr) -> Outcome {
        // SAFETY: as said above.
        outcome(unsafe { (self.library.nfs_unlink)(self.context, path.as_ptr()) })
    }

    fn rmdir(&mut self, path: &CStr) -> Outcome {
        // SAFETY: as said above.
        outcome(unsafe { (self.library.nfs_rmdir)(self.context, path.as_ptr()) })
    }

    fn mkdir(&mut self, path: &CStr, mode: u32) -> Outcome {
        // SAFETY: as said above.
        outcome(unsafe { (self.library.nfs_mkdir2)(self.context, path.as_ptr(), mode as c_int) })
    }

    fn rename(&mut self, from: &CStr, to: &CStr) -> Outcome {
        // SAFETY: as said above.
        outcome(unsafe { (self.library.nfs_rename)(self.context, from.as_ptr(), to.as_ptr()) })
    }

    fn link(&mut self, from: &CStr, to: &CStr) -> Outcome {
        // SAFETY: as said above.
        outcome(unsafe { (self.library.nfs_link)(self.context, from.as_ptr(), to.as_ptr()) })
    }

    fn symlink(&mut self, target: &CStr, path: &CStr) -> Outcome {
        // SAFETY: as said above.
        outcome(unsafe { (self.library.nfs_symlink)(self.context, target.as_ptr(), path.as_ptr()) })
    }

    fn change(&mut self, path: &CStr, change: AttributeChange) -> Outcome {
        let name = path.as_ptr();
        // SAFETY: as said above.
        outcome(unsafe {
            match change {
                AttributeChange::Mode(mode) => (self.library.nfs_chmod)(self.context, name, mode as c_int),
                AttributeChange::Owner => {
                    let (user, group) = library::user();
                    (self.library.nfs_chown)(self.context, name, user, group)
                }
                AttributeChange::Times => {
                    (self.library.nfs_utimes)(self.context, name, library::now_twice().as_ptr())
                }
                // NFS has them from version 4.2 on, and the library not at all.
                AttributeChange::Set { .. } | AttributeChange::Remove { .. } => -libc::EOPNOTSUPP,
            }
        })
    }

    /// The library sets no times of open files: they are those of the name by which the file was opened.
    fn change_open(&mut self, file: Handle, change: AttributeChange) -> Outcome {
        match change {
            // SAFETY: as said above.
            AttributeChange::Mode(mode) => self.on_file(file, |library, context, file| unsafe {
                (library.nfs_fchmod)(context, file, mode as c_int)
            }),
            AttributeChange::Owner => {
                let (user, group) = library::user();
                // SAFETY: as said above.
                self.on_file(file, |library, context, file| unsafe {
                    (library.nfs_fchown)(context, file, user, group)
                })
            }
            AttributeChange::Set { .. } | AttributeChange::Remove { .. } => Outcome::error(libc::EOPNOTSUPP),
            AttributeChange::Times => match self.files.get(file.0 as usize) {
                Some(Some(opened)) => self.change(&opened.path.clone(), change),
                _ => Outcome::error(libc::EBADF),
            },
        }
    }

    fn readdir(&mut self, path: &CStr) -> Outcome {
        let mut count = 0;
        let read = self.names(path, |_| count += 1);
        if read.ok() { Outcome::value(count) } else { read }
    }

    /// Patterns in the last part of a name only.
    fn glob(&mut self, pattern: &str) -> Vec<String> {
        let (directory, last) =
            pattern.rsplit_once('/').map_or(("", pattern), |(before, last)| (before, last));
        let place = CString::new(if directory.is_empty() { "/" } else { directory });
        let (Ok(place), Ok(last)) = (place, CString::new(last)) else { return Vec::new() };
        let prefix = &pattern[..pattern.len() - last.as_bytes().len()];
        let matches = |name: &String| {
            // SAFETY: both strings end in NUL.
            CString::new(name.as_str()).is_ok_and(|name| unsafe {
                libc::fnmatch(last.as_ptr(), name.as_ptr(), libc::FNM_PERIOD) == 0
            })
        };
        let mut names: Vec<String> = Vec::new();
        self.names(&place, |name| names.push(name.to_string_lossy().into_owned()));
        names.retain(matches);
        names.sort();
        names.into_iter().map(|name| format!("{prefix}{name}")).collect()
    }
}

impl Drop for Nfs {
    fn drop(&mut self) {
        // SAFETY: the driver's own context, not used after; files that are still open go with it.
        unsafe { (self.library.nfs_destroy_context)(self.context) };
    }
}

impl Listed for Nfs {
    type Choice = Url;

    const NAME: &'static str = "nfs";

    const FORM: &'static str = "`nfs://SERVER/EXPORT`";

    const CAPABILITIES: Capabilities =
        Capabilities { local_files: false, virtual_time: false, content: true };

    fn choose(words: &str) -> Option<Result<Url, String>> {
        let rest = words.strip_prefix("nfs://")?;
        let names =
            rest.split_once('/').is_some_and(|(server, export)| !server.is_empty() && !export.is_empty());
        if !names {
            return Some(Err("write the server and what it exports: nfs://SERVER/EXPORT".into()));
        }
        Some(library().map(|_| Url(words.to_owned())))
    }

    fn describe(url: &Url) -> String {
        url.0.clone()
    }

    fn connect(url: &Url, _seat: Seat) -> Result<Self, String> {
        Self::mount(url)
    }

    /// A connection of its own.
    fn for_worker(&self) -> Result<Self, String> {
        Self::mount(&self.url)
    }

    /// Opens the file once more.
    fn share(&mut self, file: Handle, path: &CStr, worker: &mut Self) -> Outcome {
        match self.files.get(file.0 as usize) {
            Some(Some(opened)) => {
                let flags = opened.flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC);
                worker.open(path, flags, 0)
            }
            _ => Outcome::error(libc::EBADF),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_server_and_an_export() {
        assert_eq!(Nfs::choose("posix"), None);
        for words in ["nfs://", "nfs://server", "nfs://server/", "nfs:///export"] {
            let why = Nfs::choose(words).expect("ours").expect_err(words);
            assert!(why.contains("nfs://SERVER/EXPORT"), "{why}");
        }
    }

    #[test]
    fn short_transfers_are_completed_and_a_failure_keeps_what_was_moved() {
        let whole = complete(10, |_, part| part.min(4) as c_int);
        assert_eq!((whole.value, whole.errno, whole.causes.has(Cause::ShortTransfer)), (10, 0, true));
        let broken = complete(10, |done, _| if done == 0 { 4 } else { -libc::EIO });
        assert_eq!((broken.value, broken.errno), (4, libc::EIO));
    }
}
