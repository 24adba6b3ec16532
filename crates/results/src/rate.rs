//! Requested against achieved rate, of operations under `rate`.

use serde::{Deserialize, Serialize};

use crate::columns::Stream;

/// What was asked for and what came of it: begun operations a second, summed over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRate {
    /// By the moments at which operations were due.
    pub asked_per_second: f64,
    /// By the moments at which they began.
    pub achieved_per_second: f64,
    /// Whether the second is 99% of the first and lateness does not grow.
    pub keeps_up: bool,
}

impl KeptRate {
    /// Of all operations of a row, by rank; `None` where no rank has two that were due at different moments.
    pub(crate) fn of(streams: &[Stream]) -> Option<KeptRate> {
        let (mut asked, mut achieved, mut grows) = (0.0, 0.0, false);
        for of_rank in streams.chunk_by(|a, b| a.rank == b.rank) {
            let timings = of_rank.iter().flat_map(Stream::timings);
            let mut moments: Vec<(u64, u64, u64)> = timings
                .map(|timing| (timing.start_ns.saturating_sub(timing.late_ns), timing.start_ns, timing.batch))
                .collect();
            moments.sort_unstable();
            let (Some(first), Some(last)) = (moments.first(), moments.last()) else { continue };
            let (due, begun) = (last.0.saturating_sub(first.0), last.1.saturating_sub(first.1));
            if due == 0 || begun == 0 {
                continue;
            }
            let operations = moments[1..].iter().map(|(.., batch)| *batch).sum::<u64>() as f64;
            asked += operations / (due as f64 * 1e-9);
            achieved += operations / (begun as f64 * 1e-9);
            let tenth = moments.len().div_ceil(10);
            let late = |part: &[(u64, u64, u64)]| {
                let mut late: Vec<u64> = part.iter().map(|(due, begun, _)| begun - due).collect();
                *late.select_nth_unstable((part.len() - 1) / 2).1
            };
            let (early, at_last) = (late(&moments[..tenth]), late(&moments[moments.len() - tenth..]));
            grows |= at_last as f64 > 2.0 * early as f64 + due as f64 / (moments.len() - 1) as f64;
        }
        (asked > 0.0).then_some(KeptRate {
            asked_per_second: asked,
            achieved_per_second: achieved,
            keeps_up: achieved >= 0.99 * asked && !grows,
        })
    }
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
        KeptRate::of(&columns.into_streams()).expect("a rate")
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
