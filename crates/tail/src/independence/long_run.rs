//! The long-run variance of a series without its changes of level: what a test of the level must allow for.
//!
//! Tests of a trend or a jump take neighbours as independent; in series that resemble themselves for a while they reject
//! far too often (43% of first-order autoregressions of 0.6 were said to jump). Their statistics are divided by the
//! long-run variance of what is left without the best jump, which keeps their power (Juhl, Xiao 2009).
//!
//! Where several take values in turns ([`Takers`]), a value depends on the one before of the same taker, and that is as far away
//! as there are others: what each by itself has is estimated in its own order, what they have in common in that of time.

use crate::{Takers, lagged};

/// Values to which long series are averaged: low frequencies are unchanged.
const BLOCKS: usize = 2048;
/// Frequencies of the orthonormal series estimate, at most.
const MOST_FREQUENCIES: usize = 64;
/// The largest first-order coefficient that is told from a wandering level.
const MOST_MEMORY: f64 = 0.98;

/// How many times the variance of independent values of the same distribution the variance of a sum of these is, at
/// least 1: the largest of a first-order autoregression, one with independent noise on top, and the mean of
/// squared cosine transforms at the 0.4 n^(2/3) lowest frequencies (Müller 2007; Lazarus et al. 2018), corrected for
/// the bias of few values.
///
/// The first two see neighbours, the third whatever lasts longer. `residuals` have mean 0.
pub(crate) fn factor(residuals: &[f64], takers: Option<&Takers>) -> f64 {
    let n = residuals.len();
    if n < 8 {
        return 1.0;
    }
    let Some(OfNeighbours { factor, squares, .. }) = OfNeighbours::of(residuals, n) else { return 1.0 };
    let own = takers.and_then(|takers| OfNeighbours::of(&takers.centred(residuals), takers.each()));
    let slow = low_frequencies(residuals, frequencies_of(n, takers, own)) / (squares / n as f64);
    factor.max(own.map_or(1.0, |own| own.factor)).max(slow).max(1.0)
}

/// The frequencies that tell of values that last: of takers that depend on themselves those of one.
fn frequencies_of(n: usize, takers: Option<&Takers>, own: Option<OfNeighbours>) -> usize {
    let hinted = takers.filter(|_| own.is_some_and(|own| own.first > HINT / (n as f64).sqrt()));
    frequencies(hinted.map_or(n, Takers::each)).min(frequencies(n))
}

/// Standard errors of a correlation of neighbours from which on the order of takers counts.
const HINT: f64 = 1.3;

/// What neighbours tell.
#[derive(Clone, Copy)]
struct OfNeighbours {
    /// Of the factor.
    factor: f64,
    /// Their correlation.
    first: f64,
    /// The sum of the squares of all.
    squares: f64,
}

impl OfNeighbours {
    /// Of series of `each` values whose means were removed.
    fn of(residuals: &[f64], each: usize) -> Option<OfNeighbours> {
        let size = each as f64;
        let products = lagged::products(residuals, 0.0, 0, 3);
        let (squares, one, two) = (products[0], products[1], products[2]);
        if !(squares > 0.0 && squares.is_finite()) {
            return None;
        }
        // Both means are removed from few values: (1 + 3φ)/n of one (Kendall 1954), and as much again of a jump.
        let unbiased = |phi: f64| (phi + (1.0 + 5.0 * phi) / size).clamp(0.0, MOST_MEMORY);
        let first = one / squares;
        let memory = unbiased(first);
        let alone = (1.0 + memory) / (1.0 - memory);
        let noisy = match first > 2.0 / (residuals.len() as f64).sqrt() {
            true => 1.0 + 2.0 * first / (1.0 - unbiased((two / one).max(first))),
            false => 1.0,
        };
        Some(OfNeighbours { factor: alone.max(noisy), first, squares })
    }
}

/// [`factor`] of values about whatever mean they have: at most a quarter of their number, and 1 of equal ones. It is the one
/// estimate of how many values tell as much of a level as one independent value; whether dependence is shown at all, or
/// hinted at, is for who asks to say.
pub(crate) fn inflation(values: &[f64], takers: Option<&Takers>) -> f64 {
    centred(values).map_or(1.0, |residuals| inflation_of_residuals(&residuals, takers))
}

/// [`inflation`], but 1 where nothing [`is_hinted`].
pub(crate) fn inflation_if_hinted(values: &[f64], errors: f64, takers: Option<&Takers>) -> f64 {
    let hinted = centred(values).filter(|residuals| is_hinted(residuals, errors, takers));
    hinted.map_or(1.0, |residuals| inflation_of_residuals(&residuals, takers))
}

fn inflation_of_residuals(residuals: &[f64], takers: Option<&Takers>) -> f64 {
    factor(residuals, takers).clamp(1.0, (residuals.len() as f64 / 4.0).max(1.0))
}

/// The values less their mean; none of equal ones, of which only rounding errors are left.
fn centred(values: &[f64]) -> Option<Vec<f64>> {
    let mean = lagged::mean(values);
    let residuals: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    (squares(&residuals) > 1e-20 * squares(values)).then_some(residuals)
}

