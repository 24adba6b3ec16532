//! What comparisons need of a row: small enough for the footer of a run file.

use samples::SiteKind;
use serde::{Deserialize, Serialize};

use crate::interval::QuantileInterval;
use crate::quantiles::Quantiles;
use crate::rate::KeptRate;
use crate::row::ResultRow;
use crate::safe::Safe;

/// Quantiles that are compared.
const COMPARED: [f64; 2] = [0.5, 0.99];

/// A row without what [`crate::compare_rows`] does not ask for. Names are short: a footer has little room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRow {
    #[serde(rename = "l")]
    labels: Vec<String>,
    #[serde(rename = "o")]
    operation: String,
    #[serde(rename = "k")]
    kind: SiteKind,
    #[serde(rename = "n")]
    ranks: Option<usize>,
    #[serde(rename = "z")]
    bytes_per_operation: Option<[u64; 2]>,
    #[serde(rename = "w")]
    rate: Option<KeptRate>,
    /// Depth, operations and bytes a second, busy seconds.
    #[serde(rename = "r")]
    rates: [Option<f64>; 4],
    #[serde(rename = "q")]
    quantiles: KeptQuantiles,
    #[serde(rename = "s", skip_serializing_if = "Option::is_none", default)]
    safe: Option<KeptQuantiles>,
}

/// The median as it is told, and intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KeptQuantiles(Option<f64>, Vec<QuantileInterval>);

impl KeptQuantiles {
    fn of(quantiles: Option<&Quantiles>, intervals: &[QuantileInterval]) -> Self {
        let kept = intervals.iter().filter(|one| COMPARED.contains(&one.probability));
        Self(quantiles.map(|quantiles| quantiles.p50), kept.copied().collect())
    }

    fn quantiles(&self) -> Option<Quantiles> {
        self.0.map(|p50| Quantiles { p50, ..Quantiles::default() })
    }
}

impl KeptRow {
    /// Of a row.
    pub fn of(row: &ResultRow) -> KeptRow {
        KeptRow {
            labels: row.labels.clone(),
            operation: row.operation.clone(),
            kind: row.kind,
            ranks: row.ranks,
            bytes_per_operation: row.bytes_per_operation,
            rate: row.rate,
            rates: [row.achieved_depth, row.operations_per_second, row.bytes_per_second, row.busy_seconds],
            quantiles: KeptQuantiles::of(row.headline(), &row.intervals),
            safe: row
                .safe
                .as_ref()
                .map(|safe| KeptQuantiles::of(safe.quantiles_seconds.as_ref(), &safe.intervals)),
        }
    }

    /// The row, with what is kept of it; its counts are 0.
    pub fn row(self) -> ResultRow {
        let [achieved_depth, operations_per_second, bytes_per_second, busy_seconds] = self.rates;
        let safe = self.safe.map(|safe| Safe {
            count: 0,
            syncs: 0,
            quantiles_seconds: safe.quantiles(),
            intervals: safe.1,
        });
        ResultRow {
            label: self.labels.last().cloned(),
            labels: self.labels,
            operation: self.operation,
            kind: self.kind,
            ranks: self.ranks,
            bytes_per_operation: self.bytes_per_operation,
            rate: self.rate,
            achieved_depth,
            operations_per_second,
            bytes_per_second,
            busy_seconds,
            quantiles_seconds: self.quantiles.quantiles(),
            intervals: self.quantiles.1,
            safe,
            ..ResultRow::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_kept_compare_as_those_of_the_samples() {
        let rows = |seed: u64, factor: u64| {
            let mut run = samples::example::parallel_write(4, 300, seed);
            run.samples.iter_mut().for_each(|sample| sample.duration_ps = sample.duration_ps * factor / 8);
            // Late starts, of which the headline then is.
            run.samples.iter_mut().filter(|sample| sample.site == 2).for_each(|sample| sample.late_ns = 900);
            crate::of_run(&run)
        };
        let (old, new) = (rows(3, 8), rows(4, 9));
        let kept = |rows: &[ResultRow]| -> Vec<ResultRow> {
            rows.iter().map(|row| KeptRow::of(row).row()).collect()
        };
        assert!(old.len() > 4 && old.iter().any(|row| row.response_quantiles_seconds.is_some()));
        assert_eq!(crate::compare_rows(&kept(&old), &kept(&new)), crate::compare_rows(&old, &new));
    }
}
