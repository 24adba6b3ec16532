//! Counts what a program would do, with a machine that does nothing: operations, bytes, files and space of a rank.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use crate::code::{GroupId, SiteId};
use crate::commands::{Command, mode};
use crate::interpret::{Arguments, Failure, Machine, Reply, Statistic, Stop, Times, Wait, run};
use crate::plan::Plan;
use crate::value::Value;

/// Commands that are walked one by one before counting gives up and says "at least".
pub const DEFAULT_BUDGET: u64 = 2_000_000;

/// Names that are kept apart to count files.
const MAX_NAMES: usize = 100_000;

/// Names of created and of removed files that [`Details`] holds.
const SHOWN_NAMES: usize = 4;

/// What one rank would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// How often each command is done, by name; `print` and `sleep` are not counted.
    pub operations: BTreeMap<&'static str, u64>,
    /// Bytes that each command moves, by name.
    pub bytes: BTreeMap<&'static str, u64>,
    /// All operations.
    pub total: u64,
    /// Bytes written.
    pub written: u64,
    /// Bytes read; where a command reads a whole file that the program did not write, they are
    /// not known and not counted.
    pub read: u64,
    /// Files that are created: by distinct names while there are not too many.
    pub files: u64,
    /// Directories that are created.
    pub directories: u64,
    /// Most bytes that its files take at one time: an upper bound, since files that several
    /// ranks share count for each.
    pub space: u64,
    /// Bytes of memory from `alloc` at one time, at most.
    pub memory: u64,
    /// Barriers and other waits for all ranks.
    pub barriers: u64,
    /// Time spent in `sleep` and `think`, in nanoseconds.
    pub waiting_ns: u64,
    /// Is it only a lower bound? Where the walk was given up, or the program runs for a time.
    pub at_least: bool,
    /// Why a rank would stop before the end, where it would.
    pub stopped: Option<String>,
}

/// What one rank would do, and where in the program and to which files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// How much.
    pub tally: Tally,
    /// How often each static site is passed, by [`SiteId::index`].
    pub sites: Vec<u64>,
    /// The first few names that are created, in order.
    pub created: Vec<String>,
    /// The first few names that are removed, in order.
    pub removed: Vec<String>,
}

/// Counts what a rank would do, without doing it. A loop whose iterations are all the same is
/// walked once and multiplied; otherwise at most `budget` operations are walked.
pub fn count(plan: &Plan, rank: u32, budget: u64) -> Tally {
    details(plan, rank, budget).tally
}

/// The same with places and names.
pub fn details(plan: &Plan, rank: u32, budget: u64) -> Details {
    let mut counter = Counter::new(plan, rank, budget);
    match run(plan, rank, &mut counter) {
        Ok(()) => {}
        Err(Stop::Machine(_)) => counter.tally.at_least = true,
        Err(stop) => counter.tally.stopped = Some(stop.to_string()),
    }
    let Counter { mut tally, sites, created, removed, .. } = counter;
    tally.total = tally.operations.values().sum();
    Details { tally, sites, created, removed }
}

/// The first few names are shown.
fn show(list: &mut Vec<String>, name: &str) {
    if list.len() < SHOWN_NAMES && !name.is_empty() && !list.iter().any(|known| known == name) {
        list.push(name.to_owned());
    }
}

/// A file that is open.
struct CountedFile {
    name: Arc<str>,
    position: u64,
}

struct Counter<'p> {
    plan: &'p Plan,
    rank: u32,
    tally: Tally,
    factor: u64,
    factors: Vec<u64>,
    walked: u64,
    budget: u64,
    now: u64,
    sizes: BTreeMap<Arc<str>, u64>,
    names: HashSet<Arc<str>>,
    live: u64,
    files: Vec<Option<CountedFile>>,
    buffers: Vec<u64>,
    memory: u64,
    sites: Vec<u64>,
    created: Vec<String>,
    removed: Vec<String>,
    /// The command that is being counted.
    command: &'static str,
}

