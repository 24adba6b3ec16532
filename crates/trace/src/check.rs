//! Checks a program against the calls of its trace: a dry run of its text must make the same calls, in order.

use ppl::code::{GroupId, SiteId};
use ppl::commands::{Command, Kind, Yields};
use ppl::interpret::{Arguments, Halt, Machine, Reply, run};
use ppl::value::Value;

use crate::flags;
use crate::lanes::Lanes;
use crate::statements::{Statement, Statements, Verb};

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

/// What each rank must do, in order; workers of a `parallel` block one after the other.
fn expected(lanes: &Lanes, statements: &Statements, name: &dyn Fn(u32) -> String) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    for rank in &lanes.ranks {
        let mut calls = Vec::new();
        let mut open: Vec<String> = Vec::new();
        for segment in &rank.segments {
            let outer = open.clone();
            for strand in segment {
                let mut own = outer.clone();
                for one in &statements.strands[*strand as usize] {
                    calls.extend(expected_entry(one, statements, name, &mut own));
                }
                if segment.len() == 1 {
                    open = own;
                }
            }
        }
        all.push(calls);
    }
    all
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
        Verb::OpenFails => entry("fopen", &[&names[0], &flags::mode(shape.flags)], &[]),
        Verb::Close => on_file("fclose"),
        Verb::Read | Verb::ReadEnd => on_file("fread"),
        Verb::Write => on_file("fwrite"),
        Verb::Copy | Verb::CopyEnd => {
            let target = open.get(shape.target as usize).map_or("", String::as_str);
            entry("fcopy", &[file, target], numbers)
        }
        Verb::Seek => on_file("fseek"),
        Verb::StatOpen => on_file("stat"),
        Verb::Sync => on_file("fsync"),
        Verb::DataSync => on_file("fdatasync"),
        Verb::Truncate => on_file("ftruncate"),
        Verb::Allocate => on_file("fallocate"),
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

/// Dry-runs the text of a program and compares what it does with what it must do. Both are found at the same time, by a
/// thread each.
///
/// # Errors
/// The first difference.
pub fn check(text: &str, should: &Expected<'_>, rules: Rules) -> Result<u64, Difference> {
    let find = || expected(should.lanes, should.statements, should.name);
    let most = should.statements.calls as usize + 1;
    let (should, does) = std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, find);
        let does = dry_run(text, should.lanes.ranks.len(), (rules, most));
        let should = match other {
            Ok(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => find(),
        };
        (should, does)
    });
    let mut total = 0;
    for (rank, (should, (does, count))) in (0..).zip(should.iter().zip(does?)) {
        let first = does.iter().zip(should).position(|(does, should)| does != should);
        if let Some(at) = first.or((count != should.len()).then_some(count.min(should.len()))) {
            return Err(Difference::Call { rank, at, does: count, should: should.len() });
        }
        total += count as u64;
    }
    Ok(total)
}

/// What each rank of a program does, `most` calls of it at most, and how many calls there are.
fn dry_run(
    text: &str,
    ranks: usize,
    (rules, most): (Rules, usize),
) -> Result<Vec<(Vec<u64>, usize)>, Difference> {
    let mut source = ppl::Source::new("imported.ppl", text);
    let (plan, _) =
        ppl::compile(&mut source, &ppl::plan::Settings::default(), false, None).map_err(|found| {
            let first = found.iter().find(|one| one.is_error());
            Difference::NoProgram(first.map_or(String::new(), |one| {
                let line = text[..(one.span.start as usize).min(text.len())].matches('\n').count() + 1;
                format!("line {line}: {}", one.message)
            }))
        })?;
    let of_rank = |rank: u32| -> Result<(Vec<u64>, usize), Difference> {
        let mut log = Log { does: Vec::new(), count: 0, most, barriers: 0, open: Vec::new(), rules };
        run(&plan, rank, &mut log).map_err(|stop| Difference::Ended(stop.to_string()))?;
        Ok((log.does, log.count))
    };
    (0..ranks as u32).map(of_rank).collect()
}

/// A machine that keeps what each call was.
struct Log {
    does: Vec<u64>,
    count: usize,
    /// How many are kept.
    most: usize,
    /// How many barriers were met.
    barriers: u32,
    open: Vec<Option<String>>,
    rules: Rules,
}

impl Machine for Log {
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
            if self.count < self.most {
                self.does.push(own);
            }
            self.count += 1;
        }
        reply
    }

    fn barrier(&mut self, _: SiteId, _: GroupId) -> Result<(), Halt> {
        self.barriers += 1;
        Ok(())
    }
}
