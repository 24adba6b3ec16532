//! The distributions from which simulated durations are drawn.

use std::fmt;
use std::str::FromStr;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Durations in seconds, drawn by inversion where the quantile function is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(f64),
    /// Between two bounds.
    Uniform(f64, f64),
    /// Mean and standard deviation; a draw below 0 counts as 0.
    Normal(f64, f64),
    /// The median and the standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// The mean.
    Exponential(f64),
    /// Tail index a and minimum m: P(X > x) = (m/x)^a.
    Pareto(f64, f64),
    /// Location, scale, shape (heavy where shape > 0; Coles 2001, eq. 3.2).
    Gev(f64, f64, f64),
    /// Threshold, scale, shape of a generalised Pareto distribution (Coles 2001, eq. 4.2).
    Gpd(f64, f64, f64),
}

/// Why a text is no distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no distribution of durations: {why}; write for example {EXAMPLES}")]
pub struct NotADistribution {
    text: String,
    why: String,
}

const EXAMPLES: &str = "gev(10ms,1ms,0.1), gpd(1ms,200us,0.2), lognormal(10ms,0.5), exp(2ms), pareto(2.5,1ms), \
                        normal(10ms,1ms), uniform(1ms,3ms) or constant(1us)";

impl Distribution {
    /// One draw, in seconds, never negative.
    pub fn draw(&self, random: &mut Stream) -> f64 {
        let value = match *self {
            Self::Constant(value) => value,
            Self::Uniform(low, high) => low + (high - low) * random.uniform(),
            Self::Normal(mean, deviation) => mean + deviation * random.normal(),
            Self::LogNormal(median, sigma) => median * (sigma * random.normal()).exp(),
            Self::Exponential(mean) => -mean * random.uniform().ln(),
            Self::Pareto(index, minimum) => minimum * random.uniform().powf(-1.0 / index),
            Self::Gev(location, scale, shape) => location + scale * power(-random.uniform().ln(), shape),
            Self::Gpd(threshold, scale, shape) => threshold + scale * power(random.uniform(), shape),
        };
        value.max(0.0)
    }
}

/// (y^-shape - 1) / shape, and its limit -ln y at shape 0.
fn power(y: f64, shape: f64) -> f64 {
    let log = -y.ln();
    if shape.abs() < 1e-12 { log } else { (shape * log).exp_m1() / shape }
}

impl FromStr for Distribution {
    type Err = NotADistribution;

