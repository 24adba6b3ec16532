//! The pauses of loops, as a program thinks them.

use crate::fold::Node;
use crate::pauses::LONGEST;

/// So many pauses of a loop stand by themselves at most.
const APART: usize = 3;
/// They are so many times as long as the others are on average, and at least one in so many of the time of all.
const LONGER: u64 = 10;
const SHARE: u64 = 10;
/// Loops with fewer iterations think the same in each.
const LEAST_SPREAD: usize = 20;

/// The pauses of each iteration before statements that are done once in it, in nanoseconds.
pub fn gaps_of(body: &[Node], executions: usize) -> Vec<u64> {
    let mut gaps = vec![0_u64; executions];
    add_gaps(body, &mut gaps);
    gaps
}

fn add_gaps(body: &[Node], gaps: &mut [u64]) {
    for node in body {
        match node {
            Node::Site(site) => {
                for (all, own) in gaps.iter_mut().zip(&site.gaps) {
                    *all = all.saturating_add(*own);
                }
            }
            Node::Loop(one) if one.counts.iter().all(|count| *count == 1) => add_gaps(&one.body, gaps),
            Node::Loop(_) => {}
        }
    }
}

/// The sum of times, of which those of a damaged trace may not fit.
pub fn sum(times: impl Iterator<Item = u64>) -> u64 {
    times.fold(0, u64::saturating_add)
}

/// Takes out the pauses before the first iterations, one for each time that the loop is reached (which has so many iterations
/// then), if they are much longer than those between its iterations, a large share of all, and on average at least `least`
/// nanoseconds: they are pauses before the loop. Otherwise there are none.
pub fn take_firsts(gaps: &mut [u64], counts: &[u32], least: u64) -> Vec<u64> {
    if gaps.is_empty() || counts.contains(&0) || counts.iter().all(|count| *count == 1) {
        return Vec::new();
    }
    let mut starts = Vec::new();
    let mut start = 0;
    for count in counts {
        starts.push(start);
        start += *count as usize;
    }
    if start != gaps.len() {
        return Vec::new();
    }
    let firsts = sum(starts.iter().map(|at| gaps[*at]));
    let total = sum(gaps.iter().copied());
    let mean = firsts / starts.len() as u64;
    let others = (total - firsts) / (gaps.len() - starts.len()) as u64;
    if mean < least || firsts.saturating_mul(SHARE) < total || mean / LONGER < others.max(1) {
        return Vec::new();
    }
    starts.iter().map(|at| std::mem::take(&mut gaps[*at])).collect()
}

/// Takes out the pauses that stand out of a loop's: at most three, of at least `least` nanoseconds, each a large share of all
/// and many times as long as the others. By a distribution such a pause would come anywhere, or twice, or never. Gives
/// iterations and pauses.
pub fn take_apart(gaps: &mut [u64], least: u64) -> Vec<(usize, u64)> {
    let mut longest: Vec<usize> = (0..gaps.len()).collect();
    longest.sort_by_key(|at| std::cmp::Reverse(gaps[*at]));
    let total = sum(gaps.iter().copied());
    let stands_out = |gap: u64, mean: u64| {
        gap >= least && gap.saturating_mul(SHARE) >= total && gap / LONGER >= mean.max(1)
    };
    for taken in (1..gaps.len().min(APART + 1)).rev() {
        let mut apart = longest[..taken].to_vec();
        let others = total - sum(apart.iter().map(|at| gaps[*at]));
        if stands_out(gaps[apart[taken - 1]], others / (gaps.len() - taken) as u64) {
            apart.sort_unstable();
            return apart.into_iter().map(|at| (at, std::mem::take(&mut gaps[at]))).collect();
        }
    }
    Vec::new()
}

/// What a loop thinks in each iteration: the mean of its pauses, or where they vary the means of their tenths.
pub fn typical(mut gaps: Vec<u64>) -> String {
    let count = gaps.len();
    let mean = sum(gaps.iter().copied()) / count.max(1) as u64;
    let spread: f64 = gaps.iter().map(|gap| (*gap as f64 - mean as f64).powi(2)).sum::<f64>();
    let deviation = (spread / count.max(1) as f64).sqrt();
    if count < LEAST_SPREAD || deviation < 0.5 * mean as f64 {
        return duration(mean);
    }
    gaps.sort_unstable();
    let tenth = |part: usize| {
        let group = &gaps[part * count / 10..(part + 1) * count / 10];
        duration(sum(group.iter().copied()) / group.len().max(1) as u64)
    };
    let tenths: Vec<String> = (0..10).map(tenth).collect();
    format!("empirical([{}])", tenths.join(", "))
}

/// A time as the language writes it.
pub fn duration(ns: u64) -> String {
    match ns.min(LONGEST) {
        0..10_000 => format!("{ns}ns"),
        ns => format!("{}us", (ns as f64 / 1000.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_that_stand_out_are_taken_apart() {
        let mut gaps = vec![300; 100];
        (gaps[20], gaps[40]) = (5_000_000, 2_000_000);
        assert_eq!(take_apart(&mut gaps, 1000), [(20, 5_000_000), (40, 2_000_000)]);
        assert_eq!((gaps[20], gaps[40], gaps.iter().sum::<u64>()), (0, 0, 98 * 300));
        // Too short to matter, as long as others, or one of many.
        for (mut gaps, least) in [(vec![1, 1, 900], 1000), (vec![5000, 6000, 7000], 1000), (vec![5000], 1000)]
        {
            assert!(take_apart(&mut gaps, least).is_empty());
        }
        let damaged = u64::MAX / 2;
        assert_eq!(take_apart(&mut [damaged, damaged, damaged, 1], 1000).len(), APART);
        assert_eq!(typical(vec![damaged; 4]), duration(u64::MAX / 4));
        let mut heavy: Vec<u64> = (0..1000).map(|at| if at % 50 == 0 { 900_000 } else { 300 }).collect();
        assert!(take_apart(&mut heavy, 1000).is_empty());
    }

    #[test]
    fn a_pause_before_a_loop_is_none_of_its_iterations() {
        let mut gaps = [90_000, 10, 10, 80_000, 10];
        assert_eq!(take_firsts(&mut gaps, &[3, 2], 1000), [90_000, 80_000]);
        assert_eq!(gaps, [0, 10, 10, 0, 10]);
        for (mut gaps, counts) in
            [([90, 80, 70], vec![3]), ([90_000, 10, 10], vec![1, 1, 1]), ([90, 1, 1], vec![3])]
        {
            assert!(take_firsts(&mut gaps, &counts, 1000).is_empty());
        }
    }
}
