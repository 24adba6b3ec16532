//! Draws which target is slow by itself and what all targets of a step share: ln S = target + step + noise.

use serde::Serialize;
use serde_json::json;
use tail::targets::Targets;

use super::figure::{Figure, Input, Numbers};
use super::{draw, thin};
use crate::subject::Subject;
use crate::unit::{percent, rounded};
use crate::words;

/// How much slower than the others each target is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetEffects {
    /// Ranks, ascending.
    pub rank: Vec<u32>,
    /// Typical duration over that of the other ranks: 1 is like the others.
    pub relative: Vec<f64>,
    /// Lower end of its interval, joint over all ranks.
    pub lower: Vec<f64>,
    /// Upper end.
    pub upper: Vec<f64>,
    /// Whether it is slower than the others, by a test adjusted for all ranks.
    pub slow: Vec<bool>,
    /// Shares of the variance of ln S: targets, steps, neither.
    pub shares: [f64; 3],
    /// As many independent targets would have the same extremes; none with too few steps.
    pub effective: Option<f64>,
}

/// By what factor all targets of a step were slower than in the middle step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedFactor {
    /// Position in time order, from 0, of each point shown.
    pub step: Vec<usize>,
    /// The factor: 1 is as usual.
    pub factor: Vec<f64>,
    /// Half of the 95% interval of the logarithm of each.
    pub half_width: f64,
    /// Standard deviation over steps of the factor, its own error taken out.
    pub deviation: f64,
    /// How many steps there are.
    pub of: usize,
}

impl TargetEffects {
    pub(crate) fn of(subject: &Subject, found: &Targets) -> TargetEffects {
        let of = |value: fn(&tail::targets::Target) -> f64| found.targets.iter().map(value).collect();
        TargetEffects {
            rank: subject.ranks.clone(),
            relative: of(|target| target.relative),
            lower: of(|target| target.interval.lower),
            upper: of(|target| target.interval.upper),
            slow: found.targets.iter().map(|target| target.slow).collect(),
            shares: found.variance_shares,
            effective: found.extremal.map(|extremal| extremal.effective),
        }
    }
}

pub(super) fn figures(input: &Input) -> Vec<Figure> {
    let found = input.analysis.targets.iter();
    found
        .flat_map(|found| {
            [effects(input.prefix, &input.analysis.subject, found), shared(input.prefix, found)]
        })
        .collect()
}

fn effects(prefix: &str, subject: &Subject, found: &Targets) -> Figure {
    let numbers = TargetEffects::of(subject, found);
    let title = "Which rank is slow by itself".to_string();
    let ranks: Vec<f64> = numbers.rank.iter().map(|rank| f64::from(*rank)).collect();
    let over = |factor: f64| rounded(100.0 * (factor - 1.0));
    let trace = |slow: bool| {
        let at: Vec<usize> = (0..ranks.len()).filter(|&at| numbers.slow[at] == slow).collect();
        let x: Vec<f64> = at.iter().map(|&at| ranks[at]).collect();
        let y: Vec<f64> = at.iter().map(|&at| over(numbers.relative[at])).collect();
        let up: Vec<f64> =
            at.iter().map(|&at| over(numbers.upper[at]) - over(numbers.relative[at])).collect();
        let down: Vec<f64> =
            at.iter().map(|&at| over(numbers.relative[at]) - over(numbers.lower[at])).collect();
        let hover = "rank %{x}: %{y:.2f}%<extra></extra>";
        let mut trace = if slow {
            draw::alarms("slower than the others", x, y, hover)
        } else {
            draw::points("with 95% interval, joint", x, y, (draw::DATA, 7.0), hover)
        };
        let colour = if slow { draw::ALARM } else { draw::DATA };
        trace["error_y"] = json!({
            "type": "data", "symmetric": false, "array": up, "arrayminus": down, "color": colour,
            "thickness": 1.4, "width": 3
        });
        (at.len(), trace)
    };
    let mut traces: Vec<_> = [false, true]
        .into_iter()
        .map(trace)
        .filter(|(count, _)| *count > 0)
        .map(|(_, trace)| trace)
        .collect();
    let ends = [ranks.first().copied().unwrap_or(0.0) - 0.5, ranks.last().copied().unwrap_or(0.0) + 0.5];
    traces.push(draw::guide("all alike", ends.to_vec(), vec![0.0; 2]));
    let mut x = draw::axis_with("rank", json!({"range": ends}));
    if ranks.len() <= 32 {
        x["dtick"] = json!(1);
    }
    let said = &words::targets::in_two_parts(found)[0];
    let all = said.join(" ");
    Figure {
        id: format!("{prefix}targets"),
        caption: in_two_lines(said),
        alternative: format!("Typical duration of each of {} ranks against the others. {all}", ranks.len()),
        wide: false,
        plot: draw::figure(&title, traces, x, draw::axis("slower than the others (%)")),
        title,
        numbers: Numbers::new("effects", numbers),
    }
}

/// What is said of the ranks, as far as it has room in a caption of half the width; the table has every rank.
fn in_two_lines(said: &[String]) -> String {
    const LETTERS: usize = 120;
    let fits = |caption: &str, more: &str| caption.chars().count() + more.chars().count() < LETTERS;
    said.iter().map(String::as_str).chain(["Dotted: all alike."]).fold(String::new(), |caption, more| match (
        caption.is_empty(),
        fits(&caption, more),
    ) {
        (true, _) => more.to_owned(),
        (false, true) => format!("{caption} {more}"),
        (false, false) => caption,
    })
}

fn shared(prefix: &str, found: &Targets) -> Figure {
    let all: Vec<f64> = found.ln_k.iter().map(|ln_k| ln_k.exp()).collect();
    let step = thin::in_time(&all);
    let numbers = SharedFactor {
        factor: step.iter().map(|&at| all[at]).collect(),
        step,
        half_width: 1.96 * found.ln_k_error,
        deviation: found.ln_k_sd,
        of: all.len(),
    };
    let title = "What all ranks of a step share".to_string();
    let x: Vec<f64> = numbers.step.iter().map(|step| *step as f64 + 1.0).collect();
    let y: Vec<f64> = numbers.factor.iter().map(|factor| rounded(*factor)).collect();
    let ends = [1.0, numbers.of as f64];
    let (low, high) = ((-numbers.half_width).exp(), numbers.half_width.exp());
    let outside = all.iter().filter(|factor| **factor < low || **factor > high).count();
    let name = "95% of steps if nothing is shared";
    let mut traces: Vec<_> =
        draw::band(name, &ends, vec![rounded(low); 2], vec![rounded(high); 2], draw::NEUTRAL_BAND).into();
    traces.push(draw::points("step", x, y, (draw::DATA, 4.0), "%{x}: %{y:.4f}<extra></extra>"));
    let range = [1.0 - 0.012 * numbers.of as f64, numbers.of as f64 * 1.012];
    Figure {
        id: format!("{prefix}shared"),
        caption: format!(
            "Above 1: slow on all ranks at once. {outside} of {} steps leave the band, chance gives {}. Shared deviation: {}.",
            numbers.of,
            numbers.of.div_ceil(20),
            percent(numbers.deviation)
        ),
        alternative: format!(
            "Factor common to all ranks in {} steps; {outside} outside the band.",
            numbers.of
        ),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with("step", json!({"range": range})),
            draw::axis("factor of the step"),
        ),
        title,
        numbers: Numbers::new("shared_factor", numbers),
    }
}
