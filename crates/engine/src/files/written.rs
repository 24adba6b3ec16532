//! What a path says as it is written, before anybody looks where it leads.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The act of reading, in a refusal.
pub const READ: &str = "read";
/// What is asked of directories and links, which are made where nothing has their name, or not at all.
pub const MAKE: &str = "make";

/// `path` as its directory: all of it where it ends in no name.
pub(super) fn directory_of(path: &[u8]) -> &[u8] {
    match crate::names::last_slash(path) {
        _ if matches!(path, b"" | b"." | b"..") => path,
        Some(slash) if matches!(&path[slash + 1..], b"" | b"." | b"..") => path,
        Some(slash) => &path[..=slash],
        None => &b""[..],
    }
}

pub(super) fn here(directory: &[u8]) -> &Path {
    if directory.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(directory)) }
}

/// The devices that may be opened anywhere: to nowhere, and zeros to read.
pub(super) fn is_null(path: &[u8], what: &str) -> bool {
    match path {
        b"/dev/null" => what == READ || what == "write to",
        b"/dev/zero" => what == READ,
        _ => false,
    }
}

/// Names that begin with a dot hold settings, keys and hooks of other programs.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    name.first() == Some(&b'.') && !matches!(name, b"." | b"..")
}

/// Does what is asked of a name put it there?
pub(super) fn makes(what: &str) -> bool {
    matches!(what, MAKE | "write to" | "rename to")
}

/// Would a shell that expands `*` hand the last name of a path to a program as an option?
pub(super) fn is_option(path: &[u8]) -> bool {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let name = path[..end].rsplit(|byte| *byte == b'/').next();
    name.is_some_and(|name| name.first() == Some(&b'-'))
}

/// Does a path have a `..` in it?
pub(super) fn goes_up(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name == b"..")
}

/// A path as its directory, with the slash behind it, and the name in it.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = crate::names::last_slash(path).map_or(0, |slash| slash + 1);
    path.split_at(slash)
}