impl<'p> Counter<'p> {
    fn new(plan: &'p Plan, rank: u32, budget: u64) -> Self {
        Self {
            plan,
            rank,
            tally: Tally::default(),
            factor: 1,
            factors: Vec::new(),
            walked: 0,
            budget,
            now: 0,
            sizes: BTreeMap::new(),
            names: HashSet::new(),
            live: 0,
            files: Vec::new(),
            buffers: Vec::new(),
            memory: 0,
            sites: vec![0; plan.sites().len()],
            created: Vec::new(),
            removed: Vec::new(),
            command: "",
        }
    }

    fn passed(&mut self, site: SiteId) {
        if let Some(count) = self.sites.get_mut(site.index()) {
            *count = count.saturating_add(self.factor);
        }
    }

    fn moved(&mut self, bytes: u64) -> u64 {
        let all = bytes.saturating_mul(self.factor);
        let of_command = self.tally.bytes.entry(self.command).or_default();
        *of_command = of_command.saturating_add(all);
        all
    }

    /// A file is there from now on. In a multiplied loop its name stands for as many names as
    /// there are iterations where the name changes; that is not known, so it counts for all.
    fn create(&mut self, name: &str, size: u64) {
        show(&mut self.created, name);
        // Beyond so many names all count as new: an upper bound.
        let full = self.names.len() >= MAX_NAMES;
        if full || self.names.insert(name.into()) {
            self.tally.files = self.tally.files.saturating_add(self.factor);
        }
        self.grow(name, size);
    }

    /// The file has at least so many bytes.
    fn grow(&mut self, name: &str, size: u64) {
        let old = self.sizes.get(name).copied().unwrap_or(0);
        if size > old {
            if self.sizes.len() < MAX_NAMES || self.sizes.contains_key(name) {
                self.sizes.insert(name.into(), size);
            }
            self.live = self.live.saturating_add((size - old).saturating_mul(self.factor));
            self.tally.space = self.tally.space.max(self.live);
        }
    }

    fn remove(&mut self, name: &str) {
        show(&mut self.removed, name);
        let size = self.sizes.remove(name).unwrap_or(0);
        self.live = self.live.saturating_sub(size.saturating_mul(self.factor));
    }

    fn size_of(&self, arguments: &Arguments, index: usize) -> u64 {
        match arguments.buffer(index) {
            Some(buffer) => self.buffers.get(buffer as usize).copied().unwrap_or(0),
            None => arguments.size(index, 0),
        }
    }

    fn size_by_name(&self, name: &str) -> u64 {
        self.sizes.get(name).copied().unwrap_or(0)
    }

    /// The open file that the first argument names.
    fn open_at(&mut self, arguments: &Arguments) -> Option<&mut CountedFile> {
        self.files.get_mut(arguments.file(0)? as usize)?.as_mut()
    }

    /// The size of that file.
    fn open_size(&mut self, arguments: &Arguments) -> u64 {
        let name = self.open_at(arguments).map(|file| file.name.clone());
        name.map_or(0, |name| self.size_by_name(&name))
    }

    fn open_file(&mut self, creates: bool, arguments: &Arguments) -> Reply {
        let name = arguments.text(0);
        if creates {
            self.create(name, 0);
        }
        let open = Some(CountedFile { name: name.into(), position: 0 });
        let at = match self.files.iter().position(Option::is_none) {
            Some(at) => {
                self.files[at] = open;
                at
            }
            None => {
                self.files.push(open);
                self.files.len() - 1
            }
        };
        Reply::value(Value::File(at as u32))
    }

    fn write_bytes(&mut self, bytes: u64) -> Reply {
        let all = self.moved(bytes);
        self.tally.written = self.tally.written.saturating_add(all);
        Reply::moved(bytes)
    }

    fn read_bytes(&mut self, bytes: u64) -> Reply {
        let all = self.moved(bytes);
        self.tally.read = self.tally.read.saturating_add(all);
        Reply::moved(bytes)
    }

    fn close_file(&mut self, arguments: &Arguments) -> Reply {
        if let Some(file) = arguments.file(0).and_then(|at| self.files.get_mut(at as usize)) {
            *file = None;
        }
        Reply::done()
    }

