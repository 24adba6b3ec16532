//! How much neighbours resemble each other, and how much more the share of values above a quantile varies for it.
//!
//! Of a few dozen values no test shows a dependence that halves what they are worth. Here it is estimated, without its bias
//! and half a standard error above, whether a test shows it or not: neighbours of a normal autoregression whose values were
//! changed by any increasing function. Independent values pay for it with intervals that are wider by a tenth at n = 50.

use crate::Takers;
use crate::special::{normal_pdf, normal_quantile};

/// Fewest values in an order that tell how much neighbours resemble each other.
const FEWEST: usize = 20;
/// Most pairs of neighbours that are looked at.
const MOST: usize = 20_000;
/// The largest correlation: of more, any number of values is worth few.
const LARGEST: f64 = 0.98;
/// Standard errors above the estimate.
const ABOVE: f64 = 0.5;
/// Terms of a series that converges as a power of the correlation.
const TERMS: usize = 400;

/// Standard errors from 0 on which it is shown.
const SHOWN: f64 = 2.0;

/// How much neighbours resemble each other.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Alike {
    /// Their correlation on a normal scale, from 0.
    correlation: f64,
    /// Whether it is two standard errors from 0.
    shown: bool,
}

impl Alike {
    /// The variance of the share of `n` values above the quantile `p` beside that of independent values. Of quantiles that are
    /// farther out than the median, which neighbours tie less, only where the correlation is shown.
    pub fn inflation(&self, p: f64, n: usize) -> f64 {
        if self.shown || p <= 0.5 { inflation(self.correlation, p, n) } else { 1.0 }
    }
}

/// How much neighbours resemble each other; not at all of too few. `sorted` are the same values in ascending order.
pub(crate) fn alike<T: PartialOrd + Copy>(values: &[T], takers: Option<&Takers>, sorted: &[T]) -> Alike {
    let n = values.len();
    if n < FEWEST || n != sorted.len() {
        return Alike::default();
    }
    let score = |value: T| {
        let below = sorted.partition_point(|one| *one < value);
        let equal = sorted[below..].partition_point(|one| *one <= value);
        // The mean of the ranks of equal values, at the place that it has on average (Blom 1958).
        let rank = below as f64 + 0.5 * (equal as f64 + 1.0);
        normal_quantile((rank - 0.375) / (n as f64 + 0.25))
    };
    let step = (n - 1).div_ceil(MOST);
    let pairs = (0..n - 1).step_by(step).map(|at| (score(values[at]), score(values[at + 1])));
    let mut in_time = Pairs::default();
    pairs.for_each(|(one, next)| in_time.add(one, next));
    if step == 1 {
        in_time.ends(score(values[0]), score(values[n - 1]));
    }
    let own = takers.filter(|takers| takers.each() >= FEWEST).map(|takers| {
        let (mut all, each) = (Pairs::default(), takers.each());
        let most = (MOST * each / n).max(FEWEST);
        for own in takers.apart(values) {
            // How takers differ is no dependence.
            let mut scores: Vec<f64> = own.iter().take(most).map(|value| score(*value)).collect();
            let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
            scores.iter_mut().for_each(|score| *score -= mean);
            scores.windows(2).for_each(|pair| all.add(pair[0], pair[1]));
            if let (Some(first), Some(last)) = (scores.first(), scores.last()) {
                all.ends(*first, *last);
            }
        }
        all.alike(each.min(most))
    });
    let (one, own) = (in_time.alike(n), own.unwrap_or_default());
    Alike { correlation: one.correlation.max(own.correlation), shown: one.shown || own.shown }
}

/// Sums over pairs of neighbours.
#[derive(Default)]
struct Pairs {
    products: f64,
    squares: f64,
    pairs: f64,
}

impl Pairs {
    fn add(&mut self, one: f64, next: f64) {
        self.products += one * next;
        self.squares += 0.5 * (one * one + next * next);
        self.pairs += 1.0;
    }

    /// The first value and the last one are in one pair only.
    fn ends(&mut self, first: f64, last: f64) {
        self.squares += 0.5 * (first * first + last * last);
    }

    /// Of orders of `n` values each: less the bias -(1 + 4 φ) / n (Marriott, Pope 1954), and half a standard error above.
    fn alike(&self, n: usize) -> Alike {
        if self.squares <= 0.0 {
            return Alike::default();
        }
        let n = n as f64;
        let phi = (n * self.products / self.squares + 1.0) / (n - 4.0);
        let error = ((1.0 - phi * phi).max(0.02) / self.pairs).sqrt();
        Alike { correlation: (phi + ABOVE * error).clamp(0.0, LARGEST), shown: phi > SHOWN * error }
    }
}

