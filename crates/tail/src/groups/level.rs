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
    (0..windows)
        .flat_map(|at| {
            let nearest = whole.iter().min_by_key(|whole| whole.abs_diff(at)).copied().unwrap_or(at);
            let level = of_groups(bounds(nearest).map(|value| (groups[value], values[value])).collect());
            std::iter::repeat_n(level, bounds(at).len())
        })
        .collect()
}

fn of_groups(mut values: Vec<(usize, f64)>) -> f64 {
    values.sort_unstable_by_key(|one| one.0);
    let own = values.chunk_by(|a, b| a.0 == b.0).map(|one| {
        let mut own: Vec<f64> = one.iter().map(|one| one.1).collect();
        median(&mut own)
    });
    let mut medians: Vec<f64> = own.collect();
    median(&mut medians)
}
