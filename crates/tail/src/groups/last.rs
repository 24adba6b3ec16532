//! Who is last in a step: whether one rank is more often than exchange between equal ranks makes it.
//!
//! Blocks of neighbouring steps are given to other ranks at random; the largest count of a rank is compared with those. With
//! blocks of one step that is the exact test of a multinomial's largest count.

use serde::{Deserialize, Serialize};

use super::aligned::median;
use super::{memory, statement};
use crate::Xoshiro;

const DRAWS: usize = 1_999;
/// Exchanges end when so many had as large a count.
const ENOUGH: usize = 40;
const SEED: u64 = 0x6c61_7374_7374_6570;
/// Share of the steps that are called slow.
const SLOW: f64 = 0.1;
/// Slow steps that are looked at, at least.
const FEWEST: usize = 5;
/// Share of steps from which on it is worth a word who was last.
const SMALLEST: f64 = 0.1;
/// Where more are last together, nobody is.
const MOST_TOGETHER: usize = 8;

/// The rank that was last most often in the slowest steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LastWhenSlow {
    /// Its index in the input.
    pub target: usize,
    /// Steps that are called slow: the slowest tenth.
    pub steps: u64,
    /// In how many of these it was last.
    pub last: u64,
    /// Of these the median of its duration less the median of the others in the step, in the unit of the data.
    pub later: f64,
    /// p-value by exchange of blocks of steps, of the largest count over all targets.
    pub p: f64,
    /// Whether that is said: it is last more often than equal ones are, by the test, in a tenth of these steps or more and with twice
    /// the odds.
    pub shown: bool,
}

/// Which target was last most often in some steps, and the p-value of that.
pub(crate) struct Most {
    pub target: usize,
    pub p: f64,
    pub shown: bool,
}

/// Who is last: `durations[i][t]` is that of target i in step t.
pub(crate) struct Steps<'a> {
    durations: &'a [Vec<f64>],
    /// By how much dependence in time inflates the variances of sums of durations.
    inflation: f64,
    /// Of each step the longest duration, and which targets took it.
    longest: Vec<(f64, Vec<u32>)>,
}

