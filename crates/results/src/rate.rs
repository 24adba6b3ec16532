//! Requested against achieved rate, of operations under `rate`.

use serde::{Deserialize, Serialize};

use crate::columns::{Stream, Timing};
use crate::schedule::{Due, Schedule};
use crate::timeline::{Pass, PassFinder};

/// What was asked for and what came of it: begun operations a second, summed over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRate {
    /// By the moments at which operations were due.
    pub asked_per_second: f64,
    /// By the moments at which they began.
    pub achieved_per_second: f64,
    /// Whether the second is 99% of the first and lateness does not grow.
    pub keeps_up: bool,
    /// Whether the moments were not equally far apart (`poisson`): then the first is their average, and not the rate that
    /// the program gives.
    #[serde(default)]
    pub irregular: bool,
}

/// How long the operations of one rank took at the rate that was reached, in picoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacedRank {
    pub rank: u32,
    /// All of them.
    pub whole: i64,
    /// Those of each pass; as [`PassFinder`] numbers it.
    pub by_pass: Vec<i64>,
}

/// The rate of a row, and how long its operations took at it.
#[derive(Debug, Default)]
pub(crate) struct Paced {
    pub rate: Option<KeptRate>,
    pub ranks: Vec<PacedRank>,
}

/// What is due in one pass on a rank, until it is known how it was paced.
type Pieces = Vec<Vec<Due>>;

impl Paced {
    /// Of all operations of a row, by rank; no rate where no rank has two that were due at different moments of one
    /// schedule. `passes_of` gives the passes of a rank in each of which a schedule begins anew.
    pub(crate) fn of<'a>(streams: &[Stream], passes_of: impl Fn(u32) -> &'a [Pass]) -> Paced {
        let (mut asked, mut achieved, mut grows, mut irregular) = (0.0, 0.0, false, false);
        let mut ranks = Vec::new();
        for of_rank in streams.chunk_by(|a, b| a.rank == b.rank) {
            let rank = of_rank[0].rank;
            let passes = passes_of(rank);
            let mut found: Vec<(usize, Schedule)> = Vec::new();
            for stream in of_rank {
                found.extend(schedules(pieces(stream, passes)));
            }
            let operations: u64 = found.iter().map(|(_, one)| one.operations).sum();
            let mut by_pass = Vec::new();
            let mut whole = [0, 0];
            found.sort_unstable_by_key(|(pass, _)| *pass);
            for of_pass in found.chunk_by(|a, b| a.0 == b.0) {
                let pass = of_pass[0].0;
                let due = covered(of_pass.iter().map(|(_, one)| one.due).collect());
                let begun = covered(of_pass.iter().map(|(_, one)| one.begun).collect());
                whole = [whole[0] + due, whole[1] + begun];
                by_pass.resize(by_pass.len().max(pass + 1), 0);
                by_pass[pass] = as_ps(begun);
            }
            if whole.contains(&0) {
                continue;
            }
            asked += operations as f64 / (whole[0] as f64 * 1e-9);
            achieved += operations as f64 / (whole[1] as f64 * 1e-9);
            irregular |= found.iter().any(|(_, one)| !one.is_regular);
            grows |= lateness_grows(of_rank.iter().flat_map(Stream::timings).map(Due::of).collect());
            ranks.push(PacedRank { rank, whole: as_ps(whole[1]), by_pass });
        }
        let rate = (asked > 0.0).then_some(KeptRate {
            asked_per_second: asked,
            achieved_per_second: achieved,
            keeps_up: achieved >= 0.99 * asked && !grows,
            irregular,
        });
        Paced { rate, ranks }
    }

    /// Of a rank; nothing of one without a rate.
    pub fn of_rank(&self, rank: u32) -> Option<&PacedRank> {
        self.ranks.iter().find(|one| one.rank == rank)
    }

    /// Of the rank that took longest.
    pub fn longest(&self) -> i64 {
        self.ranks.iter().map(|one| one.whole).max().unwrap_or(0)
    }

    /// Of the rank that was through first.
    pub fn shortest(&self) -> i64 {
        self.ranks.iter().map(|one| one.whole).min().unwrap_or(0)
    }
}

