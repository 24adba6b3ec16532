//! Fits models that use more than the maximum of a block: the r largest values, and the point process of
//! exceedances.
//!
//! Both estimate the GEV of the block maximum, from more data (Weissman 1978; Smith 1986; Tawn 1988; Coles
//! 2001, chapters 3.5 and 7).

use crate::gev::fit::{SHAPE_MAX, hessian_of, in_units, standardisation};
use crate::gev::profile::in_units as interval_in_units;
use crate::gev::{self, GevFit, GevTarget};
use crate::held;
use crate::kernel::{self, At, Terms};
use crate::newton::Newton;
use crate::search;
use crate::status::Interval;
use crate::surface::{Surface, grow_scale};
use crate::{Error, Series, gpd};

/// Weighted rows of the likelihood kernel.
#[derive(Debug, Clone)]
struct Rows {
    y: Vec<f64>,
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Surface for Rows {
    fn terms(&self, location: f64, log_scale: f64, shape: f64) -> Option<Terms> {
        let at = At::new(location, log_scale, shape);
        let mut total = Terms::default();
        for ((&y, &a), &b) in self.y.iter().zip(&self.a).zip(&self.b) {
            total.add(&kernel::row(y, &at, a, b)?);
        }
        if total.value.is_finite() { Some(total) } else { None }
    }

    fn ends(&self) -> (f64, f64) {
        self.y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &y| (l.min(y), h.max(y)))
    }

    fn shape_max(&self) -> f64 {
        SHAPE_MAX
    }

    fn len(&self) -> usize {
        self.y.len()
    }
}

/// A model of the block maximum fitted to more than the maxima.
#[derive(Debug, Clone)]
pub struct Model {
    rows: Rows,
    series: Series,
    center: f64,
    spread: f64,
    /// Values that enter with a density.
    weight: f64,
    start: [f64; 3],
    blocks: usize,
}

impl Model {
    /// The `r` largest values of each block (or all of a smaller block). `r = 1` is the GEV of the
    /// maxima.
    ///
    /// # Errors
    /// As [`gev::fit`] for the block maxima, and [`Error::Parameter`] for r = 0.
    pub fn largest(blocks: &[Vec<f64>], r: usize) -> Result<Model, Error> {
        if r == 0 {
            return Err(Error::Parameter { what: "r", value: 0.0, must: "at least 1" });
        }
        let mut tops: Vec<Vec<f64>> = Vec::with_capacity(blocks.len());
        for block in blocks {
            let mut top: Vec<f64> = block.iter().copied().filter(|x| x.is_finite()).collect();
            top.sort_unstable_by(|a, b| b.total_cmp(a));
            top.truncate(r);
            if !top.is_empty() {
                tops.push(top);
            }
        }
        let maxima = Series::clean(&tops.iter().map(|t| t[0]).collect::<Vec<_>>());
        let first = gev::Likelihood::new(&maxima)?.fit();
        let (center, spread) = standardisation(maxima.sorted());
        let mut rows = Rows { y: Vec::new(), a: Vec::new(), b: Vec::new() };
        for top in &tops {
            for (i, x) in top.iter().enumerate() {
                rows.y.push((x - center) / spread);
                rows.a.push(1.0);
                rows.b.push(if i + 1 == top.len() { 1.0 } else { 0.0 });
            }
        }
        let start = [first.location_offset / spread, (first.scale / spread).ln(), first.shape.max(-0.9)];
        let series = Series::clean(&tops.concat());
        let weight = rows.y.len() as f64;
        Ok(Model { rows, series, center, spread, weight, start, blocks: tops.len() })
    }

    /// The point process of values above `threshold`, recorded over `blocks` blocks (for instance the number
    /// of values over the number a block holds).
    ///
    /// # Errors
    /// As [`gpd::fit`], and [`Error::Parameter`] for a number of blocks that is not positive.
    pub fn point_process(values: &[f64], threshold: f64, blocks: f64) -> Result<Model, Error> {
        if !(blocks > 0.0 && blocks.is_finite()) {
            return Err(Error::Parameter { what: "number of blocks", value: blocks, must: "positive" });
        }
        let all = Series::clean(values);
        let first = gpd::GpdLikelihood::new(&all, threshold)?.fit();
        let above: Vec<f64> = all.values().iter().copied().filter(|x| *x > threshold).collect();
        let series = Series::clean(&above);
        let (center, spread) = standardisation(series.sorted());
        let mut rows = Rows { y: Vec::new(), a: Vec::new(), b: Vec::new() };
        for x in &above {
            rows.y.push((x - center) / spread);
            rows.a.push(1.0);
            rows.b.push(0.0);
        }
        rows.y.push((threshold - center) / spread);
        rows.a.push(0.0);
        rows.b.push(blocks);
        // The maximum is that of the GPD and the Poisson rate, in other parameters.
        let c = (above.len() as f64 / blocks).ln();
        let shape = first.shape.max(-0.95);
        let scale = first.scale / spread * (shape * c).exp();
        let location =
            (threshold - center) / spread + scale * kernel::box_cox(-c, shape).0.abs() * c.signum();
        let start = [location, scale.ln(), shape];
        let weight = above.len() as f64;
        Ok(Model { rows, series, center, spread, weight, start, blocks: blocks.ceil() as usize })
    }

