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

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    // MPI-IO's transfers come again as those of POSIX below it; they count where there are no others.
    let mut modules = [(); 2].map(|()| Transfers::new(FORMAT.name, reading.directory.as_deref()));
    let mut seen = [0_u64; 2];
    let mut path: Vec<u8> = Vec::new();
    while let Some(line) = input.line()? {
        let line = line.trim_ascii().to_vec();
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
        let (offset, bytes) = (number(offset, "offset")?, number(length, "length")?);
        let made = &mut modules[module];
        seen[module] += 1;
        let thread = made.thread(rank, "");
        let duration = end.saturating_sub(start);
        made.push(&Transfer { thread, path: &path, op, offset, bytes, start, duration });
    }
    let [posix, mpi] = modules;
    let mut trace = if seen[0] > 0 { posix.finish() } else { mpi.finish() };
    trace.notes.push(
        "Darshan keeps transfers alone: opens and closes are made up, other calls are missing".to_owned(),
    );
    Ok(trace)
}
