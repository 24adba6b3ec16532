//! Defines the generalised extreme-value distribution.

use lanes::{Arithmetic, LaneWork, widest};
use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::return_period::gumbel_level;
use crate::{Error, Xoshiro};

/// A generalised extreme-value distribution, F(x) = exp(-(1 + shape z)^(-1/shape)) with
/// z = (x - location) / scale (Jenkinson 1955; Coles 2001, 3.1.3). Shape 0 is the Gumbel distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gev {
    /// Location, in the unit of the data.
    pub location: f64,
    /// Scale > 0, in the unit of the data.
    pub scale: f64,
    /// Shape; positive is heavy-tailed.
    pub shape: f64,
}

/// `-ln F` of some values.
struct Intensities<'a> {
    distribution: &'a Gev,
    values: &'a [f64],
}

impl LaneWork for Intensities<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Vec<f64> {
        self.values.iter().map(|x| self.distribution.intensity_of_lane::<A>(*x)).collect()
    }
}

impl Gev {
    /// A distribution from its parameters; an error unless all are finite and the scale positive.
    pub fn new(location: f64, scale: f64, shape: f64) -> Result<Gev, Error> {
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Error::Parameter { what: "scale", value: scale, must: "positive and finite" });
        }
        for (what, value) in [("location", location), ("shape", shape)] {
            if !value.is_finite() {
                return Err(Error::Parameter { what, value, must: "finite" });
            }
        }
        Ok(Gev { location, scale, shape })
    }

    /// `-ln F(x)`: infinite below the support, 0 above it.
    pub fn intensity(&self, x: f64) -> f64 {
        let z = (x - self.location) / self.scale;
        match kernel::h(z, self.shape) {
            Some(h) => (-h).exp(),
            None if self.shape > 0.0 => f64::INFINITY,
            None => 0.0,
        }
    }

    /// [`Gev::intensity`] of many values.
    pub fn intensities(&self, values: &[f64]) -> Vec<f64> {
        widest(Intensities { distribution: self, values })
    }

    /// [`Gev::intensity`] without a branch.
    #[inline(always)]
    pub(crate) fn intensity_of_lane<A: Arithmetic>(&self, x: f64) -> f64 {
        lanes::exp::<A>(self.ln_intensity_of_lane::<A>(x))
    }

    /// The logarithm of [`Gev::intensity`], without a branch.
    #[inline(always)]
    pub(crate) fn ln_intensity_of_lane<A: Arithmetic>(&self, x: f64) -> f64 {
        let Gev { location, scale, shape } = *self;
        let z = (x - location) / scale;
        let found = -kernel::h_in_support::<A>(z, shape);
        let outside = if shape > 0.0 { f64::INFINITY } else { f64::NEG_INFINITY };
        if shape * z > -1.0 { found } else { outside }
    }

    /// Distribution function.
    pub fn cdf(&self, x: f64) -> f64 {
        (-self.intensity(x)).exp()
    }

    /// Probability of exceeding `x`, accurate when small.
    pub fn survival(&self, x: f64) -> f64 {
        -(-self.intensity(x)).exp_m1()
    }

    /// Logarithm of the density; minus infinity outside the support.
    pub fn ln_pdf(&self, x: f64) -> f64 {
        let z = (x - self.location) / self.scale;
        match kernel::h(z, self.shape) {
            Some(h) => -self.scale.ln() - (1.0 + self.shape) * h - (-h).exp(),
            None => f64::NEG_INFINITY,
        }
    }

    /// Density.
    pub fn pdf(&self, x: f64) -> f64 {
        self.ln_pdf(x).exp()
    }

    /// Quantile of probability `p` in [0, 1].
    pub fn quantile(&self, p: f64) -> f64 {
        self.at_gumbel_level(-(-p.ln()).ln())
    }

    /// Quantile of an exceedance probability, accurate when it is small.
    pub fn upper_quantile(&self, exceedance: f64) -> f64 {
        self.at_gumbel_level(gumbel_level(exceedance))
    }

    /// The level exceeded once in `period` values on average (`period` > 1).
    pub fn return_level(&self, period: f64) -> f64 {
        self.upper_quantile(1.0 / period)
    }

    /// Quantile at the Gumbel level `c = -ln(-ln p)`.
    pub fn at_gumbel_level(&self, c: f64) -> f64 {
        if c == f64::INFINITY {
            return self.support().1;
        }
        if c == f64::NEG_INFINITY {
            return self.support().0;
        }
        self.location + self.scale * kernel::box_cox(c, self.shape).0
    }

    /// Lower and upper end of the support (possibly infinite).
    pub fn support(&self) -> (f64, f64) {
        let end = self.location - self.scale / self.shape;
        if self.shape > 0.0 {
            (end, f64::INFINITY)
        } else if self.shape < 0.0 {
            (f64::NEG_INFINITY, end)
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        }
    }

    /// Mean; infinite for shape >= 1.
    pub fn mean(&self) -> f64 {
        const EULER: f64 = 0.577_215_664_901_532_9;
        if self.shape >= 1.0 {
            f64::INFINITY
        } else if self.shape.abs() < 1e-5 {
            // Γ(1-s) = 1 + γ s + (γ²/2 + π²/12) s² + …
            let second = 0.5 * EULER * EULER + std::f64::consts::PI.powi(2) / 12.0;
            self.location + self.scale * (EULER + second * self.shape)
        } else {
            self.location + self.scale * (libm::tgamma(1.0 - self.shape) - 1.0) / self.shape
        }
    }

    /// A random value.
    pub fn sample(&self, random: &mut Xoshiro) -> f64 {
        self.at_gumbel_level(-random.exponential().ln())
    }

    /// The distribution of the maximum of `ratio` times as many independent parts: scale r^shape, location shifted
    /// (max-stability; Coles 2001, 3.1).
    pub fn max_of(&self, ratio: f64) -> Gev {
        let c = ratio.ln();
        Gev {
            location: self.location + self.scale * kernel::box_cox(c, self.shape).0,
            scale: self.scale * (self.shape * c).exp(),
            shape: self.shape,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for shape in [-0.7, -0.1, 0.0, 1e-9, 0.3, 2.0] {
            let distribution = Gev::new(5.0, 2.0, shape).unwrap();
            for p in [1e-9, 0.01, 0.5, 0.99, 1.0 - 1e-9] {
                assert!(
                    (distribution.cdf(distribution.quantile(p)) - p).abs() < 1e-9 * p.max(1e-3),
                    "{shape} {p}"
                );
            }
            let far = distribution.upper_quantile(1e-15);
            assert!((distribution.survival(far) / 1e-15 - 1.0).abs() < 1e-2 || shape < -0.5);
        }
    }

    #[test]
    fn the_density_is_the_slope_of_the_distribution() {
        for shape in [-0.3, 0.0, 0.4] {
            let distribution = Gev::new(1.0, 0.5, shape).unwrap();
            for x in [0.6, 1.0, 1.7] {
                let slope = (distribution.cdf(x + 1e-6) - distribution.cdf(x - 1e-6)) / 2e-6;
                assert!((slope - distribution.pdf(x)).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn the_maximum_of_r_parts_has_the_rth_power_of_the_distribution() {
        let distribution = Gev::new(11.0, 0.2, -0.1).unwrap();
        let of8 = distribution.max_of(8.0);
        for x in [10.9, 11.2, 11.8] {
            assert!((of8.cdf(x) - distribution.cdf(x).powi(8)).abs() < 1e-14);
        }
    }

    #[test]
    fn the_mean_is_continuous_at_the_gumbel_distribution() {
        let at = |shape| Gev::new(0.0, 1.0, shape).unwrap().mean();
        assert!((at(0.0) - 0.577_215_664_901_532_9).abs() < 1e-15);
        assert!((at(1.0001e-5) - at(0.9999e-5)).abs() < 1e-8);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert!(Gev::new(0.0, 0.0, 0.1).is_err());
        assert!(Gev::new(f64::NAN, 1.0, 0.1).is_err());
    }
}
