//! Draws how values resemble those before them.

use serde::Serialize;
use serde_json::json;

use super::draw;
use super::figure::{Figure, Input, Numbers};
use crate::tail_of::Tail;
use crate::unit::rounded;

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

pub(super) fn figures(input: &Input) -> Vec<Figure> {
    input.analysis.tail.as_ref().and_then(|tail| figure(input.prefix, tail)).into_iter().collect()
}

fn figure(prefix: &str, tail: &Tail) -> Option<Figure> {
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
        .map(|r| if r.abs() > numbers.bound { draw::DISTRIBUTION } else { draw::DATA })
        .collect();
    let bound = rounded(numbers.bound);
    let mut traces: Vec<_> =
        draw::band("95% of independent values", &ends, vec![-bound; 2], vec![bound; 2], draw::NEUTRAL_BAND)
            .into();
    traces.push(json!({
        "type": "bar", "name": "autocorrelation", "x": numbers.lag, "y": numbers.correlation,
        "showlegend": false, "width": 0.55, "marker": {"color": colours},
        "hovertemplate": "distance %{x}: %{y:.3f}<extra></extra>"
    }));
    let outside = numbers.correlation.iter().filter(|r| r.abs() > numbers.bound).count();
    let reach = |sign: f64| {
        let far = numbers.correlation.iter().fold(1.6 * numbers.bound, |far, r| far.max(sign * r * 1.15));
        sign * rounded(far.min(1.05))
    };
    let range = [reach(-1.0), reach(1.0)];
    let title = "Does a value resemble those before it?".to_string();
    let n = tail.assessment.as_ref().map_or(0, |found| found.n);
    Some(Figure {
        id: format!("{prefix}autocorrelation"),
        caption: format!(
            "{outside} of {} bars leave the band, chance gives {}. Slow decay: clusters. For a mean, {n} values count as {:.0}.",
            numbers.lag.len(),
            numbers.lag.len().div_ceil(20),
            found.effective_size
        ),
        alternative: format!(
            "Autocorrelation of ranks at {} distances; {outside} outside the band.",
            numbers.lag.len()
        ),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with("distance in time order", json!({"range": ends})),
            draw::axis_with("rank correlation", json!({"range": range, "zeroline": true})),
        ),
        title,
        numbers: Numbers::new("autocorrelation", numbers),
    })
}
