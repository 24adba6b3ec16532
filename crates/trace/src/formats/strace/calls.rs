//! What each system call asks for.

use super::line::{LineParts, number};
use crate::event::{Asked, AttributeChange, Attributes, Event, From, Given};
use crate::flags::{O_CREAT, O_TRUNC, O_WRONLY, number as open_flags};
use crate::follow::Follower;

/// Strings of one call, which the event borrows.
struct Strings {
    one: Option<Vec<u8>>,
    two: Option<Vec<u8>>,
}

/// Gives a call to the follower; one that has nothing to do with files changes nothing.
pub fn take(follower: &mut Follower, (thread, start): (u32, u64), parts: &LineParts<'_>, result: i64) {
    let place = place_of_names(parts.name);
    let strings = Strings {
        one: place.and_then(|(at, _)| parts.string(at.name)),
        two: place.and_then(|(_, at)| parts.string(at?.name)),
    };
    if let Some((at, _)) = place
        && parts.words(at.base.unwrap_or(usize::MAX)).starts_with("AT_FDCWD<")
        && let Some(here) = at.base.and_then(|base| parts.path_of(base))
    {
        let told = Asked::WorkingDirectory { path: &here };
        follower.take(&event((thread, start), parts, result, None, told));
    }
    let asked = match place {
        // Without a name it is about the open file.
        Some((at, _)) if parts.name == b"utimensat" && parts.words(at.name) == "NULL" => unnamed(parts),
        Some((at, second)) => named(parts, at, second, &strings),
        None => unnamed(parts),
    };
    let Some(asked) = asked else { return };
    let first = parts.path_of(usize::from(parts.name == b"mmap") * 4);
    let leads_to = match &asked {
        Asked::Open { .. } => parts.leads_to.as_deref(),
        _ => first.as_deref(),
    };
    follower.take(&event((thread, start), parts, result, leads_to, asked));
}

fn event<'a>(
    (thread, start): (u32, u64),
    parts: &LineParts<'_>,
    result: i64,
    leads_to: Option<&'a [u8]>,
    asked: Asked<'a>,
) -> Event<'a> {
    let errno = if result < 0 { parts.errno } else { 0 };
    Event { thread, start, duration: parts.duration, result, errno, leads_to, asked }
}

/// Where a name stands among the arguments.
#[derive(Clone, Copy)]
struct NamePlace {
    /// The argument with the descriptor from which it counts.
    base: Option<usize>,
    name: usize,
}

/// Where the names of a call stand.
fn place_of_names(call: &[u8]) -> Option<(NamePlace, Option<NamePlace>)> {
    let here = |name| NamePlace { base: None, name };
    let at = |base| NamePlace { base: Some(base), name: base + 1 };
    Some(match call {
        b"open" | b"creat" | b"stat" | b"lstat" | b"access" | b"unlink" | b"rmdir" | b"mkdir" | b"chmod"
        | b"chdir" | b"getcwd" | b"truncate" | b"execve" | b"readlink" | b"chown" | b"lchown" | b"utime"
        | b"utimes" | b"statfs" | b"getxattr" | b"lgetxattr" | b"setxattr" | b"lsetxattr" => {
            (here(0), (call == b"readlink").then_some(here(1)))
        }
        b"openat" | b"openat2" | b"newfstatat" | b"fstatat64" | b"statx" | b"faccessat" | b"faccessat2"
        | b"unlinkat" | b"mkdirat" | b"fchmodat" | b"fchmodat2" | b"fchownat" | b"futimesat"
        | b"utimensat" | b"execveat" => (at(0), None),
        b"readlinkat" => (at(0), Some(here(2))),
        b"rename" | b"link" => (here(0), Some(here(1))),
        b"renameat" | b"renameat2" | b"linkat" => (at(0), Some(at(2))),
        b"symlink" => (here(1), Some(here(0))),
        b"symlinkat" => (at(1), Some(here(0))),
        _ => return None,
    })
}

