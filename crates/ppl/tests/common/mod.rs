//! A machine for tests, with files in memory, which records every call.
#![allow(dead_code)]

use std::collections::BTreeMap;

use ppl::commands::{Command, mode};
use ppl::interpret::{Arguments, Failure, Halt, Machine, Reply, Statistic, Times, Wait, run};
use ppl::plan::{GroupId, Plan, Settings, SiteId};
use ppl::{Diagnostic, Source, Value, compile};

const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EBADF: i32 = 9;
const EEXIST: i32 = 17;

/// The records of a program that ended.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Printed lines, each with its rank.
    pub lines: Vec<String>,
    /// Successes and failures of each command.
    pub commands: BTreeMap<&'static str, (u64, u64)>,
    /// Every command with its arguments' texts and numbers, in order.
    pub trace: Vec<String>,
    /// Labels of blocks as they were entered.
    pub labels: Vec<String>,
    /// Reasons why ranks stopped.
    pub stops: Vec<String>,
    /// Names and sizes of files at the end.
    pub files: BTreeMap<String, u64>,
    /// Results of `assert`.
    pub asserts: Vec<bool>,
    /// Failures that were expected, and expectations that were not met.
    pub expected: (u64, u64),
    /// Waits in nanoseconds and intended starts.
    pub waits: Vec<u64>,
    pub intended: Vec<u64>,
    pub diagnostics: Vec<Diagnostic>,
}

struct Open {
    name: String,
    position: u64,
    writes: bool,
    appends: bool,
}

pub struct Memory<'a> {
    plan: &'a Plan,
    rank: u32,
    files: Vec<Option<Open>>,
    buffers: Vec<u64>,
    pub out: &'a mut Outcome,
    pub now: u64,
    /// The duration of every command, in nanoseconds.
    pub cost: u64,
}

impl<'a> Memory<'a> {
    pub fn new(plan: &'a Plan, rank: u32, out: &'a mut Outcome) -> Self {
        Self { plan, rank, files: Vec::new(), buffers: Vec::new(), out, now: 0, cost: 1000 }
    }

    fn open(&mut self, name: &str, flags: &[&str]) -> Reply {
        if flags.contains(&"O_CREAT") {
            let size = self.out.files.entry(name.into()).or_default();
            if flags.contains(&"O_TRUNC") {
                *size = 0;
            }
        } else if !self.out.files.contains_key(name) {
            return Reply::failed(ENOENT);
        }
        self.files.push(Some(Open {
            name: name.into(),
            position: 0,
            writes: !flags.contains(&"O_RDONLY"),
            appends: flags.contains(&"O_APPEND"),
        }));
        Reply::value(Value::File(self.files.len() as u32 - 1))
    }

    fn size(&self, arguments: &Arguments, index: usize) -> u64 {
        arguments
            .buffer(index)
            .map_or_else(|| arguments.size(index, 0), |buffer| self.buffers[buffer as usize])
    }

    /// A command on an open file.
    fn on_open_file(&mut self, command: Command, arguments: &Arguments) -> Reply {
        let wanted = self.size(arguments, 1);
        let at = arguments.file(0).map_or(usize::MAX, |at| at as usize);
        let Some(Some(file)) = self.files.get_mut(at) else { return Reply::failed(EBADF) };
        let length = self.out.files.get(&file.name).copied().unwrap_or(0);
        match command {
            Command::Fsync => Reply::done(),
            Command::Fseek => {
                file.position = wanted;
                Reply::moved(wanted)
            }
            Command::Fread => {
                let (offset, wanted) = match (arguments.is_given(1), arguments.is_given(2)) {
                    (false, _) => (0, length),
                    (true, false) => (file.position, wanted),
                    (true, true) => (arguments.size(2, 0), wanted),
                };
                let got = length.saturating_sub(offset).min(wanted);
                file.position = offset + got;
                if got < wanted {
                    Reply { errno: EIO, bytes: got, ..Reply::default() }
                } else {
                    Reply::moved(got)
                }
            }
            Command::Fwrite if !file.writes => Reply::failed(EBADF),
            Command::Fwrite => {
                let offset = if file.appends { length } else { arguments.size(2, file.position) };
                file.position = offset + wanted;
                let end = length.max(offset + wanted);
                self.out.files.insert(file.name.clone(), end);
                Reply::moved(wanted)
            }
            _ => Reply::done(),
        }
    }

