//! Reads what `darshan-dxt-parser` prints: the transfers of each rank on each file.

use crate::format::{Format, Reading};
use crate::input::{Input, TraceError, nanoseconds, shown, whole};
use crate::model::{Op, Trace};
use crate::transfers::{Transfer, Transfers};

pub(super) const FORMAT: Format = Format {
    name: "Darshan DXT",
    made_by: "darshan-dxt-parser FILE.darshan > FILE",
    detect: |head| head.windows(6).any(|window| window == b"# DXT,"),
    parse,
};

/// What the head of a record says, less the transfers that came.
#[derive(Default)]
struct Awaited {
    rank: u32,
    /// The last one that transfers were of.
    module: usize,
    /// Writes and reads.
    left: [u64; 2],
    /// When the last one ended.
    at: u64,
}

impl Awaited {
    /// Reads a line of the head of a record.
    fn head(&mut self, line: &[u8]) {
        let after = |word: &[u8]| {
            let at = line.windows(word.len()).position(|window| window == word)? + word.len();
            whole(line[at..].split(|byte| *byte == b',').next()?)
        };
        if let Some(rank) = after(b"rank: ") {
            self.rank = u32::try_from(rank).unwrap_or(0);
        }
        if let Some(writes) = after(b"write_count: ") {
            self.left = [writes, after(b"read_count: ").unwrap_or(0)];
        }
    }

    /// What did not come is not repeated.
    fn end(&mut self, modules: &mut [Transfers; 2], path: &[u8]) {
        let kinds = [("write", false), ("read", true)];
        for ((word, reads), left) in kinds.into_iter().zip(std::mem::take(&mut self.left)) {
            let made = &mut modules[self.module];
            if left > 0 {
                let thread = made.thread(self.rank, "");
                let what = format!("{word} that the head of its record counts, and that is not in the trace");
                made.lost((thread, self.at), path, (&what, reads), left);
            }
        }
    }
}

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    // MPI-IO's transfers come again as those of POSIX below it; they count where there are no others.
    let mut modules = [(); 2].map(|()| Transfers::new(FORMAT.name, reading.directory.as_deref()));
    let mut seen = [0_u64; 2];
    let mut path: Vec<u8> = Vec::new();
    let mut awaited = Awaited::default();
    while let Some(line) = input.line()? {
        let line = line.trim_ascii().to_vec();
        if line.starts_with(b"# DXT, file_id:") || line.windows(11).any(|window| window == b"file_name: ") {
            awaited.end(&mut modules, &path);
        }
        if line.first() == Some(&b'#') {
            awaited.head(&line);
        }
        if let Some(at) = line.windows(11).position(|window| window == b"file_name: ") {
            path = line[at + 11..].to_vec();
        }
        let module = match line.split(|byte| *byte == b' ').next() {
            Some(b"X_POSIX") => 0,
            Some(b"X_MPIIO") => 1,
            _ => continue,
        };
        let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let [_, rank, way, _, offset, length, start, end, ..] = words[..] else {
            return Err(input.wrong(format!("`{}` has fewer than 8 columns", shown(&line))));
        };
        let number = |word: &[u8], what: &str| {
            whole(word).ok_or_else(|| input.wrong(format!("`{}` is no {what}", shown(word))))
        };
        let time = |word: &[u8]| {
            nanoseconds(word).ok_or_else(|| input.wrong(format!("`{}` is no time", shown(word))))
        };
        let op = match way {
            b"read" => Op::Read,
            b"write" => Op::Write,
            other => return Err(input.wrong(format!("`{}` is neither read nor write", shown(other)))),
        };
        let rank = u32::try_from(number(rank, "rank")?).map_err(|_| input.wrong("the rank is too large"))?;
        let (start, end) = (time(start)?, time(end)?);
        if end < start {
            return Err(input.wrong("the transfer ends before it begins"));
        }
        let (offset, bytes) = (number(offset, "offset")?, number(length, "length")?);
        let made = &mut modules[module];
        seen[module] += 1;
        let thread = made.thread(rank, "");
        let duration = end - start;
        let left = &mut awaited.left[usize::from(op == Op::Read)];
        *left = left.saturating_sub(1);
        (awaited.module, awaited.rank, awaited.at) = (module, rank, end);
        made.push(&Transfer { thread, path: &path, op, offset, bytes, start, duration });
    }
    awaited.end(&mut modules, &path);
    let [posix, mpi] = modules;
    let mut trace = if seen[0] > 0 { posix.finish() } else { mpi.finish() };
    trace.notes.push(
        "Darshan keeps transfers alone: opens and closes are made up, other calls are missing".to_owned(),
    );
    Ok(trace)
}
