//! Computes gates: the slowest rank for the n-th sample of a site, and which rank it was.

use crate::{CommonClock, Sample};

/// The n-th sample of a site over all ranks: T = max{S₁ … S_m}.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The iteration, from 0.
    pub iteration: usize,
    /// The longest duration, in seconds.
    pub seconds: f64,
    /// The rank it belongs to.
    pub last: u32,
    /// Number of participating ranks.
    pub ranks: u32,
}

/// The gates of one site: for each iteration that *every* rank of the site reached, the maximum
/// over ranks of the duration (Henwood et al. 2016, T = max{S₁…S_m}).
///
/// Samples of one rank must be in time order; ranks may be mixed. Iterations that some rank did not reach (a
/// killed rank) are left out, since their maximum is unknown.
pub fn gates<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Vec<Gate> {
    let mut of_rank: std::collections::BTreeMap<u32, Vec<u64>> = Default::default();
    for sample in samples {
        of_rank.entry(sample.rank).or_default().push(sample.duration_ps);
    }
    let iterations = of_rank.values().map(Vec::len).min().unwrap_or(0);
    (0..iterations)
        .map(|iteration| {
            let (last, longest) = of_rank
                .iter()
                .map(|(rank, durations)| (*rank, durations[iteration]))
                .fold((0, 0), |best, next| if next.1 > best.1 { next } else { best });
            Gate { iteration, seconds: longest as f64 * 1e-12, last, ranks: of_rank.len() as u32 }
        })
        .collect()
}

/// The gates of one site by the clock: from the time at which the first rank began its n-th sample to the
/// time at which the last rank ended it, on the common clock.
///
/// If ranks begin together (after a barrier), this is the result of [`gates`] plus the skew of the ranks;
/// otherwise it is the time of the whole step. Its error is that of the clock offsets:
/// [`CommonClock::uncertainty_ns`]. Order of samples and missing iterations are as in [`gates`].
pub fn gates_by_clock<'a>(samples: impl IntoIterator<Item = &'a Sample>, clock: &CommonClock) -> Vec<Gate> {
    let mut of_rank: std::collections::BTreeMap<u32, Vec<(i64, i64)>> = Default::default();
    for sample in samples {
        let begin = clock.common_ns(sample.rank, sample.start_ns);
        let end = begin.saturating_add((sample.duration_ps / 1000) as i64);
        of_rank.entry(sample.rank).or_default().push((begin, end));
    }
    let iterations = of_rank.values().map(Vec::len).min().unwrap_or(0);
    (0..iterations)
        .map(|iteration| {
            let (mut first, mut latest) = (i64::MAX, (0, i64::MIN));
            for (rank, times) in &of_rank {
                let (begin, end) = times[iteration];
                first = first.min(begin);
                if end > latest.1 {
                    latest = (*rank, end);
                }
            }
            let (last, end) = latest;
            Gate { iteration, seconds: (end - first) as f64 * 1e-9, last, ranks: of_rank.len() as u32 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClockOffset, Facts};

    fn sample(rank: u32, duration_ps: u64) -> Sample {
        Sample { rank, duration_ps, batch: 1, ..Sample::default() }
    }

    #[test]
    fn the_gate_is_the_slowest_rank_of_each_iteration() {
        let samples = [sample(0, 10), sample(0, 40), sample(1, 20), sample(1, 30)];
        let found: Vec<_> = gates(&samples).iter().map(|gate| (gate.last, gate.seconds)).collect();
        assert_eq!(found, [(1, 20e-12), (0, 40e-12)]);
    }

    #[test]
    fn an_iteration_that_a_killed_rank_missed_has_no_gate() {
        let samples = [sample(0, 10), sample(0, 40), sample(1, 20)];
        assert_eq!(gates(&samples).len(), 1);
    }

    #[test]
    fn by_the_clock_a_gate_lasts_from_the_first_begin_to_the_last_end_whatever_the_ranks_clocks_show() {
        let at = |rank, start_ns, ns: u64| Sample { start_ns, ..sample(rank, ns * 1000) };
        // Rank 1 begins 30 ns after rank 0 and takes 50; its clock is 1000 ns ahead.
        let samples = [at(0, 100, 60), at(1, 1130, 50)];
        let offset = |offset_ns| ClockOffset { offset_ns, uncertainty_ns: 1, at_ns: 0 };
        let facts = Facts { clock_offsets: vec![vec![offset(0), offset(1000)]], ..Facts::default() };
        let found = gates_by_clock(&samples, &CommonClock::of(&facts));
        assert_eq!(((found[0].seconds * 1e9).round(), found[0].last, found[0].ranks), (80.0, 1, 2));
    }
}
