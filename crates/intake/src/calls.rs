//! Single calls as tracers print them: perf trace, perf script, Darshan's extended tracing.

use std::collections::HashMap;

use crate::Unit;
use crate::error::LineError;
use crate::row::{Fate, Push, Row, RowLines};
use crate::value::Value;

/// What stands between the stamp and the call: `0.053 ( 0.012 ms): cat/11752 brk() = 0`.
fn timed(line: &str) -> Option<(&str, &str)> {
    let (stamp, rest) = line.trim().split_once(" (")?;
    let stamp = stamp.trim();
    let (time, call) = rest.split_once("): ")?;
    let is_timed = time.trim().is_empty() || time.ends_with(" ms");
    (is_timed && (stamp == "?" || stamp.parse::<f64>().is_ok())).then_some((time.trim(), call))
}

pub(crate) fn is_perf_trace(lines: &[&str], _file: &str) -> bool {
    lines.first().is_some_and(|line| timed(line).is_some())
}

/// A call with its time; one that goes on elsewhere has none.
pub(crate) fn perf_trace<'a>(line: &'a str, _file: &str) -> Option<Row<'a>> {
    let wrong = || Row {
        text: line,
        value: Value::Wrong("is no call, or is cut off"),
        fate: Fate::Broken,
        ..Row::number("", 0.0, None)
    };
    let Some((time, call)) = timed(line) else {
        // Lines of the traced program itself, and lines that are cut.
        let is_cut = line.trim().starts_with(|sign: char| sign.is_ascii_digit()) && line.contains(" (");
        return is_cut.then(wrong);
    };
    let time = time.strip_suffix(" ms").map(str::trim)?;
    let Ok(time) = time.parse() else { return Some(wrong()) };
    let name = call_of(call);
    let mut row = Row::number(name, time, Some(Unit::Ms));
    row.text = line;
    if call.rsplit_once(" = ").is_some_and(|(_, result)| result.trim_start().starts_with("-1 ")) {
        row.fate = Fate::Failed;
    }
    Some(row)
}

/// The name of a call, which program and thread may precede: `tokio worker/12 read(…`.
fn call_of(call: &str) -> &str {
    let of_thread = |at: usize| {
        let rest = &call[at + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0 && rest[digits..].starts_with(' ')).then(|| &rest[digits..])
    };
    let rest = call.match_indices('/').find_map(|(at, _)| of_thread(at)).unwrap_or(call);
    let name = rest.split('(').next().unwrap_or_default();
    name.split_ascii_whitespace().next_back().unwrap_or_default()
}

pub(crate) fn is_perf_trace_summary(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| line.trim() == "Summary of events:")
}

/// Text of `perf stat`, or its fields: value, unit, event, running time and its share; with `-I` after a stamp.
pub(crate) fn is_perf_stat(lines: &[&str], _file: &str) -> bool {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split([',', ';']).collect();
        [0, 1].into_iter().any(|at| {
            let Some([value, unit, event, running, share]) = fields.get(at..at + 5) else { return false };
            let counted = value.starts_with('<') || value.parse::<f64>().is_ok();
            let share = share.parse::<f64>().is_ok_and(|share| (0.0..=100.0).contains(&share));
            let words = [unit, event].map(|word| word.parse::<f64>().is_err());
            counted && share && words == [true, true] && running.parse::<u64>().is_ok() && !event.is_empty()
        })
    };
    lines.iter().any(|line| line.trim_start().starts_with("Performance counter stats for"))
        || (!lines.is_empty() && lines.iter().all(|line| of(line)))
}

const EVENTS: [&str; 2] = [" raw_syscalls:sys_e", " syscalls:sys_e"];

pub(crate) fn is_perf_script(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| EVENTS.iter().any(|event| line.contains(event)))
}

/// The events of calls: each end belongs to the last begin of the same call on the same thread.
#[derive(Debug, Default)]
pub(crate) struct PerfScript {
    begun: HashMap<String, (String, u64)>,
}

/// One event: its thread, its stamp in nanoseconds, begin or end, which call, and whether it failed.
struct Event<'a> {
    thread: &'a str,
    stamp: u64,
    begins: bool,
    call: String,
    failed: bool,
}

