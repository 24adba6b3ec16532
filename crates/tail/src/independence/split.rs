//! Splits values with several modes where their density is lowest.

use lanes::{Arithmetic, LaneWork, widest};
use serde::{Deserialize, Serialize};

use super::modes::dip_test;
use crate::series::sorted_quantile;

/// One mode of a mixture: the values between two valleys of the density.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// Number of values in it.
    pub count: usize,
    /// Their share of all values, 0 to 1.
    pub share: f64,
    /// Their median: where the mode lies.
    pub location: f64,
    /// Their interquartile range: how wide it is.
    pub spread: f64,
    /// Smallest value of the mode.
    pub lower: f64,
    /// Largest value of the mode.
    pub upper: f64,
}

/// The largest number of modes.
const MOST: usize = 6;
/// The smallest size of a mode.
const FEWEST: usize = 10;

/// Split ascending values (ties spread over their tick) where the dip test finds more than one mode, and the
/// parts recursively: at the valley of a Gaussian kernel density whose bandwidth is the largest with two
/// modes of at least 5% each (Silverman 1981). A known `gap`, given as the number of values below it, is cut
/// first. One mode: a single entry.
pub fn modes(sorted: &[f64], gap: Option<usize>, significance: f64) -> Vec<Mode> {
    let mut cuts = vec![0, sorted.len()];
    if let Some(below) = gap.filter(|below| (1..sorted.len()).contains(below)) {
        cuts.insert(1, below);
    }
    let mut at = 0;
    while at + 1 < cuts.len() && cuts.len() <= MOST {
        let (from, to) = (cuts[at], cuts[at + 1]);
        let part = &sorted[from..to];
        let several = part.len() >= 4 * FEWEST && dip_test(part, 199).p < significance;
        match if several { valley(part) } else { None } {
            Some(cut) => cuts.insert(at + 1, from + cut),
            None => at += 1,
        }
    }
    let size = sorted.len().max(1) as f64;
    cuts.windows(2)
        .filter(|w| w[1] > w[0])
        .map(|w| {
            let part = &sorted[w[0]..w[1]];
            Mode {
                count: part.len(),
                share: part.len() as f64 / size,
                location: sorted_quantile(part, 0.5),
                spread: sorted_quantile(part, 0.75) - sorted_quantile(part, 0.25),
                lower: part[0],
                upper: part[part.len() - 1],
            }
        })
        .collect()
}

/// The valley of more values is searched among this many of them.
const MOST_VALUES: usize = 2_000;

/// Index of the first value above the lowest point between the two largest modes; for very many values, that
/// of evenly spaced order statistics, which have the same density.
fn valley(sorted: &[f64]) -> Option<usize> {
    let n = sorted.len();
    if n > 10 * MOST_VALUES {
        let stride = n / MOST_VALUES;
        let thinned: Vec<f64> = sorted.iter().skip(stride / 2).step_by(stride).copied().collect();
        let cut = valley(&thinned)?;
        return Some(sorted.partition_point(|x| *x < thinned[cut]));
    }
    let spread = sorted_quantile(sorted, 0.99) - sorted_quantile(sorted, 0.01);
    if spread.is_nan() || spread <= 0.0 {
        return None;
    }
    let least = FEWEST.max(n / 20);
    // From smooth to rough: the first bandwidth with two sizeable modes.
    (0..40).map(|i| 0.5 * spread * 0.9f64.powi(i)).find_map(|bandwidth| {
        let density = density(sorted, bandwidth);
        (1..GRID - 1)
            .filter(|&g| density[g].1 < density[g - 1].1 && density[g].1 <= density[g + 1].1)
            .map(|g| (sorted.partition_point(|&x| x <= density[g].0), density[g].1))
            .filter(|&(cut, _)| cut >= least && n - cut >= least)
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(cut, _)| cut)
    })
}

/// The sum of Gaussian kernels at `x`, unnormalised.
struct KernelSum<'a> {
    values: &'a [f64],
    x: f64,
    /// 1 / bandwidth.
    rate: f64,
}

/// Two for each lane of the widest instructions.
const LANES: usize = 16;

impl LaneWork for KernelSum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> f64 {
        let kernel = |value: f64| {
            let z = (self.x - value) * self.rate;
            lanes::exp::<A>(-0.5 * z * z)
        };
        let mut sums = [0.0; LANES];
        let mut groups = self.values.chunks_exact(LANES);
        for group in groups.by_ref() {
            for lane in 0..LANES {
                sums[lane] += kernel(group[lane]);
            }
        }
        for (sum, value) in sums.iter_mut().zip(groups.remainder()) {
            *sum += kernel(*value);
        }
        sums.iter().sum()
    }
}

const GRID: usize = 256;

/// (x, unnormalised density) on a grid over the central 99.8%.
fn density(sorted: &[f64], bandwidth: f64) -> Vec<(f64, f64)> {
    let (low, high) = (sorted_quantile(sorted, 0.001), sorted_quantile(sorted, 0.999));
    (0..GRID)
        .map(|g| {
            let x = low + (high - low) * g as f64 / (GRID - 1) as f64;
            let near = sorted.partition_point(|&v| v < x - 5.0 * bandwidth);
            let beyond = sorted.partition_point(|&v| v <= x + 5.0 * bandwidth);
            (x, widest(KernelSum { values: &sorted[near..beyond.max(near)], x, rate: 1.0 / bandwidth }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    fn mixture(parts: &[(usize, f64)]) -> Vec<f64> {
        let mut random = Xoshiro::new(8);
        let mut values: Vec<f64> = parts
            .iter()
            .flat_map(|&(count, at)| (0..count).map(|_| at + random.normal()).collect::<Vec<_>>())
            .collect();
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn three_kinds_of_run_are_separated_with_their_shares() {
        let found = modes(&mixture(&[(200, 0.0), (100, 8.0), (60, 16.0)]), None, 0.05);
        assert_eq!(found.len(), 3, "{found:?}");
        for (mode, (count, at)) in found.iter().zip([(200usize, 0.0), (100, 8.0), (60, 16.0)]) {
            assert!(mode.count.abs_diff(count) <= 3 && (mode.location - at).abs() < 0.5, "{mode:?}");
        }
        assert!((found.iter().map(|m| m.share).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_kind_of_run_stays_whole() {
        assert_eq!(modes(&mixture(&[(400, 0.0)]), None, 0.05).len(), 1);
        assert!(modes(&[], None, 0.05).is_empty());
    }
}
