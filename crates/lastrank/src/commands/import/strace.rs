//! What does a trace of `strace -f -ttt -T` say about files?

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::{Event, Op, Rank, Trace};
use crate::cli::ImportArgs;

/// Directories of the system, whose files are left out unless the user wants all.
const SYSTEM: [&str; 11] =
    ["/proc/", "/sys/", "/dev/", "/run/", "/etc/", "/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/opt/"];

/// Flags of an open that make a difference to the file.
const KEPT: [&str; 9] =
    ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND", "O_SYNC", "O_DSYNC"];

/// One call, cut into its parts.
struct Call<'a> {
    process: u32,
    start: f64,
    name: &'a str,
    arguments: Vec<&'a str>,
    result: i64,
    errno: Option<&'a str>,
    seconds: f64,
}

/// Does the line look like a call?
pub(super) fn is_call(line: &str) -> bool {
    let (_, _, rest) = match head(line) {
        Some(parts) => parts,
        None => return false,
    };
    rest.find('(')
        .is_some_and(|at| rest[..at].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        && rest.contains(" = ")
}

/// Process, seconds, and the rest of a line.
fn head(line: &str) -> Option<(u32, f64, &str)> {
    let mut rest = line.trim();
    let mut process = 0;
    if let Some(inside) = rest.strip_prefix("[pid") {
        let (number, after) = inside.split_once(']')?;
        process = number.trim().parse().ok()?;
        rest = after.trim_start();
    } else if let Some((first, after)) = rest.split_once(' ')
        && let Ok(number) = first.parse::<u32>()
    {
        process = number;
        rest = after.trim_start();
    }
    match rest.split_once(' ') {
        Some((stamp, after)) if stamp.contains('.') => {
            Some((process, stamp.parse().ok()?, after.trim_start()))
        }
        _ => None,
    }
}

/// The arguments of a call, cut at the commas that stand in no string and no bracket.
fn arguments(text: &str) -> Vec<&str> {
    let (mut out, mut from, mut depth, mut inside, mut escaped) = (Vec::new(), 0, 0_i32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            _ if inside => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                out.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[from..].trim());
    out
}

fn call(process: u32, start: f64, text: &str) -> Option<Call<'_>> {
    let open = text.find('(')?;
    let name = &text[..open];
    let equals = text.rfind(" = ")?;
    let inner = text[open + 1..equals].trim_end().strip_suffix(')')?;
    let mut words = text[equals + 3..].split_whitespace();
    let number = words.next()?;
    // `3</path>` with -y, `0x7f…` for addresses.
    let digits = number.split('<').next()?;
    let result = digits.parse().unwrap_or(0);
    let errno = (result < 0).then(|| words.next()).flatten();
    let seconds =
        text.rsplit_once('<').and_then(|(_, last)| last.strip_suffix('>')?.parse().ok()).unwrap_or(0.0);
    Some(Call { process, start, name, arguments: arguments(inner), result, errno, seconds })
}

/// What stands in quotes, without its escapes.
fn string(argument: &str) -> Option<String> {
    let inner = argument.strip_prefix('"')?;
    let inner = &inner[..inner.rfind('"')?];
    let mut out = Vec::new();
    let mut bytes = inner.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next()? {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            first @ b'0'..=b'7' => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    match bytes.peek() {
                        Some(digit @ b'0'..=b'7') => {
                            value = value * 8 + u32::from(digit - b'0');
                            bytes.next();
                        }
                        _ => break,
                    }
                }
                out.push(value as u8);
            }
            other => out.push(other),
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// A descriptor's number: `3`, `3</path>`.
fn descriptor(argument: &str) -> Option<i64> {
    argument.split('<').next()?.parse().ok()
}

/// What a descriptor refers to; copies of it share this.
#[derive(Clone)]
struct Opened {
    path: String,
    /// A directory: it has a path only.
    directory: bool,
    flags: String,
    /// The number of the file on each rank that opened it, and how many descriptors there are.
    files: Rc<RefCell<BTreeMap<usize, (usize, u32)>>>,
}

type Table = Rc<RefCell<HashMap<i64, Opened>>>;

/// One process or thread of the application.
#[derive(Clone)]
struct Process {
    /// Threads share a rank.
    rank: usize,
    table: Table,
    directory: Rc<RefCell<String>>,
}

struct Reader<'a> {
    args: &'a ImportArgs,
    processes: HashMap<u32, Process>,
    ranks: Vec<Rank>,
    files: Vec<usize>,
    left_out: BTreeMap<String, u64>,
    first: f64,
}

