//! The name of a socket of this machine.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// A listening socket, whose name goes with it where it is still its own.
pub struct NamedSocket {
    path: PathBuf,
    object: (u64, u64),
}

impl NamedSocket {
    /// Listens at `path`. A socket of this user that nobody listens at, which an echo that was killed leaves, is replaced.
    pub fn bind(path: &Path) -> anyhow::Result<(UnixListener, Self)> {
        let place = || format!("cannot listen at {}", path.display());
        match path.symlink_metadata() {
            Ok(found) if !found.file_type().is_socket() => {
                bail!("{} is there already, and no socket: name another path", path.display())
            }
            Ok(found) => {
                if UnixStream::connect(path).is_ok() {
                    bail!("somebody listens at {} already: use that, or name another path", path.display());
                }
                let own = std::fs::metadata("/proc/self").with_context(place)?.uid();
                if found.uid() != own {
                    bail!("{} is a socket of another user: name another path", path.display());
                }
                Self::of(path, &found).remove();
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).with_context(place)?;
        let made = path.symlink_metadata().with_context(place)?;
        Ok((listener, Self::of(path, &made)))
    }

    fn of(path: &Path, found: &std::fs::Metadata) -> Self {
        Self { path: path.to_owned(), object: (found.dev(), found.ino()) }
    }

    /// Removes the name, unless something else has it by now.
    pub fn remove(&self) {
        let is_own = |found: &std::fs::Metadata| {
            found.file_type().is_socket() && (found.dev(), found.ino()) == self.object
        };
        if self.path.symlink_metadata().is_ok_and(|found| is_own(&found)) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_socket_goes_and_what_has_it_by_then_stays() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("echo");
        let (listener, name) = NamedSocket::bind(&path).expect("a socket");
        assert!(NamedSocket::bind(&path).is_err_and(|told| told.to_string().contains("listens")));
        std::fs::rename(&path, folder.path().join("aside")).expect("moved");
        std::fs::write(&path, "the user's").expect("a file");
        name.remove();
        assert_eq!(std::fs::read(&path).expect("there"), b"the user's");
        assert!(NamedSocket::bind(&path).is_err_and(|told| told.to_string().contains("no socket")));
        std::fs::rename(folder.path().join("aside"), &path).expect("moved");
        // As an echo that is killed leaves it.
        drop(listener);
        let (_listener, name) = NamedSocket::bind(&path).expect("replaced");
        name.remove();
        assert!(!path.exists());
    }
}
