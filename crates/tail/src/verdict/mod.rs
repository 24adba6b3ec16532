//! Decides a verdict from all tests in three stages, with one error.
//!
//! Stage one tests whether the values are independent draws of one distribution; if not, no other conclusion is drawn.
//! Stage two tests whether the GEV fits (A² and upper-tail AU², bootstrap p-values). Stage three tests
//! whether a rival distribution is better or as good (Vuong 1989). A good GEV plot alone is no evidence of a maximum.
//! The stages share the error ([`Levels`]), so that the whole verdict has the stated error for independent
//! draws of a GEV.

mod advice;
mod evidence;
mod findings;
mod levels;
mod usability;
mod vuong;

pub use advice::Advice;
pub use evidence::{
    Alternative, Dependence, Diagnostics, Evidence, FEWEST_DISTINCT, FEWEST_FOR_VERDICT, GumbelTest, Rounded,
    TrendFit, VerdictCode,
};
pub use findings::{Explained, Finding};
pub use levels::Levels;
pub use usability::Usability;
pub(crate) use vuong::vuong_of_groups;
pub use vuong::{Preference, Vuong, long_run_variance, vuong};

use serde::{Deserialize, Serialize};

use crate::Status;
use crate::independence::Question;
use crate::rivals::Family;

/// The conclusion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Stable code.
    pub code: VerdictCode,
    /// What it permits.
    #[serde(default)]
    pub usability: Usability,
    /// Its error for independent draws of a GEV, and the part of each stage.
    #[serde(default)]
    pub levels: Levels,
    /// The findings behind it, by stage.
    pub findings: Vec<Finding>,
    /// Advice; may be empty.
    pub advice: Vec<Advice>,
    /// Families that the values do not distinguish from the GEV.
    pub not_distinguished: Vec<Family>,
    /// The family preferred to the GEV, if any.
    pub preferred: Option<Family>,
}

impl Verdict {
    /// Whether levels of the distribution may be shown beside measured values: of few values, too, not where tests reject it.
    pub fn is_distribution_shown(&self) -> bool {
        self.code.usability().is_distribution_shown()
    }

    /// By how much the quantiles of the distribution are off, as a share of their distance from the median, where tests reject it
    /// by less than matters.
    pub(crate) fn tolerated(&self, n: usize, found: &Diagnostics, rivals: &[Alternative]) -> Option<f64> {
        let tests = found.goodness_of_fit.filter(|tests| tests.is_near(n))?;
        let is_rejected = tests.p.smaller < self.levels.fit;
        let has_better = |one: &Alternative| {
            one.vuong.is_some_and(|vuong| self.levels.preference(&vuong) == Preference::Rival)
        };
        (is_rejected || rivals.iter().any(has_better)).then_some(tests.distance)
    }
}

/// The verdict on the evidence.
pub fn decide(evidence: &Evidence) -> Verdict {
    let levels = Levels::of(evidence.significance);
    let compared: Vec<(&Alternative, Vuong)> =
        evidence.alternatives.iter().filter_map(|a| Some((a, a.vuong.filter(|v| !v.z.is_nan())?))).collect();
    // Densities at rounded values are not those of what was measured: a coarse clock prefers no distribution.
    let rounded = evidence.diagnostics.rounded.is_some();
    let near = evidence.is_near();
    let better = if rounded || near { None } else { preferred(&compared, &levels) };
    let alike: Vec<&(&Alternative, Vuong)> = compared
        .iter()
        .filter(|(_, v)| match levels.preference(v) {
            Preference::Neither => true,
            Preference::Rival => rounded || near,
            Preference::Gev => rounded,
        })
        .collect();
    // Without a Vuong statistic (both densities are equal everywhere, or one is 0 somewhere), there is no
    // preference.
    let incomparable =
        evidence.alternatives.iter().filter(|a| a.vuong.is_none_or(|v| v.z.is_nan())).map(|a| a.model);
    let misfit = evidence.is_rejected(&levels) && !near;

    let code = if evidence.fit.distinct < FEWEST_DISTINCT {
        VerdictCode::Rounded
    } else if !evidence.diagnostics.independence.passed {
        VerdictCode::NotIndependent
    } else if evidence.fit.status == Status::Boundary {
        VerdictCode::NoMaximum
    } else if misfit {
        VerdictCode::GevRejected
    } else if better.is_some() {
        VerdictCode::RivalPreferred
    } else if evidence.n < FEWEST_FOR_VERDICT {
        VerdictCode::TooFew
    } else if evidence.fit.distribution().shape >= evidence::NO_MEAN {
        VerdictCode::NoMean
    } else if !alike.is_empty() || compared.len() < evidence.alternatives.len() || compared.is_empty() {
        VerdictCode::GevConsistent
    } else {
        VerdictCode::GevPreferred
    };
    let not_distinguished: Vec<Family> = alike.iter().map(|(a, _)| a.model).chain(incomparable).collect();
    Verdict {
        code,
        usability: usability_of(code, evidence),
        levels,
        findings: findings::of(code, evidence, &levels),
        advice: advice::of(code, evidence),
        not_distinguished,
        preferred: better.map(|a| a.model),
    }
}

/// What a verdict permits. Few values are told as such, and not as fitting no distribution either: they were to be more. What they
/// changed in, or that they are rounded, is told of few, too.
fn usability_of(code: VerdictCode, evidence: &Evidence) -> Usability {
    let changes = |question: Question| matches!(question, Question::Jump | Question::Trend | Question::Modes);
    let reasons = evidence.diagnostics.independence.reasons();
    let is_told = code == VerdictCode::Rounded || reasons.first().is_some_and(|test| changes(test.question));
    if evidence.n < FEWEST_FOR_VERDICT && !is_told { Usability::TooFew } else { code.usability() }
}

/// The rival that is most significantly better than the GEV, if any.
fn preferred<'a>(compared: &[(&'a Alternative, Vuong)], levels: &Levels) -> Option<&'a Alternative> {
    let better = compared.iter().filter(|(_, v)| levels.preference(v) == Preference::Rival);
    better.min_by(|a, b| a.1.z.total_cmp(&b.1.z)).map(|(a, _)| *a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{AssessOptions, assess};
    use crate::{Series, Xoshiro, gev};

    fn evidence(change: impl Fn(&mut Vec<Alternative>)) -> Verdict {
        let distribution = crate::Gev::new(10.0, 0.5, 0.1).unwrap();
        let mut random = Xoshiro::new(3);
        let values: Vec<f64> = (0..200).map(|_| distribution.sample(&mut random)).collect();
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
    fn a_distribution_that_cannot_be_compared_is_not_called_worse() {
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
    }

    #[test]
    fn every_rival_clearly_worse_is_a_preference() {
        let worse = |z: f64| {
            move |all: &mut Vec<Alternative>| {
                for a in all {
                    a.vuong = a.vuong.map(|v| Vuong { z, ..v });
                }
            }
        };
        assert_eq!(evidence(worse(3.0)).code, VerdictCode::GevPreferred);
        assert_eq!(evidence(worse(-4.0)).code, VerdictCode::RivalPreferred);
        assert_eq!(evidence(worse(0.5)).code, VerdictCode::GevConsistent);
        // One of eight comparisons at 5% is no preference at 5% of the verdict.
        assert_eq!(evidence(worse(-2.6)).code, VerdictCode::GevConsistent);
    }
}
