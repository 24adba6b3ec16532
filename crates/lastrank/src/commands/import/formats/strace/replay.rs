//! Keeps what each traced process has open, and collects its calls.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::line::Call;
use crate::cli::ImportArgs;
use crate::commands::import::trace::{NameCommand, Op, Trace, TracedCall, TracedRank, TwoNamesCommand};

/// Directories of virtual file systems, whose files are always left out.
const VIRTUAL: [&str; 3] = ["/proc/", "/sys/", "/dev/"];

/// Directories of the system, whose files are left out unless the user wants all.
const SYSTEM: [&str; 8] = ["/run/", "/etc/", "/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/opt/"];

/// Flags of an open that make a difference to the file.
const KEPT: [&str; 9] =
    ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND", "O_SYNC", "O_DSYNC"];

/// What a descriptor refers to; copies of it share this.
#[derive(Clone)]
pub struct Opened {
    path: String,
    /// A directory, or a file that is left out: only the path is used.
    path_only: bool,
    flags: String,
    /// By rank: the number of the file there, and how many descriptors refer to it.
    files: Rc<RefCell<BTreeMap<usize, (usize, u32)>>>,
}

type Descriptors = Rc<RefCell<HashMap<i64, Opened>>>;

/// One process or thread of the application.
#[derive(Clone)]
pub struct Process {
    /// Threads share a rank.
    pub rank: usize,
    descriptors: Descriptors,
    directory: Rc<RefCell<String>>,
}

/// The state of the traced application, and the trace so far.
pub struct Replay<'a> {
    args: &'a ImportArgs,
    /// The working directory of a process whose start is not in the trace.
    directory: String,
    processes: HashMap<u32, Process>,
    /// By rank, how many files were opened.
    files: Vec<usize>,
    trace: Trace,
}

impl<'a> Replay<'a> {
    /// Before the first call.
    pub fn new(args: &'a ImportArgs, directory: String) -> Self {
        Self { args, directory, processes: HashMap::new(), files: Vec::new(), trace: Trace::default() }
    }

    /// The calls of each rank in the order of time; ranks without any are left out.
    pub fn into_trace(self) -> Trace {
        let mut trace = self.trace;
        for rank in &mut trace.ranks {
            rank.calls.sort_by(|a, b| a.start.total_cmp(&b.start));
        }
        trace.ranks.retain(|rank| !rank.calls.is_empty());
        trace
    }

    /// The process of a call, a new one where it was not seen before.
    pub fn process(&mut self, number: u32) -> Process {
        if let Some(known) = self.processes.get(&number) {
            return known.clone();
        }
        let process = Process {
            rank: self.new_rank(number),
            descriptors: Rc::default(),
            directory: Rc::new(RefCell::new(self.directory.clone())),
        };
        self.processes.insert(number, process.clone());
        process
    }

    fn new_rank(&mut self, process: u32) -> usize {
        self.trace.ranks.push(TracedRank { name: format!("process {process}"), calls: Vec::new() });
        self.files.push(0);
        self.trace.ranks.len() - 1
    }

    /// A successful clone or fork: the child shares what its flags say, and has copies of the rest.
    pub fn clone_process(&mut self, parent: &Process, call: &Call<'_>) {
        let child = u32::try_from(call.result).unwrap_or(0);
        let rank = if call.mentions("CLONE_THREAD") { parent.rank } else { self.new_rank(child) };
        let descriptors = match call.mentions("CLONE_FILES") {
            true => Rc::clone(&parent.descriptors),
            false => Rc::new(RefCell::new(parent.descriptors.borrow().clone())),
        };
        let directory = match call.mentions("CLONE_FS") {
            true => Rc::clone(&parent.directory),
            false => Rc::new(RefCell::new(parent.directory.borrow().clone())),
        };
        self.processes.insert(child, Process { rank, descriptors, directory });
    }

    /// Whether the program is to touch the file.
    fn wanted(&self, path: &str) -> bool {
        if !self.args.only.is_empty() {
            return self.args.only.iter().any(|only| path.starts_with(only.as_str()));
        }
        let below = |directories: &[&str]| directories.iter().any(|directory| path.starts_with(directory));
        !path.is_empty() && !below(&VIRTUAL) && (self.args.all || !below(&SYSTEM))
    }

    /// Counts a call that has no place in the program.
    pub fn leave_out(&mut self, what: &str) {
        self.trace.leave_out(what);
    }

    /// Adds a call to its rank.
    pub fn push(&mut self, rank: usize, call: &Call<'_>, op: Op) {
        let failed = call.errno.map(str::to_owned);
        let (start, end) = (call.start, call.start + call.seconds);
        self.trace.ranks[rank].calls.push(TracedCall { start, end, op, failed });
    }

    fn new_file(&mut self, rank: usize) -> usize {
        self.files[rank] += 1;
        self.files[rank] - 1
    }

