//! Reads a trace of any other kind by a description of its lines.

use std::collections::BTreeMap;

use crate::description::Meaning;
use crate::format::{Format, Reading};
use crate::input::{Input, TraceError, shown};
use crate::maps::HashMap;
use crate::model::{Call, Op, Trace, UNKNOWN};
use crate::transfers::{Transfer, Transfers};

pub(super) const FORMAT: Format =
    Format { name: "a described format", made_by: "--description FILE", detect: |_| false, parse };

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    let Some(description) = &reading.description else {
        return Err(TraceError::File("such a trace needs --description FILE".to_owned()));
    };
    let mut made = Transfers::new(FORMAT.name, reading.directory.as_deref());
    let (mut origin, mut others, mut lines) = (None, 0_u64, 0_u64);
    let mut threads: BTreeMap<String, u32> = BTreeMap::new();
    let mut lengths = LengthsTold::default();
    while input.line()?.is_some() {
        if input.number() <= description.skip || input.is_blank() {
            continue;
        }
        lines += 1;
        let text = String::from_utf8_lossy(input.last()).into_owned();
        let Some([time, duration, thread, operation, path, offset, bytes, other]) = description.fields(&text)
        else {
            others += 1;
            continue;
        };
        let word = operation.unwrap_or("").to_lowercase();
        let Some(meaning) = description.words.get(&word).copied() else {
            made.trace().leave_out(&format!("lines with the operation `{}`", shown(word.as_bytes())));
            continue;
        };
        let number = |text: Option<&str>, what: &str| -> Result<u64, TraceError> {
            let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(0) };
            text.parse::<u64>().map_err(|_| input.wrong(format!("`{}` is no {what}", shown(text.as_bytes()))))
        };
        let span = |text: Option<&str>, what: &str| -> Result<f64, TraceError> {
            let value: f64 = text.map_or(Ok(0.0), str::parse).unwrap_or(f64::NAN);
            let fits = value.is_finite() && value >= 0.0;
            let shown = shown(text.unwrap_or("").as_bytes());
            if fits { Ok(value) } else { Err(input.wrong(format!("`{shown}` is no {what}"))) }
        };
        let time = span(time, "time")?;
        let start = ((time - *origin.get_or_insert(time)).max(0.0) * description.units[0]) as u64;
        let duration = (span(duration, "duration")? * description.units[1]) as u64;
        let placed = offset.is_some_and(|offset| !offset.is_empty());
        let offset = number(offset, "offset")?.saturating_mul(description.block);
        let bytes = number(bytes, "number of bytes")?.saturating_mul(description.block);
        let next = threads.len() as u32;
        let id = *threads.entry(thread.unwrap_or("").to_owned()).or_insert(next);
        let thread = made.thread(id, thread.unwrap_or(""));
        let path = path.unwrap_or(&description.path).as_bytes();
        let other = other.filter(|other| !other.is_empty()).map(str::as_bytes);
        let two = matches!(meaning, Meaning::Copy | Meaning::Call(Op::Rename));
        if two && other.is_none() {
            return Err(input.wrong(format!(
                "`{}` names one file only: the field `other` is the second",
                shown(word.as_bytes())
            )));
        }
        let op = match meaning {
            Meaning::Call(op) => op,
            Meaning::Append => Op::Write,
            Meaning::Copy => Op::Read,
        };
        let offset = if meaning == Meaning::Append && !placed { lengths.of(made.name(path)) } else { offset };
        let one = Transfer { thread, path, op, offset, bytes, start, duration };
        take(&mut made, &mut lengths, &one, (meaning, other.unwrap_or(b"")));
    }
    let mut trace = made.finish();
    if trace.calls.is_empty() {
        return Err(TraceError::File(format!("none of its {lines} lines is as the description says")));
    }
    if others > 0 {
        trace.left_out.insert("lines that are not as the description says".to_owned(), others);
    }
    Ok(trace)
}

/// How long files are, as far as the trace tells, by the number of their names: where an append goes.
#[derive(Default)]
struct LengthsTold(HashMap<u32, u64>);

impl LengthsTold {
    fn of(&self, name: u32) -> u64 {
        self.0.get(&name).copied().unwrap_or(0)
    }

    fn reaches(&mut self, name: u32, end: u64) {
        let length = self.0.entry(name).or_default();
        *length = (*length).max(end);
    }
}

/// Takes a call that a line tells.
fn take(made: &mut Transfers, lengths: &mut LengthsTold, one: &Transfer<'_>, what: (Meaning, &[u8])) {
    let Transfer { thread, path, op, offset, bytes, start, duration } = *one;
    let (meaning, other) = what;
    let name = made.name(path);
    let named = Call { path: name, bytes: UNKNOWN, ..Call::new(op, thread, start, duration) };
    match op {
        _ if meaning == Meaning::Copy => {
            // Without a size, as far as the trace tells.
            let bytes = if bytes == 0 { lengths.of(name) } else { bytes };
            let to = made.name(other);
            made.copy(&Transfer { bytes, ..*one }, other);
            lengths.reaches(name, bytes);
            lengths.reaches(to, bytes);
        }
        Op::Open => drop(made.open(thread, path, (start, duration))),
        Op::Read | Op::Write => {
            lengths.reaches(name, offset.saturating_add(bytes));
            made.push(one);
        }
        Op::Truncate => {
            lengths.0.insert(name, bytes);
            made.push(one);
        }
        Op::Close | Op::Sync => made.push(one),
        Op::Create => {
            made.forget(thread, name, start);
            lengths.0.insert(name, 0);
            made.call(named);
        }
        Op::Rename => {
            let to = made.name(other);
            made.forget(thread, name, start);
            made.forget(thread, to, start);
            let length = lengths.0.remove(&name).unwrap_or(0);
            lengths.0.insert(to, length);
            made.call(Call { other: to, ..named });
        }
        Op::Unlink => {
            made.forget(thread, name, start);
            lengths.0.remove(&name);
            made.call(named);
        }
        _ => made.call(named),
    }
}
