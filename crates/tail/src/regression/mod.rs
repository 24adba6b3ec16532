//! Fits GEV, Gumbel and GPD distributions whose parameters depend on covariates: trend, hour of day, load.
//!
//! location = b0 + b1 x1 + …, ln scale = c0 + c1 x1 + …, shape = d0 + … (Coles 2001, chapter 6), each with its
//! own columns and always an intercept. Values and columns are standardised internally, so units and offsets
//! such as the year 1997 cause no loss of precision.

mod held;
mod model;
mod profile;

pub use model::{Coefficient, Covariate, LevelAt, Part, RegressionDistribution, RegressionFit};

use crate::gev::fit::standardisation;
use crate::kernel;
use crate::newton::{Newton, Objective};
use crate::series::sorted_quantile;
use crate::{Error, Gev, Series, Status, gev, linalg};

const SHAPE_MAX: f64 = 5.0;

/// A regression ready to fit.
#[derive(Debug, Clone)]
pub struct Regression {
    family: RegressionDistribution,
    columns: Vec<Covariate>,
    /// Number of values, including those below a threshold.
    observations: usize,
    /// Standardised values.
    y: Vec<f64>,
    center: f64,
    spread: f64,
    /// For each coefficient: its part, and the standardised column (`None` for an intercept).
    design: Vec<(Part, Option<usize>)>,
    standard: Vec<Vec<f64>>,
    moments: Vec<(f64, f64)>,
}

