//! Draws what every rank took against what its step took.

use serde::Serialize;
use serde_json::json;

use super::draw;
use super::figure::{Figure, Input, MOST_POINTS, Numbers};
use crate::subject::Subject;
use crate::unit::{Unit, percent};

/// What every rank took (S) against what the step took (T).
#[derive(Clone, Debug, Serialize)]
pub struct RankSpread {
    /// T of the step of each point, in seconds.
    pub step_seconds: Vec<f64>,
    /// S of the point, in seconds.
    pub rank_seconds: Vec<f64>,
    /// The rank of the point.
    pub rank: Vec<u32>,
    /// Whether this is the last rank of its step, so that S = T.
    pub last: Vec<bool>,
    /// How many pairs there are; more than are shown where there are many.
    pub of: usize,
    /// Median over steps of (median S of the step) / T: 1 where all ranks are equally slow.
    pub typical_share: f64,
}

pub(super) fn figures(input: &Input) -> Vec<Figure> {
    vec![figure(input.prefix, &input.analysis.subject, input.unit())]
}

fn figure(prefix: &str, subject: &Subject, unit: Unit) -> Figure {
    let steps = &subject.steps;
    let ranks = subject.ranks.len();
    let of = steps.len() * ranks;
    let stride = of.div_ceil(MOST_POINTS).max(1);
    // A stride coprime to the number of ranks shows every rank equally often.
    let stride = (stride..).find(|stride| *stride == 1 || gcd(*stride, ranks) == 1).unwrap_or(stride);
    let mut numbers = RankSpread {
        step_seconds: Vec::new(),
        rank_seconds: Vec::new(),
        rank: Vec::new(),
        last: Vec::new(),
        of,
        typical_share: typical_share(subject),
    };
    for index in (0..of).step_by(stride) {
        let (at, rank) = (index / ranks, index % ranks);
        numbers.step_seconds.push(steps[at].seconds);
        numbers.rank_seconds.push(subject.of_rank[rank][at]);
        numbers.rank.push(subject.ranks[rank]);
        numbers.last.push(subject.ranks[rank] == steps[at].last);
    }
    let pick = |wanted: bool, values: &[f64]| {
        let chosen: Vec<f64> = values
            .iter()
            .zip(&numbers.last)
            .filter(|(_, last)| **last == wanted)
            .map(|(value, _)| *value)
            .collect();
        unit.scale_all(&chosen)
    };
    let hover = format!("S = %{{y}}, T = %{{x}} {}<extra></extra>", unit.name);
    let (x, y) = (&numbers.step_seconds, &numbers.rank_seconds);
    let (low, high) =
        x.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
    let mut other = draw::points("not last", pick(false, x), pick(false, y), (draw::DATA, 4.0), &hover);
    other["marker"]["opacity"] = json!(0.4);
    let traces = vec![
        other,
        draw::points("last: S = T", pick(true, x), pick(true, y), (draw::DISTRIBUTION, 5.0), &hover),
        draw::guide("S = T", unit.scale_all(&[low, high]), unit.scale_all(&[low, high])),
    ];
    let title = "S of every rank against T of its step".to_string();
    let thinned =
        if stride > 1 { format!(" Shown: {} of {of} pairs.", numbers.rank.len()) } else { String::new() };
    Figure {
        id: format!("{prefix}spread"),
        caption: format!(
            "Level: single ranks are late; rising: all share a cause. Typical rank: {} of T.{thinned}",
            percent(numbers.typical_share)
        ),
        alternative: format!("Durations S of {ranks} ranks against the step's duration T, {of} pairs."),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis(&unit.axis("T, the slowest rank")),
            draw::axis(&unit.axis("S, each rank")),
        ),
        title,
        numbers: Numbers::new("spread", numbers),
    }
}

/// Median over steps of the median S in units of T.
fn typical_share(subject: &Subject) -> f64 {
    let mut shares: Vec<f64> = (0..subject.steps.len())
        .map(|at| {
            let mut row: Vec<f64> = subject.of_rank.iter().map(|of_rank| of_rank[at]).collect();
            row.sort_unstable_by(f64::total_cmp);
            crate::summary::quantile(&row, 0.5) / subject.steps[at].seconds
        })
        .collect();
    shares.sort_unstable_by(f64::total_cmp);
    crate::summary::quantile(&shares, 0.5)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
