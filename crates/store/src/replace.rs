//! Replaces a file in one step: whoever reads it sees the old content or the whole new one.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// New content for a file. It is written beside the file (`.NAME.RANDOM.partial`) and takes its name with
/// [`Replacement::commit`]; dropped before that, it is removed.
pub struct Replacement {
    content: NamedTempFile,
    path: PathBuf,
}

impl Replacement {
    /// Creates an empty file beside `path`.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written, or `path` ends in no name.
    pub fn of(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let content = tempfile::Builder::new()
            .prefix(&format!(".{}.", name.to_string_lossy()))
            .suffix(".partial")
            // Opened here for the permissions of any new file, 0o666 less the umask, and for plain errors.
            .make_in(folder, |path| File::options().write(true).create_new(true).open(path))?;
        Ok(Self { content, path: path.into() })
    }

    /// The file that is being written.
    pub fn file(&self) -> &File {
        self.content.as_file()
    }

    /// Gives the new content its name.
    ///
    /// # Errors
    /// As rename(2): the name is that of a folder, for instance. The old file is left as it was.
    pub fn commit(self) -> io::Result<()> {
        self.content.persist(self.path).map(drop).map_err(|refused| refused.error)
    }

    /// As [`Replacement::commit`], and returns when content and name are on the disk: after a power cut the file is
    /// whole or not there.
    ///
    /// # Errors
    /// Also as fsync(2); where only the folder could not be synced, the file has its name already.
    pub fn commit_durably(self) -> io::Result<()> {
        self.file().sync_all()?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        self.commit()?;
        match File::open(folder)?.sync_all() {
            // Some file systems have no such call for folders.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.content.as_file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.content.as_file().flush()
    }
}

/// Replaces the file `path` by `content`.
///
/// # Errors
/// As [`Replacement::of`] and [`Replacement::commit`], and where the disk is full.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::of(path)?;
    replacement.write_all(content)?;
    replacement.commit()
}
