//! The level that groups have in common, where their values come by turns: a drift of all is no difference between them.

use super::aligned::median;

/// Values of each group in a window, on average.
const EACH: usize = 4;
/// Values of a window, at least.
const FEWEST: usize = 16;
/// Share of the groups that a window holds, at least, where groups come by turns.
const BY_TURNS: f64 = 0.75;

/// The level at each value: the median of its window; 0 where groups do not come by turns.
pub(super) fn of_all(values: &[f64], groups: &[usize], count: usize) -> Vec<f64> {
    let (length, window) = (values.len(), (EACH * count).max(FEWEST));
    let windows = length / window;
    if windows < 3 || count < 2 {
        return vec![0.0; length];
    }
    let bounds = |at: usize| at * length / windows..(at + 1) * length / windows;
    let mut seen = vec![usize::MAX; count];
    let mut held = 0;
    for at in 0..windows {
        for group in &groups[bounds(at)] {
            held += usize::from(seen[*group] != at);
            seen[*group] = at;
        }
    }
    if (held as f64) < BY_TURNS * (windows * count) as f64 {
        return vec![0.0; length];
    }
    (0..windows)
        .flat_map(|at| {
            let mut own = values[bounds(at)].to_vec();
            let level = median(&mut own);
            std::iter::repeat_n(level, own.len())
        })
        .collect()
}
