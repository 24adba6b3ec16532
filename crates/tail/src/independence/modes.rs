//! Hartigan's dip test of one mode against several.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::hull::{Hull, line};
use super::montecarlo::{MonteCarlo, probability};
use crate::Xoshiro;

/// The dip: how far the values are from any distribution with one peak.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Dip {
    /// Largest distance of the empirical from the nearest unimodal distribution function.
    pub dip: f64,
    /// p-value against the uniform distribution, the hardest unimodal one: conservative for peaked distributions
    /// (Hartigan, Hartigan 1985).
    pub p: f64,
    /// The modal interval: where the single peak would be.
    pub modal_interval: [f64; 2],
}

/// Sampling stops after this many uniform samples at least as extreme as the data.
const ENOUGH: u32 = 20;

/// Larger samples are judged by uniform ones of this size: the distribution of √n dip converges early.
const SETTLED: usize = 1000;

/// Dip test of ascending values; the p-value from at most `replicates` uniform samples, always the same ones, fewer where it
/// is large. Ties must have been spread over their tick before.
pub fn dip_test(sorted: &[f64], replicates: usize) -> Dip {
    /// Those of settled size: most of the time of a test that finds several modes, and of use for all of a process.
    static OF_SETTLED_SIZE: Mutex<Option<UniformDips>> = Mutex::new(None);
    let n = sorted.len();
    let (dip, from, to) = dip(sorted);
    let modal_interval = if n == 0 { [f64::NAN; 2] } else { [sorted[from], sorted[to]] };
    let size = n.min(SETTLED);
    let wanted = dip * (n as f64).sqrt() / (size as f64).sqrt();
    let how = MonteCarlo { most: replicates as u32, enough: ENOUGH };
    let judge = |dips: &mut UniformDips| {
        let mut indices = 0..;
        probability(how, || indices.next().is_some_and(|index| dips.get(index) >= wanted)).0
    };
    let p = if size == SETTLED {
        let mut shared = OF_SETTLED_SIZE.lock().unwrap_or_else(PoisonError::into_inner);
        judge(shared.get_or_insert_with(|| UniformDips::new(SETTLED)))
    } else {
        judge(&mut UniformDips::new(size))
    };
    Dip { dip, p, modal_interval }
}

/// The dips of seeded uniform samples of one size.
struct UniformDips {
    random: Xoshiro,
    sample: Vec<f64>,
    /// Those that were asked for so far.
    dips: Vec<f64>,
}

impl UniformDips {
    fn new(size: usize) -> Self {
        Self { random: Xoshiro::new(1), sample: vec![0.0; size], dips: Vec::new() }
    }

    fn get(&mut self, index: usize) -> f64 {
        while self.dips.len() <= index {
            let mut total = 0.0;
            for slot in &mut self.sample {
                total += self.random.exponential();
                *slot = total;
            }
            self.dips.push(dip(&self.sample).0);
        }
        self.dips[index]
    }
}

/// The dip and the indices of the modal interval: the interval shrinks to where the greatest convex minorant
/// and the least concave majorant are furthest apart, until nothing outside it deviates more than that.
fn dip(x: &[f64]) -> (f64, usize, usize) {
    let n = x.len();
    if n < 2 || x[n - 1] <= x[0] {
        return (if n == 0 { 0.0 } else { 0.5 / n as f64 }, 0, n.saturating_sub(1));
    }
    let (mut low, mut high) = (0usize, n - 1);
    // In units of 1 / n, steps counted from both of their sides: the dip is half of it.
    let mut deviation = 1.0f64;
    let (mut minorant, mut majorant) = (Vec::new(), Vec::new());
    loop {
        Hull::Minorant.corners(x, low, high, &mut minorant);
        Hull::Majorant.corners(x, low, high, &mut majorant);
        // The largest distance is at a corner of one of them.
        let mut apart = 0.0f64;
        let (mut new_low, mut new_high) = (low, high);
        let mut j = 0;
        for (at, &corner) in minorant.iter().enumerate().skip(1) {
            if at + 1 == minorant.len() {
                break;
            }
            while majorant[j + 1] < corner {
                j += 1;
            }
            let gap = line(x, majorant[j], majorant[j + 1], corner) - corner as f64 + 1.0;
            if gap > apart {
                (apart, new_low, new_high) = (gap, corner, majorant[j + 1]);
            }
        }
        let mut i = 0;
        for (at, &corner) in majorant.iter().enumerate().skip(1) {
            if at + 1 == majorant.len() {
                break;
            }
            while minorant[i + 1] <= corner && i + 2 < minorant.len() {
                i += 1;
            }
            let gap = corner as f64 + 1.0 - line(x, minorant[i], minorant[i + 1], corner);
            if gap > apart {
                (apart, new_low, new_high) = (gap, minorant[i], corner);
            }
        }
        if apart <= deviation || (new_low == low && new_high == high) {
            break;
        }
        let outside = (
            &minorant[..minorant.partition_point(|corner| *corner <= new_low)],
            &majorant[majorant.partition_point(|corner| *corner < new_high)..],
        );
        deviation =
            deviation.max(Hull::Minorant.inside(x, outside.0)).max(Hull::Majorant.inside(x, outside.1));
        if new_low == low && new_high == high {
            break;
        }
        (low, high) = (new_low, new_high);
        if high <= low + 1 {
            break;
        }
    }
    (0.5 * deviation / n as f64, low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_grid_has_the_smallest_possible_dip() {
        let grid: Vec<f64> = (0..50).map(f64::from).collect();
        assert!((dip(&grid).0 - 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_test_does_not_depend_on_those_before_it() {
        let mut random = Xoshiro::new(4);
        let mut values: Vec<f64> = (0..1500).map(|i| random.normal() + f64::from(i % 2) * 2.2).collect();
        values.sort_by(f64::total_cmp);
        let first = dip_test(&values, 99);
        assert!(first.p < 1.0);
        assert_eq!(dip_test(&values[..1000], 999), dip_test(&values[..1000], 999));
        assert_eq!(dip_test(&values, 99), first);
    }

    #[test]
    fn two_equal_separate_clumps_have_the_dip_of_a_quarter() {
        let mut x: Vec<f64> = (0..100).map(|i| f64::from(i) * 1e-6).collect();
        x.extend((0..100).map(|i| 1.0 + f64::from(i) * 1e-6));
        assert!((dip(&x).0 - 0.25).abs() < 0.01, "{}", dip(&x).0);
    }
}
