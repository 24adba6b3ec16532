//! Finds the files and directories that must exist before the first call of a trace.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::names::{Names, parent};
use super::trace::{NameCommand, Op, Trace, TracedCall};

/// What must exist before the first call.
#[derive(Default)]
pub struct Needs {
    /// Files with their least length.
    pub files: BTreeMap<String, u64>,
    directories: BTreeSet<String>,
}

impl Needs {
    /// Replays the trace on names alone.
    pub fn of(trace: &Trace) -> Self {
        let mut calls: Vec<_> = trace.calls().collect();
        calls.sort_by(|a, b| a.1.start.total_cmp(&b.1.start));
        let mut uses = FirstUses::default();
        let mut used_directories: BTreeSet<String> = BTreeSet::new();
        for (rank, call) in calls {
            if call.failed.as_deref() != Some("ENOENT") {
                used_directories.extend(call.op.paths().into_iter().map(|path| parent(path).to_owned()));
            }
            uses.call(rank, call);
        }
        let mut needs = uses.needs;
        // A path with an entry below it is a directory, even if the trace only asked for its attributes.
        let mut holders: BTreeSet<&str> = BTreeSet::new();
        for path in trace.calls().flat_map(|(_, call)| call.op.paths()) {
            let mut above = parent(path);
            while !above.is_empty() && holders.insert(above) {
                above = parent(above);
            }
        }
        let held: Vec<String> =
            needs.files.keys().filter(|path| holders.contains(path.as_str())).cloned().collect();
        needs.directories.extend(held);
        needs.files.retain(|path, _| !needs.directories.contains(path));
        let made: BTreeSet<&str> = trace.calls().filter_map(|(_, call)| made_directory(call)).collect();
        needs.directories.extend(used_directories.into_iter().filter(|path| !made.contains(path.as_str())));
        needs
    }

    /// The directories to make by their names in the program, with those around them, outer ones first.
    pub fn directories(&self, names: &Names) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for path in &self.directories {
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

fn made_directory(call: &TracedCall) -> Option<&str> {
    match &call.op {
        Op::Name { command: NameCommand::Mkdir, path } if call.failed.is_none() => Some(path),
        _ => None,
    }
}

/// Replays the calls on names: the first use of a name shows whether it existed before.
#[derive(Default)]
struct FirstUses {
    needs: Needs,
    /// Names that a call has used.
    seen: BTreeSet<String>,
    /// Name and position of each open file of each rank.
    open: HashMap<(usize, usize), (String, u64)>,
}

impl FirstUses {
    fn call(&mut self, rank: usize, call: &TracedCall) {
        let existed = match call.failed.as_deref() {
            None => false,
            Some("EEXIST") => true,
            Some(_) => return,
        };
        match &call.op {
            Op::Open { file, path, flags } => {
                let makes = flags.contains("O_CREAT") && !existed;
                if self.seen.insert(path.clone()) && !makes {
                    self.needs.files.entry(path.clone()).or_default();
                }
                self.open.insert((rank, *file), (path.clone(), 0));
            }
            Op::Read { file, bytes, at } => {
                if let Some((path, position)) = self.open.get_mut(&(rank, *file)) {
                    let end = at.unwrap_or(*position) + bytes;
                    if at.is_none() {
                        *position = end;
                    }
                    if let Some(size) = self.needs.files.get_mut(path) {
                        *size = (*size).max(end);
                    }
                }
            }
            Op::Write { file, bytes, at: None } => {
                if let Some((_, position)) = self.open.get_mut(&(rank, *file)) {
                    *position += bytes;
                }
            }
            Op::Seek { file, to } => {
                if let Some((_, position)) = self.open.get_mut(&(rank, *file)) {
                    *position = *to;
                }
            }
            Op::Name { command: NameCommand::Mkdir, path } => {
                if self.seen.insert(path.clone()) && existed {
                    self.needs.directories.insert(path.clone());
                }
            }
            Op::Name { command, path } => {
                if self.seen.insert(path.clone()) {
                    if command.needs_directory() {
                        self.needs.directories.insert(path.clone());
                    } else {
                        self.needs.files.entry(path.clone()).or_default();
                    }
                }
            }
            Op::TwoNames { from, to, .. } => {
                if self.seen.insert(from.clone()) {
                    self.needs.files.entry(from.clone()).or_default();
                }
                self.seen.insert(to.clone());
            }
            Op::Write { at: Some(_), .. } | Op::Close { .. } | Op::Sync { .. } | Op::Truncate { .. } => {}
        }
    }
}