/// How much more the share of `n` values above the quantile `p` varies than for independent values: 1 + 2 Σ (1 - k / n) ρₖ,
/// where ρₖ is the correlation of being above for values of a normal autoregression that are k apart (Mehler's series).
fn inflation(correlation: f64, p: f64, n: usize) -> f64 {
    let z = normal_quantile(p);
    if correlation <= 0.0 || !z.is_finite() {
        return 1.0;
    }
    let n = n as f64;
    let (mut sum, mut power) = (0.0, 1.0);
    // Hermite polynomials beside their norms.
    let (mut before, mut hermite) = (0.0, 1.0);
    for at in (1..=TERMS).map(|at| at as f64) {
        power *= correlation;
        let over_lags = power / (1.0 - power) - power * (1.0 - power.powf(n)) / (n * (1.0 - power).powi(2));
        sum += hermite * hermite / at * over_lags;
        if power < 1e-9 {
            break;
        }
        (before, hermite) = (hermite, (z * hermite - (at - 1.0).sqrt() * before) / at.sqrt());
    }
    (1.0 + 2.0 * sum * normal_pdf(z).powi(2) / (p * (1.0 - p))).clamp(1.0, n.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    fn series(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro::new(seed);
        let (mut state, innovation) = (random.normal(), (1.0 - phi * phi).sqrt());
        let mut next = || {
            state = phi * state + innovation * random.normal();
            state.exp()
        };
        (0..n).map(|_| next()).collect()
    }

    fn sorted(values: &[f64]) -> Vec<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    #[test]
    fn the_correlation_is_that_of_the_autoregression_whatever_the_scale() {
        for (n, phi, wanted) in [(40, 0.6, 0.63), (400, 0.6, 0.62), (60_000, 0.6, 0.6), (400, 0.0, 0.03)] {
            let of = |seed| {
                let values = series(n, phi, seed);
                alike(&values, None, &sorted(&values)).correlation
            };
            let mean = (0..60).map(of).sum::<f64>() / 60.0;
            assert!((mean - wanted).abs() < 0.04, "{n} {phi}: {mean}");
        }
        assert_eq!(alike(&[1.0; 50], None, &[1.0; 50]), Alike::default());
        assert_eq!(alike(&series(19, 0.9, 1), None, &sorted(&series(19, 0.9, 1))), Alike::default());
    }

    #[test]
    fn an_upper_quantile_of_independent_values_is_worth_all_of_them() {
        let worth = |phi: f64, p: f64| {
            let of = |seed| {
                let values = series(370, phi, seed);
                alike(&values, None, &sorted(&values)).inflation(p, 370)
            };
            (0..200).filter(|seed| of(*seed) == 1.0).count()
        };
        // 2 standard errors: 2.3% of independent series.
        assert!(worth(0.0, 0.99) >= 188 && worth(0.3, 0.99) == 0 && worth(0.0, 0.5) < 160);
    }

    #[test]
    fn takers_that_differ_do_not_depend_on_themselves() {
        let who: Vec<u32> = (0..400).map(|at| at % 4).collect();
        let takers = Takers::of(&who).unwrap();
        let of = |phi: f64| {
            let own: Vec<Vec<f64>> = (0..4).map(|rank| series(100, phi, 7 + rank)).collect();
            let values: Vec<f64> =
                (0..400).map(|at| own[at % 4][at / 4] * if at % 4 == 0 { 9.0 } else { 1.0 }).collect();
            alike(&values, Some(&takers), &sorted(&values)).correlation
        };
        let (independent, dependent) = (of(0.0), of(0.8));
        assert!(independent < 0.2 && (0.65..0.95).contains(&dependent), "{independent} {dependent}");
    }

    #[test]
    fn the_variance_of_a_share_is_that_of_many_series() {
        assert_eq!(inflation(0.0, 0.5, 100), 1.0);
        // Of the median ρₖ is 2 asin(φᵏ) / π (Sheppard 1899).
        let exact: f64 = 1.0
            + 2.0
                * (1..50)
                    .map(|k| (1.0 - k as f64 / 50.0) * 0.6f64.powi(k).asin() * std::f64::consts::FRAC_2_PI)
                    .sum::<f64>();
        assert!((inflation(0.6, 0.5, 50) - exact).abs() < 1e-6, "{exact}");
        let (n, p) = (200, 0.9);
        let mut random = Xoshiro::new(5);
        let border = normal_quantile(p).exp();
        let shares: Vec<f64> = (0..4000)
            .map(|_| {
                let values = series(n, 0.7, random.below(usize::MAX) as u64);
                values.iter().filter(|value| **value > border).count() as f64 / n as f64
            })
            .collect();
        let variance = shares.iter().map(|share| (share - 0.1f64).powi(2)).sum::<f64>() / 4000.0;
        let found = variance / (p * (1.0 - p) / n as f64);
        assert!((inflation(0.7, p, n) / found - 1.0).abs() < 0.08, "{found}");
    }
}
