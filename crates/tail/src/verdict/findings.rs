//! Lists the findings of a verdict, with their numbers.

use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, VerdictCode};
use super::levels::Levels;
use super::vuong::Preference;
use crate::Status;
use crate::gev::Influence;
use crate::gof::GoodnessOfFit;
use crate::independence::{Mode, Test};
use crate::rivals::Family;

/// One finding of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// The finding of a test of independence.
    Independence {
        /// The test.
        test: Test,
    },
    /// The level changes.
    LevelChanges {
        /// Position of the first value of each new segment, from 1.
        at: Vec<usize>,
    },
    /// One of several modes.
    Mode {
        /// Its number, from 1.
        number: usize,
        /// Number of modes.
        of: usize,
        /// The mode.
        mode: Mode,
    },
    /// A location that is a straight line in time.
    LineInTime {
        /// Part of the dependence that the line explains.
        explained: Explained,
        /// Change of the location over the run, in scales.
        change_in_scales: f64,
        /// p-value of no change.
        p: f64,
        /// Shape around the line.
        shape: f64,
    },
    /// Goodness of fit of the GEV.
    GoodnessOfFit {
        /// The tests.
        tests: GoodnessOfFit,
        /// Whether the refits had fewer values than the sample.
        of_smaller_samples: bool,
        /// The GEV is rejected where the p-value of both statistics together is below this.
        #[serde(default)]
        level: f64,
    },
    /// Whether a Gumbel distribution, shape 0, is sufficient.
    #[serde(rename = "gumbel_law")]
    GumbelDistribution {
        /// Whether it is.
        suffices: bool,
        /// p-value of shape 0.
        p: f64,
    },
    /// The GEV against a rival.
    Rival {
        /// The rival.
        family: Family,
        /// The preferred model; `None` if they cannot be compared.
        preference: Option<Preference>,
        /// Vuong's z; NaN (null in JSON) if they cannot be compared.
        #[serde(with = "crate::nullable")]
        z: f64,
        /// AIC weight of the rival.
        aic_weight: f64,
    },
    /// One value changes the fit by more than its standard error.
    Influence {
        /// Whether it is the largest value; otherwise it is the smallest.
        largest: bool,
        /// The value and its influence.
        influence: Influence,
    },
    /// The likelihood of the GEV has no interior maximum.
    NoInteriorMaximum,
    /// The shape is below -1/2, where standard errors do not exist.
    NoStandardErrors,
    /// The clock's tick is more than a fifth of the scale: the fit is that to intervals.
    CoarseClock {
        /// The tick over the scale.
        tick_in_scales: f64,
    },
    /// The values are sorted: no test of their order was done.
    Sorted,
}

/// Part of the dependence that a linear trend explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Explained {
    /// Nothing.
    Nothing,
    /// A part.
    Part,
    /// All: the residuals pass the tests of independence.
    All,
}

/// The findings of all stages, in the order of presentation.
pub(super) fn of(code: VerdictCode, evidence: &Evidence, levels: &Levels) -> Vec<Finding> {
    let mut out = of_independence(evidence);
    if let Some(tests) = evidence.diagnostics.goodness_of_fit {
        out.push(Finding::GoodnessOfFit {
            tests,
            of_smaller_samples: tests.sample_size < evidence.n,
            level: levels.fit,
        });
    }
    if let Some(gumbel) = &evidence.diagnostics.gumbel {
        out.push(Finding::GumbelDistribution { suffices: gumbel.p >= 0.05, p: gumbel.p });
    }
    for rival in evidence.alternatives {
        out.push(Finding::Rival {
            family: rival.model,
            preference: rival.vuong.map(|vuong| levels.preference(&vuong)),
            z: rival.vuong.map_or(f64::NAN, |vuong| vuong.z),
            aic_weight: rival.aic_weight,
        });
    }
    let fit = evidence.fit;
    if let Some(influence) = fit.influence.filter(|influence| influence.flagged) {
        out.push(Finding::Influence { largest: influence.value > fit.center, influence });
    }
    if fit.status == Status::Boundary && code != VerdictCode::NoMaximum {
        out.push(Finding::NoInteriorMaximum);
    }
    if fit.status == Status::Irregular {
        out.push(Finding::NoStandardErrors);
    }
    if let Some(tick) = evidence.diagnostics.rounded.map(|rounded| rounded.tick) {
        out.push(Finding::CoarseClock { tick_in_scales: tick / fit.scale });
    }
    out
}

fn of_independence(evidence: &Evidence) -> Vec<Finding> {
    let independence = &evidence.diagnostics.independence;
    let mut out: Vec<Finding> =
        independence.tests.iter().map(|test| Finding::Independence { test: test.clone() }).collect();
    if independence.segments.len() > 1 {
        let at = independence.segments[1..].iter().map(|segment| segment.start + 1).collect();
        out.push(Finding::LevelChanges { at });
    }
    let of = independence.modes.len();
    out.extend(independence.modes.iter().enumerate().map(|(at, &mode)| Finding::Mode {
        number: at + 1,
        of,
        mode,
    }));
    if independence.sorted {
        out.push(Finding::Sorted);
    }
    if let Some(trend) = &evidence.diagnostics.trend {
        let explained = if trend.p >= 0.05 {
            Explained::Nothing
        } else if trend.residuals_pass {
            Explained::All
        } else {
            Explained::Part
        };
        out.push(Finding::LineInTime {
            explained,
            change_in_scales: trend.change / trend.scale,
            p: trend.p,
            shape: trend.shape,
        });
    }
    out
}
