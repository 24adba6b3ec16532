//! Estimates the extremal index θ: 1 if slow operations occur singly; 1/θ is the mean size of a cluster.

/// Intervals estimator from the times of exceedances (Ferro, Segers 2003, equation 22); 1 for fewer than 3.
pub fn intervals_estimate(times: &[usize]) -> f64 {
    if times.len() < 3 {
        return 1.0;
    }
    let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
    let count = gaps.len() as f64;
    let longest = gaps.iter().copied().fold(0.0, f64::max);
    let (first, second): (f64, f64) = if longest <= 2.0 {
        (gaps.iter().sum(), gaps.iter().map(|g| g * g).sum())
    } else {
        (gaps.iter().map(|g| g - 1.0).sum(), gaps.iter().map(|g| (g - 1.0) * (g - 2.0)).sum())
    };
    (2.0 * first * first / (count * second)).min(1.0)
}

/// K-gaps maximum-likelihood estimator (Süveges, Davison 2010): gaps of at most `k` are within a cluster.
/// `n` is the length of the series.
pub fn k_gaps(times: &[usize], n: usize, k: usize) -> f64 {
    if times.len() < 3 || n == 0 {
        return 1.0;
    }
    let rate = times.len() as f64 / n as f64;
    let gaps: Vec<f64> =
        times.windows(2).map(|w| rate * ((w[1] - w[0]) as f64 - k as f64).max(0.0)).collect();
    let zero = gaps.iter().filter(|g| **g == 0.0).count() as f64;
    let long = gaps.len() as f64 - zero;
    let sum: f64 = gaps.iter().sum();
    if sum <= 0.0 {
        return 1.0;
    }
    // zero ln(1 - θ) + 2 long ln θ - θ sum: the smaller root of a quadratic.
    let b = sum + zero + 2.0 * long;
    ((b - (b * b - 8.0 * long * sum).max(0.0).sqrt()) / (2.0 * sum)).clamp(0.0, 1.0)
}
