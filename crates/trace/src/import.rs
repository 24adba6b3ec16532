//! From a file to a program: all steps at once.

use std::io::BufRead;

use crate::access::Models;
use crate::before::before;
use crate::check::{Difference, Expected, Rules, check};
use crate::copying::copies;
use crate::format::{Format, Reading};
use crate::input::{Input, TraceError};
use crate::lanes::{Lanes, RankPlan, lanes};
use crate::model::Trace;
use crate::names::is_below;
use crate::order::order;
use crate::packed::Packed;
use crate::program::{Parts, Paths, Program, program};
use crate::select::{Choice, select};
use crate::statements::{TimesOfCalls, statements};

/// How a program is made of a trace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which files it touches.
    pub choice: Choice,
    /// Whether names must tell nothing.
    pub anonymise: bool,
    /// Whether an absolute link leads to what the application's led to, where the program has no name for that. Otherwise each counts
    /// from the link, and leads nowhere outside of the program's directory.
    pub links: bool,
    /// Whether each call is written, without loops.
    pub verbatim: bool,
    /// Whether sizes and random offsets are drawn from their distributions.
    pub model: bool,
    /// Pauses shorter than so many nanoseconds are left out.
    pub least_gap: u64,
    /// Whether each call starts when it did, however long those before it take.
    pub open_loop: bool,
    /// How many copies of the application run at once, each in a directory of its own; 0 counts as 1.
    pub copies: u32,
}

/// A program with what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Its text.
    pub text: String,
    /// How many calls of the trace it does.
    pub calls: u64,
    /// How many calls a dry run of its text made, all those of the trace among them and in order.
    pub checked: Option<u64>,
    /// Where a dry run of its text does something else.
    pub difference: Option<Difference>,
    /// Ranks.
    pub ranks: usize,
    /// Most workers of a rank.
    pub workers: usize,
    /// Lines of its text that are no comments.
    pub lines: usize,
    /// Distributions from which it draws sizes and offsets.
    pub modelled: usize,
    /// The calls of the trace that it does.
    pub done: DoneCalls,
    /// Ranks whose calls overlap, since they have several workers.
    pub overlapping: Vec<u32>,
    /// Names as the program has them.
    paths: Paths,
}

impl Imported {
    /// The directory of the application for which `$dir` stands.
    pub fn root(&self) -> &[u8] {
        &self.paths.root
    }

    /// The names below `$dir`, by their numbers in the trace, as the program has them.
    pub fn names<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = (u32, &'a str)> {
        self.paths.below().filter(|(number, _)| is_below(trace.names.get(*number), &self.paths.root))
    }
}

/// Calls of a trace that a program does, by their indices, each with its rank.
#[derive(Clone, Debug, Default)]
pub struct DoneCalls {
    calls: Packed,
    ranks: Packed,
}

impl DoneCalls {
    fn of(calls: Packed, lanes: &Lanes) -> Self {
        let rank = |at: u64| u64::from(lanes.strands[lanes.strand_of(at as u32) as usize].rank);
        Self { ranks: calls.iter().map(rank).collect(), calls }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.calls.iter().zip(self.ranks.iter()).map(|(at, rank)| (at as u32, rank as u32))
    }
}

impl FromIterator<(u32, u32)> for DoneCalls {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(calls: I) -> Self {
        let mut done = Self::default();
        for (at, rank) in calls {
            done.calls.push(u64::from(at));
            done.ranks.push(u64::from(rank));
        }
        done
    }
}

/// Reads a trace.
///
/// # Errors
/// Where a line is not what the format says.
pub fn read(format: &Format, reader: &mut dyn BufRead, reading: &Reading) -> Result<Trace, TraceError> {
    (format.parse)(&mut Input::new(reader), reading)
}

/// Makes a program of a trace; what is left out is counted in the trace.
pub fn import(trace: &mut Trace, options: &Options) -> Imported {
    let kept = select(trace, &options.choice);
    let lanes = lanes(trace, &kept);
    let order = order(trace, &lanes);
    let kept_calls = kept.iter().map(|at| at as u32);
    let before = before(trace, order.moments.sort(trace, kept_calls));
    let models = if options.model { Models::find(trace, &kept, &before) } else { Models::default() };
    let modelled = models.all.len();
    let copying = copies(trace, &kept, &lanes);
    drop(kept);
    let times = match options.open_loop {
        true => TimesOfCalls::Starts { least_gap: options.least_gap },
        false => TimesOfCalls::Pauses,
    };
    let mut statements = statements(trace, &lanes, &order, models, times);
    let mut parts = Parts {
        trace,
        lanes: &lanes,
        statements: &mut statements,
        before: &before,
        choice: &options.choice,
        anonymise: options.anonymise,
        links: options.links,
        verbatim: options.verbatim,
        least_gap: options.least_gap,
        open_loop: options.open_loop,
        copies: options.copies,
        copying,
    };
    let Program { text, paths } = program(&mut parts);
    let home = parts.first_home("imported");
    let name = |name| paths.whole(name, &home);
    let should = Expected { lanes: &lanes, statements: &statements, name: &name };
    let rules = Rules { drawn: modelled > 0, barriers: if options.copies > 1 { 2 } else { 1 } };
    let done = check(&text, &should, rules);
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    Imported {
        calls: statements.calls,
        checked: done.as_ref().ok().copied(),
        difference: done.err(),
        ranks: lanes.ranks.len(),
        workers: workers(&lanes),
        lines,
        modelled,
        done: DoneCalls::of(std::mem::take(&mut statements.done), &lanes),
        overlapping: overlapping(&lanes),
        paths,
        text,
    }
}

fn overlapping(lanes: &Lanes) -> Vec<u32> {
    let overlap = |rank: &RankPlan| rank.segments.iter().any(|segment| segment.len() > 1);
    (0..).zip(&lanes.ranks).filter(|(_, rank)| overlap(rank)).map(|(number, _)| number).collect()
}

fn workers(lanes: &Lanes) -> usize {
    lanes.ranks.iter().flat_map(|rank| &rank.segments).map(Vec::len).max().unwrap_or(1)
}