impl<'a> Steps<'a> {
    pub fn of(durations: &'a [Vec<f64>], inflation: f64) -> Steps<'a> {
        let steps = durations.first().map_or(0, Vec::len);
        let longest = (0..steps)
            .map(|t| {
                let most = durations.iter().fold(f64::NEG_INFINITY, |most, of| most.max(of[t]));
                let last = (0..durations.len()).filter(|i| durations[*i][t] == most).map(|i| i as u32);
                (most, last.collect())
            })
            .collect();
        Steps { durations, inflation, longest }
    }

    /// Of all steps; none where there are too few.
    pub fn most(&self, level: f64) -> Option<Most> {
        self.among(&vec![true; self.longest.len()], level)
    }

    /// Of the slowest ones.
    pub fn most_when_slow(&self, level: f64) -> Option<LastWhenSlow> {
        let steps = self.longest.len();
        let count = ((SLOW * steps as f64).ceil() as usize).max(FEWEST);
        if steps < 2 * FEWEST || count > steps / 2 {
            return None;
        }
        let mut order: Vec<usize> = (0..steps).collect();
        order.sort_by(|a, b| self.longest[*b].0.total_cmp(&self.longest[*a].0));
        let mut slow = vec![false; steps];
        order[..count].iter().for_each(|t| slow[*t] = true);
        let found = self.among(&slow, level)?;
        let of_it = (0..steps).filter(|t| slow[*t] && self.longest[*t].1 == [found.target as u32]);
        let mut later: Vec<f64> = of_it.map(|t| self.later(found.target, t)).collect();
        if later.is_empty() {
            return None;
        }
        let last = later.len() as u64;
        Some(LastWhenSlow {
            target: found.target,
            steps: count as u64,
            last,
            later: median(&mut later),
            p: found.p,
            shown: found.shown,
        })
    }

    fn later(&self, target: usize, t: usize) -> f64 {
        let others = (0..self.durations.len()).filter(|i| *i != target);
        let mut others: Vec<f64> = others.map(|i| self.durations[i][t]).collect();
        self.durations[target][t] - median(&mut others)
    }

    /// The largest count over some steps; several that are last together share a step.
    fn among(&self, chosen: &[bool], level: f64) -> Option<Most> {
        let m = self.durations.len();
        let mut counts = vec![0.0; m];
        let shares: Vec<(usize, u32, f64)> = (0..chosen.len())
            .filter(|t| chosen[*t] && self.longest[*t].1.len() <= MOST_TOGETHER.min(m - 1))
            .flat_map(|t| {
                let last = &self.longest[t].1;
                last.iter().map(move |i| (t, *i, 1.0 / last.len() as f64))
            })
            .collect();
        shares.iter().for_each(|(_, i, share)| counts[*i as usize] += share);
        let target = (0..m).rev().max_by(|a, b| counts[*a].total_cmp(&counts[*b]))?;
        if counts[target] == 0.0 {
            return None;
        }
        let inflation = clustering(&shares, m, chosen.len()).max(self.inflation);
        let block = memory::block(chosen.len(), 1, inflation)?;
        let mut blocks: Vec<Vec<(u32, f64)>> = Vec::new();
        let mut at = shares.iter().peekable();
        for range in memory::bounds(chosen.len(), block) {
            let mut own: Vec<(u32, f64)> = Vec::new();
            while let Some((_, i, share)) = at.next_if(|(t, ..)| range.contains(t)) {
                match own.iter_mut().find(|(known, _)| known == i) {
                    Some((_, sum)) => *sum += share,
                    None => own.push((*i, *share)),
                }
            }
            blocks.push(own);
        }
        let p = exchanged(&blocks, m, counts[target]);
        let total = counts.iter().sum::<f64>();
        let share = counts[target] / total;
        let twice = share / (1.0 - share) >= 2.0 / (m as f64 - 1.0);
        let shown = p < statement::error(level) && share >= SMALLEST && twice;
        Some(Most { target, p, shown })
    }
}

/// By how much the variance of counts is above that of independent steps, since who is last stays so in the next step.
fn clustering(shares: &[(usize, u32, f64)], m: usize, steps: usize) -> f64 {
    let mut own: Vec<Vec<usize>> = vec![Vec::new(); m];
    shares.iter().for_each(|(t, i, _)| own[*i as usize].push(*t));
    let (mut near, mut expected) = (0.0, 0.0);
    for times in &own {
        near += times.windows(2).filter(|pair| pair[1] - pair[0] == 1).count() as f64;
        expected += (times.len() as f64).powi(2) / steps as f64;
    }
    if near <= expected + 2.0 * expected.sqrt().max(1.0) {
        return 1.0;
    }
    let memory = ((near - expected) / (shares.len() as f64 - expected).max(1.0)).clamp(0.0, 0.95);
    (1.0 + memory) / (1.0 - memory)
}

/// The p-value of a largest count when each block's counts go to other targets.
fn exchanged(blocks: &[Vec<(u32, f64)>], m: usize, most: f64) -> f64 {
    let mut random = Xoshiro::new(SEED);
    let mut totals = vec![0.0; m];
    let (mut touched, mut own): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut draws, mut above) = (0, 0);
    while draws < DRAWS && above < ENOUGH {
        for block in blocks {
            own.clear();
            for (_, count) in block {
                let mut target = random.below(m);
                while own.contains(&target) {
                    target = random.below(m);
                }
                own.push(target);
                totals[target] += count;
                touched.push(target);
            }
        }
        let largest = touched.iter().fold(0.0_f64, |largest, target| largest.max(totals[*target]));
        touched.drain(..).for_each(|target| totals[target] = 0.0);
        above += usize::from(largest >= most - 1e-9);
        draws += 1;
    }
    (above + 1) as f64 / (draws + 1) as f64
}
