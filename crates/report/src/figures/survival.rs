//! Draws how often a value is exceeded, in the sample and by the fitted distributions.

use serde::Serialize;
use serde_json::json;

use super::curve::{Curve, above};
use super::draw;
use super::figure::{Figure, Input, Numbers};
use crate::subject::Subject;
use crate::tail_of::Tail;
use crate::unit::rounded;

/// Empirical and fitted probabilities of taking longer.
#[derive(Clone, Debug, Serialize)]
pub struct Survival {
    /// Ascending durations, in seconds.
    pub seconds: Vec<f64>,
    /// Share of values above each: (n - i + 1/2) / n for the i-th of n.
    pub share: Vec<f64>,
    /// The same without the wait on the run queue, where that was read: durations, in seconds.
    pub corrected_seconds: Vec<f64>,
    /// Shares that belong to them.
    pub corrected_share: Vec<f64>,
    /// Fitted distributions: `GEV`, `normal`.
    #[serde(rename = "laws")]
    pub distributions: Vec<Curve>,
    /// How many values there are.
    pub of: usize,
}

impl Survival {
    fn of(subject: &Subject, tail: Option<&Tail>) -> Survival {
        let n = subject.steps.len();
        let (seconds, share) = above(subject.values());
        let (corrected_seconds, corrected_share) = if subject.has_correction() {
            above(subject.steps.iter().map(|step| step.corrected).collect())
        } else {
            Default::default()
        };
        let (low, high) = (seconds[0], seconds[seconds.len() - 1]);
        let reach = high + 0.25 * (high - low);
        let floor = 0.2 / n as f64;
        let curve = |name: &str, survival: &dyn Fn(f64) -> f64| {
            let grid = (0..=160).map(|k| low + (reach - low) * f64::from(k) / 160.0);
            let (x, y) = grid.map(|x| (x, survival(x))).filter(|(_, y)| *y >= floor).unzip();
            Curve { name: name.into(), x, y }
        };
        let mut distributions = Vec::new();
        if let Some(distribution) = tail.and_then(Tail::distribution) {
            distributions.push(curve("GEV", &|x| distribution.survival(x)));
        }
        if let Some(normal) = tail.and_then(Tail::normal) {
            distributions.push(curve("normal", &|x| 1.0 - normal.cdf(x)));
        }
        Survival { seconds, share, corrected_seconds, corrected_share, distributions, of: n }
    }
}

pub(super) fn figures(input: &Input) -> Vec<Figure> {
    let Input { prefix, analysis, what, .. } = *input;
    let unit = input.unit();
    let numbers = Survival::of(&analysis.subject, analysis.tail.as_ref());
    let hover = format!("%{{y:.3g}} take longer than %{{x}} {}<extra></extra>", unit.name);
    let mut traces = Vec::new();
    if !numbers.corrected_seconds.is_empty() {
        let x = unit.scale_all(&numbers.corrected_seconds);
        let name = "without CPU wait";
        traces.push(draw::points(name, x, numbers.corrected_share.clone(), (draw::SECOND, 4.0), &hover));
    }
    let x = unit.scale_all(&numbers.seconds);
    traces.push(draw::points("measured", x, numbers.share.clone(), (draw::DATA, 5.0), &hover));
    for distribution in &numbers.distributions {
        let (colour, dash) =
            if distribution.name == "GEV" { (draw::DISTRIBUTION, "solid") } else { (draw::OTHER, "dash") };
        let y = distribution.y.iter().map(|y| rounded(*y)).collect();
        traces.push(draw::line(
            &distribution.name,
            unit.scale_all(&distribution.x),
            y,
            (colour, dash),
            &hover,
        ));
    }
    let mut x = draw::axis(&unit.axis(what));
    if numbers.seconds[0] > 0.0 {
        x["type"] = json!("log");
    }
    let y = draw::axis_with("share that takes longer", draw::shares());
    let compared = if numbers.distributions.len() > 1 {
        " The normal line bends away where it is longer than chance."
    } else {
        ""
    };
    let corrected =
        if numbers.corrected_seconds.is_empty() { "" } else { " Green: without the wait for a CPU." };
    let title = "How often it takes longer".to_string();
    vec![Figure {
        id: format!("{prefix}survival"),
        caption: format!("Right end: the tail.{compared}{corrected}"),
        alternative: format!(
            "Empirical share of {} values above each duration, with the fitted distributions.",
            numbers.of
        ),
        wide: false,
        plot: draw::figure(&title, traces, x, y),
        title,
        numbers: Numbers::new("survival", numbers),
    }]
}
