//! Checks a program against the calls of its trace: a dry run of its text must make the same calls, in order.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use ppl::code::{GroupId, SiteId};
use ppl::commands::{Command, Kind, Yields};
use ppl::interpret::{Arguments, Halt, Machine, Reply, run};
use ppl::value::Value;

use crate::flags;
use crate::lanes::Lanes;
use crate::sequence::Statement;
use crate::statements::{Statements, Verb};

/// Where a program does something else than its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The text is no program.
    NoProgram(String),
    /// A rank ended early.
    Ended(String),
    /// A rank does another call than the trace.
    Call {
        /// The rank.
        rank: u32,
        /// Which of its calls, from 0.
        at: usize,
        /// How many it does.
        does: usize,
        /// How many it should do.
        should: usize,
    },
}

/// One call, as far as it is compared: the command, its names and its numbers.
fn entry(command: &str, texts: &[&str], numbers: &[i64]) -> u64 {
    ahash::RandomState::with_seeds(1, 2, 3, 4).hash_one((command, texts, numbers))
}

/// Tells what each rank must do, in order; workers of a `parallel` block one after the other.
fn expected(
    lanes: &Lanes,
    statements: &Statements,
    name: &dyn Fn(u32) -> String,
    tell: &mut dyn FnMut(ExpectedStep),
) {
    for rank in &lanes.ranks {
        let mut open: Vec<String> = Vec::new();
        for segment in &rank.segments {
            let outer = open.clone();
            for strand in segment {
                let mut own = outer.clone();
                for one in statements.strands[*strand as usize].iter() {
                    if let Some(entry) = expected_entry(&one, statements, name, &mut own) {
                        tell(ExpectedStep::Call(entry));
                    }
                }
                if segment.len() == 1 {
                    open = own;
                }
            }
        }
        tell(ExpectedStep::End);
    }
}

/// Of what is told of ranks, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedStep {
    /// What a call is.
    Call(u64),
    /// The rank does nothing more.
    End,
}

/// Steps that are told at once.
const TOLD_AT_ONCE: usize = 4096;

/// Tells another thread what must be done, a part at a time, so that no more than some parts are held.
fn tell(should: &Expected<'_>, to: &SyncSender<Vec<ExpectedStep>>) {
    let mut some = Vec::with_capacity(TOLD_AT_ONCE);
    let mut gone = false;
    expected(should.lanes, should.statements, should.name, &mut |step| {
        some.push(step);
        if some.len() == TOLD_AT_ONCE {
            gone |= gone || to.send(std::mem::replace(&mut some, Vec::with_capacity(TOLD_AT_ONCE))).is_err();
        }
    });
    if !gone {
        // Where nobody listens any more, the program has failed.
        let _ = to.send(some);
    }
}

/// Hears what must be done.
struct ExpectedSteps {
    from: Receiver<Vec<ExpectedStep>>,
    some: std::vec::IntoIter<ExpectedStep>,
}

impl ExpectedSteps {
    /// The next call of the rank, `None` behind its last one.
    fn next(&mut self) -> Option<u64> {
        loop {
            match self.some.next() {
                Some(ExpectedStep::Call(entry)) => return Some(entry),
                Some(ExpectedStep::End) => return None,
                None => self.some = self.from.recv().ok()?.into_iter(),
            }
        }
    }
}

