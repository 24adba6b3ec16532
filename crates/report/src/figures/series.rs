//! Draws all values in time order and marks those that stand out.

use serde::Serialize;
use serde_json::json;
use tail::independence::Segment;

use super::figure::{Figure, Input, MOST_POINTS, Numbers};
use super::{draw, thin};
use crate::subject::Subject;
use crate::summary::quantile;
use crate::tail_of::Tail;

/// T in time order.
#[derive(Clone, Debug, Serialize)]
pub struct TimeSeries {
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
    /// A value this far above the median (of its stretch) is an outlier, in seconds: what an exponential
    /// tail (Gumbel distribution) with the quartiles of these values exceeds in one of twenty such series. None where
    /// half of the values are equal. Quartiles, not a fit: outliers would hide themselves in a fit.
    pub threshold: Option<f64>,
    /// Stretches between change points, each with its median; one where no change was found.
    pub segments: Vec<Segment>,
}

impl TimeSeries {
    fn of(subject: &Subject, tail: Option<&Tail>) -> TimeSeries {
        let values = subject.values();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let segments =
            tail.and_then(Tail::independence).map(|found| found.segments.clone()).unwrap_or_default();
        let median = quantile(&sorted, 0.5);
        // Where the level changes, a value is an outlier relative to its own segment.
        let mut level = vec![median; values.len()];
        segments.iter().for_each(|segment| level[segment.start..segment.end].fill(segment.median));
        let above: Vec<f64> = values.iter().zip(&level).map(|(value, level)| value - level).collect();
        let threshold = threshold(&above);
        let step = thin::in_time(&values);
        TimeSeries {
            seconds: step.iter().map(|&at| values[at]).collect(),
            last: step.iter().map(|&at| subject.steps[at].last).collect(),
            step,
            of: values.len(),
            median,
            outliers: (0..values.len())
                .filter(|&at| threshold.is_some_and(|threshold| above[at] > threshold))
                .take(MOST_POINTS)
                .collect(),
            threshold,
            segments,
        }
    }
}

/// How far above 0 a Gumbel distribution with the quartiles of `residuals` reaches in one of twenty such series.
fn threshold(residuals: &[f64]) -> Option<f64> {
    let mut sorted = residuals.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|p| quantile(&sorted, p));
    let gumbel = |p: f64| -(-p.ln()).ln();
    let scale = (high - low) / (gumbel(0.75) - gumbel(0.25));
    let reach = -(-(-0.05 / residuals.len() as f64).ln_1p()).ln();
    Some(middle + scale * (reach - gumbel(0.5))).filter(|_| scale > 0.0)
}

pub(super) fn figures(input: &Input) -> Vec<Figure> {
    let Input { prefix, analysis, what, .. } = *input;
    let (subject, unit) = (&analysis.subject, input.unit());
    let numbers = TimeSeries::of(subject, analysis.tail.as_ref());
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
            (draw::DATA, 5.0),
            &hover,
        ),
        draw::guide("median", ends.clone(), unit.scale_all(&[numbers.median; 2])),
    ];
    let several = numbers.segments.len() > 1;
    if several {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for segment in &numbers.segments {
            // A missing point separates the segments.
            x.extend([segment.start as f64 + 1.0, segment.end as f64, segment.end as f64]);
            y.extend([segment.median, segment.median, f64::NAN]);
        }
        let name = "median of each stretch";
        traces.push(draw::line(name, x, unit.scale_all(&y), (draw::SECOND, "solid"), &hover));
    }
    if !numbers.outliers.is_empty() {
        let name = if numbers.outliers.len() == 1 { "outlier" } else { "outliers" };
        traces.push(draw::alarms(name, positions(&numbers.outliers), unit.scale_all(&outliers), &hover));
    }
    let found = match numbers.outliers.len() {
        0 => "No value is an outlier",
        1 => "One value is an outlier (red)",
        n => &format!("{n} values are outliers (red)"),
    };
    let outliers = match numbers.outliers.len() {
        0 => "No outlier",
        1 => "One outlier (red)",
        n => &format!("{n} outliers (red)"),
    };
    let rule = numbers.threshold.map_or(String::new(), |threshold| {
        format!(
            ", over {} above the median{} (beyond 19 of 20 exponential tails)",
            unit.show(threshold),
            if several { " of its stretch" } else { "" }
        )
    });
    let thinned = if numbers.step.len() < numbers.of {
        format!(" Of {} values the ends of each bin.", numbers.of)
    } else {
        String::new()
    };
    let changes = match numbers.segments.len() {
        0 | 1 => String::new(),
        n => format!(" Steps at {} (green: medians).", listed_changes(&numbers.segments[1..n])),
    };
    let caption = format!(
        "Drifts, steps or clusters: the values are not of one experiment. {outliers}{rule}.{changes}{thinned}"
    );
    let unit_axis = unit.axis(what);
    vec![Figure {
        id: format!("{prefix}series"),
        alternative: format!(
            "{} values of T in time order around {}; {found}.",
            numbers.of,
            unit.show(numbers.median)
        ),
        caption,
        wide: true,
        plot: {
            let shown_outliers = !numbers.outliers.is_empty();
            let range = [1.0 - 0.012 * numbers.of as f64, numbers.of as f64 * 1.012];
            let x = draw::axis_with(subject.step_name(), json!({"range": range}));
            let mut plot = draw::figure(&title, traces, x, draw::axis(&unit_axis));
            plot["layout"]["showlegend"] = json!(shown_outliers || several);
            plot
        },
        title,
        numbers: Numbers::new("series", numbers),
    }]
}

/// `value 120, 310 and 2 more`.
fn listed_changes(later: &[Segment]) -> String {
    const SHOWN: usize = 4;
    let positions: Vec<String> =
        later.iter().take(SHOWN).map(|segment| (segment.start + 1).to_string()).collect();
    let more = if later.len() > SHOWN { format!(" and {} more", later.len() - SHOWN) } else { String::new() };
    format!("{}{more}", positions.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series_of(change: impl Fn(usize) -> f64) -> TimeSeries {
        let mut run = samples::example::parallel_write(4, 200, 5);
        for (step, sample) in run.samples.iter_mut().filter(|sample| sample.site == 3).enumerate() {
            sample.duration_ps = (sample.duration_ps as f64 * change(step % 200)) as u64;
        }
        let subject = Subject::choose(&run, None, None).unwrap();
        let options = tail::assess::AssessOptions { bootstrap: 0, ..Default::default() };
        TimeSeries::of(&subject, Some(&Tail::of(&subject.values(), &options)))
    }

    #[test]
    fn a_quiet_series_has_no_outlier_and_one_stretch() {
        let series = series_of(|_| 1.0);
        assert_eq!((series.outliers.len(), series.segments.len()), (0, 1));
    }

    #[test]
    fn outliers_that_make_the_fitted_tail_heavy_do_not_hide_in_it() {
        let series = series_of(|step| if step % 29 == 7 { 1.3 } else { 1.0 });
        assert_eq!(series.outliers, [7, 36, 65, 94, 123, 152, 181]);
    }

    #[test]
    fn what_stands_out_of_its_own_stretch_is_an_outlier_though_the_next_stretch_is_slower() {
        let series = series_of(|step| match step {
            30 => 1.12,
            step if step >= 120 => 1.15,
            _ => 1.0,
        });
        assert_eq!(series.outliers, [30]);
        assert_eq!((series.segments.len(), series.segments[1].start), (2, 120));
    }
}
