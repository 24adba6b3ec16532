//! The numbers of a run's answer, computed once: screen, `-q`, JSON, `ls`, page and Python show these and no others.

use samples::{Facts, SiteKind, VerifiedFacts};
use serde::{Deserialize, Serialize};

use crate::choice::{LAYING_OUT, READS, WRITES, choose, is_pause, is_set_up};
use crate::interval::QuantileInterval;
use crate::quantiles::Quantiles;
use crate::rate::KeptRate;
use crate::row::ResultRow;

/// Most parts of an answer.
const MOST_PARTS: usize = 8;

/// A block that fills less of the elapsed time is said to be what its rate is of.
const FILLED: f64 = 0.9;

/// Operations that end what a phase was measured for.
const CLOSES: [&str; 4] = ["close", "fclose", "pfclose", "free"];

/// Whether an operation removes what has a name.
fn is_removal(operation: &str) -> bool {
    matches!(operation, "delete" | "unlink" | "rmdir" | "pdelete")
}

/// The share of the time from which on a run is about the operations that were found, without a word of its program.
const MOST_OF_IT: f64 = 0.5;

/// What a user asks a report to be about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish<'a> {
    /// A label, an operation or `label/operation`.
    pub of: Option<&'a str>,
    /// Whether the slowest rank of a step counts.
    pub gate: Option<bool>,
}

/// The one set of numbers that a run's answer is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerNumbers {
    /// What the run is about: one row; several of a mix or of phases; none where the table is the answer, or an answer that
    /// the program declares.
    pub parts: Vec<AnswerPart>,
    /// Operations a second of all parts that went on at the same time; `None` where they did not, and of one part. Bytes
    /// of reads and writes are never added up.
    pub operations_per_second: Option<f64>,
    /// Operations that succeeded, of all that the run measured. Out of it stay pauses, what fills files before (below the
    /// label `lay out`) and what removes files outside of all labels of a program that has some, unless one of them failed.
    pub operations: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Operations that failed, of all.
    pub errors: u64,
    /// Operations that failed as the program expects.
    pub failed_as_expected: u64,
    /// What `verify` compared and found right, of the whole run; `None` where its program verifies nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<VerifiedFacts>,
    /// The rows that were asked for, and those of which an operation failed.
    #[serde(skip)]
    pub shown: Vec<usize>,
    /// The rows whose operations are counted.
    #[serde(skip)]
    pub counted: Vec<usize>,
}

/// The numbers of one row of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerPart {
    /// `write / fwrite`, or the label of the block whose steps count.
    pub name: String,
    /// The innermost label around it.
    pub label: Option<String>,
    /// The operation that the rates are of.
    pub operation: String,
    /// What the quantiles are of.
    pub value: AnswerValue,
    /// Of steps: whether each counts from the moment at which it was due under `rate`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_schedule: bool,
    /// How many values the quantiles have.
    pub count: u64,
    /// Ranks that took part; `None` of a run that counts.
    pub ranks: Option<usize>,
    /// Operations that succeeded.
    pub operations: u64,
    /// Operations by the wall time inside the block around them; pauses between its passes do not count.
    pub operations_per_second: Option<f64>,
    /// Bytes by the same time; `None` of operations that move none.
    pub bytes_per_second: Option<f64>,
    /// That time.
    pub wall_seconds: Option<f64>,
    /// Whether it fills less than nine tenths of the run, so that the rates are those "while writing".
    pub only_while_busy: bool,
    /// The share of the run that it fills.
    #[serde(skip)]
    pub busy_share: Option<f64>,
    /// Operations under way on average over that time.
    pub achieved_depth: Option<f64>,
    /// Under `rate`: what was asked for and what came of it.
    pub rate: Option<KeptRate>,
    /// Fewest and most bytes of an operation; where they differ no latency is the latency.
    pub bytes_per_operation: Option<[u64; 2]>,
    /// Quantiles in seconds.
    pub quantiles_seconds: Option<Quantiles>,
    /// Their intervals.
    pub intervals: Vec<QuantileInterval>,
    /// Whether the values are those of a block, not of the operation.
    #[serde(skip)]
    pub is_block: bool,
    /// The row of the operation.
    #[serde(skip)]
    pub row: usize,
}

/// What the quantiles of an answer are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerValue {
    /// An operation, from its begin to its end.
    Operation,
    /// An operation, from its intended start under `rate`.
    Response,
    /// A write, until its data are safe.
    Safe,
    /// A step: the slowest rank at a pass of a block.
    Step,
}

