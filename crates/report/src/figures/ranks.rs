//! Who makes a step slow: how do the ranks spread, and which of them is last?

use serde::Serialize;
use serde_json::json;
use tail::special::{chi_square_survival, clopper_pearson};

use super::{Figure, MOST_POINTS, Numbers, draw};
use crate::subject::Subject;
use crate::unit::{Unit, percent, probability, rounded};

/// What every rank took (S) against what the step took (T).
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// T of the step of each point, in seconds.
    pub step_seconds: Vec<f64>,
    /// S of the point, in seconds.
    pub rank_seconds: Vec<f64>,
    /// The rank of the point.
    pub rank: Vec<u32>,
    /// Is this the last rank of its step, so that S = T?
    pub last: Vec<bool>,
    /// How many pairs there are; more than are shown where there are many.
    pub of: usize,
    /// Median over steps of (median S of the step) / T: 1 where all ranks are equally slow.
    pub typical_share: f64,
}

/// How often each rank was last.
#[derive(Clone, Debug, Serialize)]
pub struct Last {
    /// Ranks, ascending.
    pub rank: Vec<u32>,
    /// Steps in which this rank was last.
    pub count: Vec<u64>,
    /// Its exact 95 % interval as a share of the steps (Clopper, Pearson 1934): lower ends.
    pub lower: Vec<f64>,
    /// Upper ends.
    pub upper: Vec<f64>,
    /// Share of each if all were alike.
    pub expected: f64,
    /// How many steps there are.
    pub of: u64,
    /// Pearson's chi-square test that all ranks are last equally often (none with fewer than five expected).
    pub p_value: Option<f64>,
}

pub(crate) fn spread(prefix: &str, subject: &Subject, unit: Unit) -> Figure {
    let steps = &subject.steps;
    let ranks = subject.ranks.len();
    let of = steps.len() * ranks;
    let stride = of.div_ceil(MOST_POINTS).max(1);
    // A stride that shares no factor with the number of ranks shows every rank alike.
    let stride = (stride..).find(|stride| *stride == 1 || gcd(*stride, ranks) == 1).unwrap_or(stride);
    let mut numbers = Spread {
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
    let mut other = draw::points("not last", pick(false, x), pick(false, y), draw::DATA, 4.0, &hover);
    other["marker"]["opacity"] = json!(0.4);
    let traces = vec![
        other,
        draw::points("last: S = T", pick(true, x), pick(true, y), draw::LAW, 5.0, &hover),
        draw::guide("S = T", unit.scale_all(&[low, high]), unit.scale_all(&[low, high])),
    ];
    let title = "S of every rank against T of its step".to_string();
    let thinned =
        if stride > 1 { format!(" {} of {of} pairs are shown.", numbers.rank.len()) } else { String::new() };
    Figure {
        id: format!("{prefix}spread"),
        caption: format!(
            "Each point is one rank in one step. A cloud that stays level while T grows: single ranks are late. \
             A cloud that rises with T: the whole step was slow, the ranks share a cause. In the middle step the \
             typical rank took {} of T.{thinned}",
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
        numbers: Numbers::Spread(numbers),
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

impl Last {
    pub(crate) fn of(subject: &Subject) -> Last {
        let mut count = vec![0u64; subject.ranks.len()];
        for step in &subject.steps {
            if let Ok(at) = subject.ranks.binary_search(&step.last) {
                count[at] += 1;
            }
        }
        let of = subject.steps.len() as u64;
        let (n, m) = (of as f64, subject.ranks.len() as f64);
        let expected = n / m;
        let chi_square: f64 = count.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
        let p_value = (expected >= 5.0 && m > 1.0).then(|| chi_square_survival(chi_square, m - 1.0));
        let (lower, upper) = count.iter().map(|&count| clopper_pearson(count, of, 0.95)).unzip();
        Last { rank: subject.ranks.clone(), count, lower, upper, expected: 1.0 / m, of, p_value }
    }

    /// The rank that was last most often, and its share of all steps.
    fn most(&self) -> Option<(u32, u64, f64)> {
        let total: u64 = self.count.iter().sum();
        let (rank, count) = self.rank.iter().zip(&self.count).max_by_key(|(_, count)| **count)?;
        Some((*rank, *count, *count as f64 / total.max(1) as f64))
    }
}

pub(crate) fn last(prefix: &str, numbers: &Last) -> Figure {
    let title = "Which rank was last, and how often".to_string();
    let ranks: Vec<f64> = numbers.rank.iter().map(|&rank| f64::from(rank)).collect();
    let ends = [ranks.first().copied().unwrap_or(0.0) - 0.5, ranks.last().copied().unwrap_or(0.0) + 0.5];
    let share = |count: u64| rounded(100.0 * count as f64 / numbers.of.max(1) as f64);
    let shares: Vec<f64> = numbers.count.iter().map(|&count| share(count)).collect();
    let reach = |end: &[f64]| -> Vec<f64> {
        end.iter().zip(&shares).map(|(end, share)| rounded((100.0 * end - share).abs())).collect()
    };
    let often = |at: usize| numbers.lower[at] > numbers.expected;
    let colours: Vec<&str> =
        (0..ranks.len()).map(|at| if often(at) { draw::ALARM } else { draw::DATA }).collect();
    let equal = rounded(100.0 * numbers.expected);
    let traces = vec![
        json!({
            "type": "bar", "name": "share of the steps, with 95 % interval", "x": ranks, "y": shares,
            "customdata": numbers.count, "marker": {"color": colours, "opacity": 0.8},
            "error_y": {
                "type": "data", "symmetric": false, "array": reach(&numbers.upper),
                "arrayminus": reach(&numbers.lower), "color": draw::OTHER, "thickness": 1.4, "width": 3
            },
            "hovertemplate": "rank %{x}: %{y:.1f} %, %{customdata} times<extra></extra>"
        }),
        draw::line(
            "all alike",
            ends.to_vec(),
            vec![equal; 2],
            draw::LAW,
            "dash",
            "%{y:.1f} %<extra></extra>",
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
    let test = match numbers.p_value {
        Some(p) if p < 0.01 => format!(
            " The ranks are not alike (chi-square test, p {}): look at what serves the red ones first.",
            signed_probability(p)
        ),
        Some(p) => format!(
            " The counts are as even as chance makes them (chi-square test, p {}).",
            signed_probability(p)
        ),
        None => " There are too few steps to test whether the ranks are alike.".into(),
    };
    Figure {
        id: format!("{prefix}last"),
        caption: format!(
            "Equal ranks are last equally often (dashed); red ones are last more often than that, beyond chance. \
             {most}{test}"
        ),
        alternative: format!("Bars: how often each of {} ranks was the last one. {most}", numbers.rank.len()),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            x,
            draw::axis_with("last in … % of the steps", json!({"rangemode": "tozero"})),
        ),
        title,
        numbers: Numbers::Last(numbers.clone()),
    }
}

/// `= 0.42` or `< 0.001`.
fn signed_probability(p: f64) -> String {
    let text = probability(p);
    if text.starts_with('<') { text } else { format!("= {text}") }
}
