//! Files that were read and never wholly written: no device is touched where they have no data.

use std::ffi::CStr;
use std::sync::Arc;

use rustix::fs::{SeekFrom, fstat, seek};
use rustix::io::Errno;
use samples::{Warning, units, visible};

use crate::files::open_ordinary;

/// So many files are looked at: a note names one.
const MOST_FILES: usize = 8;
/// So many stretches of a file are counted; of more, the first ones tell the share.
const MOST_STRETCHES: usize = 1000;
/// A smaller share without data goes unsaid: the ends of many files are not written up to a block.
const LEAST_SHARE: f64 = 0.05;

/// The files that a rank opened to read.
#[derive(Debug, Default)]
pub(super) struct OpenedToRead {
    paths: Vec<Arc<CStr>>,
    /// Any file was open with O_DIRECT.
    pub(super) direct: bool,
}

impl OpenedToRead {
    pub(super) fn opened(&mut self, path: &Arc<CStr>, open_flags: i32) {
        self.direct |= open_flags & libc::O_DIRECT != 0;
        if self.paths.len() < MOST_FILES && crate::flags::only_reads(open_flags) && !self.paths.contains(path)
        {
            self.paths.push(path.clone());
        }
    }

    /// Looks for stretches that were never written; says so of the file with the largest share of them.
    pub(super) fn look(&mut self) -> Option<Warning> {
        let files = std::mem::take(&mut self.paths);
        let shares = files.iter().filter_map(|path| never_written(path).map(|found| (path, found)));
        let (path, (bytes, seen)) = shares
            .filter(|(_, (bytes, seen))| *bytes as f64 >= LEAST_SHARE * *seen as f64)
            .max_by_key(|(_, (bytes, _))| *bytes)?;
        Some(Warning {
            code: "never-written".into(),
            text: format!(
                "{} of {} of \"{}\" were never written: reads there touch no device",
                units::bytes(bytes),
                units::bytes(seen),
                visible(&path.to_string_lossy())
            ),
            advice: "write the file first, or let lastrank lay one out: leave the path out of `lastrank io`"
                .into(),
        })
    }
}

/// Bytes of a regular file without data, and bytes looked at; `None` of anything else, and where a file system cannot
/// tell. Unwritten room that was reserved counts as well, as lseek(2) has it.
fn never_written(path: &CStr) -> Option<(u64, u64)> {
    let file = open_ordinary(path)?;
    let size = u64::try_from(fstat(&file).ok()?.st_size).ok().filter(|size| *size > 0)?;
    let (mut at, mut holes) = (0, 0);
    for _ in 0..MOST_STRETCHES {
        let data = match seek(&file, SeekFrom::Data(at)) {
            Ok(data) => data.min(size),
            // No data up to the end.
            Err(Errno::NXIO) => size,
            Err(_) => return None,
        };
        holes += data - at;
        at = data;
        if at >= size {
            break;
        }
        at = seek(&file, SeekFrom::Hole(at)).ok()?.min(size);
        if at >= size {
            break;
        }
    }
    Some((holes, at))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn path_of(file: &tempfile::NamedTempFile) -> Arc<CStr> {
        let text = std::ffi::CString::new(file.path().as_os_str().as_encoded_bytes()).expect("no NUL");
        text.into()
    }

    #[test]
    fn a_file_with_data_in_its_second_half_has_the_first_unwritten() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.seek(std::io::SeekFrom::Start(1 << 20)).expect("seeks");
        file.write_all(&vec![7; 1 << 20]).expect("room");
        let path = path_of(&file);
        assert_eq!(never_written(&path), Some((1 << 20, 2 << 20)));
        let mut opened = OpenedToRead::default();
        opened.opened(&path, libc::O_RDONLY);
        let note = opened.look().expect("half of it is no data");
        assert!(note.text.starts_with("1 MiB of 2 MiB of "), "{}", note.text);
    }

    #[test]
    fn whole_files_and_those_opened_to_write_go_unsaid() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&vec![7; 1 << 20]).expect("room");
        let mut opened = OpenedToRead::default();
        opened.opened(&path_of(&file), libc::O_RDONLY);
        assert_eq!(opened.look(), None);
        file.as_file().set_len(8 << 20).expect("grows");
        opened.opened(&path_of(&file), libc::O_RDWR);
        assert_eq!(opened.look(), None, "nothing says that it was read");
        opened.opened(&path_of(&file), libc::O_RDONLY | libc::O_DIRECT);
        assert!(opened.look().is_some());
        assert!(opened.direct);
    }
}