    /// The maximum-likelihood fit: the GEV of the maximum of one block. `n` counts blocks.
    pub fn fit(&self) -> GevFit {
        let mut first = self.start;
        first[1] = grow_scale(self.rows.ends(), first[0], first[1], first[2]);
        let base = [self.start[0], self.start[1]];
        let best = search::maximize(&self.rows, first, base, &mut Newton::new(3));
        let (mut fit, _) =
            in_units(hessian_of(&self.rows, &best), &best, &self.series, self.center, self.spread);
        fit.negative_log_likelihood += self.weight * self.spread.ln();
        fit.n = self.blocks;
        fit
    }

    /// Profile interval of a parameter or of a level of the block maximum.
    ///
    /// # Errors
    /// As [`gev::Likelihood::profile`].
    pub fn profile(&self, fit: &GevFit, target: GevTarget, level: f64) -> Result<Interval, Error> {
        let what = target.what()?;
        let peak = fit.peak(self.center, self.spread, self.weight)?;
        let interval = held::profile(&self.rows, &peak, what, level, 1.0)?;
        Ok(interval_in_units(interval, what, self.center, self.spread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Status, Xoshiro};

    /// The r largest order statistics of a GEV block, by successive exponential spacings.
    fn blocks(distribution: &Gev, count: usize, r: usize, random: &mut Xoshiro) -> Vec<Vec<f64>> {
        (0..count)
            .map(|_| {
                let mut t = 0.0;
                (0..r)
                    .map(|_| {
                        t += random.exponential();
                        distribution.at_gumbel_level(-f64::ln(t))
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn one_a_block_is_the_gev_and_more_are_more_precise() {
        let distribution = Gev::new(100.0, 15.0, 0.1).unwrap();
        let data = blocks(&distribution, 300, 8, &mut Xoshiro::new(4));
        let maxima: Vec<f64> = data.iter().map(|b| b[0]).collect();
        let one = Model::largest(&data, 1).unwrap().fit();
        let gev = gev::fit(&maxima).unwrap();
        assert!((one.location - gev.location).abs() < 1e-9 && (one.shape - gev.shape).abs() < 1e-9);
        assert!((one.negative_log_likelihood - gev.negative_log_likelihood).abs() < 1e-8);
        let eight = Model::largest(&data, 8).unwrap();
        let fit = eight.fit();
        let (few, many) = (gev.standard_errors.unwrap(), fit.standard_errors.unwrap());
        assert!(many.shape < 0.6 * few.shape);
        assert!((fit.shape - 0.1).abs() < 4.0 * many.shape && (fit.scale - 15.0).abs() < 4.0 * many.scale);
        let interval = eight.profile(&fit, GevTarget::ReturnLevel(100.0), 0.95).unwrap();
        assert!(interval.contains(fit.distribution().return_level(100.0)));
    }

    #[test]
    fn the_point_process_is_the_gpd_and_its_rate_in_other_parameters() {
        let distribution = Gev::new(10.0, 2.0, 0.15).unwrap();
        let mut random = Xoshiro::new(8);
        let values: Vec<f64> = (0..4000).map(|_| distribution.sample(&mut random)).collect();
        let gpd = gpd::fit(&values, 16.0).unwrap();
        let process = Model::point_process(&values, 16.0, 40.0).unwrap().fit();
        assert_eq!(process.status, Status::Ok);
        assert!((process.shape - gpd.shape).abs() < 1e-7);
        let scale_at_threshold = process.scale + process.shape * (16.0 - process.location);
        assert!((scale_at_threshold / gpd.scale - 1.0).abs() < 1e-7);
        let rate = process.distribution().intensity(16.0);
        assert!((rate / (gpd.exceedances as f64 / 40.0) - 1.0).abs() < 1e-7);
    }

    #[test]
    fn impossible_requests_are_refused() {
        assert!(Model::largest(&[vec![1.0, 2.0]], 0).is_err());
        assert!(Model::point_process(&[1.0, 2.0, 3.0], 0.0, 0.0).is_err());
    }
}
