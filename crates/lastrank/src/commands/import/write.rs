//! How does a trace become the text of a program?

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use super::{Op, Rank, Trace};
use crate::cli::ImportArgs;

/// The program, in its one layout.
pub(super) fn program(trace: &Trace, args: &ImportArgs) -> String {
    let names = Names::of(trace);
    let needs = Needs::of(trace);
    let begin = trace
        .ranks
        .iter()
        .flat_map(|rank| &rank.events)
        .map(|event| event.start)
        .fold(f64::INFINITY, f64::min);
    let calls: usize = trace.ranks.iter().map(|rank| rank.events.len()).sum();
    let mut out = String::new();
    let text = &mut out;
    // Writing into a string cannot fail.
    let _ = (|| -> std::fmt::Result {
        writeln!(
            text,
            "# Made by `lastrank import` from a trace of {}: {calls} calls on files.",
            trace.kind
        )?;
        for (number, rank) in trace.ranks.iter().enumerate() {
            writeln!(text, "# Rank {number}: {}, {} calls.", clean(&rank.name), rank.events.len())?;
        }
        if !names.root.is_empty() {
            writeln!(text, "# `$dir` stands for {}.", clean(&names.root))?;
        }
        for (name, count) in &trace.left_out {
            writeln!(text, "# Left out: {count} of {}.", clean(name))?;
        }
        writeln!(text, "\ndefine param \"dir\" $dir \"imported\" # where the files go\n")?;
        writeln!(
            text,
            "define param \"pace\" $pace 1.0 from 0.0 # gaps between calls are so many times as long\n"
        )?;
        writeln!(text, "define ranks {}\n\n", trace.ranks.len())?;
        writeln!(text, "# What was there before.\nmaster {{ if len(glob(\"$dir\")) == 0 mkdir(\"$dir\");")?;
        for directory in &needs.directories(&names) {
            writeln!(text, "mkdir({});", quoted(directory))?;
        }
        for (path, bytes) in &needs.files {
            match bytes {
                0 => writeln!(text, "create({});", names.quoted(path))?,
                bytes => writeln!(text, "write({}, {bytes});", names.quoted(path))?,
            }
        }
        writeln!(text, "}}\nbarrier;\n")?;
        for (number, rank) in trace.ranks.iter().enumerate() {
            if trace.ranks.len() > 1 {
                writeln!(text, "if $$rank == {number} {{")?;
            }
            statements(rank, begin, &names, args, text)?;
            if trace.ranks.len() > 1 {
                writeln!(text, "}}\n")?;
            }
        }
        Ok(())
    })();
    ppl::format::format(&out).unwrap_or(out)
}

/// The calls of a rank with the gaps between them; equal calls in a row become a loop.
fn statements(
    rank: &Rank,
    begin: f64,
    names: &Names,
    args: &ImportArgs,
    out: &mut String,
) -> std::fmt::Result {
    let mut variables: HashMap<usize, usize> = HashMap::new();
    let mut lines: Vec<(String, u64)> = Vec::new();
    let mut end = begin;
    for event in &rank.events {
        let gap = event.start - end;
        end = end.max(event.end);
        if gap * 1e6 >= args.least_gap_us {
            lines.push((format!("think {}us * $pace;", (gap * 1e6).round()), 1));
        }
        let line = statement(&event.op, event.failed.as_deref(), &mut variables, names);
        match lines.last_mut() {
            Some((last, count)) if *last == line && !line.starts_with("think") => *count += 1,
            _ => lines.push((line, 1)),
        }
    }
    for (line, count) in lines {
        match count {
            1 => writeln!(out, "{line}")?,
            count => writeln!(out, "repeat {count} {line}")?,
        }
    }
    Ok(())
}

fn statement(op: &Op, failed: Option<&str>, variables: &mut HashMap<usize, usize>, names: &Names) -> String {
    let of = |file: &usize, variables: &HashMap<usize, usize>| variables.get(file).copied().unwrap_or(0);
    let place = |at: &Option<u64>| at.map_or(String::new(), |at| format!(", {at}"));
    let line = match op {
        Op::Open { path, flags, .. } if failed.is_some() => {
            format!("$none = fopen({}, \"{flags}\");", names.quoted(path))
        }
        Op::Open { file, path, flags } => {
            // The lowest number that no open file has.
            let used: BTreeSet<usize> = variables.values().copied().collect();
            let free = (0..).find(|number| !used.contains(number)).unwrap_or(0);
            variables.insert(*file, free);
            format!("$f{free} = fopen({}, \"{flags}\");", names.quoted(path))
        }
        Op::Close { file } => {
            let line = format!("fclose($f{});", of(file, variables));
            variables.remove(file);
            line
        }
        Op::Read { file, bytes: 0, at } => {
            return format!("expect errno == ENODATA fread($f{}, 1{});", of(file, variables), place(at));
        }
        Op::Read { file, bytes, at } => format!("fread($f{}, {bytes}{});", of(file, variables), place(at)),
        Op::Write { file, bytes, at } => format!("fwrite($f{}, {bytes}{});", of(file, variables), place(at)),
        Op::Seek { file, to } => format!("fseek($f{}, {to});", of(file, variables)),
        Op::Sync { file, data: false } => format!("fsync($f{});", of(file, variables)),
        Op::Sync { file, data: true } => format!("fdatasync($f{});", of(file, variables)),
        Op::Truncate { file, length } => format!("ftruncate($f{}, {length});", of(file, variables)),
        Op::Name { command, path, to: None } => format!("{command}({});", names.quoted(path)),
        Op::Name { command, path, to: Some(to) } => {
            format!("{command}({}, {});", names.quoted(path), names.quoted(to))
        }
    };
    match failed {
        Some(errno) => format!("expect errno == {errno} {{ {line} }}"),
        None => line,
    }
}

