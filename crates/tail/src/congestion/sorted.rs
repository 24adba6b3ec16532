//! Computes moments of ascending values, and the median of all differences of two lists.

/// Ascending logarithms.
pub(super) struct Sorted(pub Vec<f64>);

/// Central moments.
pub(super) struct Moments {
    pub mean: f64,
    /// Divisor n - 1.
    pub variance: f64,
    pub fourth: f64,
}

impl Sorted {
    pub fn of(values: &[f64]) -> Sorted {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Sorted(sorted)
    }

    pub fn moments(&self) -> Moments {
        let n = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / n;
        let power = |p: i32| self.0.iter().map(|value| (value - mean).powi(p)).sum::<f64>();
        Moments { mean, variance: power(2) / (n - 1.0).max(1.0), fourth: power(4) / n }
    }
}

/// Median of all y_j - x_i, by counting pairs in two ascending lists.
pub fn hodges_lehmann(x: &[f64], y: &[f64]) -> f64 {
    let pairs = x.len() as u64 * y.len() as u64;
    if pairs == 0 {
        return f64::NAN;
    }
    let [lower, upper] = differences_at(x, y, [pairs.div_ceil(2), pairs / 2 + 1]);
    0.5 * (lower + upper)
}

/// Number of differences y_j - x_i that are at most `d`; both lists are ascending.
fn differences_to(x: &[f64], y: &[f64], d: f64) -> u64 {
    let (mut j, mut total) = (0, 0);
    for &a in x {
        while j < y.len() && y[j] - a <= d {
            j += 1;
        }
        total += j as u64;
    }
    total
}

/// The differences above `low` that are at most `high`; both lists are ascending.
fn differences_between(x: &[f64], y: &[f64], (low, high): (f64, f64)) -> Vec<f64> {
    let (mut from, mut to, mut found) = (0, 0, Vec::new());
    for &a in x {
        while from < y.len() && y[from] - a <= low {
            from += 1;
        }
        to = to.max(from);
        while to < y.len() && y[to] - a <= high {
            to += 1;
        }
        found.extend(y[from..to].iter().map(|b| b - a));
    }
    found
}

/// The largest difference that is at most `d`, and the smallest one above it.
fn around(x: &[f64], y: &[f64], d: f64) -> [f64; 2] {
    let (mut j, mut found) = (0, [f64::NEG_INFINITY, f64::INFINITY]);
    for &a in x {
        while j < y.len() && y[j] - a <= d {
            j += 1;
        }
        if j > 0 {
            found[0] = found[0].max(y[j - 1] - a);
        }
        if j < y.len() {
            found[1] = found[1].min(y[j] - a);
        }
    }
    found
}

/// The difference of rank `k`, from 1, among all y_j - x_i.
pub(crate) fn hodges_lehmann_at(x: &[f64], y: &[f64], k: u64) -> f64 {
    differences_at(x, y, [k, k])[0]
}

/// The differences of two ranks, from 1, that are equal or neighbours.
///
/// The first cut is the difference of quantiles, the next ones where the ranks would be if differences were evenly spread
/// between cuts, or in the middle where that hardly shrinks the bracket; the few that are left are sorted.
fn differences_at(x: &[f64], y: &[f64], [first, last]: [u64; 2]) -> [f64; 2] {
    let pairs = x.len() as u64 * y.len() as u64;
    let (mut low, mut high) = (y[0] - x[x.len() - 1], y[y.len() - 1] - x[0]);
    let (mut below, mut to) = (differences_to(x, y, low), pairs);
    if below >= last {
        return [low; 2];
    }
    if below >= first {
        return around(x, y, low);
    }
    let few = (x.len() + y.len()) as u64;
    let at = |list: &[f64], share: f64| list[((list.len() - 1) as f64 * share) as usize];
    let share = first as f64 / pairs as f64;
    let spread = at(y, 0.75) - at(y, 0.25) + at(x, 0.75) - at(x, 0.25);
    let mut guess = Some(at(y, share) - at(x, 1.0 - share));
    let (mut halve, mut tries) = (false, 0);
    while to - below > few {
        let share = if halve { 0.5 } else { (first - below) as f64 / (to - below) as f64 };
        let cut = guess.take().filter(|cut| *cut > low && *cut < high).unwrap_or(low + share * (high - low));
        // Ties: no number lies between both ends.
        if cut <= low || cut >= high {
            if halve {
                return [high; 2];
            }
            halve = true;
            continue;
        }
        let before = to - below;
        let here = differences_to(x, y, cut);
        if here >= last {
            (high, to) = (cut, here);
        } else if here < first {
            (low, below) = (cut, here);
        } else {
            return around(x, y, cut);
        }
        tries += 1;
        halve = tries > 3 && 2 * (to - below) > before;
        if tries < 3 {
            // Twice the distance at which an even spread has the ranks, so that they lie between both cuts.
            let off = first as f64 - here as f64;
            guess = Some(cut + 1.3 * off / pairs as f64 * spread + 1e-3 * off.signum() * spread);
        }
    }
    let mut left = differences_between(x, y, (low, high));
    let from = (first - below - 1) as usize;
    let (_, lower, above) = left.select_nth_unstable_by(from, f64::total_cmp);
    let lower = *lower;
    let upper = if last > first { above.iter().copied().fold(f64::INFINITY, f64::min) } else { lower };
    [lower, upper]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hodges_lehmann_is_the_median_of_all_differences() {
        let x = [0.0, 1.0, 5.0];
        let y = [2.0, 2.5, 9.0, 9.5];
        let mut all: Vec<f64> = y.iter().flat_map(|b| x.iter().map(move |a| b - a)).collect();
        all.sort_by(f64::total_cmp);
        let wanted = 0.5 * (all[5] + all[6]);
        assert!((hodges_lehmann(&x, &y) - wanted).abs() < 1e-9);
    }

    #[test]
    fn a_difference_of_any_rank_is_that_of_all_sorted_ones() {
        let mut random = crate::Xoshiro::new(2);
        for (n, m, ticks) in [(1, 1, 0.0), (3, 40, 0.0), (40, 60, 0.0), (60, 40, 0.5), (50, 50, 20.0)] {
            let mut draw = |n: usize| -> Vec<f64> {
                let value = |_| {
                    let value = 10.0 * (2.0 * random.normal()).exp();
                    if ticks > 0.0 { (value / ticks).round() * ticks } else { value }
                };
                let mut all: Vec<f64> = (0..n).map(value).collect();
                all.sort_by(f64::total_cmp);
                all
            };
            let (x, y) = (draw(n), draw(m));
            let mut all: Vec<f64> = y.iter().flat_map(|b| x.iter().map(move |a| b - a)).collect();
            all.sort_by(f64::total_cmp);
            assert_eq!(hodges_lehmann_at(&x, &y, 1), all[0]);
            for (at, wanted) in all.iter().enumerate().skip(1) {
                assert_eq!(hodges_lehmann_at(&x, &y, at as u64 + 1), *wanted, "{n} {m} {ticks} {at}");
                let pair = differences_at(&x, &y, [at as u64, at as u64 + 1]);
                assert_eq!(pair, [all[at - 1], *wanted], "{n} {m} {ticks} {at}");
            }
        }
    }
}
