//! Looks at the directory of an application before and after: what changed there without a call that was recorded, something did
//! that the recorder does not see.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use trace::Trace;
use trace::flags::{O_CREAT, O_TRUNC, writes};
use trace::model::{Call, NONE, Op};

use crate::folder::{PREFIX, kind_of_file_system};

/// Directories with more names are not compared: a look at so many takes a tenth of a second.
const MOST: usize = 20_000;

/// What the ledger calls such changes.
const UNSEEN: &str = "files that changed although no recorded call did it, as a look before and after shows";

/// What is seen of a name; of directories nothing that their entries change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NameState {
    inode: u64,
    mode: u32,
    size: u64,
    changed: (i64, i64),
}

type Names = BTreeMap<PathBuf, NameState>;

/// A directory before an application works in it.
pub struct TreeBefore {
    directory: PathBuf,
    /// Files that this process writes to meanwhile.
    own: Vec<PathBuf>,
    /// How the name of the recording begins until it is whole.
    partial: Vec<u8>,
    names: Option<Names>,
    /// When, in seconds since 1970, where each store through a mapping changes the time of a file.
    tells_of_stores: Option<i64>,
}

/// File systems of which it was tried that the first store to a page of a mapping sets the time of the file. On tmpfs it does not
/// where the page was read before.
const TELL_OF_STORES: [libc::__fsword_t; 3] =
    [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC, libc::BTRFS_SUPER_MAGIC];

impl TreeBefore {
    /// Looks at it. `output`: the file of the recording.
    pub fn of(directory: &Path, output: &Path) -> Self {
        let opened =
            ["/proc/self/fd/1", "/proc/self/fd/2"].map(|link| std::fs::read_link(link).unwrap_or_default());
        let output = std::path::absolute(output).unwrap_or_else(|_| output.into());
        let name = output.file_name().unwrap_or_default().as_bytes();
        let partial = [b".", name, b"."].concat();
        let own = opened.into_iter().chain([output]).collect();
        let tells = kind_of_file_system(directory).is_some_and(|kind| TELL_OF_STORES.contains(&kind));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let tells_of_stores = i64::try_from(now).ok().filter(|_| tells);
        let mut tree = Self { directory: directory.into(), own, partial, names: None, tells_of_stores };
        tree.names = tree.look();
        tree
    }

    fn is_own(&self, name: &OsStr, path: &Path) -> bool {
        let name = name.as_bytes();
        name.starts_with(PREFIX.as_bytes())
            || name.starts_with(&self.partial) && name.ends_with(b".partial")
            || self.own.iter().any(|own| own == path)
    }

    /// All names below the directory, in its file system; `None` where there are too many.
    fn look(&self) -> Option<Names> {
        let mut names = Names::new();
        let device = self.directory.metadata().ok()?.dev();
        let mut directories = vec![self.directory.clone()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                let Ok(found) = entry.metadata() else { continue };
                if self.is_own(&entry.file_name(), &path) {
                    continue;
                }
                let is_directory = found.is_dir();
                if is_directory && found.dev() == device {
                    directories.push(path.clone());
                }
                let (size, changed) = if is_directory {
                    (0, (0, 0))
                } else {
                    (found.size(), (found.mtime(), found.mtime_nsec()))
                };
                names.insert(path, NameState { inode: found.ino(), mode: found.mode(), size, changed });
                if names.len() > MOST {
                    return None;
                }
            }
        }
        Some(names)
    }

    /// Looks again, and adds to the trace what no call of it explains. How many names were compared; `None` where none was.
    pub fn compare(&self, trace: &mut Trace) -> Option<u64> {
        let (before, after) = (self.names.as_ref()?, self.look()?);
        if let Some(began) = self.tells_of_stores {
            find_stores(trace, |name| {
                // A time that is younger may stay the same: clocks of file systems go in steps.
                let is_old = |seen: &&NameState| seen.changed.0 + 1 < began;
                before.get(name).filter(is_old).is_none_or(|seen| after.get(name) != Some(seen))
            });
        }
        let compared = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))).count();
        let differs = |name: &&PathBuf| before.get(*name) != after.get(*name);
        let mut changed: Vec<&PathBuf> = before.keys().chain(after.keys()).filter(differs).collect();
        changed.sort_unstable();
        changed.dedup();
        // Most are opened to be written: what descriptors that were open before did is looked at where that is not enough.
        for (is_last, is) in [(false, changes as fn(Op) -> bool), (true, |op| op == Op::Write)] {
            if !changed.is_empty() {
                let told = Told::of(trace, is, is_last);
                let inodes = told.inodes(&[before, &after]);
                let is_told = |name: &PathBuf| {
                    let known = [before, &after].map(|names| names.get(name).map(|seen| seen.inode));
                    told.has(name) || known.iter().flatten().any(|inode| inodes.contains(inode))
                };
                changed.retain(|name| !is_told(name));
            }
        }
        let start = trace.calls.len().checked_sub(1).map_or(0, |last| trace.calls.start(last));
        let has_threads = !trace.threads.is_empty();
        for name in changed.iter().filter(|_| has_threads) {
            let path = trace.names.intern(name.as_os_str().as_bytes());
            let flags = trace.unrepeated(UNSEEN, true);
            trace.calls.push(Call { path, flags, offset: 1, ..Call::new(Op::Unrepeated, 0, start, 0) });
        }
        Some(compared as u64)
    }
}

