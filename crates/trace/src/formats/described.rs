//! Reads a trace of any other kind by a description of its lines.

use std::collections::BTreeMap;

use crate::format::{Format, Reading};
use crate::input::{Input, TraceError, shown};
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
    while input.line()?.is_some() {
        if input.number() <= description.skip || input.is_blank() {
            continue;
        }
        lines += 1;
        let text = String::from_utf8_lossy(input.last()).into_owned();
        let Some([time, duration, thread, operation, path, offset, bytes]) = description.fields(&text) else {
            others += 1;
            continue;
        };
        let word = operation.unwrap_or("").to_lowercase();
        let Some(op) = description.words.get(&word).copied() else {
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
        let offset = number(offset, "offset")?.saturating_mul(description.block);
        let bytes = number(bytes, "number of bytes")?.saturating_mul(description.block);
        let next = threads.len() as u32;
        let id = *threads.entry(thread.unwrap_or("").to_owned()).or_insert(next);
        let thread = made.thread(id, thread.unwrap_or(""));
        let path = path.unwrap_or(&description.path).as_bytes();
        let one = Transfer { thread, path, op, offset, bytes, start, duration };
        match op {
            Op::Open => drop(made.open(thread, path, (start, duration))),
            Op::Read | Op::Write | Op::Close | Op::Sync => made.push(&one),
            _ => {
                let path = made.name(path);
                let named = Call::new(op, thread, start, duration);
                made.call(Call { path, bytes: UNKNOWN, ..named });
            }
        }
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
