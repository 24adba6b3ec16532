//! Reads what Recorder's `recorder2text` writes: a file a rank, a line a call; files by name, not by descriptor.
//!
//! `START END FUNCTION LEVEL TYPE ( ARGUMENT … )`. Calls of MPI-IO and HDF5 come again as those of POSIX below them, so
//! only these are read. Results are not in the text: each transfer counts as complete.

use crate::flags::{O_APPEND, O_CREAT, O_RDWR, O_TRUNC, O_WRONLY};
use crate::format::{Format, Reading};
use crate::input::{Input, TraceError, nanoseconds, shown, whole};
use crate::maps::HashMap;
use crate::model::{Call, Op, Trace, UNKNOWN};
use crate::transfers::{Transfer, Transfers};

pub(super) const FORMAT: Format = Format {
    name: "Recorder",
    made_by: "recorder2text FOLDER; give FOLDER/_text",
    detect: |head| head.split(|byte| *byte == b'\n').take(50).any(|line| RecordedCall::of(line).is_some()),
    parse,
};

/// Begins a line that names the rank of the lines behind it.
const RANK: &[u8] = b"# rank ";

/// One line.
struct RecordedCall<'a> {
    start: u64,
    end: u64,
    function: &'a [u8],
    arguments: Vec<&'a [u8]>,
}

impl<'a> RecordedCall<'a> {
    fn of(text: &'a [u8]) -> Option<Self> {
        let open = text.windows(3).position(|window| window == b" ( " || window == b" ()")?;
        let words: Vec<&[u8]> =
            text[..open].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let [start, end, function, level, kind] = words[..] else { return None };
        whole(level)?;
        whole(kind)?;
        let rest = text[open + 2..].trim_ascii();
        let rest = rest.strip_suffix(b")")?;
        let arguments = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        Some(Self { start: nanoseconds(start)?, end: nanoseconds(end)?, function, arguments })
    }
}

/// Positions and lengths of files, which the calls without offsets need.
#[derive(Default)]
struct Positions {
    /// By rank and name; where it appends, `None`.
    here: HashMap<(u32, u32), Option<u64>>,
    length: HashMap<u32, u64>,
}

impl Positions {
    /// Where a transfer of so many bytes takes place; the position is behind it then.
    fn take(&mut self, (thread, name): (u32, u32), bytes: u64, explicit: Option<u64>) -> u64 {
        let length = self.length.entry(name).or_default();
        let at = match (explicit, self.here.entry((thread, name)).or_insert(Some(0))) {
            (Some(offset), _) => offset,
            (None, None) => *length,
            (None, Some(here)) => {
                let at = *here;
                *here = at.saturating_add(bytes);
                at
            }
        };
        *length = (*length).max(at.saturating_add(bytes));
        at
    }
}

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    let mut made = Transfers::new(FORMAT.name, reading.directory.as_deref());
    let mut positions = Positions::default();
    let (mut rank, mut calls) = (0_u32, 0_u64);
    while let Some(text) = input.line()? {
        if let Some(number) = text.strip_prefix(RANK) {
            rank = whole(number).and_then(|number| u32::try_from(number).ok()).unwrap_or(rank);
            continue;
        }
        let text = text.to_vec();
        let Some(line) = RecordedCall::of(&text) else {
            if text.trim_ascii().is_empty() {
                continue;
            }
            return Err(input.wrong(format!("`{}` is no line of recorder2text", shown(&text))));
        };
        calls += 1;
        let thread = made.thread(rank, "");
        if take(&mut made, &mut positions, thread, &line).is_none() {
            let function = String::from_utf8_lossy(line.function).into_owned();
            made.trace().leave_out(&format!("calls of {}", shown(function.as_bytes())));
        }
    }
    if calls == 0 {
        return Err(TraceError::File("it has no call of Recorder".to_owned()));
    }
    let mut trace = made.finish();
    trace.notes.push("Recorder's text has no results: each read and write counts as complete".to_owned());
    Ok(trace)
}

