//! What the ranks of a group do to one file: by name where a library opens it.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{GroupMaker, Guard};
use crate::execute::instrument::judge::is_ours;
use crate::files::{FoundFile, ParentFacts, Reached, Reason, Refusal, look, look_at};

/// A descriptor, and what it is: its number alone may be that of another file by the next look.
pub(in super::super) type Opened = (i32, u64, u64);

/// The descriptors of this process.
fn descriptors() -> Vec<Opened> {
    let all = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let known = numbers.filter_map(|number| {
        let found = rustix::fs::fstat(borrowed(number)).ok()?;
        Some((number, found.st_dev, found.st_ino))
    });
    known.collect()
}

fn borrowed(descriptor: i32) -> BorrowedFd<'static> {
    // SAFETY: it is asked about within a call; one that is closed meanwhile is an error.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// Does an MPI library keep something of its own there: memory that ranks share, or its session?
fn is_of_library(name: &Path) -> bool {
    /// MPICH, Intel MPI, UCX, and Open MPI 4 and 5.
    const MEMORY: [&[u8]; 5] = [b"mpich_shm_", b"Intel_MPI_", b"ucx_shm_", b"vader_segment.", b"sm_segment."];
    let begins =
        |part: Option<&OsStr>, begin: &[u8]| part.is_some_and(|part| part.as_bytes().starts_with(begin));
    let in_shm = name.parent() == Some(Path::new("/dev/shm"));
    let temporary = std::env::temp_dir();
    let in_session = |around: &Path| {
        let mut parts =
            name.strip_prefix(around).map(Path::components).unwrap_or_else(|_| Path::new("").components());
        begins(parts.next().map(|part| part.as_os_str()), b"ompi.") && parts.next().is_some()
    };
    in_shm && MEMORY.iter().any(|begin| begins(name.file_name(), begin))
        || in_session(&temporary)
        || in_session(Path::new("/tmp"))
        || in_session(Path::new("/dev/shm"))
}

/// Does it belong to who runs this? Nobody else's is this library's.
fn is_of_this_user(descriptor: i32) -> bool {
    rustix::fs::fstat(borrowed(descriptor))
        .is_ok_and(|found| found.st_uid == rustix::process::geteuid().as_raw())
}

/// Is it what Open MPI keeps next to a file for shared pointers that are of one rank each (`NAME.data.0`, `NAME.metadata.0`)?
fn is_beside(name: &Path, path: &CStr) -> bool {
    let file = Path::new(OsStr::from_bytes(path.to_bytes())).file_name().unwrap_or_default();
    let name = name.file_name().unwrap_or_default().as_bytes();
    let rest = name.strip_prefix(file.as_bytes()).unwrap_or_default();
    let rank = rest.strip_prefix(b".data.").or_else(|| rest.strip_prefix(b".metadata.")).unwrap_or_default();
    !rank.is_empty() && rank.iter().all(u8::is_ascii_digit)
}

/// The name of the file or device that can be written to by this descriptor; none of what is something else.
fn written_by_name(descriptor: i32) -> Option<PathBuf> {
    let flags = rustix::fs::fcntl_getfl(borrowed(descriptor)).ok()?;
    let writes = flags.intersects(rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::RDWR);
    let name = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    // `socket:[7]` and `anon_inode:[eventpoll]` are no names.
    (writes && name.is_absolute() && !name.starts_with("/memfd:")).then_some(name)
}

