//! The ratio of a quantile of two samples, with its interval.

use serde::{Deserialize, Serialize};

use crate::Series;
use crate::enclosed::InOrder;
use crate::special::normal_quantile;

/// A ratio of quantiles, new by old, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileRatio {
    /// The ratio.
    pub value: f64,
    /// Lower end of the interval; `None` where it is open.
    pub lower: Option<f64>,
    /// Upper end; `None` where it is open.
    pub upper: Option<f64>,
}

/// A quantile, and the ends of its interval as far as it has some.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// The quantile.
    pub value: f64,
    /// Lower end.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
}

impl Ends {
    /// Of the quantile `p` of a series.
    fn of(series: &Series, order: &InOrder<f64>, p: f64, level: f64) -> Ends {
        let (sorted, value) = (series.sorted(), series.measured(p));
        let found = order.enclosed(sorted.len(), (p, value), level);
        Ends { value, lower: found.lower.map(|at| sorted[at]), upper: found.upper.map(|at| sorted[at]) }
    }
}

impl QuantileRatio {
    /// Of two quantiles with their intervals, on logarithms (Zou, Donner 2008). `None` where one is not positive.
    pub fn of(old: &Ends, new: &Ends) -> Option<QuantileRatio> {
        let ln = |value: f64| (value > 0.0).then(|| value.ln());
        let (a, b) = (ln(old.value)?, ln(new.value)?);
        let end = |end: Option<f64>| end.and_then(ln);
        let join = |one: Option<f64>, other: Option<f64>| Some((b - one?).hypot(other? - a));
        let down = join(end(new.lower), end(old.upper));
        let up = join(end(new.upper), end(old.lower));
        Some(QuantileRatio {
            value: (b - a).exp(),
            lower: down.map(|down| (b - a - down).exp()),
            upper: up.map(|up| (b - a + up).exp()),
        })
    }

    /// Whether it would leave 1 out as one of so many intervals that cover together (Bonferroni).
    pub fn is_shown_among(&self, many: usize) -> bool {
        let at = self.value.ln();
        let near = if at > 0.0 { self.lower } else { self.upper };
        let wider = normal_quantile(1.0 - 0.025 / many.max(1) as f64) / normal_quantile(0.975);
        near.is_some_and(|near| at != 0.0 && at.abs() > wider * (at - near.ln()).abs())
    }

    /// Whether the interval leaves 1 out.
    pub fn is_shown(&self) -> bool {
        self.lower.is_some_and(|lower| lower > 1.0) || self.upper.is_some_and(|upper| upper < 1.0)
    }

    /// Whether it is another ratio than `other`, at the error `significance`: the interval of their quotient leaves 1 out.
    pub(super) fn differs_from(&self, other: &QuantileRatio, significance: f64) -> bool {
        let (low, high) = if self.value < other.value { (self, other) } else { (other, self) };
        let apart = (high.value / low.value).ln();
        let reach = |end: Option<f64>, value: f64| end.map_or(f64::INFINITY, |end| (end / value).ln().abs());
        let wider = normal_quantile(1.0 - 0.5 * significance) / normal_quantile(0.975);
        apart > wider * reach(low.upper, low.value).hypot(reach(high.lower, high.value))
    }
}

/// The ratios of the quantiles of both samples; `None` of a quantile that one of them does not reach.
pub(super) fn ratios<const N: usize>(
    samples: [&Series; 2],
    probabilities: [f64; N],
    level: f64,
) -> [Option<QuantileRatio>; N] {
    let ends = |series: &Series| {
        let order = InOrder::of(series.values(), series.takers(), series.sorted());
        probabilities.map(|p| {
            let reached = p <= 0.5 || series.len() as f64 * (1.0 - p) >= 1.0 - 1e-9;
            reached.then(|| Ends::of(series, &order, p, level))
        })
    };
    let (old, new) = rayon::join(|| ends(samples[0]), || ends(samples[1]));
    std::array::from_fn(|at| QuantileRatio::of(old[at].as_ref()?, new[at].as_ref()?))
}
