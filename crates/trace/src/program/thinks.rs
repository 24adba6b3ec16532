//! The pauses of loops, as a program thinks them.

use crate::fold::Node;
use crate::packed::Packed;
use crate::pauses::LONGEST;

/// So many pauses of a loop stand by themselves at most.
const APART: usize = 3;
/// They are so many times as long as the others are on average, and at least one in so many of the time of all.
const LONGER: u64 = 10;
const SHARE: u64 = 10;
/// Loops with fewer iterations think the same in each.
const LEAST_SPREAD: usize = 20;

/// The pauses of the iterations of a loop, in nanoseconds.
#[derive(Debug, Default)]
pub struct LoopGaps {
    pub all: Packed,
}

impl LoopGaps {
    /// The pauses of each iteration before statements that are done once in it.
    pub fn of(body: &[Node], executions: usize) -> Self {
        let mut once = Vec::new();
        add_sites(body, &mut once);
        match once.as_slice() {
            [] => {
                let mut all = Packed::default();
                all.push_some(0, executions);
                Self { all }
            }
            [one] => Self { all: (*one).clone() },
            all => {
                let mut all: Vec<_> = all.iter().map(|gaps| gaps.iter()).collect();
                let mut next = || sum(all.iter_mut().filter_map(Iterator::next));
                Self { all: (0..executions).map(|_| next()).collect() }
            }
        }
    }

    /// The sum of all.
    pub fn total(&self) -> u64 {
        sum(self.all.iter())
    }

    /// Takes out the pauses before the first iterations, one for each time that the loop is reached (which has so many
    /// iterations then), if they are much longer than those between its iterations, a large share of all, and on average
    /// at least `least` nanoseconds: they are pauses before the loop. Otherwise there are none.
    pub fn take_firsts(&mut self, counts: &Packed, least: u64) -> Packed {
        let none = Packed::default();
        let iterations = counts.iter().fold(0, u64::saturating_add);
        let is_none = self.all.is_empty() || counts.iter().any(|count| count == 0);
        if is_none || iterations == counts.len() as u64 || iterations != self.all.len() as u64 {
            return none;
        }
        let mut firsts = Packed::default();
        self.change_firsts(counts, |gap| {
            firsts.push(gap);
            None
        });
        let all_firsts = sum(firsts.iter());
        let total = self.total();
        let mean = all_firsts / firsts.len() as u64;
        let others = (total - all_firsts) / (self.all.len() - firsts.len()) as u64;
        if mean < least || all_firsts.saturating_mul(SHARE) < total || mean / LONGER < others.max(1) {
            return none;
        }
        if let Some(all) = self.change_firsts(counts, |_| Some(0)) {
            self.all = all;
        }
        firsts
    }

    /// Shows the pause before each first iteration; all pauses, if one is to be another.
    fn change_firsts(&self, counts: &Packed, mut change: impl FnMut(u64) -> Option<u64>) -> Option<Packed> {
        let (mut counts, mut left, mut changed) = (counts.iter(), 0, false);
        let all: Packed = self
            .all
            .iter()
            .map(|gap| {
                let is_first = left == 0;
                if is_first {
                    left = counts.next().unwrap_or(u64::MAX);
                }
                left -= 1;
                let other = if is_first { change(gap) } else { None };
                changed |= other.is_some();
                other.unwrap_or(gap)
            })
            .collect();
        changed.then_some(all)
    }

    /// Takes out the pauses that stand out of a loop's: at most three, of at least `least` nanoseconds, each a large share of
    /// all and many times as long as the others. By a distribution such a pause would come anywhere, or twice, or never. Gives
    /// iterations and pauses.
    pub fn take_apart(&mut self, least: u64) -> Vec<(usize, u64)> {
        let longest = self.longest();
        let total = self.total();
        let stands_out = |gap: u64, mean: u64| {
            gap >= least && gap.saturating_mul(SHARE) >= total && gap / LONGER >= mean.max(1)
        };
        let count = self.all.len();
        for taken in (1..count.min(APART + 1)).rev() {
            let mut apart = longest[..taken].to_vec();
            let others = total - sum(apart.iter().map(|(_, gap)| *gap));
            if stands_out(apart[taken - 1].1, others / (count - taken) as u64) {
                apart.sort_unstable();
                apart.iter().for_each(|(at, _)| self.all.set(*at, 0));
                return apart;
            }
        }
        Vec::new()
    }

    /// The longest pauses with their iterations, of equal ones the first.
    fn longest(&self) -> Vec<(usize, u64)> {
        let mut longest: Vec<(usize, u64)> = Vec::with_capacity(APART + 1);
        for (at, gap) in self.all.iter().enumerate() {
            if longest.len() == APART && longest[APART - 1].1 >= gap {
                continue;
            }
            let place = longest.partition_point(|(_, known)| *known >= gap);
            longest.insert(place, (at, gap));
            longest.truncate(APART);
        }
        longest
    }
}

/// The pauses before statements that are done once in each iteration.
fn add_sites<'a>(body: &'a [Node], once: &mut Vec<&'a Packed>) {
    for node in body {
        match node {
            Node::Site(site) => once.push(&site.gaps),
            Node::Loop(one) if one.is_once() => add_sites(&one.body, once),
            Node::Loop(_) => {}
        }
    }
}

