//! Lists names, numbers and meanings of errnos (Linux, generic ABI).

const ERRNOS: &[(&str, i32, &str)] = &[
    ("EPERM", 1, "operation not permitted"),
    ("ENOENT", 2, "no such file or directory"),
    ("EINTR", 4, "interrupted"),
    ("EIO", 5, "input/output error"),
    ("ENXIO", 6, "no such device or address"),
    ("EBADF", 9, "bad file descriptor"),
    ("ECHILD", 10, "no child process"),
    ("EAGAIN", 11, "try again"),
    ("ENOMEM", 12, "out of memory"),
    ("EACCES", 13, "permission denied"),
    ("EFAULT", 14, "bad address"),
    ("EBUSY", 16, "busy"),
    ("EEXIST", 17, "already exists"),
    ("EXDEV", 18, "cross-device link"),
    ("ENODEV", 19, "no such device"),
    ("ENOTDIR", 20, "not a directory"),
    ("EISDIR", 21, "is a directory"),
    ("EINVAL", 22, "invalid argument"),
    ("ENFILE", 23, "too many open files in the system"),
    ("EMFILE", 24, "too many open files"),
    ("ENOTTY", 25, "not possible for this kind of file"),
    ("ETXTBSY", 26, "the program file is in use"),
    ("EFBIG", 27, "file too large"),
    ("ENOSPC", 28, "no space left on the device"),
    ("ESPIPE", 29, "the file is not seekable"),
    ("EROFS", 30, "read-only file system"),
    ("EMLINK", 31, "too many links"),
    ("EPIPE", 32, "broken pipe"),
    ("ERANGE", 34, "out of range"),
    ("EDEADLK", 35, "deadlock"),
    ("ENAMETOOLONG", 36, "name too long"),
    ("ENOSYS", 38, "not implemented here"),
    ("ENOTEMPTY", 39, "directory not empty"),
    ("ELOOP", 40, "too many symbolic links"),
    ("ENODATA", 61, "no data"),
    ("EPROTO", 71, "protocol error"),
    ("EBADMSG", 74, "the data read is not the data written"),
    ("EOVERFLOW", 75, "value too large"),
    ("EOPNOTSUPP", 95, "not supported here"),
    ("ETIMEDOUT", 110, "timed out"),
    ("ESTALE", 116, "stale file handle"),
    ("EDQUOT", 122, "quota exceeded"),
    ("ECANCELED", 125, "cancelled"),
];

/// `EBADF`: the interpreter's result for a file that is not open.
pub const EBADF: i32 = 9;
/// `EINVAL`: the interpreter's result for a negative size or offset.
pub const EINVAL: i32 = 22;

/// The number of an errno: `ENOENT` is 2.
pub fn number(name: &str) -> Option<i32> {
    ERRNOS.iter().find(|(known, ..)| *known == name).map(|(_, number, _)| *number)
}

/// The name of an errno: 2 is `ENOENT`; unknown ones are `errno 999`.
pub fn name(number: i32) -> String {
    match ERRNOS.iter().find(|(_, known, _)| *known == number) {
        Some((name, ..)) => (*name).to_owned(),
        None => format!("errno {number}"),
    }
}

/// The meaning of an errno in a few words; empty if unknown.
pub fn meaning(number: i32) -> &'static str {
    ERRNOS.iter().find(|(_, known, _)| *known == number).map_or("", |(.., text)| text)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ERRNOS.iter().map(|(name, ..)| *name)
}