/// Tells mappings through which something may have been stored from those of files that did not change, as `is_changed` knows. A file
/// whose times were set by a call may have changed.
fn find_stores(trace: &mut Trace, is_changed: impl Fn(&Path) -> bool) {
    let set: HashSet<u32> = trace.calls.having(|op| op == Op::Utimes).map(|(_, call)| call.path).collect();
    let is_unchanged = |call: &Call| {
        let name = Path::new(OsStr::from_bytes(trace.names.get(call.path)));
        call.flags & 1 != 0 && !set.contains(&call.path) && !is_changed(name)
    };
    let mappings = trace.calls.having(|op| op == Op::Map);
    let unchanged: Vec<u32> = mappings.filter(|(_, call)| is_unchanged(call)).map(|(at, _)| at).collect();
    unchanged.into_iter().for_each(|at| trace.calls.only_reads(at as usize));
}

/// Calls that change files, but for writes.
fn changes(op: Op) -> bool {
    use Op::{
        Allocate, Chmod, Chown, Link, Map, Mkdir, Open, Rename, Rmdir, Symlink, Truncate, Unlink, Unrepeated,
        Utimes,
    };
    matches!(
        op,
        Open | Truncate
            | Allocate
            | Unlink
            | Rmdir
            | Mkdir
            | Rename
            | Link
            | Symlink
            | Chmod
            | Chown
            | Utimes
    ) || matches!(op, Map | Unrepeated)
}

/// The names that calls changed.
struct Told {
    names: HashSet<PathBuf>,
    /// Those that were moved, with all that lies below.
    moved: Vec<PathBuf>,
}

impl Told {
    /// `resolves`: names may lead through symbolic links.
    fn of(trace: &Trace, is: fn(Op) -> bool, resolves: bool) -> Self {
        let mut told = Self { names: HashSet::new(), moved: Vec::new() };
        let mut numbers = HashSet::new();
        let all = |op: Op| is(op) || resolves && changes(op);
        for (_, call) in trace.calls.having(all).filter(|(_, call)| call.errno == 0) {
            let changes = match call.op {
                Op::Open => writes(call.flags) || call.flags & (O_CREAT | O_TRUNC) != 0,
                Op::Map => call.flags & 1 != 0,
                _ => true,
            };
            let other = if call.op == Op::Symlink { NONE } else { call.other };
            for number in [call.path, other].into_iter().filter(|number| changes && *number != NONE) {
                if numbers.insert((number, call.op == Op::Rename)) {
                    told.add(trace.names.get(number), call.op == Op::Rename, resolves);
                }
            }
        }
        told
    }

    fn add(&mut self, name: &[u8], is_moved: bool, resolves: bool) {
        let name = PathBuf::from(OsStr::from_bytes(name));
        let resolved = resolves.then(|| {
            let above = name.parent().and_then(|above| above.canonicalize().ok());
            let above = above.zip(name.file_name()).map(|(above, last)| above.join(last));
            [above, name.canonicalize().ok()]
        });
        for one in resolved.into_iter().flatten().flatten().chain([name]) {
            if is_moved {
                self.moved.push(one.clone());
            }
            self.names.insert(one);
        }
    }

    fn has(&self, name: &Path) -> bool {
        self.names.contains(name) || self.moved.iter().any(|moved| name.starts_with(moved))
    }

