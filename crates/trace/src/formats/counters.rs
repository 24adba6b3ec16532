//! Reads what `darshan-parser` prints: counters of each file and rank. The calls that it makes of them are synthetic: their
//! numbers, sizes, bytes and times are those of the counters, their order and offsets are made up.

use std::collections::BTreeMap;

use crate::flags::{O_CREAT, O_RDWR};
use crate::format::{Format, Reading};
use crate::input::{Input, TraceError, nanoseconds, shown, whole};
use crate::model::{Call, Op, Trace, UNKNOWN};
use crate::transfers::{Transfer, Transfers};

pub(super) const FORMAT: Format = Format {
    name: "Darshan counters",
    made_by: "darshan-parser FILE.darshan > FILE",
    detect: |head| head.windows(22).any(|window| window == b"# darshan log version:"),
    parse,
};

/// More calls than these are not made of counters.
const MOST_CALLS: u64 = 1_000_000;
/// Nor records of files that all ranks share, times ranks.
const MOST_SHARES: u64 = 4_000_000;

/// The counters of one module for one file on one rank; all of them are whole but the times, which are in nanoseconds.
type Counters = BTreeMap<String, u64>;

/// A module with the words that its counters begin with.
struct Module {
    name: &'static [u8],
    prefix: &'static str,
    stream: bool,
}

const MODULES: [Module; 2] = [
    Module { name: b"POSIX", prefix: "POSIX_", stream: false },
    Module { name: b"STDIO", prefix: "STDIO_", stream: true },
];

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    let mut records: BTreeMap<(usize, i64, Vec<u8>), Counters> = BTreeMap::new();
    let mut ranks = 1_u64;
    let mut others = 0_u64;
    while let Some(line) = input.line()? {
        let line = line.to_vec();
        if let Some(count) = line.strip_prefix(b"# nprocs:") {
            ranks = whole(count.trim_ascii()).unwrap_or(1).clamp(1, 1 << 20);
        }
        if line.first() == Some(&b'#') || line.trim_ascii().is_empty() {
            continue;
        }
        let words: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
        let [module, rank, _, counter, value, file, ..] = words[..] else {
            // Lines of `--total` and the like stand between the records.
            others += 1;
            continue;
        };
        let Some(module) = MODULES.iter().position(|known| known.name == module) else {
            continue;
        };
        let rank: i64 = std::str::from_utf8(rank)
            .ok()
            .and_then(|rank| rank.parse().ok())
            .filter(|rank| *rank >= -1 && *rank < 1 << 20)
            .ok_or_else(|| input.wrong(format!("`{}` is no rank", shown(rank))))?;
        let counter = String::from_utf8_lossy(counter).into_owned();
        let Some(name) = counter.strip_prefix(MODULES[module].prefix) else {
            return Err(input.wrong(format!("`{}` is no counter of its module", shown(counter.as_bytes()))));
        };
        let found = value_of(name, value)
            .map_err(|()| input.wrong(format!("`{}` is no value of the counter {counter}", shown(value))))?;
        let record = records.entry((module, rank, file.to_vec())).or_default();
        if let Some(value) = found {
            record.insert(name.to_owned(), value);
        }
    }
    if records.is_empty() {
        return Err(TraceError::File("it has no counters of the modules POSIX and STDIO".to_owned()));
    }
    let asked = records.values().fold(0_u64, |all, record| {
        ["READS", "WRITES", "OPENS", "STATS", "FSYNCS", "FDSYNCS"]
            .iter()
            .fold(all, |all, name| all.saturating_add(record.get(*name).copied().unwrap_or(0)))
    });
    if asked > MOST_CALLS {
        return Err(TraceError::File(format!(
            "its counters stand for {asked} calls; at most {MOST_CALLS} are made of counters"
        )));
    }
    let shared = records.keys().filter(|(_, rank, _)| *rank < 0).count() as u64;
    if shared.saturating_mul(ranks) > MOST_SHARES {
        return Err(TraceError::File(format!(
            "{shared} records of files that {ranks} ranks share are too many to be made into calls"
        )));
    }
    let mut made = Transfers::new(FORMAT.name, reading.directory.as_deref());
    for ((module, rank, file), counters) in &records {
        // A file that all ranks share has one record, of rank -1.
        let shares = if *rank < 0 { 0..ranks } else { *rank as u64..*rank as u64 + 1 };
        let parts = if *rank < 0 { ranks } else { 1 };
        for (part, rank) in shares.enumerate() {
            let thread = made.thread(rank as u32, "");
            let stream = MODULES[*module].stream;
            Share { counters, part: part as u64, parts, thread, file, stream }.make(&mut made);
        }
        let thread = made.thread((*rank).max(0) as u32, "");
        for (word, reads) in [("WRITE", false), ("READ", true)] {
            let what = format!(
                "{} that other counters of Darshan tell of, and that is not counted",
                word.to_lowercase()
            );
            made.lost((thread, 0), file, (&what, reads), uncounted(counters, word));
        }
    }
    let mut trace = made.finish();
    if others > 0 {
        trace.left_out.insert("lines that are no counters".to_owned(), others);
    }
    trace.notes.push(
        "synthetic, made of Darshan's counters: numbers, sizes, bytes and times of calls are the counted ones, their order \
         and offsets are made up"
            .to_owned(),
    );
    Ok(trace)
}

