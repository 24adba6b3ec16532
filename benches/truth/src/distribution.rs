//! Distributions of series: how values are distributed, how they depend on each other, what changes among them.

use tail::special::{gamma_quantile, incomplete_gamma, normal_cdf, normal_quantile};
use tail::{Gev, Xoshiro};

/// The distribution of one value, in seconds: about 10 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Base {
    /// Location 10 ms, scale 1 ms, this shape.
    Gev(f64),
    /// Median 10 ms, this standard deviation of the logarithm.
    LogNormal(f64),
    /// Mean 10 ms.
    Exponential,
    /// Of this shape, mean 10 ms.
    Gamma(f64),
}

/// What changes in the course of a series. `by` is in standard deviations; the fields are named in the variants.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// Nothing.
    Steady,
    /// All values from this share of the series on are slower.
    Step { from: f64, by: f64 },
    /// The level grows evenly.
    Ramp { by: f64 },
    /// This share of the first values begins slower, and becomes as fast as the others evenly.
    WarmUp { share: f64, by: f64 },
    /// A Markov chain of two states, slow for a mean of `length` values, `share` of the time.
    Bursts { share: f64, length: f64, by: f64 },
    /// One value of so many is slower.
    Periodic { every: usize, by: f64 },
    /// This share of the values is slower, each by itself.
    Modes { share: f64, by: f64 },
    /// One value, in the middle, is slower.
    Outlier { by: f64 },
    /// A clock whose tick is this many standard deviations.
    Tick { ticks: f64 },
}

/// A distribution of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// Of one value.
    pub base: Base,
    /// The correlation of neighbours of the normal series under it (a Gaussian copula).
    pub phi: f64,
    /// What changes.
    pub course: Course,
}

impl Base {
    /// A name.
    pub fn name(self) -> String {
        match self {
            Base::Gev(shape) => format!("GEV {shape}"),
            Base::LogNormal(sigma) => format!("log-normal {sigma}"),
            Base::Exponential => "exponential".into(),
            Base::Gamma(shape) => format!("gamma {shape}"),
        }
    }

    /// The value that a share `p` of values is below.
    pub fn quantile(self, p: f64) -> f64 {
        match self {
            Base::Gev(shape) => gev(shape).quantile(p),
            Base::LogNormal(sigma) => 10e-3 * (sigma * normal_quantile(p)).exp(),
            Base::Exponential => -10e-3 * (-p).ln_1p(),
            Base::Gamma(shape) => 10e-3 / shape * gamma_quantile(shape, p),
        }
    }

    /// The share of slower values.
    pub fn survival(self, x: f64) -> f64 {
        match self {
            Base::Gev(shape) => gev(shape).survival(x),
            Base::LogNormal(_) | Base::Exponential | Base::Gamma(_) if x <= 0.0 => 1.0,
            Base::LogNormal(sigma) => normal_cdf(-(x / 10e-3).ln() / sigma),
            Base::Exponential => (-x / 10e-3).exp(),
            Base::Gamma(shape) => incomplete_gamma(shape, x * shape / 10e-3).1,
        }
    }

    /// The unit of what changes: half the distance between the quantiles of one standard deviation on both sides.
    pub fn deviation(self) -> f64 {
        0.5 * (self.quantile(normal_cdf(1.0)) - self.quantile(normal_cdf(-1.0)))
    }
}

fn gev(shape: f64) -> Gev {
    Gev::new(10e-3, 1e-3, shape).expect("a scale above 0")
}

impl Distribution {
    /// Independent and steady.
    pub fn of(base: Base) -> Distribution {
        Distribution { base, phi: 0.0, course: Course::Steady }
    }

    /// The same with neighbours that resemble each other.
    pub fn ar(self, phi: f64) -> Distribution {
        Distribution { phi, ..self }
    }

    /// The same with a course.
    pub fn with(self, course: Course) -> Distribution {
        Distribution { course, ..self }
    }