    /// Files that have these names, or had them: they may have others.
    fn inodes(&self, trees: &[&Names]) -> HashSet<u64> {
        let of = |names: &Names| -> Vec<u64> {
            let known = self.names.iter().filter_map(|name| names.get(name));
            known.filter(|seen| seen.mode & libc::S_IFMT == libc::S_IFREG).map(|seen| seen.inode).collect()
        };
        trees.iter().flat_map(|names| of(names)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::model::Thread;

    /// What no call explains of what `change` does, where the trace has these calls on names below the directory.
    fn unseen(calls: &[(Op, &str, &str, u32)], change: impl Fn(&Path)) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("d/in")).unwrap();
        std::fs::write(home.join("d/in/a"), "a").unwrap();
        std::fs::write(home.join("old"), "old").unwrap();
        std::fs::hard_link(home.join("old"), home.join("same")).unwrap();
        std::os::unix::fs::symlink("d", home.join("link")).unwrap();
        let before = TreeBefore::of(&home, &home.join("app.parquet"));
        change(&home);
        let mut trace = Trace::default();
        trace.threads.push(Thread::default());
        for (op, one, other, flags) in calls {
            let mut name = |name: &str| match name {
                "" => NONE,
                name => trace.names.intern(home.join(name).as_os_str().as_bytes()),
            };
            let (path, other) = (name(one), name(other));
            trace.calls.push(Call { path, other, flags: *flags, ..Call::new(*op, 0, 0, 0) });
        }
        let told = trace.calls.len();
        assert!(before.compare(&mut trace).unwrap() >= 6);
        let calls = trace.calls.iter().skip(told);
        let names = calls.map(|call| trace.names.get(call.path).to_vec());
        names.map(|name| String::from_utf8(name[home.as_os_str().len() + 1..].to_vec()).unwrap()).collect()
    }

    #[test]
    fn what_calls_did_is_explained_and_what_none_did_is_told() {
        let write =
            |name: &'static str| move |home: &Path| std::fs::write(home.join(name), "longer").unwrap();
        assert_eq!(unseen(&[], |_| {}), <[&str; 0]>::default());
        assert_eq!(unseen(&[], write("new")), ["new"]);
        assert_eq!(unseen(&[(Op::Open, "new", "", 0o101)], write("new")), <[&str; 0]>::default());
        // Opened to read.
        assert_eq!(unseen(&[(Op::Open, "d/in/a", "", 0)], write("d/in/a")), ["d/in/a"]);
        // By a descriptor that was open before, and by another name of the file.
        assert_eq!(unseen(&[(Op::Write, "same", "", 0)], write("old")), <[&str; 0]>::default());
        assert_eq!(unseen(&[(Op::Open, "link/in/a", "", 1)], write("d/in/a")), <[&str; 0]>::default());
        // Of a recorder itself.
        assert_eq!(unseen(&[], write(".app.parquet.x.partial")), <[&str; 0]>::default());
        assert_eq!(unseen(&[], |home| std::fs::remove_file(home.join("old")).unwrap()), ["old"]);
    }

    /// Stores through a mapping where `stores`; whether the trace tells of stores.
    fn tells_of_stores(stores: bool, calls: &[Op]) -> Option<bool> {
        use std::os::fd::AsRawFd;
        const LENGTH: usize = 4096;
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().canonicalize().unwrap().join("mapped");
        std::fs::write(&name, [1; LENGTH]).unwrap();
        let file = std::fs::File::options().read(true).write(true).open(&name).unwrap();
        file.set_modified(SystemTime::now() - std::time::Duration::from_secs(10)).unwrap();
        let before = TreeBefore::of(name.parent().unwrap(), Path::new("/nowhere/app.parquet"));
        before.tells_of_stores?;
        // SAFETY: a mapping of a file of our own, within its length.
        unsafe {
            let at = libc::mmap(std::ptr::null_mut(), LENGTH, 3, libc::MAP_SHARED, file.as_raw_fd(), 0);
            assert_ne!(at, libc::MAP_FAILED);
            std::hint::black_box(at.cast::<u8>().read_volatile());
            if stores {
                at.cast::<u8>().write_volatile(7);
            }
            libc::munmap(at, LENGTH);
        }
        let mut trace = Trace::default();
        trace.threads.push(Thread::default());
        let path = trace.names.intern(name.as_os_str().as_bytes());
        for op in std::iter::once(&Op::Map).chain(calls) {
            let flags = u32::from(*op == Op::Map);
            trace.calls.push(Call { path, flags, ..Call::new(*op, 0, 0, 0) });
        }
        assert_eq!(before.compare(&mut trace), Some(1));
        Some(trace.calls.get(0).flags == 1)
    }

    #[test]
    fn a_mapping_through_which_nothing_was_stored_is_told_by_the_time_of_the_file() {
        let Some(stored) = tells_of_stores(true, &[]) else {
            println!("skipped: not on this file system");
            return;
        };
        assert!(stored);
        assert_eq!(tells_of_stores(false, &[]), Some(false));
        // Who sets times may hide a store.
        assert_eq!(tells_of_stores(false, &[Op::Utimes]), Some(true));
    }

    #[test]
    fn a_directory_that_is_renamed_takes_its_files_along() {
        let rename = |home: &Path| std::fs::rename(home.join("d"), home.join("e")).unwrap();
        assert_eq!(unseen(&[(Op::Rename, "d", "e", 0)], rename), <[&str; 0]>::default());
        assert_eq!(unseen(&[], rename).len(), 6);
    }
}