impl Guard {
    /// May `path` be written to by who opens it by name? What a link at its end leads to is meant. `None` where nobody asks, and
    /// where another rank `decides` for all.
    pub(in super::super) fn own_followed(
        &mut self,
        what: &'static str,
        (path, reached): (&CStr, &Reached<'_>),
        decides: bool,
    ) -> Result<Option<GroupMaker>, Refusal> {
        if !self.judges() {
            return Ok(None);
        }
        let real = self.confinement.check_followed(what, path)?;
        let named = self.confinement.named(path);
        let mut around = reached.around;
        let (mut at, mut held) = (reached.path.clone().into_owned(), None);
        let mut found = look(&at);
        if found.as_ref().is_some_and(FoundFile::is_link) {
            let led = CString::new(real.as_os_str().as_bytes()).unwrap_or_default();
            let there = self.reach_fixed(what, &led)?;
            // A link at its end may lead out of the place that the user opened.
            around =
                ParentFacts { trusted: around.trusted && self.confinement.trusts(&real), ..there.around };
            at = there.path.clone().into_owned();
            held = there.into_held();
            found = look(&at);
        }
        let was_free = |guard: &mut Self| {
            !around.birth_times
                && !guard.confinement.must_hold(around)
                && guard.earlier.was_free(path, around)
        };
        let any = around.trusted || was_free(self);
        let maker = GroupMaker::new(self.own.clone(), (at, held), (found.is_some(), any), named);
        match found.filter(|_| decides).is_none_or(|found| maker.may_write_to(&found)) {
            true => Ok(Some(maker)),
            false => Err(self.confinement.refusal(what, path, Reason::NotMade)),
        }
    }

    /// As [`Guard::own_open`], of a file that ranks of a group opened to write, and that `maker` made.
    pub(in super::super) fn own_group(
        &self,
        what: &'static str,
        path: &CStr,
        (around, descriptor): (ParentFacts, i32),
        maker: Option<&GroupMaker>,
    ) -> Result<(), Refusal> {
        if !self.judges() {
            return Ok(());
        }
        match look_at(descriptor) {
            Some(found) if self.own.is_ours(found.object()) => Ok(()),
            Some(found) if maker.is_some_and(|maker| maker.knows(&found).is_some()) => Ok(()),
            // Nothing had the name before.
            Some(_) if !around.birth_times && self.registry.knows(path) => Ok(()),
            Some(found) if self.confinement.named(path).is_some_and(|named| named.is(found.object())) => {
                Ok(())
            }
            Some(found) if is_ours(&self.own, &found) => Ok(()),
            _ => self.own_open(what, path, descriptor),
        }
    }

    /// The descriptors of this process before a library opens a file to write, where it is judged what it opens.
    pub(in super::super) fn before_library(&self) -> Option<Vec<Opened>> {
        self.judges().then(descriptors)
    }

    /// As [`Guard::own_group`], of a file that a library opened: what it opened is not told, so all that it can write to by a
    /// descriptor that was not there `before` is judged. A link in the place of the file led elsewhere.
    pub(in super::super) fn own_of_library(
        &self,
        what: &'static str,
        path: &CStr,
        (around, maker): (ParentFacts, Option<&GroupMaker>),
        before: &[Opened],
    ) -> Result<Option<FoundFile>, Refusal> {
        let mut opened = None;
        for (descriptor, ..) in descriptors().into_iter().filter(|now| !before.contains(now)) {
            let Some(name) = written_by_name(descriptor) else { continue };
            let inside = CString::new(name.as_os_str().as_bytes())
                .is_ok_and(|real| self.confinement.check_followed(what, &real).is_ok());
            let object = look_at(descriptor);
            let is_new = object.as_ref().is_some_and(|found| found.is_born_since(self.registry.begun()));
            match &object {
                Some(found) if self.own.is_ours(found.object()) => {}
                Some(_)
                    if is_new
                        && (is_of_library(&name) || is_beside(&name, path))
                        && is_of_this_user(descriptor) =>
                {
                    continue;
                }
                _ if inside => self.own_group(what, path, (around, descriptor), maker)?,
                _ => return Err(self.confinement.refusal(what, path, Reason::Changed)),
            }
            opened = object.or(opened);
        }
        Ok(opened)
    }

    /// May these hints be given? By one of them some ranks open the file only when they need it, by its name.
    pub(in super::super) fn opens_at_once(
        &self,
        what: &'static str,
        path: &CStr,
        hints: &[(String, String)],
    ) -> Result<(), Refusal> {
        let is_late = |(hint, value): &(String, String)| {
            hint == "romio_no_indep_rw" && value.eq_ignore_ascii_case("true")
        };
        match self.judges() && hints.iter().any(is_late) {
            true => Err(self.confinement.refusal(what, path, Reason::Later)),
            false => Ok(()),
        }
    }

    /// The name of what a group opens or removes, as it is to be used. A library gets an absolute path without a colon: of
    /// `ufs:/x` it would take `/x` for the name of the file.
    pub(in super::super) fn for_library(
        &self,
        what: &'static str,
        path: &CStr,
        (library, reached): (bool, &Reached<'_>),
    ) -> Result<CString, Refusal> {
        if !library || !self.local {
            return Ok(reached.path.clone().into_owned());
        }
        let written = path.to_bytes();
        // Nobody can put another in the place of a held directory, or make one where there was none. What the file itself is
        // says its descriptor.
        if *reached.path != *path {
            return match reached.path.to_bytes().contains(&b':') {
                true => Err(self.confinement.refusal(what, path, Reason::Colon)),
                false => Ok(reached.path.clone().into_owned()),
            };
        }
        let (directory, name) =
            written.split_at(crate::names::last_slash(written).map_or(0, |slash| slash + 1));
        let around =
            if directory.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(directory)) };
        // Where it does not exist the library says so, of a name that it cannot take for another.
        let absolute = around.canonicalize().or_else(|_| std::path::absolute(around)).unwrap_or_default();
        let absolute = absolute.join(OsStr::from_bytes(name));
        let bytes = absolute.into_os_string().into_encoded_bytes();
        match CString::new(bytes) {
            Ok(name) if name.to_bytes().starts_with(b"/") && !name.to_bytes().contains(&b':') => Ok(name),
            _ => Err(self.confinement.refusal(what, path, Reason::Colon)),
        }
    }