impl Regression {
    /// Prepares `values` of a distribution with covariates. For a GPD only values above the threshold are used, with
    /// their rows of the columns.
    ///
    /// # Errors
    /// [`Error::Lengths`] for a column of another length, [`Error::Support`] for values or covariates that
    /// are not finite, [`Error::Collinear`], [`Error::TooFew`] for fewer than 5 values plus one a column.
    pub fn new(
        values: &[f64],
        family: RegressionDistribution,
        columns: Vec<Covariate>,
    ) -> Result<Regression, Error> {
        for column in &columns {
            if column.values.len() != values.len() {
                let (left, right) = (column.values.len(), values.len());
                return Err(Error::Lengths { what: "covariate and values", left, right });
            }
        }
        let finite = columns.iter().all(|c| c.values.iter().all(|x| x.is_finite()));
        if !finite || !values.iter().all(|x| x.is_finite()) {
            let needs = "finite values and covariates: drop incomplete rows first";
            return Err(Error::Support { model: "regression", needs });
        }
        let kept: Vec<usize> = match family {
            RegressionDistribution::Gpd(threshold) => {
                (0..values.len()).filter(|&i| values[i] > threshold).collect()
            }
            _ => (0..values.len()).collect(),
        };
        let used: Vec<f64> = kept.iter().map(|&i| values[i]).collect();
        let series = Series::clean(&used);
        series.require(5 + columns.len(), 4)?;
        let (center, spread) = match family {
            RegressionDistribution::Gpd(threshold) => {
                (threshold, sorted_quantile(series.sorted(), 0.5) - threshold)
            }
            _ => standardisation(series.sorted()),
        };
        let y: Vec<f64> = used.iter().map(|x| (x - center) / spread).collect();
        let mut columns = columns;
        columns.retain(|c| {
            !(c.part == Part::Location && matches!(family, RegressionDistribution::Gpd(_))
                || c.part == Part::Shape && family == RegressionDistribution::Gumbel)
        });
        let mut standard = Vec::new();
        let mut moments = Vec::new();
        for column in &mut columns {
            column.values = kept.iter().map(|&i| column.values[i]).collect();
            let n = column.values.len() as f64;
            let mean = column.values.iter().sum::<f64>() / n;
            let sd = (column.values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
            if sd <= 1e-12 * mean.abs() || sd == 0.0 {
                return Err(Error::Collinear { parameter: column.part.name() });
            }
            standard.push(column.values.iter().map(|x| (x - mean) / sd).collect::<Vec<_>>());
            moments.push((mean, sd));
        }
        let mut design = Vec::new();
        for part in [Part::Location, Part::LogScale, Part::Shape] {
            let absent = part == Part::Location && matches!(family, RegressionDistribution::Gpd(_))
                || part == Part::Shape && family == RegressionDistribution::Gumbel;
            if absent {
                continue;
            }
            let own: Vec<usize> = (0..columns.len()).filter(|&i| columns[i].part == part).collect();
            check_independent(&own, &standard, part)?;
            design.push((part, None));
            design.extend(own.into_iter().map(|i| (part, Some(i))));
        }
        let observations = values.len();
        Ok(Regression { family, columns, observations, y, center, spread, design, standard, moments })
    }

    /// The maximum-likelihood fit.
    ///
    /// # Errors
    /// [`Error::NotConverged`] if no start leads to an interior maximum (shape above -1).
    pub fn fit(&self) -> Result<RegressionFit, Error> {
        let (at, value, inverse, iterations) = self.maximize()?;
        let p = self.design.len();
        let t = self.to_units();
        let values: Vec<f64> =
            (0..p).map(|i| self.origin(i) + (0..p).map(|j| t[i * p + j] * at[j]).sum::<f64>()).collect();
        let covariance = linalg::congruence(&t, &inverse, p);
        let least = self.rows(&at).map(|(_, _, shape)| shape).fold(f64::INFINITY, f64::min);
        let status = if least > -0.5 { Status::Ok } else { Status::Irregular };
        let regular = status == Status::Ok;
        let coefficients = self
            .design
            .iter()
            .enumerate()
            .map(|(i, &(part, column))| Coefficient {
                part,
                name: column.map_or_else(|| "1".to_owned(), |c| self.columns[c].name.clone()),
                value: values[i],
                standard_error: regular.then(|| covariance[i * p + i].max(0.0).sqrt()),
            })
            .collect();
        Ok(RegressionFit {
            status,
            n: self.y.len(),
            coefficients,
            covariance: regular.then(|| covariance.chunks(p).map(<[f64]>::to_vec).collect()),
            negative_log_likelihood: value + self.y.len() as f64 * self.spread.ln(),
            iterations,
        })
    }

    /// The distribution of each value, in their order (for a GPD: location is the threshold; scale and shape are its
    /// own, not those of a maximum).
    pub fn distributions(&self, fit: &RegressionFit) -> Vec<Gev> {
        let part = |part: Part, row: usize| -> f64 {
            let own = fit.coefficients.iter().zip(&self.design).filter(|(c, _)| c.part == part);
            own.map(|(c, (_, column))| column.map_or(1.0, |k| self.columns[k].values[row]) * c.value).sum()
        };
        (0..self.y.len())
            .map(|i| Gev {
                location: match self.family {
                    RegressionDistribution::Gpd(threshold) => threshold,
                    _ => part(Part::Location, i),
                },
                scale: part(Part::LogScale, i).exp(),
                shape: part(Part::Shape, i),
            })
            .collect()
    }

    /// Standardised residuals, Gumbel (exponential for a GPD), to test the fit (Coles 2001, 6.2.3).
    pub fn residuals(&self, fit: &RegressionFit) -> Vec<f64> {
        let values = self.y.iter().map(|y| self.center + self.spread * y);
        let distributions = self.distributions(fit);
        values
            .zip(distributions)
            .map(|(x, distribution)| {
                let z = (x - distribution.location) / distribution.scale;
                kernel::h(z, distribution.shape).unwrap_or(f64::NAN)
            })
            .collect()
    }

    /// (coefficients, value, inverse Hessian, iterations), all standardised.
    fn maximize(&self) -> Result<(Vec<f64>, f64, Vec<f64>, usize), Error> {
        let model = match self.family {
            RegressionDistribution::Gev => "GEV regression",
            RegressionDistribution::Gumbel => "Gumbel regression",
            RegressionDistribution::Gpd(_) => "GPD regression",
        };
        let p = self.design.len();
        let mut newton = Newton::new(p);
        let mut iterations = 0;
        let base = match self.family {
            RegressionDistribution::Gpd(_) => [0.0, (1.0 / std::f64::consts::LN_2).ln()],
            _ => gev::quantile_start(),
        };
        let ends = self.y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &y| (l.min(y), h.max(y)));
        for shape in [0.05, -0.15, 0.35, -0.4, 0.8, -0.7, 1.5] {
            let phi = crate::surface::grow_scale(ends, base[0], base[1], shape);
            let mut start = vec![0.0; p];
            for (slot, (part, column)) in start.iter_mut().zip(&self.design) {
                if column.is_none() {
                    *slot = match part {
                        Part::Location => base[0],
                        Part::LogScale => phi,
                        Part::Shape => shape,
                    };
                }
            }
            let outcome = newton.minimize(self, &start, 1e-12 * self.y.len() as f64, 2);
            iterations += outcome.iterations;
            if outcome.converged {
                let inverse = linalg::inverse(&newton.hessian, p).ok_or(Error::NotConverged { model })?;
                return Ok((newton.at.clone(), outcome.value, inverse, iterations));
            }
            if self.family == RegressionDistribution::Gumbel {
                break;
            }
        }
        Err(Error::NotConverged { model })
    }