    /// A name for a row.
    pub fn name(&self) -> String {
        let ar = if self.phi > 0.0 { format!("AR {} of ", self.phi) } else { String::new() };
        let course = match self.course {
            Course::Steady => String::new(),
            Course::Step { from, by } => format!(", step of {by} at {:.0}%", 100.0 * from),
            Course::Ramp { by } => format!(", ramp of {by}"),
            Course::WarmUp { share, by } => format!(", warm-up of {by} in {:.0}%", 100.0 * share),
            Course::Bursts { share, length, by } => {
                format!(", bursts of {length} ({:.0}%, {by} slower)", 100.0 * share)
            }
            Course::Periodic { every, by } => format!(", one of {every} slower by {by}"),
            Course::Modes { share, by } => format!(", {:.0}% slower by {by}", 100.0 * share),
            Course::Outlier { by } => format!(", one value slower by {by}"),
            Course::Tick { ticks } => format!(", tick of {ticks}"),
        };
        format!("{ar}{}{course}", self.base.name())
    }

    /// Independent draws of one distribution.
    pub fn is_independent(&self) -> bool {
        self.phi == 0.0
            && !self.changes()
            && !matches!(self.course, Course::Bursts { .. } | Course::Periodic { .. })
    }

    /// Neither level nor spread depends on when.
    pub fn is_stationary(&self) -> bool {
        !self.changes() && !matches!(self.course, Course::Periodic { .. } | Course::Outlier { .. })
    }

    /// Whether the level moves for good.
    pub fn changes(&self) -> bool {
        matches!(self.course, Course::Step { .. } | Course::Ramp { .. } | Course::WarmUp { .. })
    }

    /// Whether it is a GEV, but for the rounding of a clock.
    pub fn is_gev(&self) -> bool {
        matches!(self.base, Base::Gev(_)) && matches!(self.course, Course::Steady | Course::Tick { .. })
    }

    /// A series.
    pub fn draw(&self, n: usize, random: &mut Xoshiro) -> Vec<f64> {
        let unit = self.base.deviation();
        let mut slow = self.burst(random, None);
        let mut z = random.normal();
        let innovation = (1.0 - self.phi * self.phi).sqrt();
        (0..n)
            .map(|t| {
                let at = (t as f64 + 0.5) / n as f64;
                let extra = match self.course {
                    Course::Steady | Course::Tick { .. } => 0.0,
                    Course::Step { from, by } => by * f64::from(at >= from),
                    Course::Ramp { by } => by * at,
                    Course::WarmUp { share, by } => by * (1.0 - at / share).max(0.0),
                    Course::Bursts { by, .. } => by * f64::from(slow),
                    Course::Periodic { every, by } => by * f64::from(t % every == every - 1),
                    Course::Modes { share, by } => by * f64::from(random.uniform() < share),
                    Course::Outlier { by } => by * f64::from(t == n / 2),
                };
                let value = self.base.quantile(normal_cdf(z).clamp(1e-16, 1.0 - 1e-16)) + extra * unit;
                z = self.phi * z + innovation * random.normal();
                slow = self.burst(random, Some(slow));
                match self.course {
                    Course::Tick { ticks } => (value / (ticks * unit)).round() * ticks * unit,
                    _ => value,
                }
            })
            .collect()
    }

    fn burst(&self, random: &mut Xoshiro, before: Option<bool>) -> bool {
        let Course::Bursts { share, length, .. } = self.course else { return false };
        let begins = share / (length * (1.0 - share));
        match before {
            None => random.uniform() < share,
            Some(true) => random.uniform() >= 1.0 / length,
            Some(false) => random.uniform() < begins,
        }
    }

    /// The share of slower values in the long run.
    pub fn survival(&self, x: f64) -> f64 {
        let unit = self.base.deviation();
        let mixed = |share: f64, by: f64| {
            (1.0 - share) * self.base.survival(x) + share * self.base.survival(x - by * unit)
        };
        match self.course {
            Course::Bursts { share, by, .. } | Course::Modes { share, by } => mixed(share, by),
            Course::Periodic { every, by } => mixed(1.0 / every as f64, by),
            Course::Step { from, by } => mixed(1.0 - from, by),
            Course::Ramp { by } => {
                (0..100)
                    .map(|at| self.base.survival(x - by * unit * (f64::from(at) + 0.5) / 100.0))
                    .sum::<f64>()
                    / 100.0
            }
            Course::WarmUp { .. } | Course::Steady | Course::Outlier { .. } | Course::Tick { .. } => {
                self.base.survival(x)
            }
        }
    }

