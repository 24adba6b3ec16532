//! What is free where a program writes.

use std::ffi::{CStr, OsStr};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, fstat, fstatvfs, stat, statvfs};

use super::Guard;
use crate::execute::instrument::space_watch::{Free, Spare};

impl Guard {
    /// What may be taken for the file `path`, which may be new.
    pub(in super::super) fn room_at(&self, path: &CStr) -> Spare {
        match self.watches() {
            true => room_of_name(path),
            false => Spare::Unwatched,
        }
    }

    /// What may be taken for the file that this descriptor is, whatever it is called by now, if it is called anything.
    pub(in super::super) fn room_of(&self, descriptor: i32) -> Spare {
        match self.watches() {
            true => room_of_descriptor(descriptor),
            false => Spare::Unwatched,
        }
    }

    /// Bytes that are free for the file `path`, which may be new; `None` where nobody can say, and of devices.
    pub(in super::super) fn free_at(&self, path: &CStr) -> Option<u64> {
        match self.local.then(|| room_of_name(path)) {
            Some(Spare::Free(free)) => Some(free.bytes),
            _ => None,
        }
    }

    fn watches(&self) -> bool {
        self.local && !self.confinement.fills()
    }
}

fn takes_room(mode: u32) -> bool {
    matches!(FileType::from_raw_mode(mode), FileType::RegularFile | FileType::Directory)
}

fn room_of_name(path: &CStr) -> Spare {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let place = match stat(path) {
        Ok(found) if !takes_room(found.st_mode) => return Spare::TakesNone,
        Ok(_) => path,
        Err(_) => path.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    };
    match (stat(place), statvfs(place)) {
        (Ok(found), Ok(free)) => Spare::Free(Free::of(found.st_dev, &free)),
        _ => Spare::Unknown,
    }
}

fn room_of_descriptor(descriptor: i32) -> Spare {
    // SAFETY: the descriptor is of a file that the caller holds open.
    let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
    match fstat(file) {
        Ok(found) if !takes_room(found.st_mode) => Spare::TakesNone,
        Ok(found) => fstatvfs(file).map_or(Spare::Unknown, |free| Spare::Free(Free::of(found.st_dev, &free))),
        Err(_) => Spare::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_a_descriptor_writes_to_is_watched_whatever_has_its_name() {
        let home = tempfile::tempdir().expect("a directory");
        let (path, moved) = (home.path().join("d/f"), home.path().join("e"));
        std::fs::create_dir(home.path().join("d")).expect("mkdir");
        let file = std::fs::File::create(&path).expect("a file");
        let is_free = |room| matches!(room, Spare::Free(Free { bytes, .. }) if bytes > 0);
        std::fs::rename(home.path().join("d"), moved).expect("rename");
        assert!(is_free(room_of_descriptor(file.as_raw_fd())), "its name leads nowhere");
        std::fs::create_dir_all(&path).expect("mkdir");
        assert!(is_free(room_of_descriptor(file.as_raw_fd())), "its name is that of a directory");
        let nameless = tempfile::tempfile_in(home.path()).expect("a file without a name");
        assert!(is_free(room_of_descriptor(nameless.as_raw_fd())));
        assert!(is_free(room_of_name(c".")) && is_free(room_of_name(c"new")));
    }

    #[test]
    fn devices_take_no_room_and_where_nobody_can_say_it_is_unknown() {
        let null = std::fs::File::open("/dev/null").expect("a device");
        assert_eq!(room_of_descriptor(null.as_raw_fd()), Spare::TakesNone);
        assert_eq!(room_of_name(c"/dev/null"), Spare::TakesNone);
        assert_eq!(room_of_name(c"not/there"), Spare::Unknown);
    }
}
