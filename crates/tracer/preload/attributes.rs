//! The functions of the C library that change attributes of files. The third number of a record is 1 where a symbolic link
//! itself was meant, not what it leads to.

use core::ffi::{c_int, c_uint};

use crate::functions::{AT_SYMLINK_NOFOLLOW, Buffer, HERE, NO, Path, n};
use crate::sight::sight;
use crate::{AT_FDCWD, Kind, done, now, text};

fn of_link(flags: c_int) -> i64 {
    n(flags & AT_SYMLINK_NOFOLLOW != 0)
}

/// An empty name means the open file itself, and so does none.
fn by_name(path: Path, by_name: Kind, open: Kind) -> Kind {
    // SAFETY: the path is the caller's.
    if path.is_null() || unsafe { text(path) }.is_empty() { open } else { by_name }
}

stands_before! {
    "chmod" chmod(path: Path, mode: c_uint) -> c_int, before sight(AT_FDCWD, path);
        Kind::Chmod => |_| [HERE, n(mode), 0, 0], |r| [text(path), &[]];
    "fchmodat" fchmodat(at: c_int, path: Path, mode: c_uint, flags: c_int) -> c_int, before sight(at, path);
        Kind::Chmod => |_| [n(at), n(mode), of_link(flags), 0], |r| [text(path), &[]];
    "fchmod" fchmod(file: c_int, mode: c_uint) -> c_int; Kind::ChmodOpen => |_| [n(file), n(mode), 0, 0], |_| NO;
    "chown" chown(path: Path, user: c_uint, group: c_uint) -> c_int, before sight(AT_FDCWD, path);
        Kind::Chown => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "lchown" lchown(path: Path, user: c_uint, group: c_uint) -> c_int, before sight(AT_FDCWD, path);
        Kind::Chown => |_| [HERE, 0, 1, 0], |r| [text(path), &[]];
    "fchownat" fchownat(at: c_int, path: Path, user: c_uint, group: c_uint, flags: c_int) -> c_int, before sight(at, path);
        by_name(path, Kind::Chown, Kind::ChownOpen) => |_| [n(at), 0, of_link(flags), 0], |r| [text(path), &[]];
    "fchown" fchown(file: c_int, user: c_uint, group: c_uint) -> c_int;
        Kind::ChownOpen => |_| [n(file), 0, 0, 0], |_| NO;
    "utime" utime(path: Path, times: Buffer) -> c_int, before sight(AT_FDCWD, path);
        Kind::Utimes => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "utimes" utimes(path: Path, times: Buffer) -> c_int, before sight(AT_FDCWD, path);
        Kind::Utimes => |_| [HERE, 0, 0, 0], |r| [text(path), &[]];
    "lutimes" lutimes(path: Path, times: Buffer) -> c_int, before sight(AT_FDCWD, path);
        Kind::Utimes => |_| [HERE, 0, 1, 0], |r| [text(path), &[]];
    "futimesat" futimesat(at: c_int, path: Path, times: Buffer) -> c_int, before sight(at, path);
        by_name(path, Kind::Utimes, Kind::UtimesOpen) => |_| [n(at), 0, 0, 0], |r| [text(path), &[]];
    "utimensat" utimensat(at: c_int, path: Path, times: Buffer, flags: c_int) -> c_int, before sight(at, path);
        by_name(path, Kind::Utimes, Kind::UtimesOpen) => |_| [n(at), 0, of_link(flags), 0], |r| [text(path), &[]];
    "futimens" futimens(file: c_int, times: Buffer) -> c_int; Kind::UtimesOpen => |_| [n(file), 0, 0, 0], |_| NO;
    "futimes" futimes(file: c_int, times: Buffer) -> c_int; Kind::UtimesOpen => |_| [n(file), 0, 0, 0], |_| NO;
}
