//! The files that the preloaded library left, one a thread.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::HEAD;

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
        let file = match options.open(entry.path()) {
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => continue,
            file => file?,
        };
        if !file.metadata()?.is_file() {
            continue;
        }
        // A chunk is a mebibyte, of which most processes write some pages.
        let mut bytes = Vec::new();
        for (from, to) in data_in(&file)? {
            let (from, to) =
                (usize::try_from(from).unwrap_or(usize::MAX), usize::try_from(to).unwrap_or(usize::MAX));
            bytes.resize(to, 0);
            file.read_exact_at(&mut bytes[from..], from as u64)?;
        }
        let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        // The last record may end in zeros.
        bytes.truncate(written + HEAD);
        bytes.shrink_to_fit();
        if let Some(known) = files.get_mut(&name) {
            // Where one is longer, the other has nothing.
            known.bytes.resize(known.bytes.len().max(bytes.len()), 0);
            known.bytes[..bytes.len()].copy_from_slice(&bytes);
        } else {
            files.insert(name, ThreadFile { process: process as u32, thread: thread as u32, bytes });
        }
    }
    Ok(())
}

/// The longest part of a file that its thread did not write: what lies in memory. What is behind a longer one is not of the library.
const LONGEST_HOLE: u64 = 256 << 20;

/// How much of a file is read at most, if it lies so: file systems that compress keep zeros in fewer blocks than they are long.
pub(crate) fn most_of(file: &File) -> io::Result<u64> {
    let found = file.metadata()?;
    Ok(found.len().min(found.blocks().saturating_mul(512 * 64).saturating_add(LONGEST_HOLE)))
}

/// The parts of a file that were written: between them Linux gives zeros.
fn data_in(file: &File) -> io::Result<Vec<(u64, u64)>> {
    let length = most_of(file)?;
    let next = |at: u64, what: libc::c_int| {
        // SAFETY: moves the position of a descriptor of our own.
        let found = unsafe { libc::lseek(file.as_raw_fd(), at.cast_signed(), what) };
        u64::try_from(found).map_err(|_| io::Error::last_os_error())
    };
    let (mut parts, mut end) = (Vec::new(), 0);
    loop {
        let data = match next(end, libc::SEEK_DATA) {
            Ok(data) => data,
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Ok(parts),
            // The file system does not know.
            Err(_) => return Ok(vec![(0, length)]),
        };
        if data.saturating_sub(end) > LONGEST_HOLE {
            return Ok(parts);
        }
        // Where one does not know, all is one part, to the end.
        let hole = next(data, libc::SEEK_HOLE)?.min(data.saturating_add(length));
        if hole <= end {
            return Ok(vec![(0, length)]);
        }
        parts.push((data, hole));
        end = hole;
    }
}

/// The beginning of a file that was written without gaps.
pub(crate) fn first_part(file: &File) -> io::Result<Vec<u8>> {
    let parts = data_in(file)?;
    let end = parts.first().filter(|(from, _)| *from == 0).map_or(0, |(_, to)| *to);
    let mut bytes = vec![0; usize::try_from(end).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
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

    #[test]
    fn of_a_chunk_only_what_was_written_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, parts: &[(u64, &[u8])]| {
            use std::os::unix::fs::FileExt;
            let file = File::create(folder.path().join(name)).unwrap();
            parts.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap());
            file.set_len(3 << 20).unwrap();
        };
        write("7.7.1", &[]);
        write("7.8.1", &[(0, b"begin"), (8192, &[0; 4096])]);
        write("7.9.1", &[(0, b"begin"), (1 << 20, b"a further chunk")]);
        let found = read(&[folder.path()]).unwrap();
        let kept = |thread: u32| &found.iter().find(|file| file.thread == thread).unwrap().bytes;
        assert!(kept(7).iter().all(|byte| *byte == 0) && kept(7).len() <= HEAD, "{}", kept(7).len());
        assert_eq!((&kept(8)[..5], kept(8).len()), (&b"begin"[..], 5 + HEAD));
        // What lies far behind was not written by the library.
        for name in ["7.10.1", "calls"] {
            std::fs::write(folder.path().join(name), b"begin").unwrap();
        }
        let far = File::options().write(true).open(folder.path().join("7.10.1")).unwrap();
        far.write_all_at(b"end", 200 << 30).unwrap();
        let calls = File::options().read(true).write(true).open(folder.path().join("calls")).unwrap();
        calls.set_len(200 << 30).unwrap();
        let begun = first_part(&calls).unwrap();
        assert!(begun.starts_with(b"begin") && begun.len() <= 1 << 20, "{}", begun.len());
        let far = read(&[folder.path()]).unwrap().into_iter().find(|file| file.thread == 10).unwrap();
        assert!(far.bytes.starts_with(b"begin") && far.bytes.len() <= 1 << 20, "{}", far.bytes.len());
        assert_eq!(&kept(9)[1 << 20..], [&b"a further chunk"[..], &[0; HEAD]].concat());
    }
}
