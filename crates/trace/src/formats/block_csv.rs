//! Reads the block traces of Microsoft Research (SNIA IOTTA): `Timestamp,Host,Disk,Type,Offset,Size,ResponseTime`.

use crate::format::{Format, Reading};
use crate::input::{Input, TraceError, shown, whole};
use crate::model::{Op, Trace};
use crate::transfers::{Transfer, Transfers};

pub(super) const FORMAT: Format = Format {
    name: "MSR block CSV",
    made_by: "iotta.snia.org",
    detect: |head| {
        let lines = head.split(|byte| *byte == b'\n');
        lines.take(2).any(|line| request(line).is_some())
    },
    parse,
};

/// One request; times are in units of 100 ns.
struct DiskRequest<'a> {
    time: u64,
    host: &'a [u8],
    disk: &'a [u8],
    op: Op,
    offset: u64,
    bytes: u64,
    response: u64,
}

/// Reads the seven columns; `None` if the line has others.
fn request(line: &[u8]) -> Option<DiskRequest<'_>> {
    let words: Vec<&[u8]> = line.trim_ascii().split(|byte| *byte == b',').collect();
    let [time, host, disk, way, offset, size, response] = words[..] else { return None };
    let op = match way.to_ascii_lowercase().as_slice() {
        b"read" => Op::Read,
        b"write" => Op::Write,
        _ => return None,
    };
    let (offset, bytes) = (whole(offset)?, whole(size)?);
    Some(DiskRequest { time: whole(time)?, host, disk, op, offset, bytes, response: whole(response)? })
}

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    let mut made = Transfers::new(FORMAT.name, reading.directory.as_deref());
    let mut disks: Vec<Vec<u8>> = Vec::new();
    let mut first = None;
    while let Some(line) = input.line()? {
        if line.is_empty() || input_is_head(line) {
            continue;
        }
        let line = line.to_vec();
        let Some(DiskRequest { time, host, disk, op, offset, bytes, response }) = request(&line) else {
            return Err(input.wrong(format!("`{}` has not the seven columns of such a trace", shown(&line))));
        };
        let path = [b"/msr/".as_slice(), host, b"/disk-", disk].concat();
        let number = disks.iter().position(|known| *known == path).unwrap_or_else(|| {
            disks.push(path.clone());
            disks.len() - 1
        });
        let thread = made.thread(number as u32, &String::from_utf8_lossy(host));
        let start = time.saturating_sub(*first.get_or_insert(time)).saturating_mul(100);
        let duration = response.saturating_mul(100);
        made.push(&Transfer { thread, path: &path, op, offset, bytes, start, duration });
    }
    Ok(made.finish())
}

fn input_is_head(line: &[u8]) -> bool {
    line.to_ascii_lowercase().starts_with(b"timestamp,")
}