    /// The file behind a descriptor on this rank, opened there if another rank opened it.
    pub fn file(&mut self, process: &Process, call: &Call<'_>, argument: usize) -> Option<usize> {
        let number = call.descriptor(argument)?;
        let open = process.descriptors.borrow().get(&number).filter(|open| !open.path_only).cloned()?;
        if let Some((file, _)) = open.files.borrow().get(&process.rank) {
            return Some(*file);
        }
        let file = self.new_file(process.rank);
        let kept = |flag: &&str| !matches!(*flag, "O_CREAT" | "O_EXCL" | "O_TRUNC");
        let flags: Vec<&str> = open.flags.split('|').filter(kept).collect();
        let op = Op::Open { file, path: open.path.clone(), flags: flags.join("|") };
        let opened = TracedCall { start: call.start, end: call.start, op, failed: None };
        self.trace.ranks[process.rank].calls.push(opened);
        open.files.borrow_mut().insert(process.rank, (file, 1));
        Some(file)
    }

    /// An open of `path`.
    pub fn open(&mut self, process: &Process, call: &Call<'_>, path: String, flags: &str) {
        let directory = flags.contains("O_DIRECTORY");
        let known: Vec<&str> = flags.split('|').map(str::trim).filter(|flag| KEPT.contains(flag)).collect();
        let flags = known.join("|");
        let files = Rc::new(RefCell::new(BTreeMap::new()));
        let wanted = self.wanted(&path) && !directory;
        if wanted && (call.result >= 0 || is_repeatable(call.errno)) {
            let file = self.new_file(process.rank);
            if call.result >= 0 {
                files.borrow_mut().insert(process.rank, (file, 1));
            }
            self.push(process.rank, call, Op::Open { file, path: path.clone(), flags: flags.clone() });
        }
        if call.result >= 0 {
            let opened = Opened { path, path_only: !wanted, flags, files };
            process.descriptors.borrow_mut().insert(call.result, opened);
        }
    }

    /// The end of a descriptor; the program closes the file with the last one.
    pub fn close(&mut self, process: &Process, call: &Call<'_>, number: i64) {
        let Some(open) = process.descriptors.borrow_mut().remove(&number) else { return };
        let mut files = open.files.borrow_mut();
        let Some((file, count)) = files.get_mut(&process.rank) else { return };
        *count -= 1;
        if *count == 0 {
            let file = *file;
            files.remove(&process.rank);
            drop(files);
            self.push(process.rank, call, Op::Close { file });
        }
    }

    /// A call that made its result a copy of the descriptor `old`.
    pub fn duplicate(&mut self, process: &Process, call: &Call<'_>, old: i64) {
        let new = call.result;
        if old == new {
            return;
        }
        if process.descriptors.borrow().contains_key(&new) {
            self.close(process, call, new);
        }
        let open = process.descriptors.borrow().get(&old).cloned();
        if let Some(open) = open {
            if let Some((_, count)) = open.files.borrow_mut().get_mut(&process.rank) {
                *count += 1;
            }
            process.descriptors.borrow_mut().insert(new, open);
        }
    }

    /// A call on a name.
    pub fn name(&mut self, process: &Process, call: &Call<'_>, command: NameCommand, path: Option<String>) {
        let Some(path) = path.filter(|path| self.wanted(path)) else { return };
        if self.can_repeat(call) {
            self.push(process.rank, call, Op::Name { command, path });
        }
    }

    /// A call on an old name and a new one.
    pub fn two_names(
        &mut self,
        process: &Process,
        call: &Call<'_>,
        command: TwoNamesCommand,
        [from, to]: [Option<String>; 2],
    ) {
        let (Some(from), Some(to)) = (from, to) else { return };
        if self.wanted(&from) && self.wanted(&to) && self.can_repeat(call) {
            self.push(process.rank, call, Op::TwoNames { command, from, to });
        }
    }

    /// Whether the program can do the same; a failure that it cannot repeat is left out.
    fn can_repeat(&mut self, call: &Call<'_>) -> bool {
        let can = call.result >= 0 || is_repeatable(call.errno);
        if !can {
            self.leave_out(&format!("{} that failed", call.name));
        }
        can
    }
}

/// Failures that the program can repeat, because it makes the same names.
fn is_repeatable(errno: Option<&str>) -> bool {
    matches!(errno, Some("ENOENT" | "EEXIST"))
}

impl Process {
    /// The path behind a descriptor.
    pub fn path_of(&self, descriptor: i64) -> Option<String> {
        self.descriptors.borrow().get(&descriptor).map(|open| open.path.clone())
    }

    /// Whether a descriptor refers to a file of the program.
    pub fn has_file(&self, descriptor: i64) -> bool {
        self.descriptors.borrow().get(&descriptor).is_some_and(|open| !open.path_only)
    }

    /// Changes the working directory.
    pub fn change_directory(&self, path: String) {
        *self.directory.borrow_mut() = path;
    }

    /// A name argument as an absolute path; `base` is the argument with the descriptor of the directory from which
    /// a relative name counts, without one it counts from the working directory.
    pub fn path(&self, call: &Call<'_>, base: Option<usize>, name: usize) -> Option<String> {
        let path = call.string(name)?;
        let from = match base.and_then(|base| call.descriptor(base)) {
            Some(number) => self.path_of(number).unwrap_or_default(),
            None => self.directory.borrow().clone(),
        };
        let whole = if path.starts_with('/') { path } else { format!("{from}/{path}") };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        Some(format!("/{}", parts.join("/")))
    }
}