    fn from_str(text: &str) -> Result<Self, NotADistribution> {
        let fail = |why: String| NotADistribution { text: text.trim().to_owned(), why };
        let (name, rest) = text.trim().split_once('(').ok_or_else(|| fail("no parenthesis".into()))?;
        let inner = rest.strip_suffix(')').ok_or_else(|| fail("no closing parenthesis".into()))?;
        let arguments: Vec<&str> = inner.split(',').map(str::trim).collect();
        let wanted: &[ParameterKind] = match name.trim() {
            "constant" | "exp" => &[ParameterKind::Time],
            "uniform" | "normal" => &[ParameterKind::Time, ParameterKind::Time],
            "lognormal" => &[ParameterKind::Time, ParameterKind::Positive],
            "pareto" => &[ParameterKind::Positive, ParameterKind::Time],
            "gev" | "gpd" => &[ParameterKind::Time, ParameterKind::Time, ParameterKind::Number],
            other => return Err(fail(format!("\"{other}\" is not known"))),
        };
        if arguments.len() != wanted.len() {
            return Err(fail(format!("{} arguments are wanted, {} given", wanted.len(), arguments.len())));
        }
        let values: Vec<f64> = arguments
            .iter()
            .zip(wanted)
            .map(|(argument, kind)| kind.read(argument))
            .collect::<Result<_, _>>()
            .map_err(fail)?;
        Ok(match (name.trim(), values.as_slice()) {
            ("constant", [value]) => Self::Constant(*value),
            ("exp", [mean]) => Self::Exponential(*mean),
            ("uniform", [low, high]) if low <= high => Self::Uniform(*low, *high),
            ("uniform", _) => return Err(fail("the upper bound is below the lower one".into())),
            ("normal", [mean, deviation]) => Self::Normal(*mean, *deviation),
            ("lognormal", [median, sigma]) => Self::LogNormal(*median, *sigma),
            ("pareto", [index, minimum]) => Self::Pareto(*index, *minimum),
            ("gev", [location, scale, shape]) => Self::Gev(*location, *scale, *shape),
            (_, [threshold, scale, shape]) => Self::Gpd(*threshold, *scale, *shape),
            _ => return Err(fail("the arguments do not fit".into())),
        })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = samples::units::duration;
        match *self {
            Self::Constant(value) => write!(f, "constant({})", time(value)),
            Self::Uniform(low, high) => write!(f, "uniform({}, {})", time(low), time(high)),
            Self::Normal(mean, deviation) => write!(f, "normal({}, {})", time(mean), time(deviation)),
            Self::LogNormal(median, sigma) => write!(f, "lognormal({}, {sigma})", time(median)),
            Self::Exponential(mean) => write!(f, "exp({})", time(mean)),
            Self::Pareto(index, minimum) => write!(f, "pareto({index}, {})", time(minimum)),
            Self::Gev(location, scale, shape) => {
                write!(f, "gev({}, {}, {shape})", time(location), time(scale))
            }
            Self::Gpd(threshold, scale, shape) => {
                write!(f, "gpd({}, {}, {shape})", time(threshold), time(scale))
            }
        }
    }
}

/// The longest time of a distribution in seconds. The clock of a simulated run ends after 213 days (2⁶⁴ ps).
const LONGEST_S: f64 = 3_600.0;

/// What an argument must be.
#[derive(Clone, Copy)]
enum ParameterKind {
    Time,
    Positive,
    Number,
}

impl ParameterKind {
    fn read(self, text: &str) -> Result<f64, String> {
        let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == 'µ');
        let unit = text[digits.len()..].trim();
        let number: f64 = digits.trim().parse().map_err(|_| format!("\"{text}\" is no number"))?;
        if !number.is_finite() {
            return Err(format!("\"{text}\" is not finite"));
        }
        let factor = match (self, unit) {
            (Self::Time, "ns") => 1e-9,
            (Self::Time, "us" | "µs") => 1e-6,
            (Self::Time, "ms") => 1e-3,
            (Self::Time, "s") => 1.0,
            (Self::Time, "") if number != 0.0 => {
                return Err(format!("\"{text}\" needs a unit: ns, us, ms or s"));
            }
            (_, "") => 1.0,
            _ => return Err(format!("\"{text}\" has a unit that does not fit")),
        };
        match self {
            Self::Time if number < 0.0 => Err(format!("\"{text}\" is negative")),
            Self::Time if number * factor > LONGEST_S => {
                Err(format!("\"{text}\" is longer than an hour, which is the most that is simulated"))
            }
            Self::Positive if number <= 0.0 => Err(format!("\"{text}\" must be positive")),
            _ => Ok(number * factor),
        }
    }
}

/// A rank's stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of one rank: ranks differ, the same seed and rank repeat.
    pub fn new(seed: u64, rank: u32) -> Self {
        let mut mixed = seed ^ u64::from(rank).wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        Self(Xoshiro256PlusPlus::seed_from_u64(samples::random::split_mix(&mut mixed)))
    }

    /// Between 0 and 1, neither of them.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Mean 0, standard deviation 1 (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Which operation takes how long: `gev(10ms,1ms,0.1)` for all, or `fwrite: exp(2ms); *: constant(1us)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    named: Vec<(String, Distribution)>,
    other: Distribution,
    text: String,
}

impl Model {
    /// The distribution of an operation.
    pub fn of(&self, operation: &str) -> Distribution {
        self.named.iter().find(|(name, _)| name == operation).map_or(self.other, |(_, one)| *one)
    }
}