impl AnswerNumbers {
    /// The numbers of a run with these rows.
    pub fn of(rows: &[ResultRow], facts: &Facts, wish: Wish) -> AnswerNumbers {
        let hint = |key: &str| facts.report.get(key).map(String::as_str);
        let declared = hint("answer").is_some() || facts.tour.is_some();
        let chosen = match (wish.of, hint("gate"), hint("samples")) {
            (Some(wanted), ..) => named(rows, wanted, wish.gate),
            _ if declared => Vec::new(),
            (None, Some(gate), _) => named(rows, gate, wish.gate.or(Some(true))),
            (None, None, Some(samples)) => with_directions(rows, named(rows, samples, Some(false))),
            (None, None, None) => phases(rows).unwrap_or_else(|| unnamed(rows, wish.gate)),
        };
        let mut parts: Vec<AnswerPart> =
            chosen.iter().map(|one| AnswerPart::of(rows, *one, facts)).take(MOST_PARTS).collect();
        let shown = shown(rows, &parts, declared && wish.of.is_none());
        let counted = counted(rows, &parts);
        let measured = || counted.iter().map(|at| &rows[*at]);
        // A failure counts, whether the run was warm by then or not.
        let left_out_failed = facts.steady.as_ref().map_or(0, |steady| steady.left_out_failed);
        let operations: u64 = measured().map(succeeded).sum();
        let errors = measured().map(|row| row.errors).sum::<u64>() + left_out_failed;
        let failed_as_expected: u64 = measured().map(|row| row.failed_as_expected).sum();
        // How long it takes to fail is no answer, unless a user asks for it by name.
        if wish.of.is_none() && operations == 0 && errors + failed_as_expected > 0 {
            parts.clear();
        }
        AnswerNumbers {
            operations_per_second: together(rows, &parts),
            operations,
            bytes: measured().map(|row| row.bytes).sum(),
            errors,
            failed_as_expected,
            verified: facts.verified,
            parts,
            shown,
            counted,
        }
    }

    /// The same without rates and times: of a run with wrong data none is an answer.
    pub fn without_times(mut self) -> AnswerNumbers {
        self.operations_per_second = None;
        for part in &mut self.parts {
            part.operations_per_second = None;
            part.bytes_per_second = None;
            part.wall_seconds = None;
            part.achieved_depth = None;
            part.rate = None;
            part.quantiles_seconds = None;
            part.intervals.clear();
        }
        self
    }

    /// Whether no operation succeeded of those that were done: how long it took to fail is nobody's answer.
    pub fn all_failed(&self) -> bool {
        self.operations == 0 && self.attempts() > 0
    }

    /// Operations that were done, whether they succeeded or not.
    pub fn attempts(&self) -> u64 {
        self.operations + self.errors + self.failed_as_expected
    }

