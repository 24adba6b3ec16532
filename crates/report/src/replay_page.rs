//! The page of an application beside its replays: what was done, and when.

use crate::chapter::Chapter;
use crate::figures::{Curve, Curves, Figure, Numbers, draw};
use crate::page::{Document, Tile};
use crate::table::Table;
use crate::unit::{duration, rounded, significant};

/// What the page of an application and its replays is made of.
pub struct ReplayPage {
    /// What comes first, a line each: the answer, then what it rests on.
    pub answer: String,
    /// The files that were compared.
    pub place: Vec<String>,
    /// Numbers beside each other: name, quantity, note.
    pub tiles: Vec<[String; 3]>,
    /// Operations of both sides.
    pub operations: Table,
    /// Length of a bin, in seconds.
    pub bin_s: f64,
    /// The application, then its replays.
    pub sides: Vec<SideOverTime>,
}

/// One side over time, a value a bin.
pub struct SideOverTime {
    /// `application`, `replay 1`.
    pub name: String,
    /// MiB that began to move, a second.
    pub mebibytes: Vec<f64>,
    /// Operations that began, a second.
    pub operations: Vec<f64>,
    /// Operations in flight on average.
    pub in_flight: Vec<f64>,
}

/// A quantity of a side, a value a bin.
type Quantity = fn(&SideOverTime) -> &[f64];

impl ReplayPage {
    /// The page.
    pub fn html(&self) -> String {
        let over_time = Chapter::new(
            "over-time",
            "Both over time",
            "From the first operation of each on. A replay with the pauses of the application has its bursts and silences.",
        )
        .with(
            [
                self.figure("bytes", "Bytes", "MiB/s", |side| &side.mebibytes),
                self.figure("operations", "Operations", "operations a second", |side| &side.operations),
                self.figure("in-flight", "Operations in flight", "operations", |side| &side.in_flight),
            ],
            [],
        );
        let operations = Chapter::new(
            "operations",
            "Operations",
            "Durations of the application that are shorter than four times what recording costs are marked unusable.",
        )
        .with([], [self.operations.clone()]);
        let tiles = self.tiles.iter().map(|[name, quantity, note]| Tile::new(name, quantity, note));
        Document {
            title: "Application and replay",
            kicker: "Fidelity of a replay".into(),
            place: self.place.clone(),
            answer: Some(self.answer.clone()),
            warnings: &[],
            verdict: None,
            tiles: tiles.collect(),
            chapters: &[over_time, operations],
            facts: None,
            details: false,
            timed_lines: &[],
            version: None,
        }
        .html()
    }

    fn figure(&self, id: &str, title: &str, unit: &str, quantity: Quantity) -> Figure {
        const COLOURS: [(&str, &str); 2] = [(draw::DATA, "solid"), (draw::DISTRIBUTION, "solid")];
        let mut curves = Vec::new();
        let mut traces = Vec::new();
        for (number, side) in self.sides.iter().enumerate() {
            let y: Vec<f64> = quantity(side).iter().map(|value| rounded(*value)).collect();
            let x: Vec<f64> = (0..y.len()).map(|at| rounded((at as f64 + 0.5) * self.bin_s)).collect();
            let style = COLOURS.get(number).copied().unwrap_or((draw::DISTRIBUTION, "dot"));
            traces.push(draw::line(
                &side.name,
                x.clone(),
                y.clone(),
                style,
                "%{x:.3g} s: %{y:.3g}<extra></extra>",
            ));
            curves.push(Curve { name: side.name.clone(), x, y });
        }
        let largest = |side: &SideOverTime| quantity(side).iter().copied().fold(0.0, f64::max);
        let peaks: Vec<String> = self
            .sides
            .iter()
            .map(|side| format!("{} up to {}", side.name, significant(largest(side), 3)))
            .collect();
        let peaks = format!("{}: {} {unit}.", title, peaks.join(", "));
        Figure {
            id: format!("replay-{id}"),
            title: format!("{title} over time"),
            caption: format!("Bins of {}. {peaks}", duration(self.bin_s)),
            alternative: peaks,
            wide: true,
            plot: draw::figure(title, traces, draw::axis("time, s"), draw::axis(unit)),
            numbers: Numbers::new("replay-over-time", Curves { curves }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_answer_do_not_run_into_each_other() {
        let page = ReplayPage {
            answer: "The replay does the same.\nrepeated exactly: 3 calls\nnot repeated: 2 × `readlink`"
                .into(),
            place: vec!["application: app.parquet".into()],
            tiles: Vec::new(),
            operations: Table::new("Operations", &["<operation", "calls"]),
            bin_s: 0.1,
            sides: Vec::new(),
        };
        let html = page.html();
        for line in [
            "<p>The replay does the same.</p>",
            "<p class=\"more\">repeated exactly: 3 calls</p>",
            "<p class=\"more\">not repeated: 2 × <code>readlink</code></p>",
        ] {
            assert!(html.contains(line), "{line}");
        }
    }
}