fn named<'a>(
    parts: &LineParts<'_>,
    at: NamePlace,
    second: Option<NamePlace>,
    strings: &'a Strings,
) -> Option<Asked<'a>> {
    let from = |place: NamePlace| match place.base.and_then(|base| parts.descriptor(base)) {
        Some(number) => From::Descriptor(number),
        None => From::Here,
    };
    let name = strings.one.as_deref()?;
    let path = Given { from: from(at), name };
    let permissions = |at: usize, or: u32| parts.number(at).map_or(or, |bits| bits as u32);
    let flags = parts.words(at.name + 1);
    Some(match parts.name {
        b"creat" => {
            Asked::Open { path, flags: O_WRONLY | O_CREAT | O_TRUNC, permissions: permissions(1, 0o666) }
        }
        b"open" | b"openat" => {
            Asked::Open { path, flags: open_flags(flags), permissions: permissions(at.name + 2, 0) }
        }
        b"openat2" => {
            let words = field(parts.argument(2), b"flags=")
                .map_or("", |text| std::str::from_utf8(text).unwrap_or(""));
            let mode = field(parts.argument(2), b"mode=").and_then(number).unwrap_or(0);
            Asked::Open { path, flags: open_flags(words), permissions: mode as u32 }
        }
        // With an empty name the call is about an open file.
        b"newfstatat" | b"fstatat64" | b"statx" if name.is_empty() => {
            let shown = if parts.name == b"statx" { 4 } else { 2 };
            Asked::StatOpen { descriptor: parts.descriptor(0)?, found: attributes(parts.argument(shown)) }
        }
        b"stat" | b"lstat" => {
            Asked::Stat { path, follow: parts.name == b"stat", found: attributes(parts.argument(1)) }
        }
        b"newfstatat" | b"fstatat64" => {
            let follow = !parts.mentions(b"AT_SYMLINK_NOFOLLOW");
            Asked::Stat { path, follow, found: attributes(parts.argument(2)) }
        }
        b"statx" => {
            let follow = !parts.mentions(b"AT_SYMLINK_NOFOLLOW");
            Asked::Stat { path, follow, found: attributes(parts.argument(4)) }
        }
        b"access" | b"faccessat" | b"faccessat2" => Asked::Lookup { path },
        b"unlink" => Asked::Unlink { path },
        b"unlinkat" if parts.mentions(b"AT_REMOVEDIR") => Asked::Rmdir { path },
        b"unlinkat" => Asked::Unlink { path },
        b"rmdir" => Asked::Rmdir { path },
        b"mkdir" | b"mkdirat" => Asked::Mkdir { path, permissions: permissions(at.name + 1, 0o777) },
        b"chmod" | b"fchmodat" | b"fchmodat2" | b"chown" | b"lchown" | b"fchownat" | b"utime" | b"utimes"
        | b"futimesat" | b"utimensat" => {
            let change = match parts.name {
                b"chmod" | b"fchmodat" | b"fchmodat2" => {
                    AttributeChange::Permissions(permissions(at.name + 1, 0o644))
                }
                b"chown" | b"lchown" | b"fchownat" => AttributeChange::Owner,
                _ => AttributeChange::Times,
            };
            let follow = parts.name != b"lchown" && !parts.mentions(b"AT_SYMLINK_NOFOLLOW");
            match name.is_empty().then(|| parts.descriptor(0)).flatten() {
                Some(descriptor) => Asked::ChangeOpen { descriptor, change },
                None => Asked::Change { path, follow, change },
            }
        }
        b"chdir" => Asked::Chdir { path },
        b"getcwd" => Asked::WorkingDirectory { path: name },
        b"execve" | b"execveat" => Asked::Exec { path: name },
        b"rename" | b"renameat" | b"renameat2" | b"link" | b"linkat" => {
            let to = Given { from: from(second?), name: strings.two.as_deref()? };
            if parts.name.starts_with(b"link") {
                Asked::Link { from: path, to }
            } else {
                Asked::Rename { from: path, to }
            }
        }
        b"symlink" | b"symlinkat" => Asked::Symlink { target: strings.two.as_deref()?, path },
        b"readlink" | b"readlinkat" => Asked::Readlink { path, target: strings.two.as_deref() },
        b"truncate" => Asked::TruncateName { path, length: parts.number(1)? },
        _ => return None,
    })
}

