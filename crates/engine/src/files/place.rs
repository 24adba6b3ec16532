//! A place that a program may touch, and what is known of a directory in one.

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use confine::{Anchor, Held};

use super::entry::look;
use super::object::Object;
use super::real_path::real_path;

/// A directory or file that a program may touch.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Links resolved.
    pub(super) path: PathBuf,
    /// The user named it for that (`--allow`): hidden names, and files that the run did not make, are the program's too.
    pub(super) trusted: bool,
    pub(super) anchor: Option<Anchor>,
    /// No directory: the user named this file; with `--allow` also a pipe or a device.
    pub(super) file: bool,
    /// What that file was when the run began.
    pub(super) object: Option<Object>,
}

impl Place {
    pub(super) fn of(written: &Path, trusted: bool) -> Option<Self> {
        let path = real_path(written)?;
        if written.is_dir() || path.is_dir() {
            // Another user may exchange names around it at any moment: either both lead to what is held, or there is no place.
            let anchor = Anchor::of_same(written, &path).ok()?;
            return Some(Self { path, trusted, anchor: Some(anchor), file: false, object: None });
        }
        let existing = path.ancestors().find(|ancestor| ancestor.is_dir());
        let anchor = existing.and_then(|existing| Anchor::of(existing).ok());
        let file = path.is_file() || trusted && path.exists();
        let object = CString::new(path.as_os_str().as_bytes()).ok().filter(|_| file);
        let object = object.and_then(|path| look(&path)).map(|found| *found.object());
        Some(Self { path, trusted, anchor, file, object })
    }

    /// What the kernel is to allow: what is held, not what its name leads to by then.
    pub(super) fn for_the_kernel(&self) -> PathBuf {
        match &self.anchor {
            Some(anchor) if self.is_wider_than_named() || anchor.path() == self.path => {
                let held = anchor.itself();
                // Where `/proc` is missing there is its name only.
                if held.exists() { held } else { anchor.path().into() }
            }
            _ => self.path.clone(),
        }
    }

    /// Does the directory that is held reach further than the place?
    pub(super) fn is_wider_than_named(&self) -> bool {
        !self.path.exists()
    }
}

/// What is known of the directory a path lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentFacts {
    /// Files here carry a birth time by this machine's own clock.
    pub birth_times: bool,
    /// Which directory it is: a number made of its path, links resolved.
    pub place: u64,
    /// The device of its file system; 0 where that is not known.
    pub device: u64,
    /// The user named a directory around it with `--allow`.
    pub trusted: bool,
    /// Another part of the run may put something else in the place of a directory of the path (one that the run made,
    /// or a link), or another user may.
    pub replaceable: bool,
}

/// A path that may be used, and what must stay open until it was.
#[derive(Debug)]
pub struct Reached<'p> {
    /// For the call.
    pub path: Cow<'p, CStr>,
    /// Of the directory around it.
    pub around: ParentFacts,
    pub(super) held: Option<Held>,
    /// Of what is held, where that is not its directory but itself.
    pub(super) mode: Option<u32>,
}

impl<'p> Reached<'p> {
    /// A path that nobody checks.
    pub fn unchecked(path: &'p CStr, around: ParentFacts) -> Self {
        Self { path: Cow::Borrowed(path), around, held: None, mode: None }
    }

    /// Its type and permissions, where it is held itself.
    pub fn mode(&self) -> Option<u32> {
        self.mode
    }

    /// Its directory, where that is held.
    pub fn into_held(self) -> Option<Held> {
        self.held
    }

    /// Is its directory held, so that the path leads to the same one as long as this is kept?
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }
}

/// The number of the directory or file `name` in the directory with the number `parent` (FNV-1a; Fowler, Noll and Vo
/// 1991).
pub(super) fn of_place(parent: u64, name: &[u8]) -> u64 {
    let start = if parent == 0 { 0xcbf2_9ce4_8422_2325 } else { parent };
    name.iter()
        .chain(b"/")
        .fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The device of what lies there.
pub(super) fn device_of(real: &Path) -> u64 {
    rustix::fs::stat(real).map_or(0, |found| found.st_dev)
}

/// Does this directory's file system keep birth times by this machine's clock?
pub(super) fn has_birth_times(real: &Path) -> bool {
    const LOCAL: [i64; 7] =
        [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1, 0x794C_7630];
    let Ok(facts) = rustix::fs::statfs(real) else { return false };
    #[allow(clippy::unnecessary_cast)] // the field's width differs between architectures
    let kind = facts.f_type as i64 & 0xFFFF_FFFF;
    LOCAL.contains(&kind)
        && rustix::fs::statx(
            rustix::fs::CWD,
            real,
            rustix::fs::AtFlags::empty(),
            rustix::fs::StatxFlags::BTIME,
        )
        .is_ok_and(|found| found.stx_mask & rustix::fs::StatxFlags::BTIME.bits() != 0)
}