impl Default for Model {
    /// Every operation takes `gev(10ms,1ms,0.1)`.
    fn default() -> Self {
        let text = "gev(10ms,1ms,0.1)".to_owned();
        Self { named: Vec::new(), other: Distribution::Gev(10e-3, 1e-3, 0.1), text }
    }
}

impl FromStr for Model {
    type Err = NotADistribution;

    fn from_str(text: &str) -> Result<Self, NotADistribution> {
        let mut model =
            Self { named: Vec::new(), other: Distribution::Constant(1e-6), text: text.trim().to_owned() };
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            match part.split_once(':') {
                Some((name, one)) if name.trim() != "*" => {
                    model.named.push((name.trim().to_owned(), one.parse()?));
                }
                Some((_, one)) => model.other = one.parse()?,
                None => model.other = part.parse()?,
            }
        }
        if text.trim().is_empty() {
            return Err(NotADistribution { text: String::new(), why: "it is empty".into() });
        }
        Ok(model)
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(text: &str) -> f64 {
        let distribution: Distribution = text.parse().expect(text);
        let mut random = Stream::new(1, 0);
        let mut drawn: Vec<f64> = (0..20_001).map(|_| distribution.draw(&mut random)).collect();
        drawn.sort_by(f64::total_cmp);
        drawn[10_000]
    }

    #[test]
    fn draws_have_the_median_that_their_formula_says() {
        let gev = 10e-3 + 1e-3 * ((2f64.ln()).powf(-0.1) - 1.0) / 0.1;
        let gumbel = 10e-3 - 1e-3 * 2f64.ln().ln();
        let gpd = 1e-3 + 2e-4 * (2f64.powf(0.2) - 1.0) / 0.2;
        for (text, expected) in [
            ("gev(10ms,1ms,0.1)", gev),
            ("gev(10ms,1ms,0)", gumbel),
            ("gpd(1ms,200us,0.2)", gpd),
            ("lognormal(10ms, 0.5)", 10e-3),
            ("exp(2ms)", 2e-3 * 2f64.ln()),
            ("pareto(2.5,1ms)", 1e-3 * 2f64.powf(0.4)),
            ("normal(10ms,1ms)", 10e-3),
            ("uniform(1ms,3ms)", 2e-3),
            ("constant(1 us)", 1e-6),
        ] {
            let found = median(text);
            assert!((found / expected - 1.0).abs() < 0.02, "{text}: {found} for {expected}");
        }
    }

    #[test]
    fn the_same_seed_repeats_and_ranks_differ() {
        let draws = |seed, rank| {
            let mut random = Stream::new(seed, rank);
            (0..5).map(|_| random.uniform()).collect::<Vec<_>>()
        };
        assert_eq!(draws(7, 3), draws(7, 3));
        assert_ne!(draws(7, 3), draws(7, 4));
        assert_ne!(draws(7, 3), draws(8, 3));
    }

    #[test]
    fn a_model_may_name_operations() {
        let model: Model = "fwrite: exp(2ms); *: constant(1us)".parse().expect("a model");
        assert_eq!(model.of("fwrite"), Distribution::Exponential(2e-3));
        assert_eq!(model.of("fopen"), Distribution::Constant(1e-6));
    }

    #[test]
    fn what_is_no_distribution_says_why() {
        for (text, why) in [
            ("gev(10,1,0.1)", "needs a unit"),
            ("gev(10ms,1ms)", "3 arguments are wanted, 2 given"),
            ("gauss(1ms)", "\"gauss\" is not known"),
            ("exp 1ms", "no parenthesis"),
            ("exp(-1ms)", "negative"),
            ("exp(infs)", "no number"),
            ("exp(1e300s)", "an hour"),
            ("gev(10ms, 3601s, 0.1)", "an hour"),
            ("uniform(3ms,1ms)", "below the lower"),
            ("", "is empty"),
        ] {
            let error = text.parse::<Model>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