/// The sum of times, of which those of a damaged trace may not fit.
pub fn sum(times: impl Iterator<Item = u64>) -> u64 {
    times.fold(0, u64::saturating_add)
}

/// What a loop thinks in each iteration: the mean of its pauses, or where they vary the means of their tenths.
pub fn typical(gaps: &Packed) -> String {
    let count = gaps.len();
    let mean = sum(gaps.iter()) / count.max(1) as u64;
    let spread: f64 = gaps.iter().map(|gap| (gap as f64 - mean as f64).powi(2)).sum::<f64>();
    let deviation = (spread / count.max(1) as f64).sqrt();
    if count < LEAST_SPREAD || deviation < 0.5 * mean as f64 {
        return duration(mean);
    }
    let sorted = counted(gaps);
    let (mut sorted, mut left) = (sorted.into_iter(), (0, 0));
    let mut tenth = |part: usize| {
        let size = (part + 1) * count / 10 - part * count / 10;
        let (mut missing, mut all) = (size as u64, 0_u64);
        while missing > 0 {
            if left.1 == 0 {
                left = sorted.next().unwrap_or((0, missing));
            }
            let taken = left.1.min(missing);
            all = all.saturating_add(left.0.saturating_mul(taken));
            (left.1, missing) = (left.1 - taken, missing - taken);
        }
        duration(all / size.max(1) as u64)
    };
    let tenths: Vec<String> = (0..10).map(&mut tenth).collect();
    format!("empirical([{}])", tenths.join(", "))
}

/// Numbers from the least to the largest, each with how often it occurs: clocks give the same pauses again and again.
fn counted(gaps: &Packed) -> Vec<(u64, u64)> {
    /// So many are sorted at once.
    const AT_ONCE: usize = 1 << 12;
    let mut all: Vec<(u64, u64)> = Vec::new();
    let (mut values, mut some) = (gaps.iter(), Vec::new());
    loop {
        some.clear();
        some.extend(values.by_ref().take(AT_ONCE.max(all.len())).map(|gap| (gap, 1)));
        if some.is_empty() {
            return all;
        }
        some.append(&mut all);
        some.sort_unstable_by_key(|(gap, _)| *gap);
        for (gap, count) in &some {
            match all.last_mut() {
                Some(last) if last.0 == *gap => last.1 += count,
                Some(_) | None => all.push((*gap, *count)),
            }
        }
    }
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

    fn gaps(all: impl IntoIterator<Item = u64>) -> LoopGaps {
        LoopGaps { all: all.into_iter().collect() }
    }

    #[test]
    fn pauses_that_stand_out_are_taken_apart() {
        let mut found = gaps((0..100).map(|at| match at {
            20 => 5_000_000,
            40 => 2_000_000,
            _ => 300,
        }));
        assert_eq!(found.take_apart(1000), [(20, 5_000_000), (40, 2_000_000)]);
        assert_eq!((found.all.get(20), found.all.get(40), found.total()), (0, 0, 98 * 300));
        // Too short to matter, as long as others, or one of many.
        for (all, least) in [(vec![1, 1, 900], 1000), (vec![5000, 6000, 7000], 1000), (vec![5000], 1000)] {
            assert!(gaps(all).take_apart(least).is_empty());
        }
        let damaged = u64::MAX / 2;
        assert_eq!(gaps([damaged, damaged, damaged, 1]).take_apart(1000).len(), APART);
        assert_eq!(typical(&gaps([damaged; 4]).all), duration(u64::MAX / 4));
        let mut heavy = gaps((0..1000).map(|at| if at % 50 == 0 { 900_000 } else { 300 }));
        assert!(heavy.take_apart(1000).is_empty());
    }

    #[test]
    fn of_equal_pauses_the_first_are_taken() {
        assert_eq!(gaps([1, 7, 7, 3, 7, 7]).longest(), [(1, 7), (2, 7), (4, 7)]);
        assert_eq!(gaps([1, 7]).longest(), [(1, 7), (0, 1)]);
    }

    #[test]
    fn a_pause_before_a_loop_is_none_of_its_iterations() {
        let counts = |all: &[u64]| all.iter().copied().collect::<Packed>();
        let mut found = gaps([90_000, 10, 10, 80_000, 10]);
        assert!(found.take_firsts(&counts(&[3, 2]), 1000).iter().eq([90_000, 80_000]));
        assert!(found.all.iter().eq([0, 10, 10, 0, 10]));
        for (all, of) in [([90, 80, 70], vec![3]), ([90_000, 10, 10], vec![1, 1, 1]), ([90, 1, 1], vec![3])] {
            assert!(gaps(all).take_firsts(&counts(&of), 1000).is_empty());
        }
    }

    #[test]
    fn pauses_that_vary_are_the_means_of_their_tenths() {
        let all = gaps((0..200_000).map(|at| at * 7919 % 1000 * 1000)).all;
        let tenths: Vec<String> = (0..10).map(|part| duration(part * 100_000 + 49_500)).collect();
        assert_eq!(typical(&all), format!("empirical([{}])", tenths.join(", ")));
    }
}
