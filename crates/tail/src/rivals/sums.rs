//! Sums over all values of a sample, on as many lanes as the processor has.

use lanes::{Arithmetic, LaneWork, widest};

/// Two for each lane of the widest instructions: one is computed while the other is added.
const LANES: usize = 8;

/// Values of a block: what is computed for them lies in the first cache.
const BLOCK: usize = 64;

/// `Σ weight · term` of each of the terms of a value, which are made of the value and what `prepare` found for it: a
/// loop of its own, since the compiler makes vectors of short loops only.
#[inline(always)]
fn weighted<const TERMS: usize>(
    values: &[f64],
    weights: &[f64],
    prepare: impl Fn(f64) -> f64,
    terms: impl Fn(f64, f64) -> [f64; TERMS],
) -> [f64; TERMS] {
    let mut sums = [[0.0; LANES]; TERMS];
    let (mut row, mut prepared, mut weight) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
    for (values, weights) in values.chunks(BLOCK).zip(weights.chunks(BLOCK)) {
        // Rows behind the last weigh nothing.
        row[..values.len()].copy_from_slice(values);
        row[values.len()..].fill(values[0]);
        weight[..weights.len()].copy_from_slice(weights);
        weight[weights.len()..].fill(0.0);
        prepared.iter_mut().zip(&row).for_each(|(prepared, x)| *prepared = prepare(*x));
        let groups = row.chunks_exact(LANES).zip(prepared.chunks_exact(LANES));
        for ((row, prepared), weight) in groups.zip(weight.chunks_exact(LANES)) {
            for lane in 0..LANES {
                let terms = terms(row[lane], prepared[lane]);
                for (sum, term) in sums.iter_mut().zip(terms) {
                    sum[lane] += weight[lane] * term;
                }
            }
        }
    }
    sums.map(|lanes| lanes.iter().sum())
}

/// `ln(1 + u / d)` of each value.
struct LogExcesses<'a> {
    u: &'a [f64],
    d: f64,
}

impl LaneWork for LogExcesses<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.u.len());
        let mut logs = [0.0; BLOCK];
        for values in self.u.chunks(BLOCK) {
            // In a loop over an array: that of `collect` is a function of its own, which has no wide instructions.
            let mut row = [0.0; BLOCK];
            row[..values.len()].copy_from_slice(values);
            logs.iter_mut().zip(&row).for_each(|(log, u)| *log = lanes::ln_1p::<A>(u / self.d));
            all.extend_from_slice(&logs[..values.len()]);
        }
        all
    }
}

/// `ln(1 + u / d)` of each value.
pub(super) fn log_excesses(u: &[f64], d: f64) -> Vec<f64> {
    widest(LogExcesses { u, d })
}

/// Sums of the deviations from a center, and of their squares.
struct Deviations<'a> {
    values: &'a [f64],
    weights: &'a [f64],
    center: f64,
}

impl LaneWork for Deviations<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [f64; 2] {
        let off = |x: f64| x - self.center;
        weighted(self.values, self.weights, off, |_, off| [off, off * off])
    }
}

/// Mean and standard deviation (divisor `n`, the sum of the weights), in two passes.
pub(super) fn mean_sd(values: &[f64], weights: &[f64], n: f64) -> (f64, f64) {
    let first = values[0];
    let [sum, _] = widest(Deviations { values, weights, center: first });
    let mean = first + sum / n;
    let [rest, square] = widest(Deviations { values, weights, center: mean });
    (mean + rest / n, ((square - rest * rest / n) / n).sqrt())
}

/// What [`power_sums`] computes.
struct PowerSums<'a> {
    logs: &'a [f64],
    weights: &'a [f64],
    exponent: f64,
    top: f64,
    mean: f64,
}

impl LaneWork for PowerSums<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [f64; 3] {
        let power = |v: f64| lanes::exp::<A>(self.exponent * (v - self.top));
        weighted(self.logs, self.weights, power, |v, power| {
            let off = v - self.mean;
            [power, power * off, power * off * off]
        })
    }
}

/// `Σ e`, `Σ e c` and `Σ e c²` with `e = exp(exponent (v - top))`, where `top` is the largest, and `c = v - mean`.
pub(super) fn power_sums(logs: &[f64], weights: &[f64], exponent: f64, mean: f64) -> [f64; 3] {
    widest(PowerSums { logs, weights, exponent, top: logs[logs.len() - 1], mean })
}

/// What [`logistic_sums`] computes.
struct LogisticSums<'a> {
    values: &'a [f64],
    weights: &'a [f64],
    location: f64,
    log_scale: f64,
}

impl LaneWork for LogisticSums<'_> {
    type Output = [f64; 6];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [f64; 6] {
        let Self { values, weights, location, log_scale } = self;
        let rate = (-log_scale).exp();
        let power = |x: f64| lanes::exp::<A>(-((x - location) * rate).abs());
        weighted(values, weights, power, |x, e| {
            let z = (x - location) * rate;
            // tanh(z / 2) and its derivative by z.
            let one = 1.0 / (1.0 + e);
            let t = ((1.0 - e) * one).copysign(z);
            let c = 2.0 * e * one * one;
            let bend = c * z + t;
            [
                log_scale + z.abs() + 2.0 * lanes::ln_1p::<A>(e),
                -rate * t,
                1.0 - z * t,
                rate * rate * c,
                rate * bend,
                z * bend,
            ]
        })
    }
}

/// The negative log-likelihood of a logistic distribution, its gradient in location and ln scale, and its Hessian: (location,
/// location), (location, ln scale), (ln scale, ln scale).
pub(super) fn logistic_sums(values: &[f64], weights: &[f64], location: f64, log_scale: f64) -> [f64; 6] {
    widest(LogisticSums { values, weights, location, log_scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_plain_loops_for_any_number_of_values() {
        for n in [1, 7, 8, 63, 64, 65, 200] {
            let values: Vec<f64> = (0..n).map(|i| f64::from(i * 37 % 101) / 25.0).collect();
            let weights: Vec<f64> = (0..n).map(|i| f64::from(1 + i % 3)).collect();
            let rows = || values.iter().zip(&weights);
            let total: f64 = weights.iter().sum();
            let mean = rows().map(|(x, w)| w * x).sum::<f64>() / total;
            let square = rows().map(|(x, w)| w * (x - mean).powi(2)).sum::<f64>() / total;
            let (found, sd) = mean_sd(&values, &weights, total);
            assert!((found - mean).abs() < 1e-14 && (sd - square.sqrt()).abs() < 1e-14, "{n} values");
            let value: f64 = rows()
                .map(|(x, w)| {
                    let z = (x - 1.5) / 2f64.exp();
                    w * (2.0 + z.abs() + 2.0 * (-z.abs()).exp().ln_1p())
                })
                .sum();
            let [found, ..] = logistic_sums(&values, &weights, 1.5, 2.0);
            assert!((found / value - 1.0).abs() < 1e-14, "{n} values");
        }
    }
}