    /// (location, ln scale, shape) of every value.
    fn rows<'a>(&'a self, at: &'a [f64]) -> impl Iterator<Item = (f64, f64, f64)> + 'a {
        (0..self.y.len()).map(|i| {
            let mut out = [0.0; 3];
            for (value, (part, column)) in at.iter().zip(&self.design) {
                out[*part as usize] += value * column.map_or(1.0, |c| self.standard[c][i]);
            }
            (out[0], out[1], out[2])
        })
    }

    /// The linear map from standardised coefficients to those of the data.
    fn to_units(&self) -> Vec<f64> {
        let p = self.design.len();
        let mut t = vec![0.0; p * p];
        for (i, &(part, column)) in self.design.iter().enumerate() {
            let unit = if part == Part::Location { self.spread } else { 1.0 };
            match column {
                Some(c) => t[i * p + i] = unit / self.moments[c].1,
                None => {
                    t[i * p + i] = unit;
                    for (j, &(other, column)) in self.design.iter().enumerate() {
                        if let (true, Some(c)) = (other == part, column) {
                            t[i * p + j] = -unit * self.moments[c].0 / self.moments[c].1;
                        }
                    }
                }
            }
        }
        t
    }

    /// The offset of an intercept due to the standardisation of the values.
    fn origin(&self, index: usize) -> f64 {
        match self.design[index] {
            (Part::Location, None) => self.center,
            (Part::LogScale, None) => self.spread.ln(),
            _ => 0.0,
        }
    }
}

impl Objective for Regression {
    fn size(&self) -> usize {
        self.design.len()
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let p = self.design.len();
        gradient.fill(0.0);
        hessian.fill(0.0);
        let b = if matches!(self.family, RegressionDistribution::Gpd(_)) { 0.0 } else { 1.0 };
        let mut value = 0.0;
        for (i, (location, phi, shape)) in self.rows(at).enumerate() {
            if shape <= -1.0 || shape >= SHAPE_MAX {
                return f64::INFINITY;
            }
            let Some(t) = kernel::row(self.y[i], &kernel::At::new(location, phi, shape), 1.0, b) else {
                return f64::INFINITY;
            };
            value += t.value;
            let matrix = t.matrix();
            let weight = |k: usize| self.design[k].1.map_or(1.0, |c| self.standard[c][i]);
            for k in 0..p {
                let part = self.design[k].0 as usize;
                let x = weight(k);
                gradient[k] += t.gradient[part] * x;
                for l in 0..=k {
                    let other = self.design[l].0 as usize;
                    hessian[k * p + l] += matrix[3 * part + other] * x * weight(l);
                }
            }
        }
        for k in 0..p {
            for l in 0..k {
                hessian[l * p + k] = hessian[k * p + l];
            }
        }
        if value.is_finite() { value } else { f64::INFINITY }
    }
}

