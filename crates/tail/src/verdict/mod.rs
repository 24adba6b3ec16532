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
    /// The GEV fits, but a rival does as well, or could not be compared.
    GevConsistent,
    /// The GEV fits, and every rival was compared with it and is clearly worse.
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
        evidence.alternatives.iter().filter_map(|a| Some((a, a.vuong.filter(|v| !v.z.is_nan())?))).collect();
    let better = preferred(&compared);
    // Two-sided 5 %: |z| < 1.96.
    let alike: Vec<&(&Alternative, Vuong)> = compared.iter().filter(|(_, v)| v.z.abs() < 1.96).collect();
    // No Vuong statistic: both densities agree everywhere, or one is 0 somewhere. That is no preference.
    let incomparable =
        evidence.alternatives.iter().filter(|a| a.vuong.is_none_or(|v| v.z.is_nan())).map(|a| a.model);
    let misfit =
        evidence.diagnostics.goodness_of_fit.as_ref().is_some_and(|g| g.p.smaller < evidence.significance);

    let code = if !evidence.diagnostics.independence.passed {
        Code::NotIndependent
    } else if evidence.fit.status == Status::Boundary {
        Code::NoMaximum
    } else if misfit {
        Code::GevRejected
    } else if better.is_some() {
        Code::RivalPreferred
    } else if evidence.n < FEWEST_FOR_VERDICT {
        Code::TooFew
    } else if !alike.is_empty() || compared.len() < evidence.alternatives.len() || compared.is_empty() {
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
    let not_distinguished: Vec<Family> = alike.iter().map(|(a, _)| a.model).chain(incomparable).collect();
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

/// The rival that is clearly better than the GEV, the clearest first.
fn preferred<'a>(compared: &[(&'a Alternative, Vuong)]) -> Option<&'a Alternative> {
    compared.iter().filter(|(_, v)| v.z < -1.96).min_by(|a, b| a.1.z.total_cmp(&b.1.z)).map(|(a, _)| *a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Options, assess};
    use crate::{Series, Xoshiro, gev};

    fn evidence(change: impl Fn(&mut Vec<Alternative>)) -> Verdict {
        let law = crate::Gev::new(10.0, 0.5, 0.1).unwrap();
        let mut random = Xoshiro::new(3);
        let values: Vec<f64> = (0..200).map(|_| law.sample(&mut random)).collect();
        let found = assess(&values, &Options { bootstrap: 99, ..Options::default() }).unwrap();
        assert!(found.diagnostics.independence.passed);
        let mut alternatives = found.alternatives.clone();
        change(&mut alternatives);
        let fit = gev::Likelihood::new(&Series::clean(&values)).unwrap().fit();
        decide(&Evidence {
            n: values.len(),
            fit: &fit,
            diagnostics: &found.diagnostics,
            alternatives: &alternatives,
            shape: None,
            significance: 0.05,
        })
    }

    #[test]
    fn a_law_that_cannot_be_compared_is_not_called_worse() {
        let undefined = evidence(|all| all.iter_mut().for_each(|a| a.vuong = None));
        assert_eq!(undefined.code, Code::GevConsistent);
        assert_eq!(undefined.not_distinguished.len(), 8);
        assert!(!undefined.text.contains("preferred"), "{}", undefined.text);
        let none = evidence(Vec::clear);
        assert_eq!(none.code, Code::GevConsistent);
        assert!(none.text.contains("no other law"), "{}", none.text);
        let not_a_number = evidence(|all| {
            for a in all {
                a.vuong = a.vuong.map(|v| Vuong { z: f64::NAN, ..v });
            }
        });
        assert_eq!(not_a_number.code, Code::GevConsistent);
        assert!(not_a_number.runs_needed.is_empty());
    }

    #[test]
    fn every_rival_clearly_worse_is_a_preference() {
        let worse = |z: f64| {
            move |all: &mut Vec<Alternative>| {
                for a in all {
                    a.vuong = a.vuong.map(|v| Vuong { z, values_needed: 800.0, ..v });
                }
            }
        };
        assert_eq!(evidence(worse(3.0)).code, Code::GevPreferred);
        assert_eq!(evidence(worse(-3.0)).code, Code::RivalPreferred);
        let alike = evidence(worse(0.5));
        assert_eq!(alike.code, Code::GevConsistent);
        let fewest = alike.runs_needed[0];
        assert_eq!((fewest.total, fewest.additional), (800.0, 600.0));
        assert!(alike.text.contains("800 runs in all (600 more)"), "{}", alike.text);
    }
}
