//! Holds directories and files by descriptor, so that a later renaming does not change what they are.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat, openat2};
use rustix::io::Errno;

/// A directory below which names are looked up, held open.
#[derive(Clone, Debug)]
pub struct Anchor {
    path: PathBuf,
    directory: Arc<OwnedFd>,
}

/// A directory or file that was found below an [`Anchor`], held open without the right to read or write.
#[derive(Debug)]
pub struct Held(OwnedFd);

impl Anchor {
    /// Holds the directory or file `path`, which contains no symbolic links.
    ///
    /// # Errors
    /// As open(2).
    pub fn of(path: &Path) -> io::Result<Self> {
        let directory = open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { path: path.into(), directory: Arc::new(directory) })
    }

    /// Holds what `opened` leads to now, links followed, where `real`, which contains none, leads to the same: nobody has
    /// put something else in the place of one of both since `real` was found.
    ///
    /// # Errors
    /// As open(2); ESTALE where they differ.
    pub fn of_same(opened: &Path, real: &Path) -> io::Result<Self> {
        let same = open(opened, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let held = Self::of(real)?;
        let (one, other) = (fstat(&same)?, fstat(&*held.directory)?);
        if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino) {
            Ok(held)
        } else {
            Err(Errno::STALE.into())
        }
    }

    /// A path by which this process, and those that it forks, reach exactly what is held.
    pub fn itself(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()))
    }

    /// Its path when it was taken.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Holds what `real` leads to, which lies below this anchor, and in which no link and no `..` may be on the way.
    ///
    /// If a directory on the way was replaced by a link or moved outside since,
    /// the call fails.
    ///
    /// # Errors
    /// ELOOP where a link has come into the path; EXDEV where it leads outside; else as open(2).
    pub fn hold(&self, real: &Path) -> io::Result<Held> {
        let below = real.strip_prefix(&self.path).map_err(|_| io::Error::from(Errno::XDEV))?;
        if below.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(Errno::XDEV.into());
        }
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let how = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // EAGAIN: something was renamed or mounted at the same time.
        for _ in 0..8 {
            match openat2(&*self.directory, below, how, Mode::empty(), rules) {
                Ok(found) => return Ok(Held(found)),
                Err(Errno::AGAIN) => {}
                // Before Linux 5.6, or a filter of a container.
                Err(Errno::NOSYS | Errno::PERM) => return self.walk(below),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// As [`Anchor::hold`], name by name.
    fn walk(&self, below: &Path) -> io::Result<Held> {
        let how = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut here = openat(&*self.directory, ".", how, Mode::empty());
        for part in below.components().filter(|part| matches!(part, Component::Normal(_))) {
            let next = openat(here?, part.as_os_str(), how, Mode::empty())?;
            if FileType::from_raw_mode(fstat(&next)?.st_mode) == FileType::Symlink {
                return Err(Errno::LOOP.into());
            }
            here = Ok(next);
        }
        Ok(Held(here?))
    }
}

impl Held {
    /// Holds what `path` leads to, if no link is on the way or at its end.
    ///
    /// # Errors
    /// ELOOP where there is a link; ENOSYS or EPERM where Linux cannot tell (before 5.6, or in a container); else as open(2).
    pub fn without_links(path: &CStr) -> io::Result<Self> {
        let rules = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(Self(openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), rules)?))
    }

    /// The number of the descriptor.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// A path by which calls reach exactly this, or `name` in it: `/proc/self/fd/7/NAME`.
    pub fn path_of(&self, name: &CStr) -> CString {
        let mut path = format!("/proc/self/fd/{}", self.0.as_raw_fd()).into_bytes();
        if !name.is_empty() {
            path.push(b'/');
            path.extend_from_slice(name.to_bytes());
        }
        // Neither part has a NUL in it.
        CString::new(path).unwrap_or_default()
    }

    /// The file type and permissions (`st_mode`).
    ///
    /// # Errors
    /// As fstat(2).
    pub fn mode(&self) -> io::Result<u32> {
        Ok(fstat(&self.0)?.st_mode)
    }

    /// The device on which it lies, if it is a directory.
    pub fn device_of_directory(&self) -> Option<u64> {
        let found = fstat(&self.0).ok()?;
        (FileType::from_raw_mode(found.st_mode) == FileType::Directory).then_some(found.st_dev)
    }
}

