//! Working sets of several sizes: steps show where a cache or a memory ends.

use samples::Run;

use super::axis::{MOST_LINES, SECONDS, caches, mark_caches, measured, size_axis, size_text, times_axis};
use super::numbers::{SizeCurve, Sizes};
use super::overlay::overlays;
use super::tables::{means, of_family};
use crate::Chapter;
use crate::figures::{Figure, Numbers, draw, in_short};
use crate::screen::number::time;
use crate::views::family::SizeFamily;
use crate::views::place::Place;

pub(super) fn chapter(run: &Run, places: &[Place], families: &[&SizeFamily]) -> Chapter {
    let mut chapter = Chapter::new(
        "sizes",
        "By size",
        "The same operation on ever more bytes: steps show where a cache or a memory ends.",
    );
    for (index, group) in families.chunks(MOST_LINES).enumerate() {
        chapter.figures.push(set_figure(run, places, group, index));
    }
    let courses: Vec<String> =
        families.iter().take(3).map(|family| course(&SizeCurve::of(family, places))).collect();
    chapter.brief = format!("Medians: {}.", courses.join("; "));
    chapter.figures.extend(overlays(run, places, families));
    chapter.tables.extend(means(places, families));
    chapter.tables.extend(families.iter().map(|family| of_family(run, places, family)));
    chapter
}

/// `memory / chase from 1.09 ns at 1 KiB to 140 ns at 64 MiB`.
fn course(family: &SizeCurve) -> String {
    let last = family.median.len() - 1;
    format!(
        "{} from {} at {} to {} at {}",
        family.name,
        time(family.median[0]),
        size_text(family.size[0]),
        time(family.median[last]),
        size_text(family.size[last])
    )
}

/// Medians of several families against size on one plot, with the caches marked.
pub(crate) fn set_figure(run: &Run, places: &[Place], families: &[&SizeFamily], index: usize) -> Figure {
    let numbers: Vec<SizeCurve> = families.iter().map(|family| SizeCurve::of(family, places)).collect();
    let unit = SECONDS;
    let sizes: Vec<f64> = numbers.iter().flat_map(|family| family.size.iter().copied()).collect();
    let (low, high) = sizes.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    let traces = numbers.iter().enumerate().map(|(index, family)| measured(family, index, unit)).collect();
    let title = "Time of one operation by size".to_string();
    let mut plot = draw::figure(
        &title,
        traces,
        size_axis("size", &sizes, true),
        draw::axis_with("median time", times_axis(&numbers)),
    );
    let caches = caches(run);
    mark_caches(&mut plot, &caches, low, high);
    let growth: Vec<String> = numbers.iter().map(course).collect();
    let marked = if caches.is_empty() { "" } else { " Dotted: the sizes of the caches." };
    Figure {
        id: if index == 0 { "by-size".into() } else { format!("by-size-{}", index + 1) },
        caption: format!(
            "A step up: the size outgrows something quicker. Medians: {}.{marked} Single timings include the clock's cost.",
            in_short(&growth, 120)
        ),
        alternative: format!("Median times against size. {}.", growth.join("; ")),
        wide: true,
        plot,
        title,
        numbers: Numbers::new("sizes", Sizes { families: numbers, caches }),
    }
}
