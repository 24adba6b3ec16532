//! Reads a log of `fio --write_iolog`, versions 2 and 3.

use std::collections::HashMap;

use anyhow::{Context, bail};

use crate::cli::ImportArgs;
use crate::commands::import::trace::{Format, Op, Trace, TracedCall, TracedRank};

pub(super) const FORMAT: Format = Format {
    name: "fio",
    made_by: "fio --write_iolog=FILE …",
    detect: |text| text.starts_with("fio version"),
    parse,
};

fn parse(text: &str, _: &ImportArgs) -> anyhow::Result<Trace> {
    let mut lines = text.lines().enumerate();
    let head = lines.next().map_or("", |(_, line)| line.trim());
    let version: u32 = head
        .strip_prefix("fio version ")
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .with_context(|| format!("`{head}` names no version of a fio log"))?;
    if !(2..=3).contains(&version) {
        bail!("a fio log of version {version}: versions 2 and 3 are known");
    }
    let mut rank = TracedRank { name: "fio".into(), calls: Vec::new() };
    let mut trace = Trace::default();
    let mut open: HashMap<String, usize> = HashMap::new();
    let (mut now, mut files) = (0.0, 0);
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        if version == 3 {
            let Some(stamp) = words.next() else { continue };
            let micros: f64 = stamp.parse().with_context(|| format!("line {}: no time", number + 1))?;
            now = micros * 1e-6;
        }
        let Some(path) = words.next() else { continue };
        let Some(action) = words.next() else { bail!("line {}: `{line}` has no action", number + 1) };
        let mut number_of = |what: &str| -> anyhow::Result<u64> {
            let word = words.next().with_context(|| format!("line {}: no {what}", number + 1))?;
            word.parse().with_context(|| format!("line {}: `{word}` is no {what}", number + 1))
        };
        let mut file = |rank: &mut TracedRank| match open.get(path) {
            Some(file) => *file,
            None => {
                let flags = "O_RDWR".to_owned();
                let op = Op::Open { file: files, path: path.to_owned(), flags };
                rank.calls.push(TracedCall { start: now, end: now, op, failed: None });
                open.insert(path.to_owned(), files);
                files += 1;
                files - 1
            }
        };
        let op = match action {
            "add" => continue,
            "open" => {
                file(&mut rank);
                continue;
            }
            "close" => match open.remove(path) {
                Some(file) => Op::Close { file },
                None => continue,
            },
            "read" | "write" => {
                let (at, bytes) = (number_of("offset")?, number_of("length")?);
                let (file, at) = (file(&mut rank), Some(at));
                if action == "read" { Op::Read { file, bytes, at } } else { Op::Write { file, bytes, at } }
            }
            "sync" | "datasync" => Op::Sync { file: file(&mut rank), data_only: action == "datasync" },
            "wait" => {
                now += number_of("time")? as f64 * 1e-6;
                continue;
            }
            other => {
                trace.leave_out(other);
                continue;
            }
        };
        rank.calls.push(TracedCall { start: now, end: now, op, failed: None });
    }
    if !rank.calls.is_empty() {
        trace.ranks.push(rank);
    }
    Ok(trace)
}
