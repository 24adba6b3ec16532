//! The one grammar of conditions about results, for `assert`, `--until`, `--fail-if` and `plan-runs`.
//!
//! ```text
//! condition = quantity relation bound
//! quantity  = estimate [ " of " NAME ]          p99, mean of read, factor, iops
//!           | estimate "(" NAME ")"             p99("read"), as in `assert`
//!           | word "(" estimate [" of " NAME] ")"   width(p99 of read), n_eff(p50)
//! relation  = "<" | "<=" | ">" | ">=" | "=" | "=="
//! bound     = NUMBER [ "%" | unit ] [ "/s" ]    as numbers of programs: 5ms, 4KiB, 1.05
//!           | ( "+" | "-" ) NUMBER "%"          against an earlier run: +20%
//! ```
//!
//! Who takes a condition says which quantities it can judge; what they mean stands in `docs/conditions.md`.

mod asked;
mod parse;
mod steady;

use std::fmt;

pub(crate) use asked::estimate_of;
pub use asked::{AskedAnswer, Scope};
pub use steady::SteadyError;

/// What an experiment estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimate {
    /// The quantile of this probability: `p99`, `median`.
    Quantile(f64),
    /// `mean`.
    Mean,
    /// The longest: `max`, `slowest`.
    Slowest,
    /// The number of operations: `count`.
    Count,
    /// Operations a second: `iops`.
    Iops,
    /// Bytes a second: `bw`.
    Bandwidth,
    /// The mean latency: `lat`.
    Latency,
    /// The factor between two systems: `factor`, `k`.
    Factor,
    /// `location` of the distribution.
    Location,
    /// `scale` of the distribution.
    Scale,
    /// `shape` of the distribution.
    Shape,
    /// The value exceeded once in this many runs: `return-level(100)`.
    ReturnLevel(f64),
}

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compared {
    /// The estimate itself: `p99`.
    Value(Estimate),
    /// The whole width of its 95% interval; with a bound in per cent, as a share of it: `width(p99)`.
    Width(Estimate),
    /// The number of independent values that its sample is worth: `n_eff(p50)`; `n_eff` alone is of p99.
    EffectiveN(Estimate),
}

/// How quantity and bound are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<` and `<=`: of estimates nobody can tell them apart.
    Below,
    /// `>` and `>=`.
    Above,
    /// `=` and `==`: what earlier versions wrote for "reaches".
    Equal,
}

/// With what a quantity is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A plain number, or bytes.
    Number(f64),
    /// A share of the quantity: `5%` is 0.05.
    Share(f64),
    /// A time in seconds.
    Seconds(f64),
    /// A change against an earlier run: `+20%` is 0.2, `-10%` is -0.1.
    Change(f64),
}

impl Bound {
    /// The number without its kind.
    pub fn value(self) -> f64 {
        let (Bound::Number(value) | Bound::Share(value) | Bound::Seconds(value) | Bound::Change(value)) =
            self;
        value
    }
}