fn unnamed<'a>(parts: &LineParts<'_>) -> Option<Asked<'a>> {
    let descriptor = || parts.descriptor(0);
    Some(match parts.name {
        b"close" => Asked::Close { descriptor: descriptor()? },
        b"close_range" => {
            let last = parts.number(1).unwrap_or(u64::from(u32::MAX));
            Asked::CloseRange { first: parts.number(0)? as u32, last: last.min(u64::from(u32::MAX)) as u32 }
        }
        b"read" | b"readv" => Asked::Read { descriptor: descriptor()?, offset: None },
        b"pread64" | b"preadv" | b"preadv2" => {
            Asked::Read { descriptor: descriptor()?, offset: parts.number(3) }
        }
        b"write" | b"writev" => Asked::Write { descriptor: descriptor()?, offset: None },
        b"pwrite64" | b"pwritev" | b"pwritev2" => {
            Asked::Write { descriptor: descriptor()?, offset: parts.number(3) }
        }
        b"sendfile" => {
            Asked::Copy { from: parts.descriptor(1)?, to: descriptor()?, offsets: (parts.pointed(2), None) }
        }
        b"copy_file_range" | b"splice" => {
            let offsets = (parts.pointed(1), parts.pointed(3));
            Asked::Copy { from: descriptor()?, to: parts.descriptor(2)?, offsets }
        }
        b"ioctl" if parts.words(1).contains("FICLONE") => cloned(parts)?,
        b"lseek" => Asked::Seek { descriptor: descriptor()? },
        b"fsync" => Asked::Sync { descriptor: descriptor()?, data_only: false },
        b"fdatasync" => Asked::Sync { descriptor: descriptor()?, data_only: true },
        b"ftruncate" => Asked::Truncate { descriptor: descriptor()?, length: parts.number(1)? },
        b"fallocate" => {
            Asked::Allocate { descriptor: descriptor()?, offset: parts.number(2)?, length: parts.number(3)? }
        }
        b"dup" | b"dup2" => Asked::Duplicate { descriptor: descriptor()?, close_on_exec: false },
        b"dup3" => {
            Asked::Duplicate { descriptor: descriptor()?, close_on_exec: parts.mentions(b"O_CLOEXEC") }
        }
        b"fcntl" => match parts.words(1) {
            "F_DUPFD" => Asked::Duplicate { descriptor: descriptor()?, close_on_exec: false },
            "F_DUPFD_CLOEXEC" => Asked::Duplicate { descriptor: descriptor()?, close_on_exec: true },
            "F_SETFD" => Asked::CloseOnExec { descriptor: descriptor()?, on: parts.mentions(b"FD_CLOEXEC") },
            _ => return None,
        },
        b"fstat" => Asked::StatOpen { descriptor: descriptor()?, found: attributes(parts.argument(1)) },
        b"fchmod" | b"fchown" | b"utimensat" => {
            let change = match parts.name {
                b"fchmod" => AttributeChange::Permissions(parts.number(1).unwrap_or(0o644) as u32),
                b"fchown" => AttributeChange::Owner,
                _ => AttributeChange::Times,
            };
            Asked::ChangeOpen { descriptor: descriptor()?, change }
        }
        b"getdents64" | b"getdents" => Asked::Readdir { descriptor: descriptor()? },
        b"mmap" => Asked::Map {
            descriptor: parts.descriptor(4).filter(|number| *number >= 0)?,
            length: parts.number(1)?,
            shared_write: parts.words(3).contains("MAP_SHARED") && parts.words(2).contains("PROT_WRITE"),
        },
        b"fchdir" => Asked::ChdirOpen { descriptor: descriptor()? },
        b"clone" | b"clone3" | b"fork" | b"vfork" => Asked::Spawn {
            shares_memory: parts.mentions(b"CLONE_THREAD"),
            shares_descriptors: parts.mentions(b"CLONE_FILES"),
            shares_directory: parts.mentions(b"CLONE_FS"),
        },
        b"wait4" | b"waitpid" | b"waitid" => Asked::Wait,
        b"pipe" | b"pipe2" => {
            let (read, write) = pair(parts.argument(0))?;
            Asked::Pipe { read, write }
        }
        b"socketpair" => {
            let (one, other) = pair(parts.argument(3))?;
            Asked::SocketPair { one, other }
        }
        b"socket" | b"accept" | b"accept4" => Asked::Socket,
        b"io_uring_enter" | b"io_submit" => {
            Asked::Other { why: "submissions of io_uring or AIO, whose transfers are not in the trace" }
        }
        _ => return None,
    })
}

