//! Chapters of operations at several sizes: curves, fitted lines and tables.
//!
//! [`numbers`] holds what is drawn, [`axis`] the axes and marks that figures of sizes share; each kind of number
//! (transfers, working sets, other counts) has a file of its own.

pub(super) mod axis;
mod counts;
mod numbers;
mod overlay;
mod sets;
mod tables;
mod transfers;

use samples::Run;

use super::family::{Axis, SizeFamily};
use super::place::Place;
use crate::Chapter;

pub(crate) use axis::{caches, colour, size_text};
pub use numbers::{SizeCurve, Sizes};
pub(crate) use sets::set_figure;

/// Chapters for transfers, working sets and other numbers, as far as there are any.
pub(super) fn chapters(run: &Run, places: &[Place], families: &[SizeFamily]) -> Vec<Chapter> {
    let of = |wanted: &dyn Fn(&Axis) -> bool| -> Vec<&SizeFamily> {
        families.iter().filter(|family| wanted(&family.axis)).collect()
    };
    let transfers = of(&|axis| *axis == Axis::Transfer);
    let sets = of(&|axis| *axis == Axis::Bytes);
    let mut chapters = Vec::new();
    if !transfers.is_empty() {
        chapters.push(transfers::chapter(run, places, &transfers));
    }
    if !sets.is_empty() {
        chapters.push(sets::chapter(run, places, &sets));
    }
    let mut names: Vec<&str> = families
        .iter()
        .filter_map(|family| match &family.axis {
            Axis::Count(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let counted = of(&|axis| matches!(axis, Axis::Count(other) if other == name));
        chapters.push(counts::chapter(run, places, &counted, name));
    }
    chapters
}
