//! Parses distributions of delays and draws from them.
//!
//! Every draw is the inverse of a distribution function at a uniform number, so that the same seed gives
//! the same delays on every machine. Durations are in nanoseconds.

use std::str::FromStr;

/// A distribution of delays, as written on the command line: `gev(2ms,300us,0.1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// `constant(D)`
    Constant(f64),
    /// `lognormal(MEDIAN,SIGMA)`: sigma is the standard deviation of the natural logarithm.
    Lognormal { median: f64, sigma: f64 },
    /// `gev(LOCATION,SCALE,SHAPE)`: generalized extreme value; a positive shape is heavy-tailed.
    Gev { location: f64, scale: f64, shape: f64 },
    /// `gpd(LOCATION,SCALE,SHAPE)`: generalized Pareto above its location; a positive shape is heavy-tailed.
    Gpd { location: f64, scale: f64, shape: f64 },
}

impl Distribution {
    /// The quantile of probability `p`, 0 < p < 1, but at least 0.
    pub fn quantile(&self, p: f64) -> f64 {
        // (exp(shape * x) - 1) / shape, and its limit x at shape 0
        let stretch = |x: f64, shape: f64| if shape == 0.0 { x } else { (shape * x).exp_m1() / shape };
        let value = match *self {
            Self::Constant(delay) => delay,
            Self::Lognormal { median, sigma } => median * (sigma * normal_quantile(p)).exp(),
            Self::Gev { location, scale, shape } => location + scale * stretch(-(-p.ln()).ln(), shape),
            Self::Gpd { location, scale, shape } => location + scale * stretch(-(-p).ln_1p(), shape),
        };
        value.max(0.0)
    }
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is none of constant(D), lognormal(MEDIAN,SIGMA), gev(LOCATION,SCALE,SHAPE), gpd(…)"
            )
        };
        let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
        let inner = rest.strip_suffix(')').ok_or_else(wrong)?;
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        let number = |part: &str| part.parse::<f64>().map_err(|_| format!("`{part}` is not a number"));
        match (name, parts.as_slice()) {
            ("constant", [delay]) => Ok(Self::Constant(duration(delay)?)),
            ("lognormal", [median, sigma]) => {
                Ok(Self::Lognormal { median: duration(median)?, sigma: number(sigma)? })
            }
            ("gev", [location, scale, shape]) => Ok(Self::Gev {
                location: duration(location)?,
                scale: duration(scale)?,
                shape: number(shape)?,
            }),
            ("gpd", [location, scale, shape]) => Ok(Self::Gpd {
                location: duration(location)?,
                scale: duration(scale)?,
                shape: number(shape)?,
            }),
            _ => Err(wrong()),
        }
    }
}

/// Nanoseconds of `2ms`, `300us`, `50ns` or `1s`.
fn duration(text: &str) -> Result<f64, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let found = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
    let (number, scale) = found.ok_or_else(|| format!("`{text}` has no unit: write ns, us, ms or s"))?;
    match number.parse::<f64>() {
        Ok(value) if value >= 0.0 => Ok(value * scale),
        _ => Err(format!("`{text}` is not a duration")),
    }
}

/// The standard normal quantile, by bisection of the distribution function: slow, but simple and exact
/// enough.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-9.0_f64, 9.0_f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if normal_distribution(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The standard normal distribution function: Marsaglia (2004), "Evaluating the Normal Distribution", the
/// series phi(x) * (x + x^3/3 + x^5/15 + …) around the middle.
fn normal_distribution(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() && odd < 400.0 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// Uniform numbers in (0, 1) from a seed: Steele, Lea and Flood (2014), SplitMix64.
#[derive(Clone, Debug)]
pub struct Uniform(u64);

impl Uniform {
    /// Streams with different `stream` are independent enough for these tests.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut numbers = Self(seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03));
        numbers.bits();
        numbers
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next number, never 0 and never 1.
    pub fn draw(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs().max(1e-9)
    }

    #[test]
    fn a_distribution_reads_as_it_is_written() {
        let gev = Distribution::Gev { location: 2e6, scale: 3e5, shape: 0.1 };
        assert_eq!("gev(2ms, 300us, 0.1)".parse(), Ok(gev));
        assert_eq!("constant(50ns)".parse(), Ok(Distribution::Constant(50.0)));
        assert!("gev(2ms,300us)".parse::<Distribution>().is_err());
        assert!("constant(5)".parse::<Distribution>().unwrap_err().contains("unit"));
    }

    #[test]
    fn quantiles_invert_the_distribution_functions() {
        for p in [1e-4, 0.1, 0.5, 0.9, 0.999] {
            let gev = Distribution::Gev { location: 2e6, scale: 3e5, shape: 0.2 };
            let z: f64 = (gev.quantile(p) - 2e6) / 3e5;
            assert!(close((-(1.0 + 0.2 * z).powf(-5.0)).exp(), p), "gev at {p}");
            let gumbel = Distribution::Gev { location: 2e6, scale: 3e5, shape: 0.0 };
            let z: f64 = (gumbel.quantile(p) - 2e6) / 3e5;
            assert!(close((-(-z).exp()).exp(), p), "gumbel at {p}");
            let gpd = Distribution::Gpd { location: 1e6, scale: 3e5, shape: 0.2 };
            let z: f64 = (gpd.quantile(p) - 1e6) / 3e5;
            assert!(close(1.0 - (1.0 + 0.2 * z).powf(-5.0), p), "gpd at {p}");
        }
    }

    #[test]
    fn the_normal_quantile_has_its_textbook_values() {
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-9);
        assert!((normal_quantile(0.001) + 3.090_232_306_167_813).abs() < 1e-9);
    }

    #[test]
    fn the_same_seed_draws_the_same_numbers() {
        let take = |seed, stream| -> Vec<f64> {
            let mut numbers = Uniform::new(seed, stream);
            (0..1000).map(|_| numbers.draw()).collect()
        };
        assert_eq!(take(7, 1), take(7, 1));
        assert_ne!(take(7, 1), take(7, 2));
        let mean = take(7, 1).iter().sum::<f64>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.05, "mean {mean}");
    }
}
