//! Analyses one subject: its distribution, its far tail, its ranks.

use results::{QuantileInterval, Quantiles};
use serde::Serialize;
use tail::Series;
use tail::congestion::KeptArm;
use tail::groups::{Groups, compare_numbered};
use tail::latency::Latency;
use tail::targets::Targets;

use crate::by_clock::ByClock;
use crate::processors::both;
use crate::stretches::Stretch;
use crate::subject::Subject;
use crate::summary::Summary;
use crate::tail_of::Tail;
use crate::unit::Unit;
use crate::words;

/// Fewest values whose far tail is fitted beyond a threshold.
const FEWEST_FAR: usize = 1_000;

/// From so many values on, two samples are compared by their histograms: each by itself has an error that its number of
/// values does not make smaller.
const SUMMED_FROM: usize = 1_000_000;

/// Periods of the far quantiles: exceeded once in so many values.
const PERIODS: [f64; 5] = [1e2, 1e3, 1e4, 1e5, 1e6];

/// Everything that is said of one subject.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// What is analysed.
    pub subject: Subject,
    /// Unit of the durations in its figures and its distribution.
    pub unit: Unit,
    /// Summary of T; none without a value.
    pub summary: Option<Summary>,
    /// Quantiles of T, each a value that was measured; none without a value.
    pub quantiles: Option<Quantiles>,
    /// Their intervals, which need no distribution and hold where slow steps come together.
    pub intervals: Vec<QuantileInterval>,
    /// Where the level of T changes: the stretches between the changes, the newest first; of what is analysed first only.
    pub stretches: Vec<Stretch>,
    /// Summary of T without the wait on the run queue, where that was read.
    pub corrected: Option<Summary>,
    /// The steps of a gate from the first begin to the last end over ranks; of what is analysed first only.
    pub by_clock: Option<ByClock>,
    /// The fitted distribution, levels, rivals, verdict.
    pub tail: Option<Tail>,
    /// The tail beyond a threshold (schema `lastrank.latency/1`), from 1,000 values on.
    #[serde(serialize_with = "words::serialize")]
    pub far: Option<Latency>,
    /// The ranks of a gate against each other (schema `lastrank.targets/1`).
    #[serde(serialize_with = "words::serialize")]
    pub targets: Option<Targets>,
    /// Where a value is one operation: the ranks against each other (schema `lastrank.groups/1`).
    pub groups: Option<Groups>,
    /// Of a million single operations and more: what comparisons need of their order.
    #[serde(skip)]
    pub kept: Option<KeptArm>,
}

impl Analysis {
    /// Analyses all of a subject; `figures` is whether those of its distribution are drawn.
    pub(crate) fn of(subject: Subject, options: &tail::assess::AssessOptions, figures: bool) -> Analysis {
        let values = subject.values();
        let series = subject.series();
        let found = || (!values.is_empty()).then(|| Tail::of_series(&series, &values, options, figures));
        let (far, tail) = both(|| Far::of(&subject, &series, options), found);
        let targets = (subject.gate && subject.ranks.len() > 1)
            .then(|| tail::targets::analyse(&subject.of_rank, options.level).ok())
            .flatten()
            .filter(|found| found.residual_sd > 0.0)
            .map(|found| found.of_ranks(&subject.ranks));
        let groups = ranks_alone(&subject, options.level);
        let assessed = |tail: &Tail| Some(KeptArm::of(&series, tail.assessment.as_ref()?));
        let is_many = !subject.gate && series.len() >= SUMMED_FROM;
        let kept = tail.as_ref().filter(|_| is_many).and_then(assessed);
        Analysis { tail, targets, groups, kept, ..far.told(subject) }
    }

    /// What is analysed, before anything was found.
    pub(crate) fn to_come(subject: Subject) -> Analysis {
        Analysis {
            subject,
            unit: Unit::NONE,
            summary: None,
            quantiles: None,
            intervals: Vec::new(),
            stretches: Vec::new(),
            corrected: None,
            by_clock: None,
            tail: None,
            far: None,
            targets: None,
            groups: None,
            kept: None,
        }
    }

    /// Analyses the far tail only, as reports do for single operations.
    pub(crate) fn of_far_tail(subject: Subject, options: &tail::assess::AssessOptions) -> Analysis {
        let series = subject.series();
        Far::of(&subject, &series, options).told(subject)
    }
}

/// What needs no distribution of all values.
struct Far {
    unit: Unit,
    summary: Option<Summary>,
    quantiles: Option<Quantiles>,
    intervals: Vec<QuantileInterval>,
    corrected: Option<Summary>,
    latency: Option<Latency>,
}

impl Far {
    /// Of a subject whose values are `series`.
    fn of(subject: &Subject, series: &Series, options: &tail::assess::AssessOptions) -> Far {
        let summary = Summary::of_sorted(series.sorted());
        let unit = summary.as_ref().map_or(Unit::NONE, |summary| Unit::of_duration(summary.median));
        let corrected = subject
            .has_correction()
            .then(|| Summary::of(&subject.steps.iter().map(|step| step.corrected).collect::<Vec<_>>()))
            .flatten();
        let latency = (series.len() >= FEWEST_FAR)
            .then(|| {
                let reach = 100.0 * series.len() as f64;
                let periods: Vec<f64> = PERIODS.into_iter().filter(|period| *period <= reach).collect();
                tail::latency::analyse_series(series, &periods, options.level, options.seed).ok()
            })
            .flatten();
        let (quantiles, intervals) = results::of_values_taken_by(&subject.values(), &subject.takers());
        Far { unit, summary, quantiles, intervals, corrected, latency }
    }

    fn told(self, subject: Subject) -> Analysis {
        let Far { unit, summary, quantiles, intervals, corrected, latency: far } = self;
        Analysis { unit, summary, quantiles, intervals, corrected, far, ..Analysis::to_come(subject) }
    }
}

/// The ranks against each other where each takes its operations for itself; the names of the groups are their numbers.
fn ranks_alone(subject: &Subject, level: f64) -> Option<Groups> {
    if subject.gate || subject.ranks.len() < 2 {
        return None;
    }
    let ranks: Vec<u32> = subject.steps.iter().map(|step| step.last).collect();
    compare_numbered(&subject.values(), &ranks, level).ok()
}