impl From<Held> for OwnedFd {
    fn from(held: Held) -> Self {
        held.0
    }
}

/// The mode of `path` itself; a link at its end is not followed.
///
/// # Errors
/// As open(2).
pub fn mode_of(path: &CStr) -> io::Result<u32> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let found = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
    Ok(fstat(&found)?.st_mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(path: &Path) -> PathBuf {
        path.canonicalize().expect("there")
    }

    #[test]
    fn what_is_held_stays_what_it_is_when_its_name_leads_elsewhere() {
        let home = tempfile::tempdir().expect("a directory");
        let (inside, outside) = (real(home.path()).join("in"), real(home.path()).join("out"));
        std::fs::create_dir_all(inside.join("m")).expect("mkdir");
        std::fs::create_dir(&outside).expect("mkdir");
        let anchor = Anchor::of(&inside).expect("there");
        let held = anchor.hold(&inside.join("m")).expect("there");
        std::fs::rename(inside.join("m"), inside.join("o")).expect("rename");
        std::os::unix::fs::symlink(&outside, inside.join("m")).expect("symlink");
        let path = held.path_of(c"f");
        std::fs::write(OsStr::from_bytes(path.to_bytes()), "x").expect("write");
        assert!(inside.join("o/f").exists() && !outside.join("f").exists());
        for again in [anchor.hold(&inside.join("m/f")), anchor.walk(Path::new("m/f"))] {
            assert!(again.is_err(), "a link has come into the path");
        }
    }

    #[test]
    fn a_place_is_held_only_where_both_of_its_names_lead_to_it() {
        let home = tempfile::tempdir().expect("a directory");
        let home = real(home.path());
        let (place, other, link) = (home.join("place"), home.join("other"), home.join("link"));
        std::fs::create_dir(&place).expect("mkdir");
        std::fs::create_dir(&other).expect("mkdir");
        std::os::unix::fs::symlink(&place, &link).expect("symlink");
        let held = Anchor::of_same(&link, &place).expect("the same");
        std::fs::write(held.itself().join("f"), "x").expect("write");
        assert!(place.join("f").exists());
        // Somebody exchanges them after the real path was found.
        std::fs::rename(&place, home.join("aside")).expect("rename");
        std::os::unix::fs::symlink(&other, &place).expect("symlink");
        assert!(Anchor::of_same(&link, &place).is_err() && Anchor::of_same(&other, &home).is_err());
        assert!(held.itself().join("f").exists());
    }

    #[test]
    fn a_path_without_links_is_held_and_one_with_a_link_is_not() {
        let home = tempfile::tempdir().expect("a directory");
        let home = real(home.path());
        std::fs::create_dir(home.join("d")).expect("mkdir");
        std::fs::write(home.join("d/f"), "").expect("write");
        std::os::unix::fs::symlink(home.join("d"), home.join("e")).expect("symlink");
        std::os::unix::fs::symlink("f", home.join("d/g")).expect("symlink");
        let held = |name: &str| {
            let path = home.join(name);
            Held::without_links(&CString::new(path.as_os_str().as_bytes()).expect("no NUL"))
        };
        assert!(held("d").expect("there").device_of_directory().is_some());
        assert!(held("d/f").expect("there").device_of_directory().is_none());
        for name in ["e/f", "d/g", "e", "d/h"] {
            assert!(held(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_lies_outside_is_not_held() {
        let home = tempfile::tempdir().expect("a directory");
        let inside = real(home.path()).join("in");
        std::fs::create_dir(&inside).expect("mkdir");
        let anchor = Anchor::of(&inside).expect("there");
        for outside in ["/etc/passwd", "/"] {
            assert!(anchor.hold(Path::new(outside)).is_err(), "{outside}");
        }
        assert!(anchor.hold(&inside.join("../x")).is_err());
        assert!(anchor.hold(&inside).expect("itself").device_of_directory().is_some());
        assert!(anchor.walk(Path::new(".")).expect("itself").device_of_directory().is_some());
    }
}
