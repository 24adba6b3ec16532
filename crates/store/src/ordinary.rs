//! Opens files that nobody may make this process wait for, or read for ever.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::Error;

/// Opens an ordinary file to read. Who opens a pipe waits for its other end, and a device may have no end.
///
/// # Errors
/// [`Error::Special`], and [`Error::Io`].
pub fn open_ordinary(path: &Path) -> Result<File, Error> {
    let io = |cause| Error::io("read", path, cause);
    let special = || Error::Special { action: "read", path: path.into() };
    if !path.metadata().map_err(io)?.is_file() {
        return Err(special());
    }
    let mut options = File::options();
    options.read(true);
    // A pipe may have come in its place.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path).map_err(io)?;
    if file.metadata().map_err(io)?.is_file() { Ok(file) } else { Err(special()) }
}

/// All of an ordinary file of at most `most` bytes.
///
/// # Errors
/// As [`open_ordinary`]; [`Error::Long`].
pub fn read_ordinary(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = open_ordinary(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|cause| Error::io("read", path, cause))?;
    match bytes.len() as u64 > most {
        true => Err(Error::Long { path: path.into(), most }),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_files_are_opened_and_only_as_much_as_is_allowed_is_read() {
        let folder = tempfile::tempdir().expect("a directory");
        let (file, long) = (folder.path().join("file"), folder.path().join("long"));
        std::fs::write(&file, "text").expect("a file");
        File::create(&long).and_then(|file| file.set_len(50 << 30)).expect("a sparse file");
        assert_eq!(read_ordinary(&file, 4).expect("a file"), b"text");
        assert!(matches!(read_ordinary(&file, 3), Err(Error::Long { .. })));
        assert!(matches!(read_ordinary(&long, 1 << 20), Err(Error::Long { .. })));
        assert!(matches!(open_ordinary(folder.path()), Err(Error::Special { .. })));
        #[cfg(unix)]
        assert!(matches!(read_ordinary(Path::new("/dev/zero"), 9), Err(Error::Special { .. })));
        assert!(matches!(open_ordinary(&folder.path().join("none")), Err(Error::Io { .. })));
    }
}