/// Whether neighbours, or what is seen at low frequencies, hint at dependence: one of the two is more than `errors` of its
/// standard errors above that of independent values. `residuals` have mean 0.
pub(crate) fn is_hinted(residuals: &[f64], errors: f64, takers: Option<&Takers>) -> bool {
    let n = residuals.len();
    let products = lagged::products(residuals, 0.0, 0, 2);
    let (variance, one) = (products[0], products[1]);
    if n < 8 || !(variance > 0.0 && variance.is_finite()) {
        return false;
    }
    let size = n as f64;
    let slow = low_frequencies(residuals, frequencies(n)) / (variance / size) - 1.0;
    let own = takers.and_then(|takers| OfNeighbours::of(&takers.centred(residuals), takers.each()));
    let is_far = |first: f64| first * size.sqrt() > errors;
    is_far(one / variance)
        || own.is_some_and(|own| is_far(own.first))
        || slow * (0.5 * frequencies(n) as f64).sqrt() > errors
}

/// How many of the lowest frequencies are looked at.
fn frequencies(n: usize) -> usize {
    let most = MOST_FREQUENCIES.min(n.div_ceil(n.div_ceil(BLOCKS)) / 2);
    ((0.4 * (n as f64).powf(2.0 / 3.0)) as usize).clamp(1, most)
}

/// The mean of squared cosine transforms at the lowest frequencies, so many of them.
fn low_frequencies(residuals: &[f64], count: usize) -> f64 {
    let n = residuals.len();
    let width = n.div_ceil(BLOCKS);
    let blocks: Vec<f64> = residuals.chunks(width).map(lagged::sum).collect();
    let mut sums = vec![0.0; count];
    for (at, value) in blocks.iter().enumerate() {
        let cosine = (std::f64::consts::PI * (at as f64 + 0.5) / blocks.len() as f64).cos();
        // cos (j + 1)a = 2 cos a cos ja - cos (j - 1)a.
        let (mut before, mut here) = (1.0, cosine);
        for sum in &mut sums {
            *sum += value * here;
            (before, here) = (here, 2.0 * cosine * here - before);
        }
    }
    let scale = 2.0 / n as f64;
    sums.iter().map(|sum| sum * sum * scale).sum::<f64>() / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    fn autoregression(phi: f64, noise: f64, n: usize, random: &mut Xoshiro) -> Vec<f64> {
        let mut state = random.normal();
        let values: Vec<f64> = (0..n)
            .map(|_| {
                state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
                state + noise * random.normal()
            })
            .collect();
        let mean = lagged::mean(&values);
        values.into_iter().map(|x| x - mean).collect()
    }

    #[test]
    fn the_factor_is_that_of_the_model_or_somewhat_more() {
        let mut random = Xoshiro::new(3);
        for (phi, noise, n) in
            [(0.0, 0.0, 400), (0.6, 0.0, 400), (0.9, 0.0, 4000), (0.9, 1.0, 4000), (0.6, 0.0, 50_000)]
        {
            let share = 1.0 / (1.0 + noise * noise);
            let truth = 1.0 + 2.0 * share * phi / (1.0 - phi);
            let mean =
                (0..40).map(|_| factor(&autoregression(phi, noise, n, &mut random), None)).sum::<f64>()
                    / 40.0;
            assert!((0.95..1.5).contains(&(mean / truth)), "{phi} {noise} {n}: {mean} for {truth}");
        }
    }

    #[test]
    fn values_count_as_fewer_whatever_their_mean_and_unit_and_only_where_it_is_hinted_where_asked() {
        let mut random = Xoshiro::new(8);
        let together = autoregression(0.6, 0.0, 400, &mut random);
        let found = inflation(&together, None);
        let moved: Vec<f64> = together.iter().map(|x| 1e3 + 1e-6 * x).collect();
        assert!(
            (inflation(&moved, None) / found - 1.0).abs() < 1e-6 && (2.5..7.0).contains(&found),
            "{found}"
        );
        assert_eq!(inflation_if_hinted(&together, 1.3, None), found);
        let hinted = |seed| {
            inflation_if_hinted(&autoregression(0.0, 0.0, 400, &mut Xoshiro::new(seed)), 2.0, None) > 1.0
        };
        assert!((0..100).filter(|seed| hinted(*seed)).count() <= 12);
        assert_eq!(inflation(&[7.1; 60], None), 1.0);
    }

    #[test]
    fn values_that_takers_take_in_turns_count_as_those_of_each() {
        let mut random = Xoshiro::new(5);
        let mean_of = |takers_count: usize, phi: f64, random: &mut Xoshiro| {
            let who: Vec<u32> = (0..400).map(|at| (at % takers_count) as u32).collect();
            let takers = Takers::of(&who);
            let one = |random: &mut Xoshiro| {
                let of: Vec<Vec<f64>> =
                    (0..takers_count).map(|_| autoregression(phi, 0.0, 400 / takers_count, random)).collect();
                let values: Vec<f64> = (0..400).map(|at| of[at % takers_count][at / takers_count]).collect();
                factor(&values, takers.as_ref())
            };
            (0..60).map(|_| one(random)).sum::<f64>() / 60.0
        };
        for takers in [2, 8] {
            let (alike, together) = (mean_of(takers, 0.0, &mut random), mean_of(takers, 0.6, &mut random));
            assert!(
                alike < 1.6 && (3.4..7.5).contains(&together),
                "{takers}: {alike} {together} for 1 and 4"
            );
        }
    }

    #[test]
    fn constants_and_few_values_have_no_factor() {
        assert_eq!(factor(&[0.0; 100], None), 1.0);
        assert_eq!(factor(&[1.0, -1.0], None), 1.0);
    }
}