    /// The value that a share `p` of values is below in the long run; of a clock's ticks the value before it was rounded.
    pub fn quantile(&self, p: f64) -> f64 {
        if matches!(
            self.course,
            Course::Steady | Course::Tick { .. } | Course::Outlier { .. } | Course::WarmUp { .. }
        ) {
            return self.base.quantile(p);
        }
        let (mut low, mut high) = (self.base.quantile(1e-12), self.base.quantile(0.999_999) * 20.0);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if self.survival(middle) > 1.0 - p { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// What a clock may have put a value off by.
    pub fn rounding(&self) -> f64 {
        match self.course {
            Course::Tick { ticks } => 0.5 * ticks * self.base.deviation(),
            _ => 0.0,
        }
    }

    /// How many independent values `n` are worth for the share of values above the quantile `p`, where that is known.
    pub fn worth(&self, n: usize, p: f64) -> Option<f64> {
        if self.is_independent() {
            return Some(n as f64);
        }
        if self.course != Course::Steady {
            return None;
        }
        // The correlation of indicators of a normal pair, by the integral of its density over the correlation.
        let z = normal_quantile(p);
        let of = |rho: f64| {
            const STEPS: usize = 64;
            let density =
                |r: f64| (-z * z / (1.0 + r)).exp() / (std::f64::consts::TAU * (1.0 - r * r).sqrt());
            // By r = sin θ the root in the denominator goes.
            let end = rho.asin();
            let sum: f64 = (0..STEPS)
                .map(|at| {
                    let r = (end * (at as f64 + 0.5) / STEPS as f64).sin();
                    density(r) * (1.0 - r * r).sqrt()
                })
                .sum();
            sum * end / STEPS as f64 / (p * (1.0 - p))
        };
        let tau: f64 = 1.0
            + 2.0
                * (1..n)
                    .map(|lag| self.phi.powi(lag as i32))
                    .take_while(|rho| *rho > 1e-4)
                    .map(of)
                    .sum::<f64>();
        Some(n as f64 / tau)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_values_that_are_drawn() {
        let base = Base::Gev(0.1);
        let distributions = [
            Distribution::of(base),
            Distribution::of(Base::Gamma(2.0)).ar(0.6),
            Distribution::of(Base::LogNormal(0.5)),
            Distribution::of(Base::Exponential),
            Distribution::of(base).with(Course::Bursts { share: 0.1, length: 10.0, by: 4.0 }),
            Distribution::of(base).with(Course::Modes { share: 0.2, by: 6.0 }),
            Distribution::of(base).with(Course::Periodic { every: 16, by: 4.0 }),
            Distribution::of(base).with(Course::Ramp { by: 2.0 }),
        ];
        for (at, distribution) in distributions.iter().enumerate() {
            let mut values = distribution.draw(200_000, &mut Xoshiro::stream(1, at as u64));
            values.sort_by(f64::total_cmp);
            for p in [0.5, 0.9, 0.99] {
                let below =
                    values.partition_point(|value| *value <= distribution.quantile(p)) as f64 / 200_000.0;
                assert!((below - p).abs() < 0.15 * (1.0 - p), "{}: {p} {below}", distribution.name());
            }
        }
    }

    #[test]
    fn the_worth_of_an_autoregressive_series_is_that_of_its_indicators() {
        let distribution = Distribution::of(Base::Gev(0.0)).ar(0.6);
        // Sheppard: the correlation of signs is 2/π asin ρ.
        let tau: f64 =
            1.0 + 2.0 * (1..200).map(|lag| 2.0 / std::f64::consts::PI * 0.6f64.powi(lag).asin()).sum::<f64>();
        assert!((distribution.worth(400, 0.5).unwrap() - 400.0 / tau).abs() < 0.5);
        assert_eq!(Distribution::of(Base::Gev(0.0)).worth(400, 0.99), Some(400.0));
    }
}
