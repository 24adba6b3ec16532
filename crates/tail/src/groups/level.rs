//! The level that groups have in common, where their values come by turns: a drift of all is no difference between them.

use super::aligned::median;

/// Values of each group in a window, on average.
const EACH: usize = 4;
/// Values of a window, at least.
const FEWEST: usize = 16;
/// Share of the groups that a window holds, at least, where groups come by turns.
const BY_TURNS: f64 = 0.75;

/// The level at each value: the median of the medians of groups in its window, so that none counts more often than others; 0 where groups do not come by turns.
pub(super) fn of_all(values: &[f64], groups: &[usize], count: usize) -> Vec<f64> {
    let (length, window) = (values.len(), (EACH * count).max(FEWEST));
    let windows = length / window;
    if windows < 3 || count < 2 {
        return vec![0.0; length];
    }
    let bounds = |at: usize| at * length / windows..(at + 1) * length / windows;
    let mut seen = vec![usize::MAX; count];
    let held: Vec<usize> = (0..windows)
        .map(|at| {
            let new =
                groups[bounds(at)].iter().filter(|group| std::mem::replace(&mut seen[**group], at) != at);
            new.count()
        })
        .collect();
    if (held.iter().sum::<usize>() as f64) < BY_TURNS * (windows * count) as f64 {
        return vec![0.0; length];
    }
    // Where few groups are left, as when a slow one is not through yet, their own level is not that of all.
    let is_of_all = |at: &usize| held[*at] as f64 >= BY_TURNS * count as f64;
    let whole: Vec<usize> = (0..windows).filter(is_of_all).collect();
    let mut levels = Vec::with_capacity(length);
    let mut space = Space::default();
    for at in 0..windows {
        let level = space.level(bounds(nearest(&whole, at)).map(|value| (groups[value], values[value])));
        levels.resize(bounds(at).end, level);
    }
    levels
}

/// The one that is nearest, of two the first; `at` itself where there is none. They ascend.
fn nearest(whole: &[usize], at: usize) -> usize {
    let behind = whole.partition_point(|one| *one < at);
    let around = &whole[behind.saturating_sub(1)..whole.len().min(behind + 1)];
    around.iter().min_by_key(|one| one.abs_diff(at)).copied().unwrap_or(at)
}

/// What the medians of one window after another take.
#[derive(Default)]
struct Space {
    values: Vec<(usize, f64)>,
    own: Vec<f64>,
    medians: Vec<f64>,
}

impl Space {
    /// The median of the medians of groups.
    fn level(&mut self, values: impl Iterator<Item = (usize, f64)>) -> f64 {
        let Space { values: all, own, medians } = self;
        all.clear();
        all.extend(values);
        all.sort_unstable_by_key(|one| one.0);
        medians.clear();
        for group in all.chunk_by(|a, b| a.0 == b.0) {
            own.clear();
            own.extend(group.iter().map(|one| one.1));
            medians.push(median(own));
        }
        median(medians)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_window_is_that_of_a_search_through_all() {
        for bits in 0u32..1 << 10 {
            let whole: Vec<usize> = (0..10).filter(|at| bits >> at & 1 == 1).collect();
            for at in 0..10 {
                let wanted = whole.iter().min_by_key(|one| one.abs_diff(at)).copied().unwrap_or(at);
                assert_eq!(nearest(&whole, at), wanted, "{at} in {whole:?}");
            }
        }
    }

    #[test]
    fn many_values_take_no_longer_each_than_few() {
        // Windows looked for in all others made this a matter of hours.
        let count = 1 << 22;
        let groups: Vec<usize> = (0..count).map(|at| at % 4).collect();
        let values: Vec<f64> = (0..count).map(|at| (at / (count / 2)) as f64).collect();
        let levels = of_all(&values, &groups, 4);
        assert_eq!((levels[0], levels[count - 1], levels.len()), (0.0, 1.0, count));
    }
}