/// The whole trace.
pub(super) fn read(text: &str, args: &ImportArgs) -> anyhow::Result<Trace> {
    let mut reader = Reader {
        args,
        processes: HashMap::new(),
        ranks: Vec::new(),
        files: Vec::new(),
        left_out: BTreeMap::new(),
        first: f64::NAN,
    };
    // The working directory, where the application itself asked for it before it changed.
    let asked = text.lines().find_map(|line| {
        let (_, path) = line.split_once(" getcwd(\"")?;
        path.split('"').next().map(str::to_owned)
    });
    let directory = args.cwd.clone().or(asked).unwrap_or_default();
    let mut unfinished: HashMap<u32, (f64, String)> = HashMap::new();
    for line in text.lines() {
        let Some((process, start, rest)) = head(line) else { continue };
        if reader.first.is_nan() {
            reader.first = start;
        }
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            unfinished.insert(process, (start, begun.trim_end().to_owned()));
            continue;
        }
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let Some((begin, mut whole)) = unfinished.remove(&process) else { continue };
            whole += resumed.split_once(" resumed>").map_or("", |(_, tail)| tail);
            if let Some(call) = call(process, begin, &whole) {
                reader.call(&call, &directory);
            }
        } else if let Some(call) = call(process, start, rest) {
            reader.call(&call, &directory);
        }
    }
    let mut ranks = reader.ranks;
    for rank in &mut ranks {
        rank.events.sort_by(|a, b| a.start.total_cmp(&b.start));
    }
    ranks.retain(|rank| !rank.events.is_empty());
    Ok(Trace { kind: "strace", ranks, left_out: reader.left_out })
}

