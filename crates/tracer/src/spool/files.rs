//! The files that the preloaded library left, one a thread.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file of one thread.
#[derive(Clone, Debug)]
pub struct ThreadFile {
    /// The process, by its number.
    pub process: u32,
    /// The thread, by its number.
    pub thread: u32,
    /// Its content; a process that was killed may have left anything.
    pub bytes: Vec<u8>,
}

/// Reads all files of directories that hold parts of them: in a later one lies the beginning of a file, or a whole one. The part
/// behind a beginning has its place in its file, which is empty up to there.
pub fn read(folders: &[&Path]) -> io::Result<Vec<ThreadFile>> {
    let mut files = BTreeMap::new();
    for folder in folders {
        read_folder(folder, &mut files)?;
    }
    Ok(files.into_values().collect())
}

fn read_folder(folder: &Path, files: &mut BTreeMap<OsString, ThreadFile>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let mut numbers = name.to_str().unwrap_or("").split('.').map(str::parse::<u64>);
        let (Some(Ok(process)), Some(Ok(thread)), Some(Ok(_))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            continue;
        };
        // What another user laid there is no file of the library.
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let mut file = match options.open(entry.path()) {
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => continue,
            file => file?,
        };
        if !file.metadata()?.is_file() {
            continue;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if let Some(known) = files.get_mut(&name) {
            let count = bytes.len().min(known.bytes.len());
            known.bytes[..count].copy_from_slice(&bytes[..count]);
        } else {
            files.insert(name, ThreadFile { process: process as u32, thread: thread as u32, bytes });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grew_out_of_memory_is_read_whole() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let write = |folder: usize, name: &str, bytes: &[u8]| {
            std::fs::write(folders[folder].path().join(name), bytes).unwrap();
        };
        write(0, "7.7.1", b"\0\0\0on the disk");
        write(0, "7.8.1", b"disk only");
        write(1, "7.7.1", b"in ");
        write(1, "7.9.1", b"memory only");
        // The library could not make a chunk of it.
        write(1, "7.8.1", b"");
        write(1, "lastrank.so", b"no thread's");
        let found = read(&folders.each_ref().map(|folder| folder.path())).unwrap();
        let bytes: Vec<_> = found.iter().map(|file| (file.thread, file.bytes.as_slice())).collect();
        assert_eq!(bytes, [(7, &b"in on the disk"[..]), (8, b"disk only"), (9, b"memory only")]);
    }
}
