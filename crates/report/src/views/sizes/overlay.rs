//! Distributions of one operation at several sizes, one over the other.

use samples::Run;

use super::axis::{count_text, size_text};
use crate::figures::curve::{Curve, above};
use crate::figures::{Figure, slug};
use crate::unit::Unit;
use crate::views::distributions::{Overlay, survival_figure};
use crate::views::family::{Axis, SizeFamily};
use crate::views::place::Place;

/// Families whose distributions are shown one over the other.
const MOST: usize = 8;

/// An overlay of each family, of many families of the first.
pub(super) fn overlays(
    run: &Run,
    places: &[Place],
    families: &[&SizeFamily],
) -> impl Iterator<Item = Figure> {
    families.iter().take(MOST).map(|family| overlay(run, places, family))
}

/// One over the other: how often each size takes longer, on logarithmic axes, with the clock's step.
fn overlay(run: &Run, places: &[Place], family: &SizeFamily) -> Figure {
    let unit = Unit::of_duration(places[family.members[family.members.len() / 2].1].median());
    let label = |size: f64| match &family.axis {
        Axis::Count(name) => format!("{name} {}", count_text(size)),
        _ => size_text(size),
    };
    let curves: Vec<Curve> = family
        .members
        .iter()
        .map(|(size, place)| {
            let (x, y) = above(places[*place].sorted.clone());
            Curve { name: label(*size), x, y }
        })
        .collect();
    let title = format!("How often it takes longer: {}", family.name);
    let overlay = Overlay {
        id: format!("overlay-{}", slug(&family.name)),
        title,
        curves,
        unit,
        look_for: "Apart: size matters; together at the right: the same pauses.",
    };
    survival_figure(run, overlay)
}
