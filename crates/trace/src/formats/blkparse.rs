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

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    let mut made = Transfers::new(FORMAT.name, reading.directory.as_deref());
    while let Some(line) = input.line()? {
        let Some(one) = Request::of(line) else { continue };
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
        let (Some(offset), Some(bytes)) = place else { continue };
        let path = [b"/device-".as_slice(), one.device].concat();
        let (time, process) = (one.time, one.process);
        let thread = made.thread(process, "");
        made.push(&Transfer { thread, path: &path, op, offset, bytes, start: time, duration: 0 });
    }
    let mut trace = made.finish();
    trace.notes.push("a block device is a file here; its requests are taken as they were queued".to_owned());
    Ok(trace)
}
