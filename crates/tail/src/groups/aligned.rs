//! Compares ranks that take the same steps: what a step has in common cancels.
//!
//! The logarithm of each duration, less the median of the step, is ranked among all (Hodges, Lehmann 1962), and blocks of
//! neighbouring steps are exchanged between ranks.

use super::memory;
use super::permuted::{Round, StepDown, Stratum, step_down, test};
use super::statement::{Effect, GroupFinding};
use crate::independence::ranks;
use crate::special::normal_upper_quantile;

/// Values that are compared, at most; of more, every k-th step.
const MOST_VALUES: usize = 1 << 18;

/// One rank against the others that are not found different.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Against {
    /// Logarithm of its duration over the median of the others in the step: the median over steps, and its interval.
    pub effect: Effect,
    /// p-value, adjusted for all ranks.
    pub p: f64,
    /// What that says.
    pub finding: GroupFinding,
}

/// Compares ranks by the logarithms of their durations: `logs[i][t]` is that of rank i in step t. Beside them by how much dependence in
/// time inflates variances.
pub(crate) fn compare(logs: &[Vec<f64>], level: f64) -> (Vec<Against>, f64) {
    let thin = thinned(logs);
    let logs = thin.as_deref().unwrap_or(logs);
    let all: Vec<usize> = (0..logs.len()).collect();
    let mut factor: f64 = 1.0;
    let steps = step_down(&all, super::statement::error(level), |active| {
        let (round, found) = round(logs, active);
        factor = factor.max(found);
        round
    });
    let known = steps.is_some();
    let steps = steps.unwrap_or_else(|| StepDown { p: vec![1.0; all.len()], alike: all });
    let others = RankedOthers::of(logs, &steps.alike);
    let z =
        normal_upper_quantile(0.5 * (1.0 - level) / if logs.len() == 2 { 1.0 } else { logs.len() as f64 });
    let against = (0..logs.len())
        .map(|i| {
            let mut over: Vec<f64> = others.of_rank(logs, i);
            let effect = Effect::of_median(&mut over, factor, z);
            let p = steps.p[i];
            let finding = if known { effect.finding(p, level) } else { GroupFinding::TooFew };
            Against { effect, p, finding }
        })
        .collect();
    (against, factor)
}

/// The steps that are compared, where there are more than can be.
fn thinned(logs: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let steps = logs.first()?.len();
    let every = (steps * logs.len()).div_ceil(MOST_VALUES).min(steps / 64).max(1);
    (every > 1).then(|| logs.iter().map(|of| of.iter().step_by(every).copied().collect()).collect())
}

/// One round over the active ranks, and by how much dependence in time inflates variances.
fn round(logs: &[Vec<f64>], active: &[usize]) -> (Option<Round>, f64) {
    let (m, steps) = (active.len(), logs[active[0]].len());
    let mut row = vec![0.0; m];
    let mut residuals = Vec::with_capacity(m * steps);
    let of_active: Vec<&[f64]> = active.iter().map(|i| logs[*i].as_slice()).collect();
    for step in 0..steps {
        row.iter_mut().zip(&of_active).for_each(|(value, of)| *value = of[step]);
        let centre = median(&mut row);
        residuals.extend(of_active.iter().map(|of| of[step] - centre));
    }
    let mut scores = ranks(&residuals);
    for step in scores.chunks_mut(m) {
        let mean = step.iter().sum::<f64>() / m as f64;
        step.iter_mut().for_each(|score| *score -= mean);
    }
    let series: Vec<Vec<f64>> = (0..m).map(|i| scores.iter().skip(i).step_by(m).copied().collect()).collect();
    let free = m as f64 - 1.0;
    let inflation = memory::inflation(&series, free);
    let Some(block) = memory::block(steps, m, inflation) else { return (None, inflation) };
    let sums: Vec<Vec<f64>> = series
        .iter()
        .map(|of| memory::bounds(steps, block).map(|range| of[range].iter().sum()).collect())
        .collect();
    let left = memory::between_blocks(&sums, free);
    let strata = (0..sums[0].len())
        .map(|b| Stratum { groups: (0..m as u32).collect(), sums: sums.iter().map(|of| of[b]).collect() })
        .collect();
    (Some(test(strata, m, left)), inflation * left)
}

/// The others of each step in ascending order.
struct RankedOthers {
    sorted: Vec<Vec<f64>>,
    is_among: Vec<bool>,
}

impl RankedOthers {
    fn of(logs: &[Vec<f64>], alike: &[usize]) -> RankedOthers {
        let mut is_among = vec![false; logs.len()];
        alike.iter().for_each(|i| is_among[*i] = true);
        let steps = logs.first().map_or(0, Vec::len);
        let sorted = (0..steps)
            .map(|t| {
                let mut row: Vec<f64> = alike.iter().map(|i| logs[*i][t]).collect();
                row.sort_unstable_by(f64::total_cmp);
                row
            })
            .collect();
        RankedOthers { sorted, is_among }
    }

    /// What a rank is over the median of the others, in each step.
    fn of_rank(&self, logs: &[Vec<f64>], rank: usize) -> Vec<f64> {
        let of_step = |(value, row): (&f64, &Vec<f64>)| {
            let own = self.is_among[rank].then(|| row.partition_point(|other| other < value));
            value - median_without(row, own)
        };
        logs[rank].iter().zip(&self.sorted).map(of_step).collect()
    }
}

/// The median of ascending values without the one at a place.
fn median_without(sorted: &[f64], place: Option<usize>) -> f64 {
    let at = |k: usize| sorted[if place.is_some_and(|place| k >= place) { k + 1 } else { k }];
    let n = sorted.len() - usize::from(place.is_some());
    0.5 * (at((n - 1) / 2) + at(n / 2))
}

/// The median; the order of values changes.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    match n % 2 {
        1 => upper,
        _ => 0.5 * (upper + below.iter().fold(f64::NEG_INFINITY, |most, value| most.max(*value))),
    }
}