    /// What this descriptor is.
    pub(in super::super) fn opened(&self, descriptor: i32) -> Option<FoundFile> {
        self.judges().then(|| look_at(descriptor)).flatten()
    }

    /// The call of the group is over: what is known to be what rank 0 made for all is the run's, which this rank `opened`. What has
    /// the name by now may be something else.
    pub(in super::super) fn made_together(&self, opened: Option<&FoundFile>, maker: Option<&GroupMaker>) {
        let is_made = |found: &&FoundFile| maker.and_then(|maker| maker.knows(found)) == Some(true);
        if self.judges()
            && let Some(found) = opened.filter(is_made)
        {
            self.own.made(found.object());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_names_of_its_own_and_no_other_ones() {
        let session = std::env::temp_dir().join("ompi.host.0/jf.0/1/f_cid-1-2.sm");
        let of_it = [
            "/dev/shm/mpich_shm_139ba1f7_0",
            "/dev/shm/mpich_shm_139ba1f7_0 (deleted)",
            "/dev/shm/Intel_MPI_x7Yz1a",
            "/dev/shm/ucx_shm_posix_1f",
            "/dev/shm/sm_segment.host.0.b1e20001.0",
            "/dev/shm/vader_segment.host.0.b1e20001.0",
            "/tmp/ompi.host.0/pid.7/0/shared_mem",
            &session.to_string_lossy(),
        ];
        assert!(of_it.iter().all(|name| is_of_library(Path::new(name))));
        let others = [
            "/dev/shm/thesis.txt",
            "/dev/shm/work/mpich_shm_1",
            "/tmp/thesis.txt",
            "/tmp/ompi.notes",
            "/tmp/work/ompi.1/thesis.txt",
            "/home/me/sm_segment.1",
        ];
        assert!(!others.iter().any(|name| is_of_library(Path::new(name))));
    }
}
