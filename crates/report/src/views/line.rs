//! The line latency + size / bandwidth through the times of transfers.

use serde::Serialize;
use tail::special::student_two_sided;

/// A median is never taken to be known better than to this share.
const FLOOR: f64 = 0.05;

/// The line latency + size / bandwidth through the medians of several sizes: weighted least squares,
/// weights from the distribution-free intervals of the medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AffineFit {
    /// Time of a transfer of nothing, in seconds.
    pub latency: f64,
    /// Its 95% interval (Student).
    pub latency_interval: [f64; 2],
    /// Time of one more byte, in seconds.
    pub per_byte: f64,
    /// Its 95% interval.
    pub per_byte_interval: [f64; 2],
    /// Root of the mean squared distance of the medians from the line, in their own errors: about 1 where
    /// the line describes them. Where it is more, the intervals are wider by it.
    pub misfit: f64,
}

impl AffineFit {
    /// Through (bytes, median in seconds, its standard error); none with fewer than three sizes.
    pub fn through(points: &[(f64, f64, f64)]) -> Option<AffineFit> {
        let freedom = points.len().checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
        let (mut s, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let weight = |y: f64, error: f64| error.max(FLOOR * y).powi(-2);
        for &(x, y, error) in points {
            let w = weight(y, error);
            s += w;
            sx += w * x;
            sy += w * y;
            sxx += w * x * x;
            sxy += w * x * y;
        }
        let determinant = s * sxx - sx * sx;
        if !(determinant > 0.0 && determinant.is_finite()) {
            return None;
        }
        let latency = (sxx * sy - sx * sxy) / determinant;
        let per_byte = (s * sxy - sx * sy) / determinant;
        let squares: f64 =
            points.iter().map(|&(x, y, error)| weight(y, error) * (y - latency - per_byte * x).powi(2)).sum();
        let misfit = (squares / freedom).sqrt();
        let reach = student_quantile(freedom) * misfit.max(1.0);
        let around = |value: f64, variance: f64| {
            let half = reach * variance.sqrt();
            [value - half, value + half]
        };
        Some(AffineFit {
            latency,
            latency_interval: around(latency, sxx / determinant),
            per_byte,
            per_byte_interval: around(per_byte, s / determinant),
            misfit,
        })
    }

    /// Whether the medians lie on a line that can be used.
    pub fn holds(&self) -> bool {
        self.misfit < 3.0 && self.latency > 0.0 && self.per_byte > 0.0
    }

    /// Whether the times tell the bandwidth: a slope of nothing lies outside the interval.
    pub fn resolves_bandwidth(&self) -> bool {
        self.per_byte_interval[0] > 0.0
    }

    /// Whether they tell the latency.
    pub fn resolves_latency(&self) -> bool {
        self.latency_interval[0] > 0.0
    }

    /// The time of a transfer of so many bytes, in seconds.
    pub fn at(&self, bytes: f64) -> f64 {
        self.latency + self.per_byte * bytes
    }
}

/// The 97.5% quantile of Student's t, by bisection.
fn student_quantile(freedom: f64) -> f64 {
    let (mut low, mut high) = (1.9, 13.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if student_two_sided(middle, freedom) > 0.05 { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again_and_lies_in_its_intervals() {
        let noise = [1.01, 0.995, 1.0, 1.012, 0.99];
        let points: Vec<(f64, f64, f64)> = [64.0, 1024.0, 16384.0, 262144.0, 1048576.0]
            .iter()
            .zip(noise)
            .map(|(&x, noise): (&f64, f64)| (x, noise * (120e-6 + x / 200e6), 1e-6))
            .collect();
        let found = AffineFit::through(&points).unwrap();
        assert!((found.latency / 120e-6 - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.per_byte * 200e6 - 1.0).abs() < 0.03, "{found:?}");
        assert!(found.latency_interval[0] < 120e-6 && 120e-6 < found.latency_interval[1]);
        assert!(found.per_byte_interval[0] < 5e-9 && 5e-9 < found.per_byte_interval[1]);
        assert!(found.misfit < 2.0);
    }

    #[test]
    fn a_bandwidth_that_the_times_do_not_tell_is_not_resolved() {
        // Hardly any slope: all of it lies in the errors of the medians.
        let points: Vec<(f64, f64, f64)> =
            [512.0, 1024.0, 2048.0, 4096.0].map(|x: f64| (x, 120e-6 + x * 1e-13, 2e-6)).into();
        let found = AffineFit::through(&points).unwrap();
        assert!(found.holds() && found.resolves_latency() && !found.resolves_bandwidth(), "{found:?}");
        assert!(found.per_byte_interval[1] > 0.0, "at least so many bytes a second");
    }

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [(1.0, 12.706), (3.0, 3.182), (10.0, 2.228)] {
            assert!((student_quantile(freedom) - expected).abs() < 1e-3);
        }
    }

    #[test]
    fn two_sizes_or_equal_sizes_make_no_line() {
        assert_eq!(AffineFit::through(&[(1.0, 1.0, 0.1), (2.0, 2.0, 0.1)]), None);
        assert_eq!(AffineFit::through(&[(1.0, 1.0, 0.1); 4]), None);
    }
}
