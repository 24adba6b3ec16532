//! The functions of the C library whose calls are told by the number of the system call, which the reader looks up in the table of
//! operations: the numbers of a record are that one and the first, third and fourth argument.

use core::ffi::{c_int, c_uint, c_void};

use crate::functions::{Buffer, HERE, NO, Path, n};
use crate::{Kind, done, now, number, text};

const PIPE: c_uint = 0o010_000;

stands_before! {
    "setxattr" setxattr(path: Path, key: Path, value: Buffer, size: usize, flags: c_int) -> c_int;
        Kind::Entry => |_| [number::SETXATTR, 0, 0, size as i64], |r| [text(path), text(key)];
    "lsetxattr" lsetxattr(path: Path, key: Path, value: Buffer, size: usize, flags: c_int) -> c_int;
        Kind::Entry => |_| [number::LSETXATTR, 0, 0, size as i64], |r| [text(path), text(key)];
    "fsetxattr" fsetxattr(file: c_int, key: Path, value: Buffer, size: usize, flags: c_int) -> c_int;
        Kind::Entry => |_| [number::FSETXATTR, n(file), 0, size as i64], |r| [text(key), &[]];
    "removexattr" removexattr(path: Path, key: Path) -> c_int;
        Kind::Entry => |_| [number::REMOVEXATTR, 0, 0, 0], |r| [text(path), text(key)];
    "lremovexattr" lremovexattr(path: Path, key: Path) -> c_int;
        Kind::Entry => |_| [number::LREMOVEXATTR, 0, 0, 0], |r| [text(path), text(key)];
    "fremovexattr" fremovexattr(file: c_int, key: Path) -> c_int;
        Kind::Entry => |_| [number::FREMOVEXATTR, n(file), 0, 0], |r| [text(key), &[]];
    "mknod" mknod(path: Path, mode: c_uint, device: u64) -> c_int;
        Kind::Entry => |_| [number::MKNODAT, HERE, n(mode), 0], |r| [text(path), &[]];
    "mknodat" mknodat(at: c_int, path: Path, mode: c_uint, device: u64) -> c_int;
        Kind::Entry => |_| [number::MKNODAT, n(at), n(mode), 0], |r| [text(path), &[]];
    "mkfifo" mkfifo(path: Path, mode: c_uint) -> c_int;
        Kind::Entry => |_| [number::MKNODAT, HERE, n(mode | PIPE), 0], |r| [text(path), &[]];
    "mkfifoat" mkfifoat(at: c_int, path: Path, mode: c_uint) -> c_int;
        Kind::Entry => |_| [number::MKNODAT, n(at), n(mode | PIPE), 0], |r| [text(path), &[]];
    // Of programs that were linked with a C library before 2.33.
    "__xmknod" xmknod(version: c_int, path: Path, mode: c_uint, device: *mut c_void) -> c_int;
        Kind::Entry => |_| [number::MKNODAT, HERE, n(mode), 0], |r| [text(path), &[]];
    "__xmknodat" xmknodat(version: c_int, at: c_int, path: Path, mode: c_uint, device: *mut c_void) -> c_int;
        Kind::Entry => |_| [number::MKNODAT, n(at), n(mode), 0], |r| [text(path), &[]];
    "syncfs" syncfs(file: c_int) -> c_int; Kind::Entry => |_| [number::SYNCFS, n(file), 0, 0], |_| NO;
    "sync_file_range" sync_file_range(file: c_int, from: i64, length: i64, flags: c_uint) -> c_int;
        Kind::Entry => |_| [number::SYNC_FILE_RANGE, n(file), length, 0], |_| NO;
}