fn expected_entry(
    one: &Statement,
    of: &Statements,
    name: &dyn Fn(u32) -> String,
    open: &mut Vec<String>,
) -> Option<u64> {
    let shape = of.shapes.get(one.shape);
    let names = one.names.map(name);
    let is_transfer = matches!(shape.verb, Verb::Read | Verb::ReadEnd | Verb::Write);
    let compared = if is_transfer && !of.models.all.is_empty() { 0 } else { usize::from(shape.numbers) };
    let numbers = &one.numbers[..compared];
    let file = open.get(shape.variable as usize).map_or("", String::as_str);
    let on_file = |word: &str| entry(word, &[file], numbers);
    Some(match shape.verb {
        Verb::Open => {
            let at = shape.variable as usize;
            if open.len() <= at {
                open.resize(at + 1, String::new());
            }
            open[at] = names[0].clone();
            entry("fopen", &[&names[0], &flags::mode(shape.flags)], &[])
        }
        Verb::OpenFails => entry("fopen", &[&names[0], &flags::failing_mode(shape.flags)], &[]),
        Verb::Close => on_file("fclose"),
        Verb::Read | Verb::ReadEnd => on_file("fread"),
        Verb::Write => on_file("fwrite"),
        Verb::Copy | Verb::CopyAlike | Verb::CopyEnd => {
            let target = open.get(shape.target as usize).map_or("", String::as_str);
            match shape.verb {
                Verb::CopyAlike => {
                    entry("fcopy", &[file, target], &[one.numbers[0], one.numbers[1], one.numbers[1]])
                }
                _ => entry("fcopy", &[file, target], numbers),
            }
        }
        Verb::Seek => on_file("fseek"),
        Verb::StatOpen => on_file("stat"),
        Verb::ChangeOpen(word) => match shape.permissions {
            Some(bits) => entry(word, &[file], &[i64::from(bits)]),
            None => on_file(word),
        },
        Verb::Extended(word) => entry(word, &[&names[0], &names[1]], numbers),
        Verb::ExtendedOpen(word) => entry(word, &[file, &names[0]], numbers),
        Verb::Sync => on_file("fsync"),
        Verb::DataSync => on_file("fdatasync"),
        Verb::Truncate => on_file("ftruncate"),
        Verb::Allocate => entry("fallocate", &[file, &flags::allocation_mode(shape.flags)], numbers),
        Verb::Name(word) => entry(word, &[&names[0]], &[]),
        Verb::NameAndMode(word) => {
            let bits = i64::from(shape.permissions.unwrap_or(0));
            entry(word, &[&names[0]], &[bits])
        }
        Verb::TwoNames(word) => entry(word, &[&names[0], &names[1]], &[]),
        Verb::Make => entry("write", &[&names[0]], numbers),
        Verb::Signal | Verb::Await => return None,
    })
}

/// How a dry run is compared.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Sizes and offsets of transfers are drawn, and not compared.
    pub drawn: bool,
    /// What existed before is made behind so many barriers.
    pub barriers: u32,
}

/// What a program must do: the statements of each rank, and the names in them.
pub struct Expected<'a> {
    /// Which rank does what.
    pub lanes: &'a Lanes,
    /// What is done.
    pub statements: &'a Statements,
    /// The names as a run of the program has them, by their numbers.
    pub name: &'a (dyn Fn(u32) -> String + Sync),
}

/// Dry-runs the text of a program and compares what it does with what it must do, call by call. Both are found at the same
/// time, by a thread each.
///
/// # Errors
/// The first difference.
pub fn check(text: &str, should: &Expected<'_>, rules: Rules) -> Result<u64, Difference> {
    let (to, from) = sync_channel(4);
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, move || tell(should, &to));
        let mut all = Vec::new();
        if other.is_err() {
            expected(should.lanes, should.statements, should.name, &mut |step| all.push(step));
        }
        let mut told = ExpectedSteps { from, some: all.into_iter() };
        dry_run(text, should.lanes.ranks.len(), rules, &mut told)
    })
}

