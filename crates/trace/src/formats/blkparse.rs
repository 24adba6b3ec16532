//! Reads what `blkparse` prints: requests to block devices, each device as a file.

use crate::format::{Format, Reading};
use crate::input::{Input, TraceError, nanoseconds, whole};
use crate::model::{Op, Trace};
use crate::transfers::{Transfer, Transfers};

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    made_by: "blktrace -d DEVICE -o - | blkparse -i - > FILE",
    detect: |head| head.split(|byte| *byte == b'\n').take(50).filter_map(Request::of).next().is_some(),
    parse,
};

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// One line about a request.
struct Request<'a> {
    device: &'a [u8],
    time: u64,
    process: u32,
    action: u8,
    flags: &'a [u8],
    sector: u64,
    count: u64,
}

impl<'a> Request<'a> {
    /// `8,0 1 5 0.000123 697 Q W 223490 + 8 [kjournald]`
    fn of(line: &'a [u8]) -> Option<Self> {
        let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let [device, _, _, time, process, [action], flags, sector, plus, count, ..] = words[..] else {
            return None;
        };
        let (major, minor) = (device.iter().position(|byte| *byte == b',')?, device.len());
        if plus != b"+" || whole(&device[..major]).is_none() || whole(&device[major + 1..minor]).is_none() {
            return None;
        }
        Some(Self {
            device,
            time: nanoseconds(time)?,
            process: u32::try_from(whole(process)?).ok()?,
            action: *action,
            flags,
            sector: whole(sector)?,
            count: whole(count)?,
        })
    }
}

/// A line about a request that was queued, and of which it is not told what it read or wrote.
struct Damaged<'a> {
    device: &'a [u8],
    /// Where it is told.
    process: Option<u32>,
    /// It reads for sure.
    reads: bool,
}

impl<'a> Damaged<'a> {
    /// Of a line that is no [`Request`]. Messages, sums and other steps of requests are none, nor is a request without sectors.
    fn of(line: &'a [u8]) -> Option<Self> {
        let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let device = *words.first()?;
        let comma = device.iter().position(|byte| *byte == b',')?;
        whole(&device[..comma]).and(whole(&device[comma + 1..]))?;
        let word = |at: usize| words.get(at).copied().unwrap_or(b"");
        let (action, flags) = (word(5), word(6));
        let is_queued = matches!(action, b"Q" | b"");
        let has_sectors = !word(7).starts_with(b"[");
        let may_transfer = flags.is_empty() || flags.contains(&b'W') || flags.contains(&b'R');
        let process = whole(word(4)).and_then(|process| u32::try_from(process).ok());
        let reads = flags.contains(&b'R') && !flags.contains(&b'W');
        (is_queued && has_sectors && may_transfer).then_some(Self { device, process, reads })
    }
}

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    let mut made = Transfers::new(FORMAT.name, reading.directory.as_deref());
    let mut latest = 0;
    while let Some(line) = input.line()? {
        let Some(one) = Request::of(line) else {
            if let Some(cut) = Damaged::of(line) {
                lose(&mut made, &cut, latest);
            }
            continue;
        };
        latest = latest.max(one.time);
        // Queued once, whatever becomes of it below.
        if one.action != b'Q' {
            continue;
        }
        let op = match one.flags {
            flags if flags.contains(&b'W') => Op::Write,
            flags if flags.contains(&b'R') => Op::Read,
            _ => {
                made.trace().leave_out("requests that neither read nor write");
                continue;
            }
        };
        let place = (one.sector.checked_mul(SECTOR), one.count.checked_mul(SECTOR));
        let (Some(offset), Some(bytes)) = place else {
            let (device, process) = (one.device, Some(one.process));
            lose(&mut made, &Damaged { device, process, reads: op == Op::Read }, one.time);
            continue;
        };
        let path = path_of(one.device);
        let (time, process) = (one.time, one.process);
        let thread = made.thread(process, "");
        made.push(&Transfer { thread, path: &path, op, offset, bytes, start: time, duration: 0 });
    }
    let mut trace = made.finish();
    trace.notes.push("a block device is a file here; its requests are taken as they were queued".to_owned());
    Ok(trace)
}

/// The name of the file that stands for a device.
fn path_of(device: &[u8]) -> Vec<u8> {
    [b"/device-".as_slice(), device].concat()
}

/// Counts a request as one that no program repeats.
fn lose(made: &mut Transfers, cut: &Damaged<'_>, at: u64) {
    let thread = made.thread(cut.process.unwrap_or(0), "");
    let what = if cut.reads { "read whose line is cut" } else { "write whose line is cut" };
    made.lost((thread, at), &path_of(cut.device), (what, cut.reads), 1);
}
