//! What each system call asks for: its words become registers, and these are read by the table of operations.

use std::borrow::Cow;

use operations::{AT_FDCWD, At, Entry, Operation, Processor, Touches, by_name, means_nothing};

use super::line::{LineParts, number};
use crate::asked::{Told, asked};
use crate::event::{Asked, Attributes, Concerns, Event, From, Given};
use crate::follow::Follower;

/// Gives a call to the follower; one that means nothing to files changes nothing.
pub fn take(follower: &mut Follower, (thread, start): (u32, u64), parts: &LineParts<'_>, result: i64) {
    let Some(entry) = by_name(parts.name) else {
        return unknown(follower, (thread, start), parts, result);
    };
    let names = entry.names().map(|name| {
        let name = name?;
        parts.string(usize::from(name.name))
    });
    let is_below = |at: &At| if let At::Below(base) = at { Some(usize::from(*base)) } else { None };
    if let Some(base) = entry.at.iter().find_map(is_below)
        && parts.words(base).starts_with("AT_FDCWD<")
        && let Some(here) = parts.path_of(base)
    {
        let told = Asked::WorkingDirectory { path: &here };
        follower.take(&event((thread, start), parts, result, None, told));
    }
    let result = match (entry.operation, parts.name) {
        // It gives the new position at an address.
        (Operation::Seek, b"_llseek" | b"llseek") if result >= 0 => {
            parts.pointed(2).and_then(|at| i64::try_from(at).ok()).unwrap_or(result)
        }
        _ => result,
    };
    let further = further(entry, parts);
    let registers = registers(entry, parts);
    let told = Told {
        names: [names[0].as_deref().or(further.name.as_deref()), names[1].as_deref()]
            .map(Option::unwrap_or_default),
        found: further.found,
        pair: further.pair,
        pointed: further.pointed,
        target: further.target.as_deref(),
        result,
    };
    let asked = match (&registers, entry.operation) {
        (_, Operation::Control) => control(parts),
        (_, Operation::Spawn) => Some(Asked::Spawn {
            shares_memory: parts.mentions(b"CLONE_THREAD"),
            shares_descriptors: parts.mentions(b"CLONE_FILES"),
            shares_directory: parts.mentions(b"CLONE_FS"),
        }),
        // A call that did not come so far as to be told its arguments.
        (None, _) if result < 0 => None,
        (None, _) => Some(Asked::Unrepeated {
            what: Cow::Owned(format!("{} with arguments that are not understood", entry.name)),
            place: Concerns::Unknown,
            changes: entry.operation.row().touches.changes(),
            count: 1,
            bytes: 0,
        }),
        (Some(registers), _) => asked(entry, registers, Processor::X86, &told),
    };
    let Some(asked) = asked else { return };
    let first = parts.path_of(usize::from(entry.operation == Operation::Map) * 4);
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

/// A call of which nothing is known: told by its name, and about the name or the descriptor that it has.
fn unknown(follower: &mut Follower, at: (u32, u64), parts: &LineParts<'_>, result: i64) {
    if means_nothing(parts.name) {
        return;
    }
    let name = (0..2).find_map(|at| parts.string(at));
    let place = match (&name, parts.descriptor(0)) {
        (Some(name), _) => Concerns::Name(Given { from: From::Here, name }),
        (None, Some(file)) => Concerns::File(file),
        (None, None) => Concerns::Unknown,
    };
    let what = Cow::Owned(String::from_utf8_lossy(parts.name).into_owned());
    let asked = Asked::Unrepeated { what, place, changes: true, count: 1, bytes: 0 };
    follower.take(&event(at, parts, result, None, asked));
}

/// Gives the follower a call of which the line does not tell whether it was done, or what came of it: `why` says so. Whether
/// it is one that reads or changes what files hold, or how they are called.
pub fn lost(follower: &mut Follower, at: (u32, u64), parts: &LineParts<'_>, why: &str) -> bool {
    let entry = by_name(parts.name);
    let (word, changes, reads) = match entry {
        None if means_nothing(parts.name) => return false,
        None => (String::from_utf8_lossy(parts.name), true, false),
        Some(entry) => {
            let row = entry.operation.row();
            let means_nothing = entry.operation == Operation::Control && !parts.mentions(b"FICLONE");
            let changes = row.touches.changes() && !means_nothing && !only_opens(entry, parts);
            (Cow::Borrowed(row.words), changes, row.touches == Touches::Reads)
        }
    };
    let is_failed = parts.result.is_some_and(|result| result < 0);
    if is_failed || !changes && !reads {
        return false;
    }
    let names = entry.map(Entry::names).unwrap_or_default().map(|name| {
        let name = name.filter(|name| name.is_file)?;
        let base = name.base.and_then(|base| parts.descriptor(base.into())).unwrap_or(AT_FDCWD);
        let from = if base == AT_FDCWD { From::Here } else { From::Descriptor(base) };
        Some((from, parts.string(name.name.into())?))
    });
    let given = |at: usize| names[at].as_ref().map(|(from, name)| Given { from: *from, name });
    // A copy is about the file that it writes to.
    let of = entry.map_or(&[][..], |entry| entry.at);
    let written = of.iter().find(|at| matches!(at, At::OtherFile(_)));
    let file = match written.or_else(|| of.iter().find(|at| matches!(at, At::File(_)))) {
        Some(At::File(at) | At::OtherFile(at)) => parts.descriptor((*at).into()),
        _ => None,
    };
    let place = match (given(0), given(1), file) {
        (Some(one), Some(other), _) => Concerns::Names(one, other),
        (Some(name), None, _) | (None, Some(name), _) => Concerns::Name(name),
        // Memory that is no file.
        (None, None, Some(file)) if file < 0 => return false,
        (None, None, Some(file)) => Concerns::File(file),
        (None, None, None) => Concerns::Unknown,
    };
    let what = Cow::Owned(format!("{word} {why}"));
    follower.take(&event(at, parts, 0, None, Asked::Lost { what, place, changes, reads }));
    true
}

/// Whether a call opens a file that is there, and leaves it as it is, as far as its line tells.
fn only_opens(entry: &Entry, parts: &LineParts<'_>) -> bool {
    let makes = || [&b"O_CREAT"[..], b"O_TRUNC", b"O_TMPFILE"].iter().any(|flag| parts.mentions(flag));
    let has_flags =
        || parts.mentions(b"O_RDONLY") || parts.mentions(b"O_RDWR") || parts.mentions(b"O_WRONLY");
    entry.operation == Operation::Open && has_flags() && !makes()
}

/// The arguments of a call as the registers hold them; `None` where one is not understood.
fn registers(entry: &Entry, parts: &LineParts<'_>) -> Option<[u64; 6]> {
    let mut out = [0_u64; 6];
    let mut set = |at: u8, value: u64| out[usize::from(at)] = value;
    // `openat2` has a structure of three numbers.
    let how = |name: &[u8]| field(parts.argument(2), name);
    for at in entry.at {
        match *at {
            // Without a name it is about the open file.
            At::File(at) | At::OtherFile(at) => {
                set(at, i64::from(parts.descriptor(at.into())?).cast_unsigned());
            }
            At::Below(at) => {
                let from = parts.descriptor(at.into()).unwrap_or(AT_FDCWD);
                set(at, i64::from(from).cast_unsigned());
            }
            At::Length(at) if entry.operation == Operation::Descriptor => {
                let closes = u64::from(parts.mentions(b"FD_CLOEXEC"));
                set(at, parts.number(at.into()).unwrap_or(closes));
            }
            At::Length(at) | At::Offset(at) | At::OffsetOrHere(at) => {
                set(at, whole(parts.argument(at.into()))?)
            }
            At::Mode(at) if entry.name == "openat2" => {
                set(at, how(b"mode=").and_then(number).unwrap_or(0));
            }
            At::Mode(at) if entry.operation == Operation::Descriptor => set(at, request(parts, at)),
            At::Mode(at) => set(at, parts.number(at.into()).unwrap_or_else(|| permissions(entry.operation))),
            At::Flags(at, flags) if entry.name == "openat2" => {
                let words = how(b"flags=").and_then(|text| std::str::from_utf8(text).ok());
                set(at, u64::from(flags.number(words.unwrap_or(""))));
            }
            // What lies between the offset and the flags in registers is not written.
            At::Flags(at, flags) if matches!(entry.name, "preadv2" | "pwritev2") => {
                set(at, u64::from(flags.number(parts.words(4))));
            }
            At::Flags(at, flags) => set(at, u64::from(flags.number(parts.words(at.into())))),
            At::Here(_) | At::Text(_) | At::Memory(_) | At::Pointed(_) | At::Fixed(_) => {}
        }
    }
    if entry.operation == Operation::Map {
        let has = |at: usize, word: &str, bits: u64| match parts.number(at) {
            Some(flags) => flags & bits,
            None => u64::from(parts.words(at).contains(word)) * bits,
        };
        (out[2], out[3]) = (has(2, "PROT_WRITE", 2), has(3, "MAP_SHARED", 1));
    }
    Some(out)
}

/// A number that may be -1, or one of a word (`~0U`).
fn whole(text: &[u8]) -> Option<u64> {
    match text {
        [b'-', rest @ ..] => Some(number(rest)?.wrapping_neg()),
        b"~0U" | b"UINT_MAX" => Some(u64::from(u32::MAX)),
        text => number(text),
    }
}

/// The permissions of a call that does not tell them.
fn permissions(operation: Operation) -> u64 {
    match operation {
        Operation::Mkdir => 0o777,
        Operation::Chmod | Operation::ChmodOpen => 0o644,
        _ => 0,
    }
}

/// The request of `fcntl`; one that means nothing to files where it is none of these.
fn request(parts: &LineParts<'_>, at: u8) -> u64 {
    match parts.words(at.into()) {
        "F_DUPFD" => 0,
        "F_DUPFD_CLOEXEC" => 1030,
        "F_SETFD" => 2,
        _ => parts.number(at.into()).unwrap_or(u64::from(u32::MAX)),
    }
}

/// What a line tells of a call besides its registers.
#[derive(Default)]
struct Further {
    /// A name that is no argument of its own.
    name: Option<Vec<u8>>,
    found: Option<Attributes>,
    pair: Option<(i32, i32)>,
    pointed: [Option<u64>; 2],
    target: Option<Vec<u8>>,
}

fn further(entry: &Entry, parts: &LineParts<'_>) -> Further {
    let mut out = Further::default();
    let mut pointed = 0;
    for at in entry.at {
        match *at {
            At::Pointed(at) => {
                if let Some(place) = out.pointed.get_mut(pointed) {
                    *place = parts.pointed(at.into());
                }
                pointed += 1;
            }
            At::Memory(at) => match entry.operation {
                Operation::Readlink => out.target = parts.string(at.into()),
                Operation::Pipe | Operation::SocketPair => out.pair = pair(parts.argument(at.into())),
                _ => out.found = attributes(parts.argument(at.into())),
            },
            _ => {}
        }
    }
    if entry.operation == Operation::Bind {
        out.name = socket_name(parts.argument(1));
    }
    out
}

/// The name in `{sa_family=AF_UNIX, sun_path="/run/app"}`; one that begins with `@` is none of a file.
fn socket_name(address: &[u8]) -> Option<Vec<u8>> {
    let name = field(address, b"sun_path=")?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some(super::line::unescape(name))
}

/// `ioctl(4, BTRFS_IOC_CLONE or FICLONE, 3)`, or with a range in place of the `3`.
fn control<'a>(parts: &LineParts<'_>) -> Option<Asked<'a>> {
    const CLONE: u64 = 0x4004_9409;
    const CLONE_RANGE: u64 = 0x4020_940d;
    if !parts.words(1).contains("FICLONE") && !matches!(parts.number(1), Some(CLONE | CLONE_RANGE)) {
        return None;
    }
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
