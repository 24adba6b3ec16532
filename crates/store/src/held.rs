//! A folder that is held open: what is done in it is done there, wherever its name leads meanwhile.

use std::ffi::OsString;
#[cfg(unix)]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;

#[cfg(unix)]
use rustix::fs::OFlags;

/// A folder held open. Somebody who may write to the folder around it can put another one in its place; that one is
/// neither written to nor emptied.
#[derive(Clone, Debug)]
pub struct HeldFolder {
    path: PathBuf,
    #[cfg(unix)]
    folder: Arc<File>,
}

impl HeldFolder {
    /// Makes a folder for this user alone in `around`, under a name that begins with `prefix` and that nobody can guess.
    ///
    /// # Errors
    /// As mkdir(2) and open(2).
    pub fn make(around: &Path, prefix: &str) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).rand_bytes(16);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let made = builder.tempdir_in(around)?.keep();
        Self::just_made(&made)
    }

    /// Holds the folder `path` that this process has just made for its user alone.
    ///
    /// # Errors
    /// As open(2), and where another folder has come in its place since.
    pub fn just_made(path: &Path) -> io::Result<Self> {
        let held = Self::open(path)?;
        #[cfg(unix)]
        let is_own = {
            use std::os::unix::fs::MetadataExt;
            let found = held.folder.metadata()?;
            found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0
        };
        #[cfg(not(unix))]
        let is_own = true;
        match is_own && held.names()?.is_empty() {
            true => Ok(held),
            false => Err(io::Error::other("somebody put another folder in its place")),
        }
    }

    /// Holds the folder `path`, which is no link.
    ///
    /// # Errors
    /// As open(2): ENOTDIR where it is a link or no folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            let mut options = File::options();
            let how = OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::NONBLOCK;
            options.read(true).custom_flags(how.bits() as i32);
            Ok(Self { path: path.into(), folder: Arc::new(options.open(path)?) })
        }
        #[cfg(not(unix))]
        {
            match path.symlink_metadata()?.is_dir() {
                true => Ok(Self { path: path.into() }),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        }
    }

    /// Its name when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open folder, for locks and questions.
    #[cfg(unix)]
    pub fn file(&self) -> &File {
        &self.folder
    }

    /// A path that leads into this folder, whatever becomes of its name, as long as it is held. For this process only.
    pub fn inside(&self, name: impl AsRef<Path>) -> PathBuf {
        #[cfg(target_os = "linux")]
        let path = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&*self.folder)));
        #[cfg(not(target_os = "linux"))]
        let path = self.path.clone();
        path.join(name)
    }

    /// The names in it, in their order.
    ///
    /// # Errors
    /// As readdir(3).
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = std::fs::read_dir(self.inside("."))?;
        let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    /// Does its name still lead to it?
    pub fn has_its_name(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let object = |found: &std::fs::Metadata| (found.dev(), found.ino());
            let (held, named) = (self.folder.metadata(), self.path.symlink_metadata());
            matches!((held, named), (Ok(held), Ok(named)) if object(&held) == object(&named))
        }
        #[cfg(not(unix))]
        {
            self.path.symlink_metadata().is_ok_and(|found| found.is_dir())
        }
    }

    /// Removes the folder where it is empty and its name still leads to it; returns whether it is gone.
    pub fn remove_empty(&self) -> bool {
        // What came in its place meanwhile goes only if nothing is in it.
        self.has_its_name() && std::fs::remove_dir(&self.path).is_ok()
    }

    /// Removes all that is in it, and then the folder as [`HeldFolder::remove_empty`] does.
    pub fn remove(&self) {
        for name in self.names().unwrap_or_default() {
            let path = self.inside(name);
            let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
            let _ = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        }
        self.remove_empty();
    }
}

/// A folder of this user alone that goes when this does: see [`HeldFolder::make`].
#[derive(Debug)]
pub struct PrivateFolder(HeldFolder);

impl PrivateFolder {
    /// As [`HeldFolder::make`].
    ///
    /// # Errors
    /// As there.
    pub fn make(around: &Path, prefix: &str) -> io::Result<Self> {
        HeldFolder::make(around, prefix).map(Self)
    }
}

impl std::ops::Deref for PrivateFolder {
    type Target = HeldFolder;

    fn deref(&self) -> &HeldFolder {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        self.0.remove();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_was_put_in_the_place_of_a_private_folder_stays() {
        let around = tempfile::tempdir().expect("a directory");
        let (project, aside) = (around.path().join("project"), around.path().join("aside"));
        std::fs::create_dir_all(project.join("src")).expect("mkdir");
        std::fs::write(project.join("src/main"), "the user's").expect("a file");
        let held = PrivateFolder::make(around.path(), ".of-a-test-").expect("a folder");
        assert_eq!(held.path().metadata().expect("there").mode() & 0o777, 0o700);
        std::fs::create_dir(held.inside("profile")).expect("mkdir");
        symlink(&project, held.inside("link")).expect("a link");
        let name = held.path().to_owned();
        std::fs::rename(&name, &aside).expect("moved");
        std::fs::rename(&project, &name).expect("moved");
        std::fs::write(held.inside("profile/own"), "ours").expect("a file");
        assert!(aside.join("profile/own").exists());
        drop(held);
        assert_eq!(std::fs::read(name.join("src/main")).expect("there"), b"the user's");
        assert_eq!(std::fs::read_dir(&aside).expect("there").count(), 0, "what was made is gone");
    }

    #[test]
    fn what_came_in_the_place_of_a_folder_that_was_just_made_is_not_taken_for_it() {
        let around = tempfile::tempdir().expect("a directory");
        let (home, link) = (around.path().join("home"), around.path().join("link"));
        std::fs::create_dir(&home).expect("mkdir");
        let set =
            |mode| std::fs::set_permissions(&home, std::fs::Permissions::from_mode(mode)).expect("chmod");
        symlink(&home, &link).expect("a link");
        set(0o755);
        assert!(HeldFolder::just_made(&home).is_err(), "others may look into it");
        set(0o700);
        assert!(HeldFolder::just_made(&home).is_ok() && HeldFolder::just_made(&link).is_err());
        std::fs::write(home.join("f"), "the user's").expect("a file");
        assert!(HeldFolder::just_made(&home).is_err(), "something is in it");
    }

    #[test]
    fn a_private_folder_goes_and_a_link_is_not_opened() {
        let around = tempfile::tempdir().expect("a directory");
        let made = [(); 2].map(|()| PrivateFolder::make(around.path(), "x").expect("a folder"));
        assert_ne!(made[0].path(), made[1].path());
        std::fs::write(made[0].inside("f"), "ours").expect("a file");
        drop(made);
        assert_eq!(std::fs::read_dir(around.path()).expect("there").count(), 0);
        symlink("/", around.path().join("l")).expect("a link");
        assert!(HeldFolder::open(&around.path().join("l")).is_err());
    }
}