    fn seek(&mut self, arguments: &Arguments) -> Reply {
        let at = arguments.size(1, 0);
        if let Some(file) = self.open_at(arguments) {
            file.position = at;
        }
        Reply::moved(at)
    }

    fn extend_open_file(&mut self, arguments: &Arguments) -> Reply {
        let end = arguments.size(1, 0).saturating_add(arguments.size(2, 0));
        if let Some(name) = self.open_at(arguments).map(|file| file.name.clone()) {
            self.grow(&name, end);
        }
        Reply::done()
    }

    fn rename(&mut self, from: &str, to: &str) -> Reply {
        if let Some(size) = self.sizes.remove(from) {
            self.sizes.insert(to.into(), size);
        }
        Reply::done()
    }

    fn make_directory(&mut self, name: &str) -> Reply {
        show(&mut self.created, name);
        self.tally.directories = self.tally.directories.saturating_add(self.factor);
        Reply::done()
    }

    fn give_back_memory(&mut self, arguments: &Arguments) -> Reply {
        if let Some(bytes) = arguments.buffer(0).and_then(|at| self.buffers.get_mut(at as usize)) {
            self.memory = self.memory.saturating_sub(std::mem::take(bytes));
        }
        Reply::done()
    }

    fn write_open_file(&mut self, arguments: &Arguments) -> Reply {
        let bytes = self.size_of(arguments, 1);
        let (factor, given) = (self.factor, arguments.int(2));
        if let Some(file) = self.open_at(arguments) {
            let end = match given {
                Some(offset) => (offset.max(0) as u64).saturating_add(bytes),
                // Iterations of a multiplied loop write one behind the other.
                None => {
                    file.position = file.position.saturating_add(bytes.saturating_mul(factor));
                    file.position
                }
            };
            let name = file.name.clone();
            let outer = std::mem::replace(&mut self.factor, 1);
            self.grow(&name, end);
            self.factor = outer;
        }
        self.write_bytes(bytes)
    }

    fn take_memory(&mut self, bytes: u64) -> Reply {
        self.buffers.push(bytes);
        self.memory = self.memory.saturating_add(bytes);
        self.tally.memory = self.tally.memory.max(self.memory);
        Reply::value(Value::Buffer(self.buffers.len() as u32 - 1))
    }

    fn pattern_bytes(&self, arguments: &Arguments) -> (u64, u64) {
        let pattern = arguments.int(1).and_then(|at| self.plan.patterns.get(at as usize));
        let group = arguments.int(2).map_or(0, |at| at as usize);
        let ranks = self.plan.groups.get(group).map_or(1, |group| group.ranks.len() as u64);
        pattern.map_or((0, 0), |pattern| (pattern.bytes(), pattern.bytes().saturating_mul(ranks)))
    }
}