fn as_ps(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX).saturating_mul(1_000)
}

impl Due {
    fn of(timing: Timing) -> Due {
        let Timing { start_ns, late_ns, batch, .. } = timing;
        Due { due: start_ns.saturating_sub(late_ns), begun: start_ns, operations: batch }
    }
}

/// What a stream did in each pass, each in the order in which it was due.
fn pieces(stream: &Stream, passes: &[Pass]) -> Pieces {
    let mut finder = PassFinder::new(passes);
    let mut found = Pieces::new();
    for timing in stream.timings() {
        let pass = finder.find(timing.start_ns);
        found.resize(found.len().max(pass + 1), Vec::new());
        found[pass].push(Due::of(timing));
    }
    found.iter_mut().for_each(|piece| piece.sort_unstable());
    found
}

/// The schedules of the passes of a stream, with the numbers of the passes. One operation alone has the rate of the others.
fn schedules(pieces: Pieces) -> Vec<(usize, Schedule)> {
    let found: Vec<(usize, Option<Schedule>)> =
        pieces.iter().enumerate().map(|(pass, piece)| (pass, Schedule::of(piece))).collect();
    let (time, operations) = found
        .iter()
        .filter_map(|(_, one)| one.as_ref())
        .fold((0, 0), |sum, one| (sum.0 + one.due[1] - one.due[0], sum.1 + one.operations));
    if operations == 0 {
        return Vec::new();
    }
    let alone = |pass: usize| {
        let (first, all) =
            (pieces[pass].first()?, pieces[pass].iter().map(|one| one.operations).sum::<u64>());
        let length = (time as f64 * all as f64 / operations as f64) as u64;
        let from = |begin: u64| [begin, begin.saturating_add(length)];
        Some(Schedule { due: from(first.due), begun: from(first.begun), operations: all, is_regular: true })
    };
    found.into_iter().filter_map(|(pass, one)| Some((pass, one.or_else(|| alone(pass))?))).collect()
}

/// The length of the union of some intervals.
fn covered(mut all: Vec<[u64; 2]>) -> u64 {
    all.sort_unstable();
    let (mut length, mut until) = (0, 0);
    for [begin, end] in all {
        length += end.saturating_sub(begin.max(until));
        until = until.max(end);
    }
    length
}

/// Were the last operations of a rank later than its first, by more than lateness varies?
fn lateness_grows(mut moments: Vec<Due>) -> bool {
    moments.sort_unstable();
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else { return false };
    if moments.len() < 2 {
        return false;
    }
    let each = (last.due - first.due) as f64 / (moments.len() - 1) as f64;
    let tenth = moments.len().div_ceil(10);
    let late = |part: &[Due]| {
        let mut late: Vec<u64> = part.iter().map(|one| one.begun - one.due).collect();
        *late.select_nth_unstable((part.len() - 1) / 2).1
    };
    let (early, at_last) = (late(&moments[..tenth]), late(&moments[moments.len() - tenth..]));
    at_last as f64 > 2.0 * early as f64 + each
}

#[cfg(test)]
mod tests {
    use samples::Sample;

    use super::*;
    use crate::columns::Columns;

    fn run(begin: impl Fn(u64) -> u64) -> KeptRate {
        let all: Vec<Sample> = (0..1_000)
            .map(|n| {
                let (due, start_ns) = (n * 1_000, begin(n * 1_000));
                Sample { start_ns, late_ns: start_ns - due, ..Sample::default() }
            })
            .collect();
        let mut columns = Columns::default();
        columns.push(&all);
        Paced::of(&columns.into_streams(), |_| &[]).rate.expect("a rate")
    }

    #[test]
    fn five_operations_at_one_a_second_are_one_a_second() {
        let found = run(|due| due + 30);
        assert!((found.asked_per_second - 1e6).abs() < 1e-6 && found.keeps_up, "{found:?}");
    }

    #[test]
    fn operations_that_fall_behind_do_not_keep_up() {
        let found = run(|due| due + due / 2);
        assert!((found.achieved_per_second / found.asked_per_second - 2.0 / 3.0).abs() < 1e-9);
        assert!(!found.keeps_up);
    }
}
