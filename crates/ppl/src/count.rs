//! Counts what a program would do without executing it: operations, bytes, files and space of a rank.

mod patterns;
mod touched;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;

use crate::code::{GroupId, SiteId};
use crate::commands::{Class, Command, CommandSpec, Effect, Kind, Yields, mode};
use crate::counted_files::NamedFiles;
use crate::interpret::{Arguments, Failure, Halt, Machine, Reply, Statistic, Times, Wait, run};
use crate::plan::Plan;
use crate::value::Value;

use touched::show;
pub use touched::{Touch, Touched};

/// The number of commands that are counted one by one before the result becomes a lower bound.
pub const DEFAULT_BUDGET: u64 = 2_000_000;

/// What one rank would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkCount {
    /// How often each command is executed, by name, without `print` and `sleep`.
    pub operations: BTreeMap<&'static str, u64>,
    /// Bytes that each command moves, by name.
    pub bytes: BTreeMap<&'static str, u64>,
    /// All operations.
    pub total: u64,
    /// Bytes written.
    pub written: u64,
    /// Bytes read. If a command reads a whole file that the program did not write, its bytes are unknown and
    /// not counted.
    pub read: u64,
    /// Number of files created, by distinct names unless there are too many.
    pub files: u64,
    /// Number of directories created.
    pub directories: u64,
    /// The peak size of its files in bytes: an upper bound, since files shared by several ranks count for
    /// each.
    pub space: u64,
    /// The peak number of bytes of `alloc`.
    pub memory: u64,
    /// Barriers and other waits for all ranks.
    pub barriers: u64,
    /// Time spent in `sleep` and `think`, in nanoseconds.
    pub waiting_ns: u64,
    /// Whether the counts are lower bounds: counting was given up, or the program contains a loop over time.
    pub at_least: bool,
    /// Why a rank would stop before the end, if it would.
    pub stopped: Option<String>,
}

/// What one rank would do, by site, with the names of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The counts.
    pub tally: WorkCount,
    /// How often each static site is executed, by [`SiteId::index`].
    pub sites: Vec<u64>,
    /// The first few names that are created, in order.
    pub created: Vec<String>,
    /// The first few names that are removed, in order.
    pub removed: Vec<String>,
    /// What is done first with each name.
    pub touched: Touched,
}

/// Counts what a rank would do. Of a loop whose iterations do equal work the first is counted, and the second for all others;
/// otherwise at most `budget` operations are counted.
pub fn count(plan: &Plan, rank: u32, budget: u64) -> WorkCount {
    details(plan, rank, budget).tally
}

/// As [`count`], with sites and names.
pub fn details(plan: &Plan, rank: u32, budget: u64) -> Details {
    counted(plan, rank, Counter::new(plan, rank, budget))
}

fn counted(plan: &Plan, rank: u32, mut counter: Counter<'_>) -> Details {
    match run(plan, rank, &mut counter) {
        Ok(()) => {}
        Err(Halt::Machine(_)) => counter.tally.at_least = true,
        Err(stop) => counter.tally.stopped = Some(stop.to_string()),
    }
    let Counter { mut tally, sites, created, removed, named, touched, .. } = counter;
    tally.total = tally.operations.values().fold(0, |sum: u64, one| sum.saturating_add(*one));
    tally.space = named.most;
    Details { tally, sites, created, removed, touched }
}

/// As [`details`], each iteration of each loop by itself. What it counts is done for certain: where the budget ends first
/// (`at_least`), there is more.
pub fn walk(plan: &Plan, rank: u32, budget: u64) -> Details {
    counted(plan, rank, Counter { multiplies: false, ..Counter::new(plan, rank, budget) })
}

/// A file that is open.
struct CountedFile {
    name: Arc<str>,
    position: u64,
    /// The factor where it was opened.
    factor: u64,
}

