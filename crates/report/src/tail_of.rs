//! The tail of the analysed values: its assessment, or why there is none.

use serde::Serialize;
use tail::assess::{Assessment, Panels, assess_and_panels, assess_clean};
use tail::independence::Independence;
use tail::rivals::{Distribution, Family};
use tail::{Gev, Series, assess::AssessOptions};

use crate::words;

/// The tail of the analysed values: the assessment, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub struct Tail {
    /// Fit, levels, comparison, tests, verdict (schema `lastrank.fit/1`).
    #[serde(serialize_with = "words::serialize")]
    pub assessment: Option<Assessment>,
    /// Why there is none: too few values, or all equal.
    pub refusal: Option<String>,
    /// Points of the figures of the fit, where these are drawn.
    #[serde(skip)]
    pub(crate) panels: Option<Panels>,
}

impl Tail {
    /// Assesses values in time order, of any unit.
    pub fn of(values: &[f64], options: &AssessOptions) -> Tail {
        Tail::of_series(&Series::clean(values), values, options, true)
    }

    /// The same where the series of the values is at hand.
    pub(crate) fn of_series(series: &Series, values: &[f64], options: &AssessOptions, figures: bool) -> Tail {
        let found = match figures {
            true => assess_and_panels(series, values, options).map(|(found, panels)| (found, Some(panels))),
            false => assess_clean(series, values, options).map(|found| (found, None)),
        };
        match found {
            Ok((assessment, panels)) => Tail { assessment: Some(assessment), refusal: None, panels },
            Err(why) => Tail { assessment: None, refusal: Some(why.to_string()), panels: None },
        }
    }

    /// The verdict as a stable code: `not-independent`, `gev-consistent` …; `no-fit` without a fit.
    pub fn code(&self) -> String {
        let code = self.assessment.as_ref().and_then(|found| serde_json::to_value(found.verdict.code).ok());
        code.as_ref().and_then(|code| code.as_str()).unwrap_or("no-fit").to_string()
    }

    /// May the fitted distribution be used to say what was not measured? Not where the verdict is that it does
    /// not describe the values.
    pub fn is_usable(&self) -> bool {
        self.assessment.as_ref().is_some_and(|found| found.verdict.is_distribution_shown())
    }

    /// The verdict in words.
    pub fn text(&self) -> String {
        match (&self.assessment, &self.refusal) {
            (Some(found), _) => {
                let outlier =
                    words::verdict::outlier(found).map_or(String::new(), |outlier| format!(" {outlier}"));
                let word = words::capital(words::verdict::usability(found.verdict.usability));
                format!("{word}. {}{outlier}", words::verdict::text(found))
            }
            (None, why) => {
                format!("No distribution was fitted: {}.", why.as_deref().unwrap_or("there are no values"))
            }
        }
    }

    /// The findings behind the verdict, a sentence each; empty without a fit.
    pub fn findings(&self) -> Vec<String> {
        self.assessment.as_ref().map(words::verdict::findings).unwrap_or_default()
    }

    /// What to do next, a sentence each; may be empty.
    pub fn advice(&self) -> Vec<String> {
        self.assessment.as_ref().map(|found| words::verdict::advice(found, "value")).unwrap_or_default()
    }

    /// The tests of whether the values are repetitions of one experiment.
    pub fn independence(&self) -> Option<&Independence> {
        self.assessment.as_ref().map(|found| &found.diagnostics.independence)
    }

    /// The fitted GEV.
    pub fn distribution(&self) -> Option<Gev> {
        self.assessment.as_ref().map(Assessment::distribution)
    }

    /// The fitted normal distribution.
    pub fn normal(&self) -> Option<Distribution> {
        self.assessment
            .as_ref()?
            .alternatives
            .iter()
            .find(|rival| rival.model == Family::Normal)
            .map(|rival| rival.distribution)
    }
}