    /// The one part of an answer that has no other.
    pub fn only(&self) -> Option<&AnswerPart> {
        match self.parts.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// A row that an answer is about: an operation, or a block whose steps count.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chosen {
    row: usize,
    gate: bool,
}

/// The rows that something names: blocks before operations, these before waits.
fn named(rows: &[ResultRow], wanted: &str, gate: Option<bool>) -> Vec<Chosen> {
    let order = |row: &ResultRow| match row.kind {
        SiteKind::Time | SiteKind::CommandTime | SiteKind::Phase => 2,
        SiteKind::Operation => 1,
        SiteKind::Barrier => 0,
    };
    let called = || rows.iter().enumerate().filter(|(_, row)| row.is_called(wanted));
    let Some(first) = called().map(|(_, row)| order(row)).max() else { return Vec::new() };
    let of_one = |row: usize| Chosen { row, gate: gate.unwrap_or(rows[row].ranks.is_some_and(|n| n > 1)) };
    called().filter(|(_, row)| order(row) == first).map(|(at, _)| of_one(at)).collect()
}

/// What carries the most of the time, if it carries most of it.
fn unnamed(rows: &[ResultRow], gate: Option<bool>) -> Vec<Chosen> {
    let Some(choice) = choose(rows) else { return Vec::new() };
    if gate.unwrap_or(choice.gate) && choice.dominates() {
        return vec![Chosen { row: choice.row, gate: true }];
    }
    let found = with_directions(rows, vec![Chosen { row: choice.operation, gate: false }]);
    let beside = choice.runner_up.filter(|(at, _)| found.iter().any(|one| one.row == *at));
    let share = choice.share + beside.map_or(0.0, |(_, share)| share);
    if share >= MOST_OF_IT { found } else { Vec::new() }
}

/// Beside reads the writes of the same block, and the other way round, in the order of the program.
fn with_directions(rows: &[ResultRow], found: Vec<Chosen>) -> Vec<Chosen> {
    let [only] = found.as_slice() else { return found };
    let moves = |row: &ResultRow| {
        let is = |list: &[&str]| list.contains(&row.operation.as_str());
        row.kind == SiteKind::Operation && (is(&READS) || is(&WRITES))
    };
    let main = &rows[only.row];
    if main.labels.is_empty() || only.gate || !moves(main) {
        return found;
    }
    let same = |row: &ResultRow| row.labels == main.labels && moves(row) && row.timings > 0;
    let all = (0..rows.len()).filter(|at| *at == only.row || same(&rows[*at]));
    all.map(|row| Chosen { row, gate: false }).collect()
}

/// The operation with the most time of each phase, where several phases follow each other: whatever its share, a
/// benchmark with phases was asked for each of them.
fn phases(rows: &[ResultRow]) -> Option<Vec<Chosen>> {
    let busy = ResultRow::time_at_work;
    let of_phase = |phase: &ResultRow| {
        (0..rows.len())
            .filter(|at| rows[*at].kind == SiteKind::Operation && rows[*at].labels == phase.labels)
            // One call says nothing of a rate.
            .filter(|at| rows[*at].timings > 1)
            .max_by(|a, b| {
                let weight = |at: usize| (!CLOSES.contains(&rows[at].operation.as_str()), busy(&rows[at]));
                let (a, b) = (weight(*a), weight(*b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            })
    };
    let found: Vec<Chosen> = rows
        .iter()
        .filter(|row| row.kind == SiteKind::Phase)
        .filter_map(of_phase)
        .map(|row| Chosen { row, gate: false })
        .collect();
    (found.len() > 1).then_some(found)
}

/// Operations a second of several parts in one block.
fn together(rows: &[ResultRow], parts: &[AnswerPart]) -> Option<f64> {
    let [first, _, ..] = parts else { return None };
    let alike = |part: &AnswerPart| rows[part.row].labels == rows[first.row].labels;
    if !parts.iter().all(alike) {
        return None;
    }
    // All go by the time of the same block, unless other ranks took part.
    parts.iter().map(|part| part.operations_per_second).sum()
}

/// The rows that were asked for, in the order of the program: all where the program declares its answer; below the labels of what the run is about, or without such
/// labels all that does not prepare or tidy up; and all of which an operation failed.
fn shown(rows: &[ResultRow], parts: &[AnswerPart], declared: bool) -> Vec<usize> {
    let labels: Vec<&[String]> = parts
        .iter()
        .map(|part| rows[part.row].labels.as_slice())
        .filter(|labels| !labels.is_empty())
        .collect();
    let is_part = |at: usize| parts.iter().any(|part| part.row == at);
    let works = |at: usize| !is_set_up(&rows[at].operation);
    let is_asked = |at: usize| match labels.as_slice() {
        [] => works(at),
        some => some.iter().any(|labels| rows[at].labels.starts_with(labels)) && works(at),
    };
    let operations: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].kind == SiteKind::Operation).collect();
    let failed = |at: usize| rows[at].errors + rows[at].failed_as_expected > 0;
    let all =
        |is: &dyn Fn(usize) -> bool| operations.iter().copied().filter(|at| is(*at)).collect::<Vec<_>>();
    let found = all(&|at| declared || is_part(at) || is_asked(at) || failed(at));
    // Where there is nothing else, what prepares is what was asked for.
    if found.iter().any(|at| rows[*at].timings > 0) { found } else { operations }
}

/// Operations of a row that succeeded.
fn succeeded(row: &ResultRow) -> u64 {
    row.operations.unwrap_or(row.timings)
}

/// The rows whose operations count: see [`AnswerNumbers::operations`].
fn counted(rows: &[ResultRow], parts: &[AnswerPart]) -> Vec<usize> {
    let labelled = rows.iter().any(|row| !row.labels.is_empty());
    let stays_out = |row: &ResultRow| match row.labels.first() {
        _ if is_pause(&row.operation) => true,
        Some(label) => label == LAYING_OUT,
        None => labelled && is_removal(&row.operation),
    };
    let operations: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].kind == SiteKind::Operation).collect();
    let failed = |row: &ResultRow| row.errors + row.failed_as_expected > 0;
    let is_part = |at: usize| parts.iter().any(|part| part.row == at);
    let counts = |at: &usize| is_part(*at) || failed(&rows[*at]) || !stays_out(&rows[*at]);
    let found: Vec<usize> = operations.iter().copied().filter(counts).collect();
    // Where there is nothing else, that is what was measured.
    if found.iter().any(|at| rows[*at].timings > 0) || parts.iter().any(|part| part.operations > 0) {
        found
    } else {
        operations
    }
}