struct Counter<'p> {
    plan: &'p Plan,
    rank: u32,
    tally: WorkCount,
    /// Are loops of equal iterations counted once?
    multiplies: bool,
    factor: u64,
    /// Of the loops around: the factor outside, and the rounds.
    loops: Vec<(u64, u64)>,
    walked: u64,
    budget: u64,
    now: u64,
    /// Whether a command was executed since the time was last read.
    worked: bool,
    named: NamedFiles,
    files: Vec<Option<CountedFile>>,
    buffers: Vec<u64>,
    memory: u64,
    sites: Vec<u64>,
    created: Vec<String>,
    removed: Vec<String>,
    touched: Touched,
    /// The command being counted.
    command: &'static str,
    /// The group around it.
    around: GroupId,
    /// Of patterns with a shape, by number and group: bytes of this rank, and the end of the file.
    shapes: HashMap<(usize, usize), (u64, u64)>,
}

impl<'p> Counter<'p> {
    fn new(plan: &'p Plan, rank: u32, budget: u64) -> Self {
        Self {
            plan,
            rank,
            tally: WorkCount::default(),
            multiplies: true,
            factor: 1,
            loops: Vec::new(),
            walked: 0,
            budget,
            now: 0,
            worked: false,
            named: NamedFiles::default(),
            files: Vec::new(),
            buffers: Vec::new(),
            memory: 0,
            sites: vec![0; plan.sites().len()],
            created: Vec::new(),
            removed: Vec::new(),
            touched: Touched::default(),
            command: "",
            around: GroupId::WORLD,
            shapes: HashMap::new(),
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

    /// Records the creation of a file.
    fn create(&mut self, name: &str, size: u64) {
        show(&mut self.created, name);
        self.tally.files = self.tally.files.saturating_add(self.named.create(name, size, self.factor));
    }

    fn remove(&mut self, name: &str) {
        show(&mut self.removed, name);
        self.named.remove(name);
    }

    /// The open file of the first argument.
    fn open_at(&mut self, arguments: &Arguments) -> Option<&mut CountedFile> {
        self.open_file_at(arguments, 0)
    }

    /// The open file of an argument.
    fn open_file_at(&mut self, arguments: &Arguments, index: usize) -> Option<&mut CountedFile> {
        self.files.get_mut(arguments.file(index)? as usize)?.as_mut()
    }

    /// The size of that file.
    fn open_size(&mut self, arguments: &Arguments) -> u64 {
        let name = self.open_at(arguments).map(|file| file.name.clone());
        name.map_or(0, |name| self.named.size_of(&name))
    }

    /// Applies the transfer and effect of a command, as its row in the table states.
    fn follow(&mut self, spec: &CommandSpec, arguments: &Arguments) -> Reply {
        self.touched.note(spec, arguments);
        let (mut number, mut bytes) = (spec.dry_value, 0);
        // Kernels use their own memory and files; the interpreter executes its own commands.
        if matches!(spec.class, Class::File | Class::Collective) {
            number = self.effect(spec, arguments);
            if spec.moves.reads() {
                bytes = self.read(spec, arguments);
            }
            if spec.moves.writes() {
                bytes = self.write(spec, arguments);
            }
        }
        match spec.yields {
            Yields::File => self.open_file(spec, arguments),
            Yields::Buffer => self.take_memory(spec.size().map_or(0, |at| arguments.size(at, 0))),
            Yields::Int => Reply::value(Value::Int(number)),
            Yields::Bytes => Reply::moved(bytes),
            Yields::Nothing | Yields::List => Reply::done(),
        }
    }

    /// Applies the effect of a command on names, open files and memory, and returns its integer.
    fn effect(&mut self, spec: &CommandSpec, arguments: &Arguments) -> i64 {
        let path = |index: usize| spec.paths().nth(index).map_or("", |at| arguments.text(at));
        let given = |index: Option<usize>| index.map_or(0, |at| arguments.size(at, 0));
        match spec.effect {
            // Appended bytes are counted as written bytes.
            Effect::Nothing | Effect::Appends => {}
            Effect::Creates => self.create(path(0), 0),
            Effect::MakesDirectory => {
                show(&mut self.created, path(0));
                self.tally.directories = self.tally.directories.saturating_add(self.factor);
            }
            Effect::Removes => self.remove(path(0)),
            Effect::Renames => {
                self.named.rename(path(0), path(1));
            }
            Effect::Extends => {
                if let Some(name) = self.open_at(arguments).map(|file| file.name.clone()) {
                    let (size, end) =
                        (given(spec.size()), given(spec.offset()).saturating_add(given(spec.size())));
                    // Of `fallocate`; nothing else that extends has words.
                    match arguments.text(3) {
                        mode if mode.contains("insert_range") => {
                            self.named.lengthen(&name, size, self.factor)
                        }
                        mode if ["keep_size", "punch_hole", "collapse_range"]
                            .iter()
                            .any(|word| mode.contains(word)) => {}
                        _ => self.named.grow(&name, end, self.factor),
                    }
                }
            }
            Effect::Seeks => {
                // The offset is its only byte argument.
                let at = given(spec.size());
                if let Some(file) = self.open_at(arguments) {
                    file.position = at;
                }
                return at as i64;
            }
            Effect::Closes => {
                if let Some(file) = arguments.file(0).and_then(|at| self.files.get_mut(at as usize)) {
                    *file = None;
                }
            }
            Effect::AnswersSize if arguments.file(0).is_some() => return self.open_size(arguments) as i64,
            Effect::AnswersSize => return self.named.size_of(arguments.text(0)) as i64,
            Effect::Frees => {
                if let Some(bytes) = arguments.buffer(0).and_then(|at| self.buffers.get_mut(at as usize)) {
                    self.memory = self.memory.saturating_sub(std::mem::take(bytes));
                }
            }
        }
        spec.dry_value
    }

    fn open_file(&mut self, spec: &CommandSpec, arguments: &Arguments) -> Reply {
        let name = arguments.text(0);
        // A command without a mode creates the file.
        let mode = spec.position(Kind::Mode).map(|at| arguments.text(at));
        if mode.is_none_or(|mode| mode::creates(mode, spec.class == Class::Collective)) {
            self.create(name, 0);
        }
        let open = Some(CountedFile { name: name.into(), position: 0, factor: self.factor });
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

    /// Counts the bytes that a command writes to the last path, or else to an open file.
    fn write(&mut self, spec: &CommandSpec, arguments: &Arguments) -> u64 {
        let path = spec.paths().last().map(|at| arguments.text(at));
        let bytes = match (spec.position(Kind::Pattern), path) {
            (Some(at), Some(path)) => {
                let (own, all) = self.pattern_bytes((spec, at), arguments);
                self.create(path, all);
                own
            }
            (Some(at), None) => {
                let (own, all) = self.pattern_bytes((spec, at), arguments);
                let offset = spec.offset().map_or(0, |at| arguments.size(at, 0));
                if let Some(name) = self.open_at(arguments).map(|file| file.name.clone()) {
                    self.named.grow(&name, offset.saturating_add(all), self.factor);
                }
                own
            }
            (None, Some(path)) => {
                let bytes = self.transfer_size(spec, arguments, 0);
                if let Effect::Appends = spec.effect {
                    self.create(path, 0);
                    self.named.lengthen(path, bytes, self.factor);
                } else {
                    let from = spec.offset().map_or(0, |at| arguments.size(at, 0));
                    self.create(path, from.saturating_add(bytes));
                }
                bytes
            }
            (None, None) => {
                let bytes = self.transfer_size(spec, arguments, 0);
                self.write_open_file(bytes, spec, arguments);
                bytes
            }
        };
        let all = self.moved(bytes);
        self.tally.written = self.tally.written.saturating_add(all);
        bytes
    }

    /// Counts the bytes that a command reads from the first path, or else from an open file.
    fn read(&mut self, spec: &CommandSpec, arguments: &Arguments) -> u64 {
        let bytes = match spec.position(Kind::Pattern) {
            Some(at) => self.pattern_bytes((spec, at), arguments).0,
            None => {
                let whole = match spec.position(Kind::Path) {
                    Some(at) => self.named.size_of(arguments.text(at)),
                    None => self.open_size(arguments),
                };
                self.transfer_size(spec, arguments, whole)
            }
        };
        let all = self.moved(bytes);
        self.tally.read = self.tally.read.saturating_add(all);
        bytes
    }

    /// The number of bytes of a transfer, given directly or by a buffer; `whole` if omitted.
    fn transfer_size(&self, spec: &CommandSpec, arguments: &Arguments, whole: u64) -> u64 {
        let Some(at) = spec.size() else { return whole };
        match arguments.buffer(at) {
            Some(buffer) => self.buffers.get(buffer as usize).copied().unwrap_or(0),
            None => arguments.size(at, whole),
        }
    }

    fn write_open_file(&mut self, bytes: u64, spec: &CommandSpec, arguments: &Arguments) {
        let offset = spec.target_offset().and_then(|at| arguments.int(at));
        let factor = self.factor;
        let Some(file) = self.open_file_at(arguments, spec.target().unwrap_or(0)) else { return };
        let rounds = (factor / file.factor.max(1)).max(1);
        let end = match offset {
            Some(offset) => (offset.max(0) as u64).saturating_add(bytes),
            // Rounds write one after the other.
            None => {
                file.position = file.position.saturating_add(bytes.saturating_mul(rounds));
                file.position
            }
        };
        let name = file.name.clone();
        self.named.grow(&name, end, self.factor);
        // What a copy takes moves the position of the file that it comes from.
        if spec.target() > Some(0)
            && spec.offset().is_none_or(|at| !arguments.is_given(at))
            && let Some(from) = self.open_at(arguments)
        {
            let rounds = (factor / from.factor.max(1)).max(1);
            from.position = from.position.saturating_add(bytes.saturating_mul(rounds));
        }
    }

    fn take_memory(&mut self, bytes: u64) -> Reply {
        self.buffers.push(bytes);
        self.memory = self.memory.saturating_add(bytes);
        self.tally.memory = self.tally.memory.max(self.memory);
        Reply::value(Value::Buffer(self.buffers.len() as u32 - 1))
    }
}

impl Machine for Counter<'_> {
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        self.walked += 1;
        self.worked = true;
        self.passed(site);
        self.command = command.name();
        self.around = self.plan.site(site).group;
        let operations = self.tally.operations.entry(command.name()).or_default();
        *operations = operations.saturating_add(self.factor);
        self.follow(command.spec(), arguments)
    }

    fn barrier(&mut self, site: SiteId, _: GroupId) -> Result<(), Halt> {
        self.worked = true;
        self.passed(site);
        self.tally.barriers = self.tally.barriers.saturating_add(self.factor);
        Ok(())
    }

    fn largest(&mut self, _: u32, site: SiteId, _: GroupId, value: u64) -> Result<u64, Halt> {
        self.worked = true;
        self.passed(site);
        Ok(value)
    }

    fn wait(&mut self, ns: u64, reason: Wait) {
        self.worked = true;
        if reason != Wait::Pace {
            self.tally.waiting_ns = self.tally.waiting_ns.saturating_add(ns.saturating_mul(self.factor));
        }
    }

    fn wait_until(&mut self, _: u64, _: Wait) {}

    /// An hour passes if a command was executed since the time was last read, so that `for 60s` has one
    /// iteration; the counts are then lower bounds.
    fn now_ns(&mut self) -> u64 {
        if std::mem::take(&mut self.worked) {
            self.now = self.now.saturating_add(3_600_000_000_000);
        }
        self.tally.at_least = true;
        self.now
    }

    fn failed(&mut self, _: &Failure<'_>) {}

    fn interrupted(&mut self) -> Option<Halt> {
        /// Iterations of an empty loop take time too.
        const IDLE_ROUNDS: u64 = 1024;
        self.walked += 1;
        self.worked |= self.walked.is_multiple_of(IDLE_ROUNDS);
        (self.walked > self.budget)
            .then(|| Halt::Machine(format!("rank {} was walked far enough", self.rank)))
    }

    fn assigned(&mut self, length: usize) {
        /// Items and bytes that are copied in the time of a command.
        const A_COMMAND: u64 = 8;
        self.walked += length as u64 / A_COMMAND;
    }

    fn enter_block(&mut self, site: SiteId, _: &str) {
        self.passed(site);
    }

    fn enter_loop(&mut self, count: u64, constant_body: bool) -> Option<u64> {
        if !constant_body || count <= 1 || !self.multiplies {
            return None;
        }
        self.loops.push((self.factor, count));
        Some(2)
    }

    fn next_round(&mut self) {
        if let Some((outside, rounds)) = self.loops.last() {
            self.factor = outside.saturating_mul(rounds - 1);
        }
    }

    fn leave_loop(&mut self) {
        self.factor = self.loops.pop().map_or(1, |(outside, _)| outside);
    }

    fn statistic(&mut self, _: &str, _: Statistic, _: Times) -> Option<f64> {
        Some(0.0)
    }
}
