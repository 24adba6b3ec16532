//! Autocorrelation and the Ljung-Box test.

use rayon::prelude::*;

use crate::Xoshiro;
use crate::special::chi_square_survival;

/// Autocorrelations at lags 1 ..= `lags`, about the common mean, divided by the sum of squares (divisor n).
/// Empty for constant values.
pub fn autocorrelations(values: &[f64], lags: usize) -> Vec<f64> {
    let n = values.len();
    if n < 2 {
        return Vec::new();
    }
    let first = values[0];
    let mean = first + values.iter().map(|x| x - first).sum::<f64>() / n as f64;
    let centred: Vec<f64> = values.iter().map(|x| x - mean).collect();
    let square: f64 = centred.iter().map(|x| x * x).sum();
    if square <= 0.0 || square.is_nan() {
        return Vec::new();
    }
    (1..=lags.min(n - 1))
        .map(|lag| centred[lag..].iter().zip(&centred).map(|(a, b)| a * b).sum::<f64>() / square)
        .collect()
}

/// Ljung-Box statistic Q = n (n + 2) Σ r_k² / (n - k) and its p-value, chi-square with as many degrees of
/// freedom as lags (Ljung, Box 1978).
pub fn ljung_box(values: &[f64], lags: usize) -> (f64, f64) {
    let n = values.len() as f64;
    let correlations = autocorrelations(values, lags);
    if correlations.is_empty() {
        return (0.0, 1.0);
    }
    let sum: f64 = correlations.iter().enumerate().map(|(k, r)| r * r / (n - 1.0 - k as f64)).sum();
    let statistic = n * (n + 2.0) * sum;
    (statistic, chi_square_survival(statistic, correlations.len() as f64))
}

/// Most lags of [`ljung_box_of_ranks`].
const MOST_LAGS: usize = 20;
/// Random orders behind its p-value.
const ORDERS: u32 = 1999;
/// From this many values on the chi-square law is taken: random orders cost too much.
const MOST_PERMUTED: usize = 2000;

/// [`ljung_box`] of ranks, up to 20 lags. Below 2000 values the p-value is that of random orders of the same
/// ranks, exact for exchangeable values whatever their law and ties (Fisher 1935; Dufour, Roy 1985): the chi-square
/// law rejects 7 % of series of 50 to 100 values at 5 %. Where none of the 1999 orders is as far out, it is the
/// chi-square value, at most 1/2000. The orders are drawn by a seed of the ranks: the same values, the same p.
pub fn ljung_box_of_ranks(ranks: &[f64], lags: usize) -> (f64, f64) {
    let n = ranks.len();
    let lags = lags.min(MOST_LAGS).min(n.saturating_sub(1));
    let (statistic, chi_square) = ljung_box(ranks, lags);
    if n >= MOST_PERMUTED || lags == 0 || statistic <= 0.0 {
        return (statistic, chi_square);
    }
    let mean = ranks.iter().sum::<f64>() / n as f64;
    // Zeros behind the values spare the inner loop its ends.
    let mut order: Vec<f64> = ranks.iter().map(|r| r - mean).chain([0.0; MOST_LAGS]).collect();
    let weights: [f64; MOST_LAGS] =
        std::array::from_fn(|k| if k < lags { 1.0 / (n - 1 - k) as f64 } else { 0.0 });
    let weighed = |centred: &[f64]| -> f64 {
        let mut sums = [0.0; MOST_LAGS];
        for window in centred.windows(MOST_LAGS + 1) {
            for (sum, later) in sums.iter_mut().zip(&window[1..]) {
                *sum += window[0] * later;
            }
        }
        sums.iter().zip(&weights).map(|(s, w)| s * s * w).sum()
    };
    // Ties of the statistic, that of the same order above all, count as reached.
    let reached = weighed(&order) * (1.0 - 1e-9);
    let seed =
        ranks.iter().fold(n as u64, |hash, r| (hash ^ r.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut random = Xoshiro::new(seed);
    let mut count = 0u32;
    for _ in 0..ORDERS {
        for i in (1..n).rev() {
            order.swap(i, random.below(i + 1));
        }
        count += u32::from(weighed(&order) >= reached);
    }
    let resolution = 1.0 / f64::from(ORDERS + 1);
    let p = if count == 0 { chi_square.min(resolution) } else { f64::from(count + 1) * resolution };
    (statistic, p)
}

/// Where the smallest value stands, the second …; equal ones in their order. Of up to 2³² values.
pub(crate) fn order(values: &[f64]) -> Vec<usize> {
    // The order of bits that is the order of numbers; sorted together with the places, without looking them up.
    let key = |x: f64| {
        let bits = x.to_bits();
        if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
    };
    let mut keyed: Vec<(u64, u32)> = values.iter().zip(0..).map(|(x, at)| (key(*x), at)).collect();
    keyed.par_sort_unstable();
    keyed.into_iter().map(|(_, at)| at as usize).collect()
}

/// Ranks from 1, ties sharing their mean rank.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let order = order(values);
    let mut out = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from + 1;
        while to < order.len() && values[order[to]] == values[order[from]] {
            to += 1;
        }
        let mean = 0.5 * (from + 1 + to) as f64;
        for &at in &order[from..to] {
            out[at] = mean;
        }
        from = to;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_of_ranks_is_exact_where_the_chi_square_one_is_not() {
        let (n, samples) = (50, 1500);
        let mut random = Xoshiro::new(11);
        let (mut exact, mut plain) = (0, 0);
        for _ in 0..samples {
            let values: Vec<f64> = (0..n).map(|_| random.uniform()).collect();
            let of = ranks(&values);
            exact += u32::from(ljung_box_of_ranks(&of, 10).1 <= 0.05);
            plain += u32::from(ljung_box(&of, 10).1 <= 0.05);
        }
        // 75 expected, standard error 8.4.
        assert!((50..=100).contains(&exact), "{exact} of {samples}, {plain} by the chi-square law");
        assert!(plain > exact, "{plain} {exact}");
    }

    #[test]
    fn the_p_value_of_ranks_is_small_for_a_memory_and_the_same_again() {
        let mut random = Xoshiro::new(5);
        let mut state = 0.0;
        let values: Vec<f64> = (0..200)
            .map(|_| {
                state = 0.8 * state + random.normal();
                state
            })
            .collect();
        let of = ranks(&values);
        let (statistic, p) = ljung_box_of_ranks(&of, 20);
        assert_eq!(statistic, ljung_box(&of, 20).0);
        assert!(p < 1e-10);
        assert_eq!(ljung_box_of_ranks(&of, 20).1, p);
        // All tied but one: every order is alike or nearly so, and nothing is found.
        let mut tied = vec![1.0; 60];
        tied[30] = 2.0;
        assert!(ljung_box_of_ranks(&ranks(&tied), 12).1 > 0.2);
    }

    #[test]
    fn tied_values_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn alternating_values_are_anticorrelated() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let r = autocorrelations(&values, 2);
        assert!(r[0] < -0.98 && r[1] > 0.97);
        assert!(ljung_box(&values, 2).1 < 1e-30);
        assert!(autocorrelations(&[2.0; 9], 3).is_empty());
    }
}
