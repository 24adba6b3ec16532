//! Judges the tests together: a verdict in three stages.
//!
//! One: are the values independent draws of one law; if not, nothing else is said plainly. Two: does the GEV
//! fit at all (A² and upper-tail AU², bootstrap p-values). Three: is any rival law better, or as good, and
//! how many more values would tell (Vuong 1989). A good GEV plot alone is no evidence of a maximum.

mod advice;
mod evidence;
mod findings;
mod vuong;

pub use advice::Advice;
pub use evidence::{
    Alternative, Dependence, Diagnostics, Evidence, FEWEST_FOR_VERDICT, GumbelTest, Rounded, TrendFit,
    VerdictCode,
};
pub use findings::{Explained, Finding};
pub use vuong::{Preference, Vuong, long_run_variance, vuong};

use serde::{Deserialize, Serialize};

use crate::Status;
use crate::rivals::Family;

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
    pub code: VerdictCode,
    /// The findings behind it, by stage.
    pub findings: Vec<Finding>,
    /// What to do next; may be empty.
    pub advice: Vec<Advice>,
    /// Families that the values do not tell from the GEV.
    pub not_distinguished: Vec<Family>,
    /// The family preferred to the GEV, where one is.
    pub preferred: Option<Family>,
    /// How many values would tell the GEV from each law of `not_distinguished`, fewest first.
    pub runs_needed: Vec<RunsNeeded>,
}

/// The verdict on the evidence.
pub fn decide(evidence: &Evidence) -> Verdict {
    let compared: Vec<(&Alternative, Vuong)> =
        evidence.alternatives.iter().filter_map(|a| Some((a, a.vuong.filter(|v| !v.z.is_nan())?))).collect();
    let better = preferred(&compared);
    let alike: Vec<&(&Alternative, Vuong)> =
        compared.iter().filter(|(_, v)| v.preference() == Preference::Neither).collect();
    // No Vuong statistic: both densities agree everywhere, or one is 0 somewhere. That is no preference.
    let incomparable =
        evidence.alternatives.iter().filter(|a| a.vuong.is_none_or(|v| v.z.is_nan())).map(|a| a.model);
    let misfit =
        evidence.diagnostics.goodness_of_fit.as_ref().is_some_and(|g| g.p.smaller < evidence.significance);

    let code = if !evidence.diagnostics.independence.passed {
        VerdictCode::NotIndependent
    } else if evidence.fit.status == Status::Boundary {
        VerdictCode::NoMaximum
    } else if misfit {
        VerdictCode::GevRejected
    } else if better.is_some() {
        VerdictCode::RivalPreferred
    } else if evidence.n < FEWEST_FOR_VERDICT {
        VerdictCode::TooFew
    } else if !alike.is_empty() || compared.len() < evidence.alternatives.len() || compared.is_empty() {
        VerdictCode::GevConsistent
    } else {
        VerdictCode::GevPreferred
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
    Verdict {
        code,
        findings: findings::of(code, evidence),
        advice: advice::of(code, evidence),
        not_distinguished,
        preferred: better.map(|a| a.model),
        runs_needed,
    }
}

/// The rival that is clearly better than the GEV, the clearest first.
fn preferred<'a>(compared: &[(&'a Alternative, Vuong)]) -> Option<&'a Alternative> {
    let better = compared.iter().filter(|(_, v)| v.preference() == Preference::Rival);
    better.min_by(|a, b| a.1.z.total_cmp(&b.1.z)).map(|(a, _)| *a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{AssessOptions, assess};
    use crate::{Series, Xoshiro, gev};

    fn evidence(change: impl Fn(&mut Vec<Alternative>)) -> Verdict {
        let law = crate::Gev::new(10.0, 0.5, 0.1).unwrap();
        let mut random = Xoshiro::new(3);
        let values: Vec<f64> = (0..200).map(|_| law.sample(&mut random)).collect();
        let found = assess(&values, &AssessOptions { bootstrap: 99, ..AssessOptions::default() }).unwrap();
        assert!(found.diagnostics.independence.passed);
        let mut alternatives = found.alternatives.clone();
        change(&mut alternatives);
        let fit = gev::Likelihood::new(&Series::clean(&values)).unwrap().fit();
        decide(&Evidence {
            n: values.len(),
            fit: &fit,
            diagnostics: &found.diagnostics,
            alternatives: &alternatives,
            significance: 0.05,
        })
    }

    #[test]
    fn a_law_that_cannot_be_compared_is_not_called_worse() {
        let undefined = evidence(|all| all.iter_mut().for_each(|a| a.vuong = None));
        assert_eq!(undefined.code, VerdictCode::GevConsistent);
        assert_eq!(undefined.not_distinguished.len(), 8);
        let none = evidence(Vec::clear);
        assert_eq!(none.code, VerdictCode::GevConsistent);
        let not_a_number = evidence(|all| {
            for a in all {
                a.vuong = a.vuong.map(|v| Vuong { z: f64::NAN, ..v });
            }
        });
        assert_eq!(not_a_number.code, VerdictCode::GevConsistent);
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
        assert_eq!(evidence(worse(3.0)).code, VerdictCode::GevPreferred);
        assert_eq!(evidence(worse(-3.0)).code, VerdictCode::RivalPreferred);
        let alike = evidence(worse(0.5));
        assert_eq!(alike.code, VerdictCode::GevConsistent);
        let fewest = alike.runs_needed[0];
        assert_eq!((fewest.total, fewest.additional), (800.0, 600.0));
    }
}
