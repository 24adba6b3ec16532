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

/// Median of all y_j - x_i, by counting pairs in two ascending lists: O((n + m) log(1 / ε)).
pub fn hodges_lehmann(x: &[f64], y: &[f64]) -> f64 {
    let pairs = x.len() as u64 * y.len() as u64;
    match pairs {
        0 => f64::NAN,
        odd if odd % 2 == 1 => hodges_lehmann_at(x, y, pairs / 2 + 1),
        _ => {
            let lower = hodges_lehmann_at(x, y, pairs / 2);
            // With many differences, the next one is usually equal.
            match differences_to(x, y, lower) > pairs / 2 {
                true => lower,
                false => 0.5 * (lower + hodges_lehmann_at(x, y, pairs / 2 + 1)),
            }
        }
    }
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

/// The difference of rank `k`, from 1, among all y_j - x_i.
pub(crate) fn hodges_lehmann_at(x: &[f64], y: &[f64], k: u64) -> f64 {
    let (mut low, mut high) = (y[0] - x[x.len() - 1], y[y.len() - 1] - x[0]);
    if differences_to(x, y, low) >= k {
        return low;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high || high - low < 1e-13 * (1.0 + high.abs()) {
            break;
        }
        if differences_to(x, y, middle) >= k { high = middle } else { low = middle }
    }
    high
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
}