/// How many calls all ranks of a program make.
fn dry_run(text: &str, ranks: usize, rules: Rules, told: &mut ExpectedSteps) -> Result<u64, Difference> {
    let mut source = ppl::Source::new("imported.ppl", text);
    let (plan, _) =
        ppl::compile(&mut source, &ppl::plan::Settings::default(), false, None).map_err(|found| {
            let first = found.iter().find(|one| one.is_error());
            Difference::NoProgram(first.map_or(String::new(), |one| {
                let line = text[..(one.span.start as usize).min(text.len())].matches('\n').count() + 1;
                format!("line {line}: {}", one.message)
            }))
        })?;
    let (mut total, mut different) = (0, None);
    for rank in 0..ranks as u32 {
        let mut log = Log {
            told,
            ended: false,
            does: 0,
            should: 0,
            differs: None,
            barriers: 0,
            open: Vec::new(),
            rules,
        };
        run(&plan, rank, &mut log).map_err(|stop| Difference::Ended(stop.to_string()))?;
        let difference = log.difference(rank);
        total += log.does as u64;
        different = different.or(difference);
    }
    different.map_or(Ok(total), Err)
}

/// A machine that compares each call with what it must be.
struct Log<'a> {
    told: &'a mut ExpectedSteps,
    /// Whether it has told all of this rank.
    ended: bool,
    /// How many calls were made, and should have been by then.
    does: usize,
    should: usize,
    /// The first call that is another one.
    differs: Option<usize>,
    /// How many barriers were met.
    barriers: u32,
    open: Vec<Option<String>>,
    rules: Rules,
}

impl Log<'_> {
    /// What the next call must be.
    fn expected(&mut self) -> Option<u64> {
        if self.ended {
            return None;
        }
        let expected = self.told.next();
        self.ended = expected.is_none();
        self.should += usize::from(expected.is_some());
        expected
    }

    fn call(&mut self, own: u64) {
        if self.expected() != Some(own) {
            self.differs.get_or_insert(self.does);
        }
        self.does += 1;
    }

    /// Where the calls of a rank, which has ended, differ from what they must be.
    fn difference(&mut self, rank: u32) -> Option<Difference> {
        while self.expected().is_some() {}
        let missing = (self.should > self.does).then_some(self.does);
        let at = self.differs.or(missing)?;
        Some(Difference::Call { rank, at, does: self.does, should: self.should })
    }
}

impl Machine for Log<'_> {
    fn command(&mut self, command: Command, _: SiteId, arguments: &Arguments) -> Reply {
        let spec = command.spec();
        let mut reply = Reply::done();
        let mut texts: Vec<&str> = Vec::new();
        let mut numbers = Vec::new();
        let mut closes = None;
        let opens = spec.yields == Yields::File;
        for (at, argument) in spec.arguments.iter().enumerate() {
            match argument.kind {
                Kind::File | Kind::PathOrFile
                    if arguments.file(at).is_some() || argument.kind == Kind::File =>
                {
                    let file = arguments.file(at).map_or(usize::MAX, |file| file as usize);
                    texts.push(self.open.get(file).and_then(Option::as_deref).unwrap_or(""));
                    closes = Some(file);
                }
                kind if kind.is_text() || kind == Kind::PathOrFile => texts.push(arguments.text(at)),
                Kind::Permissions if opens => {}
                _ => numbers.extend(arguments.int(at)),
            }
        }
        let name = spec.name;
        match name {
            // What a program leaves out is the default.
            "fseek" => {
                texts.truncate(1);
                numbers.truncate(1);
            }
            "fread" | "fwrite" if self.rules.drawn => numbers.clear(),
            "mkdir" if numbers == [0o755] => numbers.clear(),
            _ => {}
        }
        let own = entry(name, &texts, &numbers);
        if name == "fclose"
            && let Some(file) = closes.and_then(|file| self.open.get_mut(file))
        {
            *file = None;
        } else if opens {
            let path = Some(arguments.text(0).to_owned());
            let at = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
            if at == self.open.len() {
                self.open.push(None);
            }
            self.open[at] = path;
            reply = Reply::value(Value::File(at as u32));
        }
        if self.barriers >= self.rules.barriers {
            self.call(own);
        }
        reply
    }

    fn barrier(&mut self, _: SiteId, _: GroupId) -> Result<(), Halt> {
        self.barriers += 1;
        Ok(())
    }
}