/// A time in nanoseconds, or a whole number; none where -1 or NaN stand for what was not counted. How often a file was used,
/// and for how many bytes, always is.
fn value_of(name: &str, text: &[u8]) -> Result<Option<u64>, ()> {
    const ALWAYS: [&str; 5] = ["OPENS", "READS", "WRITES", "BYTES_READ", "BYTES_WRITTEN"];
    let number = std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse::<f64>().ok());
    let value = if name.starts_with("F_") { nanoseconds(text) } else { whole(text) };
    match (value, number) {
        (Some(value), _) => Ok(Some(value)),
        (None, Some(number)) if !ALWAYS.contains(&name) && (number < 0.0 || number.is_nan()) => Ok(None),
        // A time such as 1e-05.
        (None, Some(number)) if name.starts_with("F_") && number < 1e9 => Ok(Some((number * 1e9) as u64)),
        (None, _) => Err(()),
    }
}

/// How many transfers the sizes or the bytes tell of that are not in the number of transfers.
fn uncounted(counters: &Counters, word: &str) -> u64 {
    let counter = |name: &str| counters.get(name).copied().unwrap_or(0);
    let counted = counter(&format!("{word}S"));
    let prefix = format!("SIZE_{word}_");
    let sizes = counters.iter().filter(|(name, _)| name.starts_with(&prefix)).map(|(_, times)| *times);
    let by_sizes = sizes.fold(0_u64, u64::saturating_add).saturating_sub(counted);
    let bytes = counter(if word == "READ" { "BYTES_READ" } else { "BYTES_WRITTEN" });
    by_sizes.max(u64::from(counted == 0 && bytes > 0))
}

/// What one rank does with one file.
struct Share<'a> {
    counters: &'a Counters,
    /// Which part of the counts it has, of how many.
    part: u64,
    parts: u64,
    thread: u32,
    file: &'a [u8],
    stream: bool,
}

