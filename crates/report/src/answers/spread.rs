//! Tables beside the ladder: mean and standard deviation of single accesses, and how long files take that are made of
//! blocks.

use results::ResultRow;

use super::Measured;
use crate::Table;
use crate::number::{bandwidth, time};
use crate::views::{Place, size_of_word, size_text};

fn shown(value: Option<f64>) -> String {
    value.map_or("–".into(), time)
}

/// Mean and deviation of what was timed one by one, in the order of the operations, then of the sizes; `None` of nothing.
pub(super) fn means(measured: Measured, singles: &[&Place]) -> Option<Table> {
    let mut table = Table::new(
        "Mean and standard deviation of one access",
        &["<what", "count", "mean", "deviation", "median", "slowest"],
    );
    for place in singles {
        let Some(row) = measured.row(&place.label, &place.operation) else { continue };
        let found = row.quantiles_seconds.as_ref();
        table.push(
            false,
            [
                row.name(),
                samples::units::count(row.timings),
                shown(row.mean_seconds),
                shown(row.sd_seconds),
                shown(found.map(|found| found.p50)),
                shown(found.map(|found| found.max)),
            ],
        );
    }
    table.note = "Of timings of one operation each, the clock's cost in them. A deviation beyond the mean is that of a few \
                  interruptions: compare medians."
        .into();
    (!table.rows.is_empty()).then_some(table)
}

/// Files made of blocks, from labels `create file SIZE`: the time to make a block, to write one, and in all.
pub(super) fn created(measured: Measured) -> Option<Table> {
    const LABEL: &str = "create file ";
    let mut table = Table::new(
        "Files made of blocks",
        &["<file", "blocks", "make a block", "write a block: mean", "deviation", "fsync", "in all", "rate"],
    );
    let writes = measured.results.iter().filter(|row| row.operation == "fwrite");
    for write in writes {
        let Some(label) = write.label.as_deref().filter(|label| label.starts_with(LABEL)) else { continue };
        let Some((size, _)) = size_of_word(&label[LABEL.len()..]) else { continue };
        let of = |operation: &str| measured.row(label, operation);
        let whole = measured.results.iter().find(|row| row.label.as_deref() == Some(label) && row.is_block());
        let seconds = whole.and_then(|row| row.mean_seconds);
        let mean = |row: Option<&ResultRow>| shown(row.and_then(|row| row.mean_seconds));
        table.push(
            false,
            [
                size_text(size),
                samples::units::count(write.timings),
                mean(of("alloc")),
                shown(write.mean_seconds),
                shown(write.sd_seconds),
                mean(of("fsync")),
                shown(seconds),
                seconds
                    .filter(|seconds| *seconds > 0.0)
                    .map_or("–".into(), |seconds| bandwidth(size / seconds)),
            ],
        );
    }
    table.note =
        "A block is made once, in memory, and written again and again; in all with the fsync at the end."
            .into();
    (!table.rows.is_empty()).then_some(table)
}