impl Machine for Counter<'_> {
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        self.walked += 1;
        self.passed(site);
        self.command = command.name();
        *self.tally.operations.entry(command.name()).or_default() += self.factor;
        match command {
            Command::Fcreat => self.open_file(true, arguments),
            Command::Fopen => {
                let flags = mode::flags(arguments.text(1));
                self.open_file(flags.is_ok_and(|flags| flags.contains(&"O_CREAT")), arguments)
            }
            Command::Pfopen => self.open_file(arguments.text(1).contains('c'), arguments),
            Command::Fclose | Command::Pfclose => self.close_file(arguments),
            Command::Fwrite => self.write_open_file(arguments),
            Command::Fread => {
                let whole = self.open_size(arguments);
                self.read_bytes(arguments.size(1, whole))
            }
            Command::Fseek => self.seek(arguments),
            Command::Ftruncate | Command::Fallocate => self.extend_open_file(arguments),
            Command::Write | Command::Dwrite => {
                let bytes = self.size_of(arguments, 1);
                self.create(arguments.text(0), arguments.size(2, 0).saturating_add(bytes));
                self.write_bytes(bytes)
            }
            Command::Append => {
                let (name, bytes) = (arguments.text(0), self.size_of(arguments, 1));
                self.create(name, self.size_by_name(name).saturating_add(bytes));
                self.write_bytes(bytes)
            }
            Command::Read | Command::Dread => {
                let whole = self.size_by_name(arguments.text(0));
                self.read_bytes(arguments.size(1, whole))
            }
            Command::Create => {
                self.create(arguments.text(0), 0);
                Reply::done()
            }
            Command::Mkdir => self.make_directory(arguments.text(0)),
            Command::Delete | Command::Unlink | Command::Pdelete | Command::Rmdir => {
                self.remove(arguments.text(0));
                Reply::done()
            }
            Command::Rename => self.rename(arguments.text(0), arguments.text(1)),
            Command::Cachestat => Reply::value(Value::Int(0)),
            // What a program does where it is possible is what is counted.
            Command::Odirect => Reply::value(Value::Int(512)),
            Command::Stat => Reply::value(Value::Int(self.size_by_name(arguments.text(0)) as i64)),
            Command::Alloc => self.take_memory(arguments.size(0, 0)),
            Command::Free => self.give_back_memory(arguments),
            Command::Pwrite => {
                let (own, all) = self.pattern_bytes(arguments);
                self.create(arguments.text(0), all);
                self.write_bytes(own)
            }
            Command::Pfwrite => self.write_bytes(self.pattern_bytes(arguments).0),
            Command::Pread | Command::Pfread => self.read_bytes(self.pattern_bytes(arguments).0),
            // Counted, but they change nothing that is.
            Command::Fsync
            | Command::Fdatasync
            | Command::Fadvise
            | Command::Link
            | Command::Symlink
            | Command::Readdir
            | Command::Lookup
            | Command::Chmod
            | Command::Sync
            | Command::DropCaches
            | Command::Stripe
            | Command::Mmap => Reply::done(),
            // Kernels work in memory of their own; the interpreter carries out the last three itself.
            Command::Chase
            | Command::Poke
            | Command::Stream
            | Command::Touch
            | Command::Empty
            | Command::Getpid
            | Command::Getppid
            | Command::ReadNull
            | Command::WriteNull
            | Command::Fstat
            | Command::OpenClose
            | Command::FopenFclose
            | Command::CreateDelete
            | Command::MmapMunmap
            | Command::Fork
            | Command::Spawn
            | Command::Thread
            | Command::Malloc
            | Command::PipePingpong
            | Command::ContextSwitch
            | Command::Print
            | Command::Sleep
            | Command::Glob => Reply::done(),
        }
    }

    fn barrier(&mut self, site: SiteId, _: GroupId) -> Result<(), Stop> {
        self.passed(site);
        self.tally.barriers = self.tally.barriers.saturating_add(self.factor);
        Ok(())
    }

    fn wait(&mut self, ns: u64, reason: Wait) {
        if reason != Wait::Pace {
            self.tally.waiting_ns = self.tally.waiting_ns.saturating_add(ns.saturating_mul(self.factor));
        }
    }

    fn wait_until(&mut self, _: u64, _: Wait) {}

    /// Time flies, so that `for 60s` runs once; what it does is then a lower bound.
    fn now_ns(&mut self) -> u64 {
        self.now = self.now.saturating_add(3_600_000_000_000);
        self.tally.at_least = true;
        self.now
    }

    fn failed(&mut self, _: &Failure<'_>) {}

    fn interrupted(&mut self) -> Option<Stop> {
        self.walked += 1;
        (self.walked > self.budget)
            .then(|| Stop::Machine(format!("rank {} was walked far enough", self.rank)))
    }

    fn enter_loop(&mut self, count: u64, constant_body: bool) -> Option<u64> {
        if !constant_body || count <= 1 {
            return None;
        }
        self.factors.push(self.factor);
        self.factor = self.factor.saturating_mul(count);
        Some(1)
    }

    fn leave_loop(&mut self) {
        self.factor = self.factors.pop().unwrap_or(1);
    }

    fn statistic(&mut self, _: &str, _: Statistic, _: Times) -> Option<f64> {
        Some(0.0)
    }
}
