//! Draws which rank was last, and how often.

use serde::Serialize;
use serde_json::json;
use tail::special::clopper_pearson;
use tail::targets::{TargetFinding, Targets};

use super::draw;
use super::figure::{Figure, Input, Numbers};
use crate::subject::Subject;
use crate::unit::{percent, probability, rounded};

/// How often each rank was last.
#[derive(Clone, Debug, Serialize)]
pub struct LastRanks {
    /// Ranks, ascending.
    pub rank: Vec<u32>,
    /// Steps in which this rank was last.
    pub count: Vec<u64>,
    /// Its exact 95% interval as a share of the steps (Clopper, Pearson 1934): lower ends.
    pub lower: Vec<f64>,
    /// Upper ends.
    pub upper: Vec<f64>,
    /// Share of each if all were alike.
    pub expected: f64,
    /// How many steps there are.
    pub of: u64,
    /// p-value of the largest count by exchange of blocks of steps between ranks; none with too few steps.
    pub p_value: Option<f64>,
    /// The ranks that are last more often than chance makes equal ones.
    pub often: Vec<u32>,
}

impl LastRanks {
    pub(crate) fn of(subject: &Subject, found: Option<&Targets>) -> LastRanks {
        let mut count = vec![0u64; subject.ranks.len()];
        for step in &subject.steps {
            if let Ok(at) = subject.ranks.binary_search(&step.last) {
                count[at] += 1;
            }
        }
        let of = subject.steps.len() as u64;
        let m = subject.ranks.len() as f64;
        let p_value = found.filter(|found| found.last.valid && m > 1.0).map(|found| found.last.p);
        let often = found.map_or_else(Vec::new, often);
        let (lower, upper) = count.iter().map(|&count| clopper_pearson(count, of, 0.95)).unzip();
        LastRanks { rank: subject.ranks.clone(), count, lower, upper, expected: 1.0 / m, of, p_value, often }
    }

    /// The rank that was last most often, and its share of all steps.
    fn most(&self) -> Option<(u32, u64, f64)> {
        let total: u64 = self.count.iter().sum();
        let (rank, count) = self.rank.iter().zip(&self.count).max_by_key(|(_, count)| **count)?;
        Some((*rank, *count, *count as f64 / total.max(1) as f64))
    }
}

fn often(found: &Targets) -> Vec<u32> {
    let mut ranks: Vec<u32> = found
        .findings
        .iter()
        .filter_map(|one| match *one {
            TargetFinding::LastUnequally { top } => Some(found.name(top)),
            TargetFinding::LastWhenSlow => found.last_when_slow.map(|when| found.name(when.target)),
            TargetFinding::Slow { target } => Some(found.name(target)),
            TargetFinding::NoneSlow
            | TargetFinding::LastEqually
            | TargetFinding::Variation
            | TargetFinding::EffectiveTargets => None,
        })
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

pub(super) fn figures(input: &Input) -> Vec<Figure> {
    vec![figure(input.prefix, LastRanks::of(&input.analysis.subject, input.analysis.targets.as_ref()))]
}

fn figure(prefix: &str, numbers: LastRanks) -> Figure {
    let title = "Which rank was last, and how often".to_string();
    let ranks: Vec<f64> = numbers.rank.iter().map(|&rank| f64::from(rank)).collect();
    let ends = [ranks.first().copied().unwrap_or(0.0) - 0.5, ranks.last().copied().unwrap_or(0.0) + 0.5];
    let share = |count: u64| rounded(100.0 * count as f64 / numbers.of.max(1) as f64);
    let shares: Vec<f64> = numbers.count.iter().map(|&count| share(count)).collect();
    let reach = |end: &[f64]| -> Vec<f64> {
        end.iter().zip(&shares).map(|(end, share)| rounded((100.0 * end - share).abs())).collect()
    };
    let often = |at: usize| numbers.often.contains(&numbers.rank[at]);
    let colours: Vec<&str> =
        (0..ranks.len()).map(|at| if often(at) { draw::ALARM } else { draw::DATA }).collect();
    let equal = rounded(100.0 * numbers.expected);
    let traces = vec![
        json!({
            "type": "bar", "name": "share of the steps, with 95% interval", "x": ranks, "y": shares,
            "customdata": numbers.count, "marker": {"color": colours, "opacity": 0.8},
            "error_y": {
                "type": "data", "symmetric": false, "array": reach(&numbers.upper),
                "arrayminus": reach(&numbers.lower), "color": draw::OTHER, "thickness": 1.4, "width": 3
            },
            "hovertemplate": "rank %{x}: %{y:.1f}%, %{customdata} times<extra></extra>"
        }),
        draw::line(
            "all alike",
            ends.to_vec(),
            vec![equal; 2],
            (draw::DISTRIBUTION, "dash"),
            "%{y:.1f}%<extra></extra>",
        ),
    ];
    let mut x = draw::axis("rank");
    x["range"] = json!(ends);
    if ranks.len() <= 32 {
        x["dtick"] = json!(1);
    }
    let most = numbers.most().map_or(String::new(), |(rank, count, share)| {
        format!("Rank {rank} was last most often: {count} times ({} of the steps).", percent(share))
    });
    let test = match (numbers.p_value, numbers.often.is_empty()) {
        (Some(p), false) => format!(" Red: more than by chance (p {}).", signed_probability(p)),
        (None, false) => " Red: more than by chance.".into(),
        (Some(p), true) => format!(" Not more than by chance (p {}).", signed_probability(p)),
        (None, true) => " Too few steps to test that.".into(),
    };
    Figure {
        id: format!("{prefix}last"),
        caption: format!("Dashed: all alike. {most}{test}"),
        alternative: format!("Bars: how often each of {} ranks was the last one. {most}", numbers.rank.len()),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            x,
            draw::axis_with("last in … % of the steps", json!({"rangemode": "tozero"})),
        ),
        title,
        numbers: Numbers::new("last", numbers),
    }
}

/// `= 0.42` or `< 0.001`.
fn signed_probability(p: f64) -> String {
    let text = probability(p);
    if text.starts_with('<') { text } else { format!("= {text}") }
}