fn event(line: &str) -> Option<Event<'_>> {
    let at = EVENTS.iter().find_map(|event| line.find(event))?;
    let (before, event) = line.split_at(at);
    let mut before = before.split_ascii_whitespace();
    let stamp = nanoseconds(before.next_back()?.strip_suffix(':')?)?;
    let mut thread = before.next_back()?;
    if thread.starts_with('[') {
        thread = before.next_back()?;
    }
    let (name, rest) = event.trim_start().split_once(": ")?;
    let name = name.split_once(":sys_")?.1;
    let (kind, call) = name.split_once('_').unwrap_or((name, ""));
    let begins = match kind {
        "enter" => true,
        "exit" => false,
        _ => return None,
    };
    if !call.is_empty() {
        // The result is a word of 64 bits, of which the last 4095 are errors.
        let result = rest.trim().strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let failed = !begins && (-4095..0).contains(&(result? as i64));
        return Some(Event { thread, stamp, begins, call: call.into(), failed });
    }
    let number = rest.trim().strip_prefix("NR ")?;
    let digits = number.split_ascii_whitespace().next()?;
    let failed = !begins && number.rsplit_once("= ")?.1.starts_with('-');
    Some(Event { thread, stamp, begins, call: format!("NR {digits}"), failed })
}

/// `80585.231163`, in whole microseconds or nanoseconds.
fn nanoseconds(stamp: &str) -> Option<u64> {
    let (seconds, rest) = stamp.split_once('.')?;
    let digits = u32::try_from(rest.len()).ok().filter(|digits| (1..=9).contains(digits))?;
    let rest: u64 = rest.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(rest * 10_u64.pow(9 - digits))
}

impl RowLines for PerfScript {
    fn line(&mut self, line: &str, push: &mut Push) -> Result<(), LineError> {
        let wrong =
            |what: &str| LineError::Value { text: crate::error::shown(line.trim()), what: what.into() };
        if !EVENTS.iter().any(|event| line.contains(event)) {
            return Ok(());
        }
        let event = event(line).ok_or_else(|| wrong("is no event, or is cut off"))?;
        if event.begins {
            self.begun.insert(event.thread.into(), (event.call, event.stamp));
            return Ok(());
        }
        let Some((call, begin)) = self.begun.remove(event.thread) else { return Ok(()) };
        if call != event.call {
            return Ok(());
        }
        let took = event.stamp.checked_sub(begin).ok_or_else(|| wrong("ends before it begins"))?;
        let mut row = Row::number(&call, took as f64, Some(Unit::Ns));
        if event.failed {
            row.fate = Fate::Failed;
        }
        push(&row)
    }
}

pub(crate) fn is_dxt(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| layer_of(line.split_ascii_whitespace().next().unwrap_or_default()).is_some())
}

fn layer_of(module: &str) -> Option<usize> {
    ["X_POSIX", "X_MPIIO", "X_STDIO"].iter().position(|known| *known == module)
}

/// Module, rank, direction, segment, offset, length, start, end.
pub(crate) fn dxt<'a>(line: &'a str, _file: &str) -> Option<Row<'a>> {
    const SERIES: [[&str; 2]; 3] =
        [["POSIX read", "POSIX write"], ["MPIIO read", "MPIIO write"], ["STDIO read", "STDIO write"]];
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let layer = layer_of(fields.first()?)?;
    let times = |fields: &[&str]| {
        let direction = ["read", "write"].iter().position(|known| fields.get(2) == Some(known))?;
        let (start, end): (f64, f64) = (fields.get(6)?.parse().ok()?, fields.get(7)?.parse().ok()?);
        (start.is_finite() && end.is_finite()).then_some((direction, start, end))
    };
    let wrong = |what| Row {
        text: line,
        value: Value::Wrong(what),
        fate: Fate::Broken,
        ..Row::number("", 0.0, None)
    };
    Some(match times(&fields) {
        None => wrong("is no segment, or is cut off"),
        Some((_, start, end)) if end < start => wrong("ends before it begins"),
        Some((direction, start, end)) => {
            // Stamps have four digits; their difference has no more.
            let took = ((end - start) * 1e9).round() / 1e9;
            Row { text: line, ..Row::number(SERIES[layer][direction], took, Some(Unit::S)) }
        }
    })
}