impl Reader<'_> {
    fn process(&mut self, number: u32, directory: &str) -> Process {
        if let Some(known) = self.processes.get(&number) {
            return known.clone();
        }
        let process = Process {
            rank: self.new_rank(number),
            table: Rc::default(),
            directory: Rc::new(RefCell::new(directory.to_owned())),
        };
        self.processes.insert(number, process.clone());
        process
    }

    fn new_rank(&mut self, process: u32) -> usize {
        self.ranks.push(Rank { name: format!("process {process}"), events: Vec::new() });
        self.files.push(0);
        self.ranks.len() - 1
    }

    /// Is the file one that the program is to touch?
    fn wanted(&self, path: &str) -> bool {
        if !self.args.only.is_empty() {
            return self.args.only.iter().any(|only| path.starts_with(only.as_str()));
        }
        let hidden = if self.args.all { &SYSTEM[..3] } else { &SYSTEM[..] };
        !path.is_empty() && !hidden.iter().any(|system| path.starts_with(system))
    }

    /// A path as seen from the root; `at`: the descriptor of the directory that it counts from.
    fn path(&self, process: &Process, at: Option<&str>, argument: Option<&&str>) -> Option<String> {
        let path = string(argument?)?;
        let from = match at.and_then(descriptor) {
            Some(number) => {
                process.table.borrow().get(&number).map(|open| open.path.clone()).unwrap_or_default()
            }
            None => process.directory.borrow().clone(),
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

    fn push(&mut self, rank: usize, call: &Call<'_>, op: Op) {
        let failed = call.errno.map(str::to_owned);
        self.ranks[rank].events.push(Event { start: call.start, end: call.start + call.seconds, op, failed });
    }

    fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_owned()).or_default() += 1;
    }

    /// The file behind a descriptor on this rank, opened there if another one opened it.
    fn file(&mut self, process: &Process, call: &Call<'_>, argument: Option<&&str>) -> Option<usize> {
        let number = descriptor(argument?)?;
        let open = process.table.borrow().get(&number).filter(|open| !open.directory).cloned()?;
        if let Some((file, _)) = open.files.borrow().get(&process.rank) {
            return Some(*file);
        }
        let file = self.files[process.rank];
        self.files[process.rank] += 1;
        let kept = |flag: &&str| !matches!(*flag, "O_CREAT" | "O_EXCL" | "O_TRUNC");
        let flags: Vec<&str> = open.flags.split('|').filter(kept).collect();
        let op = Op::Open { file, path: open.path.clone(), flags: flags.join("|") };
        let end = call.start;
        self.ranks[process.rank].events.push(Event { start: call.start, end, op, failed: None });
        open.files.borrow_mut().insert(process.rank, (file, 1));
        Some(file)
    }

    fn opened(&mut self, process: &Process, call: &Call<'_>, path: String, flags: &str) {
        let directory = flags.contains("O_DIRECTORY");
        let known: Vec<&str> = flags.split('|').map(str::trim).filter(|flag| KEPT.contains(flag)).collect();
        let flags = known.join("|");
        let files = Rc::new(RefCell::new(BTreeMap::new()));
        let wanted = self.wanted(&path) && !directory;
        if wanted && (call.result >= 0 || foreseen(call.errno)) {
            let file = self.files[process.rank];
            self.files[process.rank] += 1;
            if call.result >= 0 {
                files.borrow_mut().insert(process.rank, (file, 1));
            }
            self.push(process.rank, call, Op::Open { file, path: path.clone(), flags: flags.clone() });
        }
        if call.result >= 0 {
            let directory = directory || !wanted;
            process.table.borrow_mut().insert(call.result, Opened { path, directory, flags, files });
        }
    }

    fn close(&mut self, process: &Process, call: &Call<'_>, number: i64) {
        let Some(open) = process.table.borrow_mut().remove(&number) else { return };
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

    fn named(
        &mut self,
        process: &Process,
        call: &Call<'_>,
        command: &'static str,
        path: Option<String>,
        to: Option<String>,
    ) {
        let Some(path) = path else { return };
        if !self.wanted(&path) || to.as_ref().is_some_and(|to| !self.wanted(to)) {
            return;
        }
        if call.result < 0 && !foreseen(call.errno) {
            return self.leave_out(&format!("{} that failed", call.name));
        }
        self.push(process.rank, call, Op::Name { command, path, to });
    }

    #[allow(clippy::too_many_lines)] // one arm a system call
    fn call(&mut self, call: &Call<'_>, directory: &str) {
        let process = self.process(call.process, directory);
        let argument = |at: usize| call.arguments.get(at);
        let number = |at: usize| argument(at).and_then(|text| text.parse::<u64>().ok());
        let moved = u64::try_from(call.result).unwrap_or(0);
        let rank = process.rank;
        match call.name {
            "open" | "creat" => {
                let flags = argument(1)
                    .copied()
                    .filter(|_| call.name == "open")
                    .unwrap_or("O_WRONLY|O_CREAT|O_TRUNC");
                if let Some(path) = self.path(&process, None, argument(0)) {
                    self.opened(&process, call, path, flags);
                }
            }
            "openat" => {
                if let Some(path) = self.path(&process, argument(0).copied(), argument(1)) {
                    self.opened(&process, call, path, argument(2).copied().unwrap_or("O_RDONLY"));
                }
            }
            "close" => {
                if let Some(number) = argument(0).and_then(|text| descriptor(text)) {
                    self.close(&process, call, number);
                }
            }
            "dup" | "dup2" | "dup3" | "fcntl" if call.result >= 0 => {
                if call.name == "fcntl" && !argument(1).is_some_and(|what| what.starts_with("F_DUPFD")) {
                    return;
                }
                let Some(old) = argument(0).and_then(|text| descriptor(text)) else { return };
                if old == call.result {
                    return;
                }
                if process.table.borrow().contains_key(&call.result) {
                    self.close(&process, call, call.result);
                }
                let open = process.table.borrow().get(&old).cloned();
                if let Some(open) = open {
                    if let Some((_, count)) = open.files.borrow_mut().get_mut(&rank) {
                        *count += 1;
                    }
                    process.table.borrow_mut().insert(call.result, open);
                }
            }
            "clone" | "clone3" | "fork" | "vfork" if call.result > 0 => {
                let flags = call.arguments.join(",");
                let child = u32::try_from(call.result).unwrap_or(0);
                let thread = flags.contains("CLONE_THREAD");
                let own = Process {
                    rank: if thread { rank } else { self.new_rank(child) },
                    table: if flags.contains("CLONE_FILES") {
                        Rc::clone(&process.table)
                    } else {
                        Rc::new(RefCell::new(process.table.borrow().clone()))
                    },
                    directory: if flags.contains("CLONE_FS") {
                        Rc::clone(&process.directory)
                    } else {
                        Rc::new(RefCell::new(process.directory.borrow().clone()))
                    },
                };
                self.processes.insert(child, own);
            }
            "chdir" if call.result == 0 => {
                if let Some(path) = self.path(&process, None, argument(0)) {
                    *process.directory.borrow_mut() = path;
                }
            }
            "read" | "readv" | "pread64" | "preadv" | "preadv2" if call.result >= 0 => {
                let at = if call.name.starts_with('p') { number(3) } else { None };
                if let Some(file) = self.file(&process, call, argument(0)) {
                    self.push(rank, call, Op::Read { file, bytes: moved, at });
                }
            }
            "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" if call.result > 0 => {
                let at = if call.name.starts_with('p') { number(3) } else { None };
                if let Some(file) = self.file(&process, call, argument(0)) {
                    self.push(rank, call, Op::Write { file, bytes: moved, at });
                }
            }
            "copy_file_range" | "sendfile" if call.result > 0 => {
                let (from, to) = if call.name == "sendfile" { (1, 0) } else { (0, 2) };
                if let Some(file) = self.file(&process, call, argument(from)) {
                    self.push(rank, call, Op::Read { file, bytes: moved, at: None });
                }
                if let Some(file) = self.file(&process, call, argument(to)) {
                    self.push(rank, call, Op::Write { file, bytes: moved, at: None });
                }
            }
            "lseek" if call.result >= 0 => {
                if let Some(file) = self.file(&process, call, argument(0)) {
                    self.push(rank, call, Op::Seek { file, to: moved });
                }
            }
            "fsync" | "fdatasync" if call.result == 0 => {
                if let Some(file) = self.file(&process, call, argument(0)) {
                    self.push(rank, call, Op::Sync { file, data: call.name == "fdatasync" });
                }
            }
            "ftruncate" if call.result == 0 => {
                if let (Some(file), Some(length)) = (self.file(&process, call, argument(0)), number(1)) {
                    self.push(rank, call, Op::Truncate { file, length });
                }
            }
            "stat" | "lstat" => {
                let path = self.path(&process, None, argument(0));
                self.named(&process, call, "stat", path, None);
            }
            "newfstatat" | "statx" if argument(1) != Some(&"\"\"") => {
                let path = self.path(&process, argument(0).copied(), argument(1));
                self.named(&process, call, "stat", path, None);
            }
            "access" | "faccessat" | "faccessat2" => {
                let at = usize::from(call.name != "access");
                let path = self.path(&process, argument(0).copied().filter(|_| at == 1), argument(at));
                self.named(&process, call, "lookup", path, None);
            }
            "unlink" | "rmdir" | "mkdir" => {
                let command = match call.name {
                    "unlink" => "unlink",
                    "rmdir" => "rmdir",
                    _ => "mkdir",
                };
                let path = self.path(&process, None, argument(0));
                self.named(&process, call, command, path, None);
            }
            "unlinkat" | "mkdirat" => {
                let command = match (call.name, argument(2)) {
                    ("mkdirat", _) => "mkdir",
                    (_, Some(flags)) if flags.contains("AT_REMOVEDIR") => "rmdir",
                    _ => "unlink",
                };
                let path = self.path(&process, argument(0).copied(), argument(1));
                self.named(&process, call, command, path, None);
            }
            "rename" | "link" => {
                let (from, to) =
                    (self.path(&process, None, argument(0)), self.path(&process, None, argument(1)));
                let Some(to) = to else { return };
                self.named(
                    &process,
                    call,
                    if call.name == "link" { "link" } else { "rename" },
                    from,
                    Some(to),
                );
            }
            "renameat" | "renameat2" => {
                let from = self.path(&process, argument(0).copied(), argument(1));
                let Some(to) = self.path(&process, argument(2).copied(), argument(3)) else { return };
                self.named(&process, call, "rename", from, Some(to));
            }
            "getdents64" if call.result > 0 => {
                let number = argument(0).and_then(|text| descriptor(text)).unwrap_or(-1);
                let path = process.table.borrow().get(&number).map(|open| open.path.clone());
                self.named(&process, call, "readdir", path, None);
            }
            "mmap" if argument(4).and_then(|text| descriptor(text)).is_some_and(|number| number >= 0) => {
                let number = argument(4).and_then(|text| descriptor(text)).unwrap_or(-1);
                if process.table.borrow().get(&number).is_some_and(|open| !open.directory) {
                    self.leave_out("mmap of a file (reads and writes of memory are not in a trace)");
                }
            }
            "io_uring_enter" | "io_submit" => self.leave_out(call.name),
            "symlink" | "symlinkat" | "truncate" | "fallocate" | "chmod" | "fchmodat" if call.result == 0 => {
                self.leave_out(call.name);
            }
            _ => {}
        }
    }
}

/// Failures that the program can repeat, because it makes the same names.
fn foreseen(errno: Option<&str>) -> bool {
    matches!(errno, Some("ENOENT" | "EEXIST"))
}
