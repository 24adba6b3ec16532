//! Tests the group that differs most, by exchanging what would be exchangeable if all groups were alike.
//!
//! The statistic of a group is the sum of its scores over its standard deviation under exchange; the largest over groups is
//! compared with its own distribution, so that p-values are adjusted for the number of groups (Westfall, Young 1993). Groups that
//! are found leave the others, and the rest is tested again (Romano, Wolf 2005).

use crate::Xoshiro;
use crate::special::normal_two_sided;

/// Most exchanges: p-values reach down to 0.0005.
const MOST_DRAWS: usize = 1_999;
/// Fewest exchanges.
const FEWEST_DRAWS: usize = 499;
/// Cells moved in all exchanges together.
const WORK: usize = 4_000_000;
/// Most cells that are exchanged; beyond, sums are normal enough.
const MOST_CELLS: usize = 1 << 18;
/// Exchanges end when so many had a larger statistic.
const ENOUGH: usize = 40;
/// Below this p-value of the normal approximation groups are exchanged.
const DOUBTFUL: f64 = 0.1;
const SEED: u64 = 0x6c61_7374_7261_6e6b;

/// Sums of scores, each of a group, that are exchangeable among each other if groups are alike.
#[derive(Debug, Default)]
pub(crate) struct Stratum {
    /// The group of each.
    pub groups: Vec<u32>,
    /// The sums.
    pub sums: Vec<f64>,
}

/// Each group against the others of a round.
#[derive(Debug)]
pub(crate) struct Round {
    /// Standardised statistic: positive where values are larger.
    pub z: Vec<f64>,
    /// p-value, adjusted for all groups of the round.
    pub p: Vec<f64>,
}

/// Tests each of `groups` groups; `inflation` is the variance of sums over that under exchange.
pub(crate) fn test(mut strata: Vec<Stratum>, groups: usize, inflation: f64) -> Round {
    let (mut totals, mut variances) = (vec![0.0; groups], vec![0.0; groups]);
    let mut cells = vec![0u32; groups];
    for stratum in &mut strata {
        let count = stratum.sums.len() as f64;
        let mean = stratum.sums.iter().sum::<f64>() / count;
        stratum.sums.iter_mut().for_each(|sum| *sum -= mean);
        let square = stratum.sums.iter().map(|sum| sum * sum).sum::<f64>() / (count - 1.0).max(1.0);
        stratum.groups.iter().for_each(|group| cells[*group as usize] += 1);
        for (group, sum) in stratum.groups.iter().zip(&stratum.sums) {
            let group = *group as usize;
            totals[group] += sum;
            let own = f64::from(std::mem::take(&mut cells[group]));
            variances[group] += own * (count - own) / count * square;
        }
    }
    let scale: Vec<f64> = variances
        .iter()
        .map(|variance| if *variance > 0.0 { variance.sqrt().recip() } else { 0.0 })
        .collect();
    let shrunk = inflation.max(1.0).sqrt().recip();
    let z: Vec<f64> = totals.iter().zip(&scale).map(|(total, scale)| total * scale * shrunk).collect();
    let mut p: Vec<f64> = z.iter().map(|z| (groups as f64 * normal_two_sided(*z)).min(1.0)).collect();
    let cells: usize = strata.iter().map(|stratum| stratum.sums.len()).sum();
    if p.iter().any(|p| *p < DOUBTFUL) && cells <= MOST_CELLS {
        p = exchanged(&mut strata, &z, &scale, (WORK / cells).clamp(FEWEST_DRAWS, MOST_DRAWS));
    }
    Round { z, p }
}

/// p-values of the statistics `z` by the largest statistic of each exchange.
fn exchanged(strata: &mut [Stratum], z: &[f64], scale: &[f64], draws: usize) -> Vec<f64> {
    let mut random = Xoshiro::new(SEED);
    let top = z.iter().fold(0.0_f64, |top, z| top.max(z.abs()));
    let (mut largest, mut totals, mut above) = (Vec::with_capacity(draws), vec![0.0; z.len()], 0);
    while largest.len() < draws && above < ENOUGH {
        totals.iter_mut().for_each(|total| *total = 0.0);
        for stratum in strata.iter_mut() {
            shuffle(&mut stratum.sums, &mut random);
            for (group, sum) in stratum.groups.iter().zip(&stratum.sums) {
                totals[*group as usize] += sum;
            }
        }
        let most =
            totals.iter().zip(scale).fold(0.0_f64, |most, (total, scale)| most.max((total * scale).abs()));
        above += usize::from(most >= top * (1.0 - 1e-12));
        largest.push(most);
    }
    largest.sort_unstable_by(f64::total_cmp);
    let count = largest.len();
    z.iter()
        .map(|z| {
            let below = largest.partition_point(|most| *most < z.abs() * (1.0 - 1e-12));
            (count - below + 1) as f64 / (count + 1) as f64
        })
        .collect()
}

fn shuffle(values: &mut [f64], random: &mut Xoshiro) {
    for end in (1..values.len()).rev() {
        values.swap(end, random.below(end + 1));
    }
}

/// What the rounds found.
#[derive(Debug)]
pub(crate) struct StepDown {
    /// Groups that are not found different: the others of each comparison.
    pub alike: Vec<usize>,
    /// For each group its p-value, adjusted for all groups and rounds.
    pub p: Vec<f64>,
}

/// Tests `groups` groups, puts aside those that differ at `error`, and tests the rest again; at most half of them are put aside.
/// None where a first round has too little to test.
pub(crate) fn step_down(
    groups: &[usize],
    error: f64,
    mut round: impl FnMut(&[usize]) -> Option<Round>,
) -> Option<StepDown> {
    let all = groups.iter().max()? + 1;
    let (mut alike, mut p) = (groups.to_vec(), vec![1.0; all]);
    let most = groups.len() / 2;
    let mut least = 0.0_f64;
    let mut first = true;
    while alike.len() > 1 {
        let Some(found) = round(&alike) else {
            if first {
                return None;
            }
            break;
        };
        first = false;
        alike.iter().zip(&found.p).for_each(|(group, found)| p[*group] = found.max(least));
        let differs = |larger: bool| -> Vec<usize> {
            let at = 0..alike.len();
            at.filter(|at| found.p[*at] < error && (found.z[*at] > 0.0) == larger).collect()
        };
        let (slow, fast) = (differs(true), differs(false));
        // One slow group makes all others look quick: the side with fewer is what differs.
        let out = if fast.is_empty() || (!slow.is_empty() && slow.len() <= fast.len()) { slow } else { fast };
        if out.is_empty() || groups.len() - alike.len() + out.len() > most {
            break;
        }
        least = out.iter().fold(least, |least, at| least.max(p[alike[*at]]));
        alike = (0..alike.len()).filter(|at| !out.contains(at)).map(|at| alike[at]).collect();
    }
    // What is left alone has all as the others.
    let alike = if alike.len() > 1 { alike } else { groups.to_vec() };
    Some(StepDown { alike, p })
}
