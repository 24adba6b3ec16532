//! Writes a trace as the text of a program.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::names::{Names, clean, quoted};
use super::needs::Needs;
use super::trace::{Op, Trace, TracedCall, TracedRank};
use crate::cli::ImportArgs;

/// The program, in its one layout; `format` names what made the trace.
pub fn program(format: &str, trace: &Trace, args: &ImportArgs) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = write_program(format, trace, args, &mut out);
    ppl::format::format(&out).unwrap_or(out)
}

fn write_program(format: &str, trace: &Trace, args: &ImportArgs, out: &mut String) -> std::fmt::Result {
    let names = Names::of(trace);
    let needs = Needs::of(trace);
    writeln!(
        out,
        "# Made by `lastrank import` from a trace of {format}: {} calls on files.",
        trace.calls().count()
    )?;
    for (number, rank) in trace.ranks.iter().enumerate() {
        writeln!(out, "# Rank {number}: {}, {} calls.", clean(&rank.name), rank.calls.len())?;
    }
    if !names.root.is_empty() {
        writeln!(out, "# `$dir` stands for {}.", clean(&names.root))?;
    }
    for (name, count) in &trace.left_out {
        writeln!(out, "# Left out: {count} of {}.", clean(name))?;
    }
    writeln!(out, "\ndefine param \"dir\" $dir \"imported\" # where the files go\n")?;
    writeln!(
        out,
        "define param \"pace\" $pace 1.0 from 0.0 # gaps between calls are so many times as long\n"
    )?;
    writeln!(out, "define ranks {}\n\n", trace.ranks.len())?;
    writeln!(out, "# What was there before.\nmaster {{ if len(glob(\"$dir\")) == 0 mkdir(\"$dir\");")?;
    for directory in &needs.directories(&names) {
        writeln!(out, "mkdir({});", quoted(directory))?;
    }
    for (path, bytes) in &needs.files {
        match bytes {
            0 => writeln!(out, "create({});", names.quoted(path))?,
            bytes => writeln!(out, "write({}, {bytes});", names.quoted(path))?,
        }
    }
    writeln!(out, "}}\nbarrier;\n")?;
    let begin = trace.calls().map(|(_, call)| call.start).fold(f64::INFINITY, f64::min);
    for (number, rank) in trace.ranks.iter().enumerate() {
        if trace.ranks.len() > 1 {
            writeln!(out, "if $$rank == {number} {{")?;
        }
        for (line, count) in lines(rank, begin, &names, args.least_gap_us) {
            match count {
                1 => writeln!(out, "{line}")?,
                count => writeln!(out, "repeat {count} {line}")?,
            }
        }
        if trace.ranks.len() > 1 {
            writeln!(out, "}}\n")?;
        }
    }
    Ok(())
}

/// The calls of a rank as statements, with the gaps between them, and how often each stands in a row.
fn lines(rank: &TracedRank, begin: f64, names: &Names, least_gap_us: f64) -> Vec<(String, u64)> {
    let mut variables = Variables::default();
    let mut lines: Vec<(String, u64)> = Vec::new();
    let mut end = begin;
    for call in &rank.calls {
        let gap = call.start - end;
        end = end.max(call.end);
        let pauses = gap * 1e6 >= least_gap_us;
        if pauses {
            lines.push((format!("think {}us * $pace;", (gap * 1e6).round()), 1));
        }
        let line = statement(call, &mut variables, names);
        match lines.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => lines.push((line, 1)),
        }
    }
    lines
}

/// The variables of a rank's open files: `$f0`, `$f1` …
#[derive(Default)]
struct Variables {
    of_file: HashMap<usize, usize>,
}

impl Variables {
    /// The lowest number that no open file has.
    fn open(&mut self, file: usize) -> usize {
        let used: BTreeSet<usize> = self.of_file.values().copied().collect();
        let free = (0..).find(|number| !used.contains(number)).unwrap_or(0);
        self.of_file.insert(file, free);
        free
    }

    fn get(&self, file: usize) -> usize {
        self.of_file.get(&file).copied().unwrap_or(0)
    }

    fn close(&mut self, file: usize) -> usize {
        self.of_file.remove(&file).unwrap_or(0)
    }
}

fn statement(call: &TracedCall, variables: &mut Variables, names: &Names) -> String {
    let offset = |at: &Option<u64>| at.map_or(String::new(), |at| format!(", {at}"));
    let line = match &call.op {
        Op::Open { path, flags, .. } if call.failed.is_some() => {
            format!("$none = fopen({}, \"{flags}\");", names.quoted(path))
        }
        Op::Open { file, path, flags } => {
            format!("$f{} = fopen({}, \"{flags}\");", variables.open(*file), names.quoted(path))
        }
        Op::Close { file } => format!("fclose($f{});", variables.close(*file)),
        Op::Read { file, bytes: 0, at } => {
            return format!("expect errno == ENODATA fread($f{}, 1{});", variables.get(*file), offset(at));
        }
        Op::Read { file, bytes, at } => format!("fread($f{}, {bytes}{});", variables.get(*file), offset(at)),
        Op::Write { file, bytes, at } => {
            format!("fwrite($f{}, {bytes}{});", variables.get(*file), offset(at))
        }
        Op::Seek { file, to } => format!("fseek($f{}, {to});", variables.get(*file)),
        Op::Sync { file, data_only: false } => format!("fsync($f{});", variables.get(*file)),
        Op::Sync { file, data_only: true } => format!("fdatasync($f{});", variables.get(*file)),
        Op::Truncate { file, length } => format!("ftruncate($f{}, {length});", variables.get(*file)),
        Op::Name { command, path } => format!("{}({});", command.word(), names.quoted(path)),
        Op::TwoNames { command, from, to } => {
            format!("{}({}, {});", command.word(), names.quoted(from), names.quoted(to))
        }
    };
    match &call.failed {
        Some(errno) => format!("expect errno == {errno} {{ {line} }}"),
        None => line,
    }
}