/// Where the application's files lie, and what they are called in the program.
struct Names {
    /// The directory that holds all of them, for which `$dir` stands.
    root: String,
}

fn paths(op: &Op) -> Vec<&str> {
    match op {
        Op::Open { path, .. } => vec![path],
        Op::Name { path, to, .. } => std::iter::once(path.as_str()).chain(to.as_deref()).collect(),
        _ => Vec::new(),
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Names {
    fn of(trace: &Trace) -> Self {
        let mut root: Option<Vec<&str>> = None;
        for event in trace.ranks.iter().flat_map(|rank| &rank.events) {
            for path in paths(&event.op) {
                let own: Vec<&str> = parent(path).split('/').collect();
                root = Some(match root {
                    None => own,
                    Some(root) => {
                        root.iter().zip(&own).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
                    }
                });
            }
        }
        Self { root: root.unwrap_or_default().join("/") }
    }

    /// Below `$dir`.
    fn name(&self, path: &str) -> String {
        let rest = path.strip_prefix(&self.root).unwrap_or(path).trim_start_matches('/');
        if rest.is_empty() { "$dir".into() } else { format!("$dir/{}", clean(rest)) }
    }

    fn quoted(&self, path: &str) -> String {
        quoted(&self.name(path))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// What a string or a comment of the language can hold.
fn clean(text: &str) -> String {
    let text: String = text.chars().map(|c| if c == '"' || c.is_control() { '_' } else { c }).collect();
    text.replace('$', "\\$").replace("..", "__")
}

/// What must be there before the first call.
#[derive(Default)]
struct Needs {
    files: BTreeMap<String, u64>,
    folders: BTreeSet<String>,
    /// Names whose directory must be there.
    within: BTreeSet<String>,
}

impl Needs {
    fn of(trace: &Trace) -> Self {
        let mut needs = Self::default();
        // What the application itself made, and may have removed again: nothing was there before.
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut open: HashMap<(usize, usize), (String, u64)> = HashMap::new();
        let mut events: Vec<_> = (0..)
            .zip(&trace.ranks)
            .flat_map(|(number, rank)| rank.events.iter().map(move |event| (number, event)))
            .collect();
        events.sort_by(|a, b| a.1.start.total_cmp(&b.1.start));
        for (rank, event) in events {
            let missing = event.failed.as_deref() == Some("ENOENT");
            for path in paths(&event.op) {
                if !missing {
                    needs.within.insert(parent(path).to_owned());
                }
            }
            if event.failed.is_some() && event.failed.as_deref() != Some("EEXIST") {
                continue;
            }
            let exists = event.failed.is_some();
            match &event.op {
                Op::Open { file, path, flags } => {
                    let makes = flags.contains("O_CREAT") && !exists;
                    if seen.insert(path.clone()) && !makes {
                        needs.files.entry(path.clone()).or_default();
                    }
                    open.insert((rank, *file), (path.clone(), 0));
                }
                Op::Read { file, bytes, at } => {
                    if let Some((path, position)) = open.get_mut(&(rank, *file)) {
                        let end = at.unwrap_or(*position) + bytes;
                        if at.is_none() {
                            *position = end;
                        }
                        if let Some(size) = needs.files.get_mut(path) {
                            *size = (*size).max(end);
                        }
                    }
                }
                Op::Write { file, bytes, at: None } => {
                    if let Some((_, position)) = open.get_mut(&(rank, *file)) {
                        *position += bytes;
                    }
                }
                Op::Seek { file, to } => {
                    if let Some((_, position)) = open.get_mut(&(rank, *file)) {
                        *position = *to;
                    }
                }
                Op::Name { command: "mkdir", path, .. } => {
                    let first = seen.insert(path.clone());
                    if first && exists {
                        needs.folders.insert(path.clone());
                    }
                }
                Op::Name { command, path, to } => {
                    if seen.insert(path.clone()) {
                        if matches!(*command, "readdir" | "rmdir") {
                            needs.folders.insert(path.clone());
                        } else {
                            needs.files.entry(path.clone()).or_default();
                        }
                    }
                    seen.extend(to.clone());
                }
                _ => {}
            }
        }
        // What holds something is a directory, also where it was only asked for.
        let mut holders: BTreeSet<&str> = BTreeSet::new();
        for path in trace.ranks.iter().flat_map(|rank| &rank.events).flat_map(|event| paths(&event.op)) {
            let mut above = parent(path);
            while !above.is_empty() && holders.insert(above) {
                above = parent(above);
            }
        }
        let folders: Vec<String> =
            needs.files.keys().filter(|path| holders.contains(path.as_str())).cloned().collect();
        needs.folders.extend(folders);
        needs.files.retain(|path, _| !needs.folders.contains(path));
        let made = |path: &str| {
            trace.ranks.iter().flat_map(|rank| &rank.events).any(|event| {
                event.failed.is_none()
                    && matches!(&event.op, Op::Name { command: "mkdir", path: own, .. } if own == path)
            })
        };
        needs.folders.extend(needs.within.iter().filter(|path| !made(path)).cloned());
        needs
    }

    /// Directories to make, with those around them, the outer ones first.
    fn directories(&self, names: &Names) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for path in &self.folders {
            let name = names.name(path);
            let mut whole = String::new();
            for part in name.split('/') {
                if !whole.is_empty() {
                    whole.push('/');
                }
                whole += part;
                if whole != "$dir" {
                    all.insert(whole.clone());
                }
            }
        }
        all
    }
}