    /// Bytes that all ranks of a group transfer together by the pattern that is argument 1.
    fn by_pattern(&self, site: SiteId, arguments: &Arguments) -> u64 {
        let Some(pattern) = arguments.int(1).and_then(|number| self.plan.patterns.get(number as usize))
        else {
            return 0;
        };
        let group = pattern.group.unwrap_or(self.plan.sites()[site.0 as usize].group);
        self.plan.groups[group.0 as usize].ranks.len() as u64 * pattern.iterations * pattern.element
    }

    fn act(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        let name = arguments.text(0).to_owned();
        let folder = format!("{name}/");
        let size_of = |me: &Self, name: &str| me.out.files.get(name).copied();
        match command {
            Command::Fcreat => self.open(&name, &["O_WRONLY", "O_CREAT", "O_TRUNC"]),
            Command::Fopen => match mode::flags(arguments.text(1)) {
                Ok(flags) => self.open(&name, &flags),
                Err(_) => Reply::failed(22),
            },
            Command::Pfopen => {
                let flags: &[&str] =
                    if arguments.text(1).contains('c') { &["O_RDWR", "O_CREAT"] } else { &["O_RDWR"] };
                self.open(&name, flags)
            }
            Command::Fclose | Command::Pfclose => {
                match arguments.file(0).and_then(|at| self.files.get_mut(at as usize)?.take()) {
                    Some(_) => Reply::done(),
                    None => Reply::failed(EBADF),
                }
            }
            Command::Pfwrite => {
                let bytes = self.by_pattern(site, arguments);
                match arguments.file(0).and_then(|at| self.files.get(at as usize)?.as_ref()) {
                    None => Reply::failed(EBADF),
                    Some(open) => {
                        self.out.files.insert(open.name.clone(), bytes);
                        Reply::moved(bytes)
                    }
                }
            }
            Command::Fwrite | Command::Fread | Command::Fseek | Command::Fsync | Command::Pfread => {
                self.on_open_file(command, arguments)
            }
            Command::Write | Command::Dwrite => {
                let size = self.size(arguments, 1);
                self.out.files.insert(name, arguments.size(2, 0) + size);
                Reply::moved(size)
            }
            Command::Append => {
                let size = self.size(arguments, 1);
                *self.out.files.entry(name).or_default() += size;
                Reply::moved(size)
            }
            Command::Read | Command::Dread => match size_of(self, &name) {
                None => Reply::failed(ENOENT),
                Some(length) => {
                    let wanted = arguments.size(1, length);
                    let got = length.saturating_sub(arguments.size(2, 0)).min(wanted);
                    if got < wanted {
                        Reply { errno: EIO, bytes: got, ..Reply::default() }
                    } else {
                        Reply::moved(got)
                    }
                }
            },
            Command::Create => {
                self.out.files.entry(name).or_default();
                Reply::done()
            }
            Command::Mkdir => {
                if self.out.files.insert(folder, 0).is_some() {
                    Reply::failed(EEXIST)
                } else {
                    Reply::done()
                }
            }
            Command::Delete | Command::Rmdir | Command::Unlink | Command::Pdelete => {
                let gone = self.out.files.remove(&name).or_else(|| self.out.files.remove(&folder));
                if gone.is_some() { Reply::done() } else { Reply::failed(ENOENT) }
            }
            Command::Rename => match self.out.files.remove(&name) {
                Some(size) => {
                    self.out.files.insert(arguments.text(1).into(), size);
                    Reply::done()
                }
                None => Reply::failed(ENOENT),
            },
            Command::Stat | Command::Lookup => match size_of(self, &name).or(size_of(self, &folder)) {
                Some(size) => Reply::value(Value::Int(size as i64)),
                None => Reply::failed(ENOENT),
            },
            Command::Alloc => {
                self.buffers.push(arguments.size(0, 0));
                Reply::value(Value::Buffer(self.buffers.len() as u32 - 1))
            }
            Command::Pwrite => {
                let bytes = self.by_pattern(site, arguments);
                self.out.files.insert(name, bytes);
                Reply::done()
            }
            _ => Reply::done(),
        }
    }
}