/// The correlation matrix of the columns must have an inverse.
fn check_independent(own: &[usize], standard: &[Vec<f64>], part: Part) -> Result<(), Error> {
    let p = own.len();
    let mut correlation = vec![0.0; p * p];
    for (i, &a) in own.iter().enumerate() {
        for (j, &b) in own.iter().enumerate() {
            let n = standard[a].len() as f64;
            correlation[i * p + j] =
                standard[a].iter().zip(&standard[b]).map(|(x, y)| x * y).sum::<f64>() / n;
        }
        correlation[i * p + i] *= 1.0 - 1e-11;
    }
    if linalg::cholesky(&mut correlation, p) {
        Ok(())
    } else {
        Err(Error::Collinear { parameter: part.name() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Xoshiro, gumbel};

    fn drifting(n: usize) -> (Vec<f64>, Vec<f64>) {
        let mut random = Xoshiro::new(12);
        let time: Vec<f64> = (0..n).map(|i| 1900.0 + i as f64).collect();
        let values =
            time.iter().map(|t| Gev::new(5.0 + 0.002 * t, 0.3, 0.1).unwrap().sample(&mut random)).collect();
        (time, values)
    }

    #[test]
    fn a_trend_is_found_tested_and_bracketed() {
        let (time, values) = drifting(400);
        let trend = Regression::new(
            &values,
            RegressionDistribution::Gev,
            vec![Covariate::new(Part::Location, "t", time)],
        )
        .unwrap();
        let fit = trend.fit().unwrap();
        let slope = fit.coefficient(Part::Location, "t").unwrap();
        assert!((slope.value - 0.002).abs() < 4.0 * slope.standard_error.unwrap());
        let flat = Regression::new(&values, RegressionDistribution::Gev, vec![]).unwrap().fit().unwrap();
        let (_, freedom, p) = fit.against(&flat);
        assert_eq!(freedom, 1);
        assert!(p < 1e-6);
        let interval = trend.profile_slope(Part::Location, "t", 0.95).unwrap();
        let wald = 1.96 * slope.standard_error.unwrap();
        assert!((interval.lower - (slope.value - wald)).abs() < 0.2 * wald);
        assert!((interval.upper - (slope.value + wald)).abs() < 0.2 * wald);
        let mean = trend.residuals(&fit).iter().sum::<f64>() / 400.0;
        assert!((mean - 0.577).abs() < 0.15);
    }

    #[test]
    fn without_covariates_it_is_the_plain_fit() {
        let (_, values) = drifting(100);
        let plain = gev::fit(&values).unwrap();
        let fit = Regression::new(&values, RegressionDistribution::Gev, vec![]).unwrap().fit().unwrap();
        assert!((fit.negative_log_likelihood - plain.negative_log_likelihood).abs() < 1e-9);
        assert!((fit.coefficients[0].value - plain.location).abs() < 1e-8);
        let gumbel = gumbel::fit(&Series::clean(&values)).unwrap();
        let zero = Regression::new(&values, RegressionDistribution::Gumbel, vec![]).unwrap().fit().unwrap();
        assert!((zero.negative_log_likelihood - gumbel.negative_log_likelihood).abs() < 1e-9);
    }

    #[test]
    fn unusable_covariates_are_refused() {
        let (time, values) = drifting(50);
        let twice: Vec<f64> = time.iter().map(|t| 2.0 * t - 7.0).collect();
        let column = |name: &str, v: Vec<f64>| Covariate::new(Part::Location, name, v);
        let both = vec![column("t", time.clone()), column("2t", twice)];
        assert_eq!(
            Regression::new(&values, RegressionDistribution::Gev, both).unwrap_err(),
            Error::Collinear { parameter: "location" }
        );
        assert!(
            Regression::new(&values, RegressionDistribution::Gev, vec![column("c", vec![1.0; 50])]).is_err()
        );
        assert!(
            Regression::new(&values, RegressionDistribution::Gev, vec![column("c", vec![1.0; 49])]).is_err()
        );
    }
}
