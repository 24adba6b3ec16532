//! Cells that the forms of answers share: times that the clock resolves or not, rates, waits.

use results::ResultRow;
use samples::SiteKind;

use super::Measured;
use crate::number::{three, time};
use crate::views::Place;

/// A single timing below so many times the clock's cost shows the clock, not the operation.
const RESOLVED: f64 = 2.0;

/// Share of the time from which on a wait for a processor is shown.
pub(super) const SHOWN_WAIT: f64 = 0.01;

impl<'a> Measured<'a> {
    /// Whether a time of the place is told from the clock's own cost: batches share it.
    pub fn is_resolved(&self, place: &Place, seconds: f64) -> bool {
        place.batch > 1 || seconds >= RESOLVED * self.clock
    }

    /// A time of the place; `≤ 28 ns` where that is mostly the clock.
    pub fn time(&self, place: &Place, seconds: f64) -> String {
        match self.is_resolved(place, seconds) {
            true => time(seconds),
            false => format!("≤ {}", time(seconds)),
        }
    }

    /// What the clock costs and what that means for these places, one sentence; none where it does not matter.
    pub fn about_the_clock<'p>(&self, places: impl Iterator<Item = &'p Place>) -> Option<String> {
        if self.clock <= 0.0 {
            return None;
        }
        let (mut batch, mut singles) = (1, false);
        for place in places {
            batch = batch.max(place.batch);
            singles |= place.batch == 1 && place.median() < 20.0 * self.clock;
        }
        let cost = format!("A timing costs {}, which is in every single one", time(self.clock));
        match (batch, singles) {
            (1, false) => None,
            (1, true) => Some(format!("{cost}; ≤ marks what is mostly that.")),
            (batch, _) => {
                let most = samples::units::count(u64::from(batch));
                Some(format!("{cost}; batches of up to {most} share it."))
            }
        }
    }

    /// The row of the results for a label and an operation.
    pub fn row(&self, label: &str, operation: &str) -> Option<&'a ResultRow> {
        self.results
            .iter()
            .find(|row| row.label.as_deref().unwrap_or_default() == label && row.operation == operation)
    }

    /// The block of a label, where it is timed often enough to have a median of its own.
    pub fn block(&self, label: &str) -> Option<&'a ResultRow> {
        const FEWEST: u64 = 10;
        self.results.iter().find(|row| {
            row.label.as_deref() == Some(label)
                && matches!(row.kind, SiteKind::Time | SiteKind::Phase)
                && row.timings >= FEWEST
        })
    }
}

/// `12%` of the time in which a place waited for a processor; `–` below a hundredth.
pub(super) fn waited(place: &Place) -> String {
    match place.waited_share() {
        share if share >= SHOWN_WAIT => format!("{:.0}%", 100.0 * share),
        _ => "–".into(),
    }
}

/// A rate with three digits, or `–`.
pub(super) fn rate(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or("–".into(), three)
}

/// MiB a second, or `–` of no bytes.
pub(crate) fn mib(bytes_per_second: Option<f64>) -> String {
    const MIB: f64 = (1u64 << 20) as f64;
    rate(bytes_per_second.filter(|rate| *rate > 0.0).map(|rate| rate / MIB))
}

/// Removes the columns, but for the first, that hold nothing in any row.
pub(super) fn without_empty_columns(table: &mut crate::Table) {
    for at in (1..table.columns.len()).rev() {
        if table.rows.iter().all(|row| matches!(row.cells[at].as_str(), "–" | "")) {
            table.columns.remove(at);
            table.rows.iter_mut().for_each(|row| {
                row.cells.remove(at);
            });
        }
    }
}