/// `ioctl(4, BTRFS_IOC_CLONE or FICLONE, 3)`, or with a range in place of the `3`.
fn cloned<'a>(parts: &LineParts<'_>) -> Option<Asked<'a>> {
    let to = parts.descriptor(0)?;
    let range = parts.argument(2);
    let part = |name: &[u8]| field(range, name).and_then(number);
    let Some(from) = part(b"src_fd=") else {
        return Some(Asked::Clone { from: parts.descriptor(2)?, to, offsets: (0, 0), length: None });
    };
    // Without a length up to the end.
    let length = part(b"src_length=").filter(|length| *length > 0);
    let offsets = (part(b"src_offset=")?, part(b"dest_offset=")?);
    Some(Asked::Clone { from: i32::try_from(from).ok()?, to, offsets, length })
}

/// `[3, 4]`, also with `-y`.
fn pair(text: &[u8]) -> Option<(i32, i32)> {
    let inside = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let comma = inside.iter().position(|byte| *byte == b',')?;
    let one = |part: &[u8]| -> Option<i32> {
        let digits = part.trim_ascii().split(|byte| *byte == b'<').next()?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    // `3<pipe:[5]>` holds a bracket but no comma.
    Some((one(&inside[..comma])?, one(&inside[comma + 1..])?))
}

/// The value of `name=…` in a structure.
fn field<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(name.len()).position(|window| window == name)? + name.len();
    let end =
        text[at..].iter().position(|byte| matches!(byte, b',' | b'}')).map_or(text.len(), |end| at + end);
    Some(text[at..end].trim_ascii())
}

/// Type, permissions and size in `{st_mode=S_IFREG|0644, st_size=12, …}`.
fn attributes(text: &[u8]) -> Option<Attributes> {
    let mode = field(text, b"st_mode=").or_else(|| field(text, b"stx_mode="))?;
    let mode = mode.split(|byte| *byte == b'|').fold(0_u32, |all, word| {
        all | match word {
            b"S_IFDIR" => 0o040_000,
            b"S_IFREG" => 0o100_000,
            b"S_IFLNK" => 0o120_000,
            b"S_IFCHR" => 0o020_000,
            b"S_IFBLK" => 0o060_000,
            b"S_IFIFO" => 0o010_000,
            b"S_IFSOCK" => 0o140_000,
            b"S_ISVTX" => 0o1000,
            b"S_ISGID" => 0o2000,
            b"S_ISUID" => 0o4000,
            word => number(word).unwrap_or(0) as u32,
        }
    });
    let size = field(text, b"st_size=").or_else(|| field(text, b"stx_size="));
    Some(Attributes { mode, size: size.and_then(number).unwrap_or(0) })
}
