//! How did T go over time, and which values stand out?

use serde::Serialize;

use super::{Figure, Numbers, Section, draw, thin};
use crate::subject::Subject;
use crate::summary::quantile;
use crate::tail_of::Tail;
use crate::unit::Unit;

/// T in time order.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Position in time order, from 0, of each point shown.
    pub step: Vec<usize>,
    /// T at it, in seconds.
    pub seconds: Vec<f64>,
    /// The rank that was last there.
    pub last: Vec<u32>,
    /// How many values there are; more than are shown where the series is long.
    pub of: usize,
    /// Median of all, in seconds.
    pub median: f64,
    /// Positions of the outliers.
    pub outliers: Vec<usize>,
    /// A value above this is an outlier, in seconds.
    pub threshold: f64,
    /// What the threshold is: `law` (the fitted law exceeds it in one of twenty such series) or
    /// `fences` (three interquartile ranges above the upper quartile, where nothing could be fitted).
    pub threshold_kind: &'static str,
}

impl Series {
    fn of(subject: &Subject, tail: Option<&Tail>) -> Series {
        let values = subject.values();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let fences = quantile(&sorted, 0.75) + 3.0 * (quantile(&sorted, 0.75) - quantile(&sorted, 0.25));
        let law = tail.and_then(|tail| tail.law()).map(|law| law.upper_quantile(0.05 / values.len() as f64));
        let threshold = law.filter(|level| level.is_finite()).unwrap_or(fences);
        let step = thin::in_time(&values);
        Series {
            seconds: step.iter().map(|&at| values[at]).collect(),
            last: step.iter().map(|&at| subject.steps[at].last).collect(),
            step,
            of: values.len(),
            median: quantile(&sorted, 0.5),
            outliers: (0..values.len())
                .filter(|&at| values[at] > threshold)
                .take(super::MOST_POINTS)
                .collect(),
            threshold,
            threshold_kind: if law.is_some() { "law" } else { "fences" },
        }
    }
}

pub(crate) fn series(subject: &Subject, tail: Option<&Tail>, unit: Unit, what: &str) -> Figure {
    let numbers = Series::of(subject, tail);
    let title = "T over time".to_string();
    let positions = |steps: &[usize]| steps.iter().map(|&step| step as f64 + 1.0).collect::<Vec<_>>();
    let hover = format!("%{{x}}: %{{y}} {}<extra></extra>", unit.name);
    let outliers: Vec<f64> = numbers.outliers.iter().map(|&at| subject.steps[at].seconds).collect();
    let ends = vec![1.0, numbers.of as f64];
    let mut traces = vec![
        draw::points(
            "T",
            positions(&numbers.step),
            unit.scale_all(&numbers.seconds),
            draw::DATA,
            5.0,
            &hover,
        ),
        draw::guide("median", ends.clone(), unit.scale_all(&[numbers.median; 2])),
    ];
    if !numbers.outliers.is_empty() {
        let name = if numbers.outliers.len() == 1 { "outlier" } else { "outliers" };
        traces.push(draw::alarms(name, positions(&numbers.outliers), unit.scale_all(&outliers), &hover));
    }
    let rule = match numbers.threshold_kind {
        "law" => "the fitted law would exceed it in one of twenty such series",
        _ => "three interquartile ranges above the upper quartile",
    };
    let found = match numbers.outliers.len() {
        0 => "No value is an outlier".to_string(),
        1 => "One value is an outlier (red)".to_string(),
        n => format!("{n} values are outliers (red)"),
    };
    let thinned = if numbers.step.len() < numbers.of {
        format!(" Of {} values the smallest and largest of each stretch are shown.", numbers.of)
    } else {
        String::new()
    };
    let caption = format!(
        "Look for drifts, steps and clusters: with any of them the values are not repetitions of one experiment. \
         {found}: above {}, {rule}.{thinned}",
        unit.show(numbers.threshold)
    );
    let unit_axis = unit.axis(what);
    Figure {
        id: "series",
        alternative: format!(
            "{} values of T in time order around {}; {found}.",
            numbers.of,
            unit.show(numbers.median)
        ),
        caption,
        section: Section::Measured,
        wide: true,
        plot: draw::figure(&title, traces, draw::axis(subject.step_name()), draw::axis(&unit_axis)),
        title,
        numbers: Numbers::Series(numbers),
    }
}