impl AnswerPart {
    /// Of a row: of a block with the rates of the operation that has the most time in it.
    fn of(rows: &[ResultRow], chosen: Chosen, facts: &Facts) -> AnswerPart {
        let main = &rows[chosen.row];
        let busy = |at: &usize| rows[*at].time_at_work();
        let inside =
            |at: &usize| rows[*at].kind == SiteKind::Operation && rows[*at].labels.starts_with(&main.labels);
        let operation = match main.is_block() {
            true => (0..rows.len())
                .filter(inside)
                .max_by(|a, b| busy(a).total_cmp(&busy(b)))
                .unwrap_or(chosen.row),
            false => chosen.row,
        };
        let row = &rows[operation];
        // What warmed up is no part of the run that the rates are of.
        let warm_up = facts.steady.as_ref().map_or(0.0, samples::SteadyFacts::warm_up_seconds);
        let elapsed =
            if facts.elapsed_s > 0.0 { Some((facts.elapsed_s - warm_up).max(0.0)) } else { row.span_seconds };
        let steps = main.steps.as_ref().filter(|_| chosen.gate);
        let (value, count, quantiles, intervals) = match (steps, &main.safe, &main.response_quantiles_seconds)
        {
            (Some(steps), ..) => (AnswerValue::Step, steps.count, &steps.quantiles_seconds, &steps.intervals),
            (None, Some(safe), _) => {
                (AnswerValue::Safe, safe.count, &safe.quantiles_seconds, &safe.intervals)
            }
            (None, None, Some(_)) => {
                (AnswerValue::Response, main.timings, &main.response_quantiles_seconds, &main.intervals)
            }
            (None, None, None) => {
                (AnswerValue::Operation, main.timings, &main.quantiles_seconds, &main.intervals)
            }
        };
        let busy_share =
            row.wall_seconds.zip(elapsed).map(|(wall, all)| wall / all).filter(|share| share.is_finite());
        AnswerPart {
            name: main.name(),
            label: main.label.clone(),
            operation: row.operation.clone(),
            value,
            from_schedule: steps.is_some_and(|steps| steps.from_schedule),
            count,
            ranks: row.ranks,
            operations: succeeded(row),
            operations_per_second: row.operations_per_second,
            bytes_per_second: row.bytes_per_second.filter(|rate| *rate > 0.0),
            wall_seconds: row.wall_seconds,
            only_while_busy: busy_share.is_some_and(|share| share < FILLED),
            busy_share,
            achieved_depth: row.achieved_depth,
            rate: row.rate,
            bytes_per_operation: row.bytes_per_operation,
            quantiles_seconds: quantiles.clone(),
            intervals: intervals.clone(),
            is_block: main.is_block(),
            row: operation,
        }
    }

    /// Its name with what the quantiles are of, where that is not the operation: `write / fwrite, until safe`.
    pub fn told(&self) -> String {
        match self.value {
            AnswerValue::Safe => format!("{}, until safe", self.name),
            AnswerValue::Operation | AnswerValue::Response | AnswerValue::Step => self.name.clone(),
        }
    }

    /// Whether its values count from the moments at which operations were due.
    pub fn is_from_schedule(&self) -> bool {
        self.value == AnswerValue::Response || self.from_schedule
    }

    /// Whether operations of several sizes are in it.
    pub fn has_several_sizes(&self) -> bool {
        self.value != AnswerValue::Step && self.bytes_per_operation.is_some_and(|[least, most]| least != most)
    }

    /// Whether a quantile's interval has no upper end: it may be any longer.
    pub fn is_open(&self, probability: f64) -> bool {
        self.interval(probability).is_some_and(|found| found.upper_seconds.is_none())
    }

    /// The interval of one of the quantiles.
    pub fn interval(&self, probability: f64) -> Option<&QuantileInterval> {
        self.intervals.iter().find(|one| one.probability == probability)
    }
}
