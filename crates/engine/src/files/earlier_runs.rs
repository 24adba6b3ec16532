//! What earlier runs of the same user made and left: a list in the user's own state directory.
//!
//! It holds inodes and birth times, no names. A program cannot write it (a name with a dot, outside of its places), and who
//! sends a folder of files cannot know which inodes they will have. Where the file system keeps no birth times, an object
//! is told by the time of its last change: then only what nobody has changed since is known again.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::object::Object;

/// Objects that are remembered; the oldest are forgotten first.
const MOST: usize = 1 << 18;
/// Bytes of one: inode and time.
const BYTES: usize = 16;

/// Objects that earlier runs left, by inode.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlierRuns(Arc<[(u64, i64)]>);

/// How an object is told from others.
fn entry(object: &Object) -> Option<(u64, i64)> {
    let time = if object.born_ns > 0 { object.born_ns } else { object.changed_ns.checked_neg()? };
    (time != 0).then_some((object.inode, time))
}

impl EarlierRuns {
    /// What is known; nothing where there is no list.
    pub(super) fn read() -> Self {
        let entries = list().and_then(|path| open(&path, false).ok()).map(|file| read(&file));
        Self::of(entries.unwrap_or_default())
    }

    fn of(mut entries: Vec<(u64, i64)>) -> Self {
        entries.sort_unstable();
        Self(entries.into())
    }

    /// Did an earlier run leave it?
    pub(super) fn know(&self, object: &Object) -> bool {
        entry(object).is_some_and(|wanted| self.0.binary_search(&wanted).is_ok())
    }
}

/// `$XDG_STATE_HOME/lastrank/made`, or below `~/.local/state`.
fn list() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = given("XDG_STATE_HOME").or_else(|| Some(given("HOME")?.join(".local/state")))?;
    Some(state.join("lastrank/made"))
}

/// Why nothing can be remembered, in words; `None` where it can.
pub(super) fn forgotten() -> Option<String> {
    let Some(path) = list() else {
        return Some("HOME is not set, so there is no place for the list of it".into());
    };
    let writable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK);
    // The list, or the directory in which it is to be made.
    match open(&path, false) {
        Ok(_) => writable(&path).err().map(|why| format!("{} cannot be written: {why}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let around = path.ancestors().skip(1).find(|around| around.symlink_metadata().is_ok())?;
            let why = match around.is_dir() {
                true => writable(around).err()?.to_string(),
                false => "it is no directory".into(),
            };
            Some(format!("{} cannot be written: {why}", around.display()))
        }
        Err(error) => Some(format!("{} cannot be used: {error}", path.display())),
    }
}

/// Opens the list, if it is an ordinary file of this user that nobody else may write.
fn open(path: &Path, write: bool) -> std::io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .append(write)
        .create(write)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    let found = file.metadata()?;
    match found.is_file() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0 {
        true => Ok(file),
        false => Err(std::io::ErrorKind::PermissionDenied.into()),
    }
}

/// The newest entries.
fn read(file: &File) -> Vec<(u64, i64)> {
    let mut bytes = Vec::new();
    // Twice as much lies there at most; more was not written by us.
    if file.take((2 * MOST * BYTES) as u64).read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    let (entries, _) = bytes.as_chunks::<BYTES>();
    let newest = entries.iter().skip(entries.len().saturating_sub(MOST));
    newest
        .filter_map(|entry| {
            let (inode, time) = entry.split_first_chunk::<8>()?;
            Some((u64::from_le_bytes(*inode), i64::from_le_bytes(time.try_into().ok()?)))
        })
        .collect()
}

/// Adds what a run leaves. Where that is impossible the next run finds files that it did not make: why, in words.
pub(super) fn remember(left: impl Iterator<Item = Object>) -> Option<String> {
    let added: Vec<(u64, i64)> = left.filter_map(|object| entry(&object)).collect();
    if added.is_empty() {
        return None;
    }
    let error = match list() {
        Some(path) => add(&path, &added).err()?.to_string(),
        None => String::new(),
    };
    forgotten().or(Some(error))
}

fn add(path: &Path, added: &[(u64, i64)]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = open(path, true)?;
    // Runs that end at the same time write one after the other.
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    let added = &added[added.len().saturating_sub(MOST)..];
    let bytes = |entries: &[(u64, i64)]| -> Vec<u8> {
        entries.iter().flat_map(|(inode, time)| [inode.to_le_bytes(), time.to_le_bytes()].concat()).collect()
    };
    // The second run of one program leaves what the first one left.
    let mut known = read(&file);
    let before = EarlierRuns::of(known.clone());
    let new: Vec<_> = added.iter().copied().filter(|entry| before.0.binary_search(entry).is_err()).collect();
    if known.len() + new.len() <= MOST {
        return file.write_all(&bytes(&new));
    }
    known.extend(new);
    file.set_len(0)?;
    file.write_all(&bytes(&known[known.len() - MOST / 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(inode: u64, born_ns: i64) -> Object {
        Object { device: (8, 1), inode, born_ns, changed_ns: 50 }
    }

    fn known(path: &Path) -> EarlierRuns {
        EarlierRuns::of(open(path, false).map(|file| read(&file)).unwrap_or_default())
    }

    #[test]
    fn what_a_run_left_is_known_to_the_next_by_inode_and_birth() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("state/lastrank/made");
        for _ in 0..3 {
            add(&path, &[(7, 100), (8, 100)]).expect("a list");
        }
        assert_eq!(path.metadata().expect("there").len(), 2 * BYTES as u64);
        let runs = known(&path);
        assert!(runs.know(&object(7, 100)) && runs.know(&object(8, 100)));
        // The inode is another file's now; or the file system does not tell, and it was changed since.
        for other in [object(7, 101), object(9, 100), object(7, 0)] {
            assert!(!runs.know(&other), "{other:?}");
        }
    }

    #[test]
    fn the_list_is_bounded_and_the_newest_stay() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("made");
        for round in 0..3 {
            let many: Vec<_> = (0..MOST as u64).map(|inode| (inode, round)).collect();
            add(&path, &many).expect("a list");
        }
        assert!(path.metadata().expect("there").len() <= (MOST * BYTES) as u64);
        assert!(known(&path).know(&object(MOST as u64 - 1, 2)) && !known(&path).know(&object(5, 1)));
    }

    #[test]
    fn a_list_that_others_may_write_or_that_is_a_link_says_nothing() {
        let home = tempfile::tempdir().expect("a directory");
        let (path, link) = (home.path().join("made"), home.path().join("link"));
        add(&path, &[(7, 100)]).expect("a list");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(known(&path).know(&object(7, 100)) && !known(&link).know(&object(7, 100)));
        let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(&path, open_to_all).expect("chmod");
        assert!(!known(&path).know(&object(7, 100)));
    }
}