impl Machine for Memory<'_> {
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        self.now += self.cost;
        let reply = self.act(command, site, arguments);
        let seen = self.out.commands.entry(command.name()).or_default();
        if reply.errno == 0 {
            seen.0 += 1;
        }
        let mut line = format!("{}(", command.name());
        for index in 0..arguments.len() {
            if index > 0 {
                line.push_str(", ");
            }
            match (arguments.text(index), arguments.int(index)) {
                ("", Some(number)) => line.push_str(&number.to_string()),
                (text, _) => line.push_str(text),
            }
        }
        self.out.trace.push(line + ")");
        reply
    }

    fn barrier(&mut self, _: SiteId, group: GroupId) -> Result<(), Halt> {
        self.out.trace.push(format!("barrier {}", group.0));
        Ok(())
    }

    fn enter_block(&mut self, _: SiteId, label: &str) {
        self.out.labels.push(label.to_owned());
    }

    fn print(&mut self, text: &str) {
        self.out.lines.push(format!("[{}] {text}", self.rank));
    }

    fn wait(&mut self, ns: u64, _: Wait) {
        self.out.waits.push(ns);
        self.now += ns;
    }

    fn now_ns(&mut self) -> u64 {
        self.now
    }

    fn intended_start(&mut self, ns: Option<u64>) {
        self.out.intended.extend(ns);
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        self.out.commands.entry(failure.command.name()).or_default().1 += 1;
    }

    fn expected(&mut self, _: &Failure<'_>) {
        self.out.expected.0 += 1;
    }

    fn unexpected(&mut self, _: &Failure<'_>, _: i32) {
        self.out.expected.1 += 1;
    }

    fn not_held(&mut self, _: &str, _: &ppl::source::Position) {
        self.out.asserts.push(false);
    }

    fn claimed(&mut self, claim: ppl::claim::Claim, _: bool) {
        let plan = self.plan;
        let judged = ppl::claim::judge(plan, &claim, &mut |name: &str, asked, times| {
            self.statistic(name, asked, times)
        });
        self.out.asserts.push(judged.is_ok_and(|(holds, _)| holds));
    }

    fn statistic(&mut self, name: &str, _: Statistic, _: Times) -> Option<f64> {
        matches!(name, "known" | "getpid" | "read").then_some(0.002)
    }

    fn glob(&mut self, pattern: &str) -> Vec<String> {
        let stem = pattern.trim_end_matches('*');
        self.out.files.keys().filter(|name| name.starts_with(stem)).cloned().collect()
    }
}

/// Compiles a program with these parameters.
pub fn plan_with(program: &str, settings: &Settings<'_>) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    compile(&mut Source::new("p.ppl", program), settings, false, None)
}

/// As [`plan_with`], with the lexing of the original.
pub fn classic_plan_with(
    program: &str,
    settings: &Settings<'_>,
) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    compile(&mut Source::new("p.pbl", program), settings, true, None)
}

/// Compiles a program that must have no error.
pub fn plan_of(program: &str) -> Plan {
    plan_with(program, &Settings::default()).unwrap_or_else(|errors| panic!("{errors:#?}")).0
}

/// Runs a plan, one rank after the other.
pub fn execute(plan: &Plan) -> Outcome {
    let mut out = Outcome::default();
    for rank in 0..plan.ranks {
        let mut machine = Memory::new(plan, rank, &mut out);
        let result = run(plan, rank, &mut machine);
        if let Err(stop) = result {
            out.stops.push(stop.to_string());
        }
    }
    out
}

/// The lines that a program prints.
pub fn printed(program: &str) -> Vec<String> {
    let outcome = execute(&plan_of(program));
    assert_eq!(outcome.stops, Vec::<String>::new(), "{program}");
    outcome.lines
}

/// One row of the table of recorded programs that differ.
pub fn difference_row(name: &str, classic: &str, why: &str) -> String {
    format!("| `{name}` | {classic} | {} |", why.replace('|', "\\|"))
}

/// The table behind the name of `record` in docs/language.md holds exactly these rows, sorted.
pub fn assert_differences(record: &str, mut rows: Vec<String>) {
    rows.sort();
    let page = include_str!("../../../../docs/language.md");
    let heading = format!("### Programs of `{record}` that differ\n");
    let section = page.split_once(&heading).unwrap_or_else(|| panic!("no section {heading}")).1;
    let documented: Vec<&str> = section
        .lines()
        .take_while(|line| !line.starts_with('#'))
        .filter(|line| line.starts_with("| `"))
        .collect();
    assert_eq!(documented, rows, "docs/language.md, {heading}");
}
