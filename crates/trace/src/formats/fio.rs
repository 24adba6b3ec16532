//! Reads a log of `fio --write_iolog`, versions 2 and 3.

use crate::format::{Format, Reading};
use crate::input::{Input, TraceError, shown, whole};
use crate::model::{Op, Trace};
use crate::transfers::{Transfer, Transfers};

pub(super) const FORMAT: Format = Format {
    name: "fio",
    made_by: "fio --write_iolog=FILE …",
    detect: |head| head.starts_with(b"fio version"),
    parse,
};

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    let head = input.line()?.unwrap_or_default().trim_ascii().to_vec();
    let version = head
        .strip_prefix(b"fio version ")
        .and_then(|rest| whole(rest.split(|byte| *byte == b' ').next()?))
        .ok_or_else(|| input.wrong(format!("`{}` names no version of a fio log", shown(&head))))?;
    if !(2..=3).contains(&version) {
        return Err(input.wrong(format!("a fio log of version {version}: versions 2 and 3 are known")));
    }
    let mut made = Transfers::new(FORMAT.name, reading.directory.as_deref());
    let thread = made.thread(0, "fio");
    let mut now = 0_u64;
    while let Some(line) = input.line()? {
        let line = line.to_vec();
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        if version == 3 {
            let Some(stamp) = words.next() else { continue };
            let time = whole(stamp).ok_or_else(|| input.wrong(format!("`{}` is no time", shown(stamp))))?;
            now = time.saturating_mul(1000);
        }
        let Some(path) = words.next() else { continue };
        let Some(action) = words.next() else {
            return Err(input.wrong(format!("`{}` has no action", shown(&line))));
        };
        let mut number = |what: &str| -> Result<u64, TraceError> {
            let word = words.next().ok_or_else(|| input.wrong(format!("no {what}")))?;
            whole(word).ok_or_else(|| input.wrong(format!("`{}` is no {what}", shown(word))))
        };
        let mut one = Transfer { thread, path, op: Op::Read, offset: 0, bytes: 0, start: now, duration: 0 };
        match action {
            b"add" => continue,
            b"open" => {
                made.open(thread, path, (now, 0));
                continue;
            }
            b"close" => one.op = Op::Close,
            b"read" | b"write" => {
                (one.offset, one.bytes) = (number("offset")?, number("length")?);
                one.op = if action == b"read" { Op::Read } else { Op::Write };
            }
            b"sync" => one.op = Op::Sync,
            b"datasync" => one.op = Op::DataSync,
            b"wait" => {
                now = now.saturating_add(number("time")?.saturating_mul(1000));
                continue;
            }
            other => {
                made.trace().leave_out(&shown(other));
                continue;
            }
        }
        made.push(&one);
    }
    Ok(made.finish())
}
