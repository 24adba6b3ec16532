//! How did T go over time, and which values stand out?

use serde::Serialize;
use serde_json::json;
use tail::independence::Segment;

use super::{Figure, Numbers, Section, draw, thin};
use crate::subject::Subject;
use crate::summary::quantile;
use crate::tail_of::Tail;
use crate::unit::{Unit, rounded};

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
    /// A value this far above the median (of its stretch) is an outlier, in seconds.
    pub threshold: f64,
    /// Stretches between change points, each with its median; one where no change was found.
    pub segments: Vec<Segment>,
    /// What the threshold is: `law` (the fitted law exceeds it in one of twenty such series) or
    /// `fences` (three interquartile ranges above the upper quartile, where nothing could be fitted).
    pub threshold_kind: &'static str,
}

impl Series {
    fn of(subject: &Subject, tail: Option<&Tail>) -> Series {
        let values = subject.values();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let segments =
            tail.and_then(Tail::independence).map(|found| found.segments.clone()).unwrap_or_default();
        let median = quantile(&sorted, 0.5);
        // Where the level changes, one law for all would hide what stands out of its own stretch.
        let mut level = vec![median; values.len()];
        let law = match segments.len() {
            0 | 1 => {
                tail.and_then(Tail::law).map(|law| law.upper_quantile(0.05 / values.len() as f64) - median)
            }
            _ => {
                segments.iter().for_each(|segment| level[segment.start..segment.end].fill(segment.median));
                None
            }
        };
        let above: Vec<f64> = values.iter().zip(&level).map(|(value, level)| value - level).collect();
        let fences = || {
            let mut sorted = above.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            quantile(&sorted, 0.75) + 3.0 * (quantile(&sorted, 0.75) - quantile(&sorted, 0.25))
        };
        let threshold = law.filter(|height| height.is_finite()).unwrap_or_else(fences);
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
            segments,
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
    let several = numbers.segments.len() > 1;
    if several {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for segment in &numbers.segments {
            x.extend([segment.start as f64 + 1.0, segment.end as f64]);
            y.extend([segment.median; 2]);
        }
        let name = "median of each stretch";
        traces.push(draw::line(name, x, unit.scale_all(&y), draw::SECOND, "solid", &hover));
    }
    if !numbers.outliers.is_empty() {
        let name = if numbers.outliers.len() == 1 { "outlier" } else { "outliers" };
        traces.push(draw::alarms(name, positions(&numbers.outliers), unit.scale_all(&outliers), &hover));
    }
    let rule = match numbers.threshold_kind {
        "law" => "what the fitted law would exceed in one of twenty such series",
        _ => "three interquartile ranges beyond the upper quartile",
    };
    let of_what = if several { "the median of its stretch" } else { "the median" };
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
    let changes = match numbers.segments.len() {
        0 | 1 => String::new(),
        n => format!(
            " The level changes at {} (green: the median of each stretch).",
            listed_changes(&numbers.segments[1..n])
        ),
    };
    let caption = format!(
        "Look for drifts, steps and clusters: with any of them the values are not repetitions of one experiment. \
         {found}: {} above {of_what}, {rule}.{changes}{thinned}",
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
        plot: {
            let shown_outliers = !numbers.outliers.is_empty();
            let range = [1.0 - 0.012 * numbers.of as f64, numbers.of as f64 * 1.012];
            let x = draw::axis_with(subject.step_name(), json!({"range": range}));
            let mut plot = draw::figure(&title, traces, x, draw::axis(&unit_axis));
            plot["layout"]["showlegend"] = json!(shown_outliers || several);
            plot
        },
        title,
        numbers: Numbers::Series(numbers),
    }
}

/// `value 120, 310 and 2 more`.
fn listed_changes(later: &[Segment]) -> String {
    const SHOWN: usize = 4;
    let positions: Vec<String> =
        later.iter().take(SHOWN).map(|segment| (segment.start + 1).to_string()).collect();
    let more = if later.len() > SHOWN { format!(" and {} more", later.len() - SHOWN) } else { String::new() };
    format!("{}{more}", positions.join(", "))
}

/// How values resemble those before them.
#[derive(Clone, Debug, Serialize)]
pub struct Autocorrelation {
    /// Distance in time order, from 1.
    pub lag: Vec<usize>,
    /// Correlation of the ranks of values that far apart.
    pub correlation: Vec<f64>,
    /// Single correlations of independent values stay within plus or minus this in 95 of 100 cases.
    pub bound: f64,
}

pub(crate) fn autocorrelation(tail: &Tail) -> Option<Figure> {
    let found = tail.independence().filter(|found| !found.autocorrelations.is_empty())?;
    let numbers = Autocorrelation {
        lag: (1..=found.autocorrelations.len()).collect(),
        correlation: found.autocorrelations.iter().map(|r| rounded(*r)).collect(),
        bound: found.autocorrelation_bound,
    };
    let lags = numbers.lag.len() as f64;
    let ends = [0.3, lags + 0.7];
    let colours: Vec<&str> = numbers
        .correlation
        .iter()
        .map(|r| if r.abs() > numbers.bound { draw::LAW } else { draw::DATA })
        .collect();
    let bound = rounded(numbers.bound);
    let mut traces: Vec<_> =
        draw::band("95 % of independent values", &ends, vec![-bound; 2], vec![bound; 2], draw::NEUTRAL_BAND)
            .into();
    traces.push(json!({
        "type": "bar", "name": "autocorrelation", "x": numbers.lag, "y": numbers.correlation,
        "showlegend": false, "width": 0.55, "marker": {"color": colours},
        "hovertemplate": "distance %{x}: %{y:.3f}<extra></extra>"
    }));
    let outside = numbers.correlation.iter().filter(|r| r.abs() > numbers.bound).count();
    let reach =
        numbers.correlation.iter().fold(2.0 * numbers.bound, |reach, r| reach.max(r.abs() * 1.15)).min(1.05);
    let title = "Does a value resemble those before it?".to_string();
    let n = tail.assessment.as_ref().map_or(0, |found| found.n);
    Some(Figure {
        id: "autocorrelation",
        caption: format!(
            "Rank correlation of values so many places apart. Slow decay to the right: slow times come in clusters. \
             {outside} of {} bars leave the band; one in twenty does so by chance. For a mean, the {n} values are \
             worth {:.0} independent ones.",
            numbers.lag.len(),
            found.effective_size
        ),
        alternative: format!(
            "Autocorrelation of ranks at {} distances; {outside} outside the band.",
            numbers.lag.len()
        ),
        section: Section::Measured,
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with("distance in time order", json!({"range": ends})),
            draw::axis_with(
                "rank correlation",
                json!({"range": [-rounded(reach), rounded(reach)], "zeroline": true}),
            ),
        ),
        title,
        numbers: Numbers::Autocorrelation(numbers),
    })
}
