//! What do the tests mean together? A verdict in three stages, in words and as data.
//!
//! One: are the values independent draws of one law; if not, nothing else is said plainly. Two: does the GEV
//! fit at all (A² and upper-tail AU², bootstrap p-values). Three: is any rival law better, or as good, and
//! how many more values would tell (Vuong 1989). A good GEV plot alone is no evidence of a maximum.

mod vuong;
mod words;

pub use vuong::{Vuong, long_run_variance, vuong};
pub(crate) use words::p_value;

use serde::{Deserialize, Serialize};

use crate::assess::{Alternative, Diagnostics};
use crate::gev::Fit;
use crate::rivals::Family;
use crate::{Interval, Status};

/// Fewest values for a verdict about the law; below it only a description is given.
pub const FEWEST_FOR_VERDICT: usize = 100;

/// The verdict as a stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// Stage one: the values are not independent draws of one law.
    NotIndependent,
    /// The likelihood has no interior maximum: no GEV describes the values.
    NoMaximum,
    /// Stage two: the GEV does not fit.
    GevRejected,
    /// Stage three: another law is clearly better.
    RivalPreferred,
    /// The GEV fits, but so does a rival as well.
    GevConsistent,
    /// The GEV fits and every rival is clearly worse.
    GevPreferred,
    /// Too few values to tell.
    TooFew,
}

/// How many values would decide between the GEV and its closest rival.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RunsNeeded {
    /// The rival.
    pub rival: Family,
    /// Values in all for 80 % power at the 5 % level, if the mean difference seen is the true one.
    pub total: f64,
    /// Values beyond those measured.
    pub additional: f64,
}

/// What it all means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Stable code.
    pub code: Code,
    /// One or two sentences: what was found and how sure that is.
    pub text: String,
    /// The findings behind it, one sentence each, by stage.
    pub findings: Vec<String>,
    /// What to do next, one sentence each; may be empty.
    pub advice: Vec<String>,
    /// Families that the values do not tell from the GEV.
    pub not_distinguished: Vec<Family>,
    /// The family preferred to the GEV, where one is.
    pub preferred: Option<Family>,
    /// How many values would tell the GEV from each law of `not_distinguished`, fewest first.
    pub runs_needed: Vec<RunsNeeded>,
}

/// What a verdict is made of.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Number of values.
    pub n: usize,
    /// The fit.
    pub fit: &'a Fit,
    /// Stages one and two.
    pub diagnostics: &'a Diagnostics,
    /// Stage three.
    pub alternatives: &'a [Alternative],
    /// Profile interval of the shape.
    pub shape: Option<Interval>,
    /// Level of the test of fit.
    pub significance: f64,
}

/// The verdict on the evidence.
pub fn decide(evidence: &Evidence) -> Verdict {
    let compared: Vec<(&Alternative, Vuong)> =
        evidence.alternatives.iter().filter_map(|a| Some((a, a.vuong?))).collect();
    // Two-sided 5 %: |z| < 1.96.
    let better =
        compared.iter().filter(|(_, v)| v.z < -1.96).min_by(|a, b| a.1.z.total_cmp(&b.1.z)).map(|(a, _)| *a);
    // A law of as many parameters that is not told apart; where none of those, one of fewer.
    let alike: Vec<&(&Alternative, Vuong)> = compared.iter().filter(|(_, v)| v.z.abs() < 1.96).collect();
    let misfit =
        evidence.diagnostics.goodness_of_fit.as_ref().is_some_and(|g| g.p.smaller < evidence.significance);

    let code = if evidence.fit.status == Status::Boundary {
        Code::NoMaximum
    } else if !evidence.diagnostics.independence.passed {
        Code::NotIndependent
    } else if misfit {
        Code::GevRejected
    } else if better.is_some() {
        Code::RivalPreferred
    } else if evidence.n < FEWEST_FOR_VERDICT {
        Code::TooFew
    } else if !alike.is_empty() {
        Code::GevConsistent
    } else {
        Code::GevPreferred
    };
    let mut runs_needed: Vec<RunsNeeded> = alike
        .iter()
        .filter(|(_, v)| v.values_needed.is_finite())
        .map(|(a, v)| RunsNeeded {
            rival: a.model,
            total: v.values_needed.max(evidence.n as f64),
            additional: (v.values_needed - evidence.n as f64).max(0.0),
        })
        .collect();
    runs_needed.sort_by(|a, b| a.total.total_cmp(&b.total));
    let not_distinguished: Vec<Family> = alike.iter().map(|(a, _)| a.model).collect();
    let mut verdict = Verdict {
        code,
        text: String::new(),
        findings: Vec::new(),
        advice: Vec::new(),
        not_distinguished,
        preferred: better.map(|a| a.model),
        runs_needed,
    };
    words::write(&mut verdict, evidence);
    verdict
}
