//! When was the slowest rank done with the n-th sample of a site, and which rank was it?

use crate::Sample;

/// The n-th sample of a site over all ranks: T = max{S₁ … S_m}.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The iteration, from 0.
    pub iteration: usize,
    /// The longest duration, in seconds.
    pub seconds: f64,
    /// The rank it belongs to.
    pub last: u32,
    /// How many ranks took part.
    pub ranks: u32,
}

/// The gates of one site: for each iteration that *every* rank of the site reached, the maximum
/// over ranks of the duration (Henwood et al. 2016, T = max{S₁…S_m}).
///
/// Samples of one rank must stand in time order; ranks may be mixed. Iterations that some rank
/// did not reach (a killed rank) are left out: their maximum is not known.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