impl Share<'_> {
    fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// This rank's part of a count.
    fn of(&self, count: u64) -> u64 {
        count / self.parts + u64::from(self.part < count % self.parts)
    }

    fn make(&self, made: &mut Transfers) {
        let written = self.counter("WRITES") > 0;
        let opened = self.counter("F_OPEN_START_TIMESTAMP");
        let closed = self
            .counter("F_CLOSE_END_TIMESTAMP")
            .max(self.counter("F_CLOSE_TIMESTAMP"))
            .max(self.counter("F_READ_END_TIMESTAMP"))
            .max(self.counter("F_WRITE_END_TIMESTAMP"))
            .max(opened);
        let opens = self.of(self.counter("OPENS"));
        let path = self.file;
        let flags = if written { O_RDWR | O_CREAT } else { 0 };
        for stat in 0..self.of(self.counter("STATS")) {
            let name = made.name(path);
            // Behind the open: the file may be a new one.
            let asked = Call::new(Op::Stat, self.thread, opened.saturating_add(1 + stat), 0);
            made.call(Call { path: name, bytes: UNKNOWN, ..asked });
        }
        if opens + self.of(self.counter("READS")) + self.of(self.counter("WRITES")) == 0 {
            return;
        }
        let close = |made: &mut Transfers, start: u64| {
            let op = Op::Close;
            made.push(&Transfer { thread: self.thread, path, op, offset: 0, bytes: 0, start, duration: 0 });
        };
        made.open_as(self.thread, path, (flags, 0o644), (opened, 0));
        // Opens beyond the first one do nothing that the counters tell.
        for again in 1..opens {
            let again = opened.saturating_add(again);
            close(made, again);
            made.open_as(self.thread, path, (flags & !O_CREAT, 0o644), (again, 0));
        }
        self.transfers(made, Op::Write);
        self.transfers(made, Op::Read);
        let syncs = [("FSYNCS", Op::Sync), ("FDSYNCS", Op::DataSync)];
        for (name, op) in syncs {
            for _ in 0..self.of(self.counter(name)) {
                let one = Transfer {
                    thread: self.thread,
                    path,
                    op,
                    offset: 0,
                    bytes: 0,
                    start: closed,
                    duration: 0,
                };
                made.push(&one);
            }
        }
        close(made, closed);
    }

    /// Reads or writes: the common sizes as often as they were counted, the others of equal size.
    fn transfers(&self, made: &mut Transfers, op: Op) {
        let word = if op == Op::Read { "READ" } else { "WRITE" };
        let count = self.of(self.counter(&format!("{word}S")));
        let bytes = self.counter(if op == Op::Read { "BYTES_READ" } else { "BYTES_WRITTEN" });
        if count == 0 {
            return;
        }
        let begin = self.counter(&format!("F_{word}_START_TIMESTAMP"));
        let end = self.counter(&format!("F_{word}_END_TIMESTAMP")).max(begin);
        let all = self.counter(&format!("{word}S"));
        let duration = self.counter(&format!("F_{word}_TIME")) / all.max(1);
        let step = (end - begin) / count;
        let sizes = self.sizes(count, self.of(bytes));
        // Ranks that share a file have a part of it each.
        let mut offset = self.part.saturating_mul(bytes / self.parts);
        let mut start = begin;
        for (bytes, times) in sizes {
            for _ in 0..times {
                let (thread, path) = (self.thread, self.file);
                made.push(&Transfer { thread, path, op, offset, bytes, start, duration });
                (offset, start) = (offset.saturating_add(bytes), start.saturating_add(step));
            }
        }
    }

    /// Sizes with their numbers: the four most common ones, if they can be the sizes of these transfers, and a mean one.
    fn sizes(&self, count: u64, bytes: u64) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        let (mut left, mut rest) = (count, bytes);
        // Reads and writes are counted together: the sizes hold for a file that knows one of them.
        let alone = self.counter("READS") == 0 || self.counter("WRITES") == 0;
        for number in (1..=4).filter(|_| alone && !self.stream) {
            let size = self.counter(&format!("ACCESS{number}_ACCESS"));
            let times = self.of(self.counter(&format!("ACCESS{number}_COUNT"))).min(left);
            let all = size.saturating_mul(times);
            if times > 0 && all <= rest {
                out.push((size, times));
                (left, rest) = (left - times, rest - all);
            }
        }
        if let (Some(each), Some(more)) = (rest.checked_div(left), rest.checked_rem(left)) {
            out.push((each + 1, more));
            out.push((each, left - more));
        } else if rest > 0
            && let Some((size, times)) = out.pop()
        {
            // Rounding: the last one has what is left.
            out.push((size, times - 1));
            out.push((size + rest, 1));
        }
        out.retain(|(_, times)| *times > 0);
        out
    }
}