/// What a function does: the position of its file among the arguments, and what the others are.
enum Means {
    Open { flags: usize, permissions: Option<usize> },
    Create,
    OpenStream,
    Transfer { op: Op, file: usize, sizes: &'static [usize], offset: Option<usize> },
    Seek,
    OnFile(Op),
    OnName { op: Op, file: usize },
    TwoNames(Op),
}

fn meaning(function: &str) -> Option<Means> {
    let plain = function.strip_suffix("64").unwrap_or(function);
    let transfer = |op, file, sizes, offset| Some(Means::Transfer { op, file, sizes, offset });
    match plain {
        "open" => Some(Means::Open { flags: 1, permissions: Some(2) }),
        "creat" => Some(Means::Create),
        "fopen" | "fdopen" => Some(Means::OpenStream),
        "close" | "fclose" => Some(Means::OnFile(Op::Close)),
        "read" => transfer(Op::Read, 0, &[2], None),
        "write" => transfer(Op::Write, 0, &[2], None),
        "pread" => transfer(Op::Read, 0, &[2], Some(3)),
        "pwrite" => transfer(Op::Write, 0, &[2], Some(3)),
        "readv" => transfer(Op::Read, 0, &[1], None),
        "writev" => transfer(Op::Write, 0, &[1], None),
        "fread" => transfer(Op::Read, 3, &[1, 2], None),
        "fwrite" => transfer(Op::Write, 3, &[1, 2], None),
        "lseek" | "fseek" | "fseeko" => Some(Means::Seek),
        "fsync" => Some(Means::OnFile(Op::Sync)),
        "fdatasync" => Some(Means::OnFile(Op::DataSync)),
        "stat" | "lstat" => Some(Means::OnName { op: Op::Stat, file: 0 }),
        "__xstat" | "__lxstat" => Some(Means::OnName { op: Op::Stat, file: 1 }),
        "access" => Some(Means::OnName { op: Op::Lookup, file: 0 }),
        "unlink" | "remove" => Some(Means::OnName { op: Op::Unlink, file: 0 }),
        "mkdir" => Some(Means::OnName { op: Op::Mkdir, file: 0 }),
        "rmdir" => Some(Means::OnName { op: Op::Rmdir, file: 0 }),
        "rename" => Some(Means::TwoNames(Op::Rename)),
        "link" => Some(Means::TwoNames(Op::Link)),
        _ => None,
    }
}

/// Takes a call; `None` where it is of a kind that no program repeats.
fn take(made: &mut Transfers, positions: &mut Positions, thread: u32, line: &RecordedCall<'_>) -> Option<()> {
    let function = std::str::from_utf8(line.function).ok()?;
    let argument = |at: usize| line.arguments.get(at).copied();
    let number = |at: usize| argument(at).and_then(whole);
    let duration = line.end.saturating_sub(line.start);
    let times = (line.start, duration);
    let mut open = |path: &[u8], flags: u32, permissions: u64| {
        let name = made.name(path);
        if flags & O_TRUNC != 0 {
            positions.length.insert(name, 0);
        }
        positions.here.insert((thread, name), (flags & O_APPEND == 0).then_some(0));
        made.open_as(thread, path, (flags, permissions), times);
    };
    match meaning(function)? {
        Means::Open { flags, permissions } => {
            let bits = permissions.and_then(number).unwrap_or(0o644);
            open(file_name(argument(0)?)?, u32::try_from(number(flags)?).ok()?, bits & 0o7777);
        }
        Means::Create => {
            let bits = number(1).unwrap_or(0o644);
            open(file_name(argument(0)?)?, O_WRONLY | O_CREAT | O_TRUNC, bits & 0o7777);
        }
        Means::OpenStream => open(file_name(argument(0)?)?, stream_flags(argument(1)?)?, 0o666),
        Means::Transfer { op, file, sizes, offset } => {
            let path = file_name(argument(file)?)?;
            let mut bytes = 1_u64;
            for at in sizes {
                bytes = bytes.checked_mul(number(*at)?)?;
            }
            let explicit = match offset {
                Some(at) => Some(number(at)?),
                None => None,
            };
            let name = made.name(path);
            let offset = positions.take((thread, name), bytes, explicit);
            let (start, duration) = times;
            made.push(&Transfer { thread, path, op, offset, bytes, start, duration });
        }
        Means::Seek => {
            let name = made.name(file_name(argument(0)?)?);
            let by = std::str::from_utf8(argument(1)?).ok()?.parse::<i64>().ok()?;
            let base = match argument(2)? {
                b"0" | b"SEEK_SET" => 0,
                b"1" | b"SEEK_CUR" => positions.here.get(&(thread, name)).copied().flatten().unwrap_or(0),
                b"2" | b"SEEK_END" => positions.length.get(&name).copied().unwrap_or(0),
                _ => return None,
            };
            positions.here.insert((thread, name), Some(base.saturating_add_signed(by)));
        }
        Means::OnFile(op) => {
            let (start, duration) = times;
            let path = file_name(argument(0)?)?;
            made.push(&Transfer { thread, path, op, offset: 0, bytes: 0, start, duration });
        }
        Means::OnName { op, file } => {
            let path = made.name(file_name(argument(file)?)?);
            let permissions = if op == Op::Mkdir { number(1).unwrap_or(0o755) & 0o7777 } else { UNKNOWN };
            let named = Call::new(op, thread, line.start, duration);
            made.call(Call { path, bytes: UNKNOWN, offset: permissions, ..named });
        }
        Means::TwoNames(op) => {
            let (path, other) = (made.name(file_name(argument(0)?)?), made.name(file_name(argument(1)?)?));
            made.call(Call { path, other, ..Call::new(op, thread, line.start, duration) });
        }
    }
    Some(())
}

/// The name of a file; a number is a descriptor, whose file is not told.
fn file_name(word: &[u8]) -> Option<&[u8]> {
    (!word.iter().all(u8::is_ascii_digit)).then_some(word)
}

/// Flags of `open` for a mode of `fopen`.
fn stream_flags(mode: &[u8]) -> Option<u32> {
    let updates = mode.contains(&b'+');
    Some(match (mode.first()?, updates) {
        (b'r', false) => 0,
        (b'r', true) => O_RDWR,
        (b'w', false) => O_WRONLY | O_CREAT | O_TRUNC,
        (b'w', true) => O_RDWR | O_CREAT | O_TRUNC,
        (b'a', false) => O_WRONLY | O_CREAT | O_APPEND,
        (b'a', true) => O_RDWR | O_CREAT | O_APPEND,
        _ => return None,
    })
}

/// One trace of the files `N.txt`: rank and text of each.
pub fn merge_ranks(parts: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (rank, text) in parts {
        out.extend_from_slice(RANK);
        out.extend_from_slice(format!("{rank}\n").as_bytes());
        out.extend_from_slice(text);
        if text.last() != Some(&b'\n') {
            out.push(b'\n');
        }
    }
    out
}
