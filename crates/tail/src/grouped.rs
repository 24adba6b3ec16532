//! Groups very many values into weighted points, for likelihoods that are maximised many times.
//!
//! Values of the body that lie closer together than a thousandth of the interquartile range are replaced by
//! their mean, with their number as its weight (data squashing: DuMouchel et al. 1999). With the mean,
//! first-order errors cancel, so an estimate changes by about (1/1024)²/24 of the interquartile range, less
//! than a thousandth of its standard error below 10⁸ values. The extremes, which determine the shape, are not
//! grouped.

use crate::lagged;

/// The number of values from which on they are grouped.
const FROM: usize = 50_000;
/// Number of smallest values that are not grouped: they determine the shifts of the rivals.
const LOWEST: usize = 500;
/// Number of largest values that are not grouped.
const HIGHEST: usize = 2_000;
/// Groups per interquartile range.
const GROUPS: f64 = 1024.0;

/// Ascending values with weights that add up to the number of values.
#[derive(Debug, Clone)]
pub(crate) struct Grouped {
    /// The mean of each group.
    pub points: Vec<f64>,
    /// The number of values in each group.
    pub weights: Vec<f64>,
}

impl Grouped {
    /// Groups ascending values, in their unit; `None` for fewer than 50,000 values. `spread` is their
    /// interquartile range.
    pub fn of(sorted: &[f64], center: f64, spread: f64) -> Option<Grouped> {
        let n = sorted.len();
        if n < FROM {
            return None;
        }
        let mut found = Grouped { points: Vec::new(), weights: Vec::new() };
        let mut from = 0;
        while from < n {
            let first = sorted[from];
            let single = from < LOWEST || from >= n - HIGHEST;
            // Far out, the curvature of the likelihood decreases with the distance, so groups may be wider.
            let width = spread.max((first - center).abs()) / GROUPS;
            let limit = if single { first } else { first + width };
            let end = if single { n } else { n - HIGHEST };
            let count = reach(&sorted[from..end], limit).max(1);
            let group = &sorted[from..from + count];
            let mean = lagged::mean(group);
            found.points.push(mean);
            found.weights.push(count as f64);
            from += count;
        }
        Some(found)
    }

    /// The same groups of values that were standardised.
    pub fn in_units(&self, center: f64, spread: f64) -> Grouped {
        let points = self.points.iter().map(|y| center + spread * y).collect();
        Grouped { points, weights: self.weights.clone() }
    }

    /// The group of each value, in the order of places that the ascending values have.
    pub fn at_places(&self, places: &[u32]) -> Vec<u32> {
        let mut found = vec![0; places.len()];
        let mut rest = places;
        for (group, weight) in (0..).zip(&self.weights) {
            let (own, others) = rest.split_at(*weight as usize);
            own.iter().for_each(|place| found[*place as usize] = group);
            rest = others;
        }
        found
    }
}

/// How many of some ascending values are not above a limit: a few, or searched with growing steps.
fn reach(ascending: &[f64], limit: f64) -> usize {
    let mut step = 8;
    while step < ascending.len() && ascending[step] <= limit {
        step *= 2;
    }
    ascending[..step.min(ascending.len())].partition_point(|x| *x <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Series, Xoshiro, gev, gumbel};

    /// A distribution of any shape, and one that a coarse clock shows.
    fn samples(n: usize) -> impl Iterator<Item = Series> {
        [(-0.6, 0.0), (-0.2, 0.0), (0.0, 0.0), (0.4, 0.0), (1.3, 0.0), (0.1, 50.0)].into_iter().map(
            move |(shape, digits)| {
                let distribution = Gev { location: 10.0, scale: 0.7, shape };
                let mut random = Xoshiro::new(12);
                let read = |x: f64| if digits > 0.0 { (x * digits).round() / digits } else { x };
                Series::clean(&(0..n).map(|_| read(distribution.sample(&mut random))).collect::<Vec<f64>>())
            },
        )
    }

    #[test]
    fn fits_by_way_of_groups_are_those_of_all_values() {
        for series in [FROM - 1, FROM, FROM + 20_001].into_iter().flat_map(samples) {
            let likelihood = gev::Likelihood::new(&series).unwrap();
            assert_eq!(likelihood.groups().is_some(), series.len() >= FROM);
            let plain = likelihood.clone().one_by_one();
            let (found, wanted) = (likelihood.fit(), plain.fit());
            assert_eq!(found.status, wanted.status);
            // Standard errors are about 1 / √n of the scale.
            let near = 1e-6 * wanted.scale / (series.len() as f64).sqrt();
            let off = [
                found.location - wanted.location,
                found.scale - wanted.scale,
                (found.shape - wanted.shape) * wanted.scale,
            ];
            assert!(off.iter().all(|off| off.abs() < near), "{off:?} {near}");
            let value = wanted.negative_log_likelihood;
            assert!((found.negative_log_likelihood - value).abs() < 1e-9 * value.abs());
            for (a, b) in
                found.curvature.unwrap().iter().flatten().zip(wanted.curvature.unwrap().iter().flatten())
            {
                assert!((a - b).abs() < 1e-6 * wanted.curvature.unwrap()[0][0], "{a} {b}");
            }
            let (found, wanted) = (gumbel::fit_of(&likelihood).unwrap(), gumbel::fit_of(&plain).unwrap());
            let near = 1e-4 * wanted.scale / (series.len() as f64).sqrt();
            assert!(
                (found.location - wanted.location).abs() < near && (found.scale - wanted.scale).abs() < near
            );
            let value = wanted.negative_log_likelihood;
            assert!((found.negative_log_likelihood - value).abs() < 1e-9 * value.abs());
            assert!((found.standard_errors[0] / wanted.standard_errors[0] - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn groups_hold_every_value_once_and_leave_the_extremes_alone() {
        let distribution = Gev { location: 10.0, scale: 0.2, shape: 0.2 };
        let mut random = Xoshiro::new(1);
        let values: Vec<f64> = (0..80_000).map(|_| distribution.sample(&mut random)).collect();
        let series = Series::clean(&values);
        let (center, spread) = gev::standardisation(series.sorted());
        let found = Grouped::of(series.sorted(), center, spread).unwrap();
        assert_eq!(found.weights.iter().sum::<f64>(), 80_000.0);
        assert!(found.points.len() < 15_000, "{}", found.points.len());
        assert_eq!(found.points[found.points.len() - HIGHEST..], series.sorted()[80_000 - HIGHEST..]);
        let total: f64 = found.points.iter().zip(&found.weights).map(|(x, w)| x * w).sum();
        assert!((total / values.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let at = found.at_places(series.places());
        for (value, at) in values.iter().zip(&at) {
            let off = found.points[*at as usize] - value;
            assert!(off.abs() <= spread.max((value - center).abs()) / GROUPS);
        }
        assert!(Grouped::of(&series.sorted()[..1000], center, spread).is_none());
    }
}