/// `width(p99 of read) < 5%`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As it was written, without the spaces around.
    pub text: String,
    /// What it is about.
    pub quantity: Compared,
    /// The label or operation whose samples count; `None`: whatever the answer is about.
    pub of: Option<String>,
    /// How it is compared.
    pub relation: Relation,
    /// With what; finite, and but for a change positive.
    pub bound: Bound,
}

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// There is no relation.
    #[error("`{0}` compares nothing: write a quantity, `<` or `>`, and a number, such as `{example}`", example = EXAMPLE)]
    NoRelation(String),
    /// `!=`, `=<` and the like.
    #[error("`{0}` is no comparison: write `<`, `<=`, `>`, `>=` or `=`")]
    UnknownRelation(String),
    /// The text before the relation is no quantity; with what may have been meant.
    #[error("`{word}` is not a quantity{}; there are {QUANTITIES}", meant(.near.as_deref()))]
    UnknownQuantity {
        /// What stands there.
        word: String,
        /// The most similar word.
        near: Option<String>,
    },
    /// A parenthesis or quote without its partner.
    #[error("`{0}` lacks a closing `)` or quote")]
    Unclosed(String),
    /// Something in parentheses that the word does not take.
    #[error("`{word}({inside})`: {takes}")]
    Inside {
        /// The word.
        word: String,
        /// What stands in its parentheses.
        inside: String,
        /// What it takes.
        takes: &'static str,
    },
    /// The text behind the relation is no number; with what may have been meant.
    #[error("`{word}` is not a number with a unit such as `5%`, `5ms` or `1.05`{}", meant(.near.as_deref()))]
    NoNumber {
        /// What stands there.
        word: String,
        /// The most similar number.
        near: Option<String>,
    },
    /// A change that is none, or by which nothing is left.
    #[error("`{0}` is no change: write more than -100% and not 0, such as `+20%` or `-10%`")]
    NoChange(String),
    /// The number is not above 0, or not finite.
    #[error("`{0}` is no bound: write a number above 0")]
    NotPositive(String),
}

const EXAMPLE: &str = "p99 < 5ms";

/// The quantities, for messages.
pub const QUANTITIES: &str = "p50, p90, p99, p99.9, p99.99, mean, max, count, iops, bw, lat, factor, location, scale, \
                              shape, return-level(N) with N above 1, and of these width(…) and n_eff(…)";

fn meant(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!(" (`{near}`?)"))
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// [`ConditionError`], which says what is wrong and what to write.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        parse::condition(text)
    }
}

/// Whether a word alone is a quantity of conditions: `p99`, `iops`, `n_eff`.
pub(crate) fn is_quantity(word: &str) -> bool {
    Compared::of_word(word).is_some()
}

/// The quantity that a word may have been meant for.
pub(crate) fn near(word: &str) -> Option<String> {
    match parse::estimate(word) {
        Err(ConditionError::UnknownQuantity { near, .. }) => near,
        _ => None,
    }
}

impl Compared {
    /// What a word alone is.
    pub(crate) fn of_word(word: &str) -> Option<Compared> {
        match word {
            "n_eff" => Some(Compared::EffectiveN(Estimate::Quantile(0.99))),
            word => parse::estimate(word).ok().map(Compared::Value),
        }
    }

    /// What [`fmt::Display`] writes.
    pub(crate) fn of_text(text: &str) -> Option<Compared> {
        parse::quantity(text).ok().map(|(quantity, _)| quantity)
    }

    /// What it is an estimate of.
    pub fn estimate(self) -> Estimate {
        let (Compared::Value(estimate) | Compared::Width(estimate) | Compared::EffectiveN(estimate)) = self;
        estimate
    }
}

impl Estimate {
    /// Whether it is a time.
    pub fn is_time(self) -> bool {
        matches!(self, Estimate::Quantile(_) | Estimate::Mean | Estimate::Slowest | Estimate::Latency)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Estimate::Quantile(p) => write!(out, "p{}", (p * 1e8).round() / 1e6),
            Estimate::Mean => out.write_str("mean"),
            Estimate::Slowest => out.write_str("max"),
            Estimate::Count => out.write_str("count"),
            Estimate::Iops => out.write_str("iops"),
            Estimate::Bandwidth => out.write_str("bw"),
            Estimate::Latency => out.write_str("lat"),
            Estimate::Factor => out.write_str("factor"),
            Estimate::Location => out.write_str("location"),
            Estimate::Scale => out.write_str("scale"),
            Estimate::Shape => out.write_str("shape"),
            Estimate::ReturnLevel(runs) => write!(out, "return-level({runs})"),
        }
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compared::Value(estimate) => estimate.fmt(out),
            Compared::Width(estimate) => write!(out, "width({estimate})"),
            Compared::EffectiveN(estimate) => write!(out, "n_eff({estimate})"),
        }
    }
}
