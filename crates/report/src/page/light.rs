//! What of a report its page shows: of many operations, each with many figures, those that a reader looks at, drawn by
//! no more points than a screen can tell apart. A page with details shows all.

use crate::{Chapter, Figure};

/// Figures of a page, at most, as far as chapters are folded; those of open chapters are all there.
const MOST: usize = 12;

/// Figures that say more of what others of their chapter tell, by the ends of their names.
const SUPPORTING: [&str; 9] = [
    "autocorrelation",
    "shared",
    "spread",
    "quantiles",
    "density",
    "mean-excess",
    "shape-stability",
    "scale-stability",
    "distributions",
];

/// And those that may be missing where a chapter is folded below an answer that has the same operations.
const MINOR: [&str; 3] = ["probability", "far-tail", "time-use"];

/// Figures of what another figure of their chapter shows on other axes.
const REPEATING: [&str; 1] = ["answer-survival-linear"];

pub(super) fn is_supporting(figure: &Figure) -> bool {
    SUPPORTING.iter().any(|id| figure.id.ends_with(id))
}

fn is_minor(figure: &Figure) -> bool {
    is_supporting(figure)
        || MINOR.iter().any(|id| figure.id.ends_with(id))
        || figure.id.starts_with("overlay-")
}

/// A chapter with the figures that a page shows of it.
pub(super) struct ShownChapter<'a> {
    pub chapter: &'a Chapter,
    pub figures: Vec<&'a Figure>,
    /// Titles of those that only a page with details shows.
    pub left_out: Vec<&'a str>,
}

/// Of all chapters those that a page shows.
pub(super) fn shown(chapters: &[Chapter], details: bool) -> Vec<ShownChapter<'_>> {
    let is_shown = |chapter: &&Chapter| details || !chapter.is_part;
    let open: usize =
        chapters.iter().filter(|chapter| !chapter.folded).map(|chapter| chapter.figures.len()).sum();
    let mut room = MOST.saturating_sub(open);
    let mut all = Vec::new();
    for chapter in chapters.iter().filter(is_shown) {
        let (mut figures, mut left_out) = (Vec::new(), Vec::new());
        for figure in &chapter.figures {
            let has_room = room > 0 && !is_minor(figure);
            let is_open = !chapter.folded && !REPEATING.contains(&figure.id.as_str());
            match details || is_open || (chapter.folded && has_room) {
                true => figures.push(figure),
                false => left_out.push(figure.title.as_str()),
            }
            room -= usize::from(chapter.folded && has_room);
        }
        all.push(ShownChapter { chapter, figures, left_out });
    }
    all
}
