//! The numbers of operations at several sizes: medians with intervals, rates and fitted lines.

use serde::Serialize;
use tail::enclosed::quantile_interval;

use crate::views::family::{Axis, SizeFamily};
use crate::views::line::AffineFit;
use crate::views::place::Place;

/// Time against size of one operation at several sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Every family.
    pub families: Vec<SizeCurve>,
    /// Caches by level with their bytes, as far as they are marked.
    pub caches: Vec<(String, f64)>,
}

/// One curve of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeCurve {
    /// `local / fwrite`.
    pub name: String,
    /// Bytes, or the number in the label.
    pub size: Vec<f64>,
    /// Median time of an operation, in seconds.
    pub median: Vec<f64>,
    /// Its 95% interval without a model; the median itself where there are too few samples.
    pub lower: Vec<f64>,
    /// Upper end.
    pub upper: Vec<f64>,
    /// 99% quantile, in seconds, where there are enough samples.
    pub p99: Vec<Option<f64>>,
    /// Operations a second over the whole time from the first to the last.
    pub rate: Vec<f64>,
    /// latency + size / bandwidth, where the size is what an operation moves.
    pub line: Option<AffineFit>,
}

impl SizeCurve {
    pub(crate) fn of(family: &SizeFamily, places: &[Place]) -> SizeCurve {
        let of = |value: &dyn Fn(&Place) -> f64| -> Vec<f64> {
            family.members.iter().map(|(_, place)| value(&places[*place])).collect()
        };
        let end = |upper: bool| {
            move |place: &Place| {
                let (low, high) = quantile_interval(place.sorted.len(), 0.5, 0.95);
                let at = if upper { high } else { low };
                at.map_or(place.median(), |at| place.sorted[at])
            }
        };
        let size: Vec<f64> = family.members.iter().map(|(size, _)| *size).collect();
        let (median, lower, upper) = (of(&Place::median), of(&end(false)), of(&end(true)));
        let points: Vec<(f64, f64, f64)> = (0..size.len())
            .map(|at| (size[at], median[at], (upper[at] - lower[at]) / (2.0 * 1.96)))
            .collect();
        SizeCurve {
            name: family.name.clone(),
            p99: family
                .members
                .iter()
                .map(|(_, place)| places[*place].summary().and_then(|summary| summary.p99))
                .collect(),
            rate: of(&|place| place.operations as f64 / place.span_s.max(1e-12)),
            line: (family.axis == Axis::Transfer).then(|| AffineFit::through(&points)).flatten(),
            size,
            median,
            lower,
            upper,
        }
    }
}
