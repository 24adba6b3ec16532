//! The chapter of throughput: rates of all operations over all ranks, of each rank, and over time.

use results::{QuantileInterval, Quantiles, ResultRow};
use samples::{SiteKind, units};

use crate::chapter::Chapter;
use crate::figures::rates;
use crate::screen::number::{bandwidth, between, three, time, unit_of_rates};
use crate::screen::rate_in;
use crate::table::Table;

/// Name of the chapter.
pub(crate) const ID: &str = "throughput";

/// Operations a second, bytes a second and quantiles of each operation; of `main` also each rank and the rate over
/// time. `None` of a run without operations.
pub(crate) fn chapter(rows: &[ResultRow], main: Option<&ResultRow>) -> Option<Chapter> {
    let operations: Vec<&ResultRow> =
        rows.iter().filter(|row| row.kind == SiteKind::Operation && row.timings > 0).collect();
    if operations.is_empty() {
        return None;
    }
    let mut tables = vec![of_operations(&operations, main)];
    tables.extend(main.and_then(of_ranks));
    tables.extend(main.and_then(of_passes));
    let chapter = Chapter::new(
        ID,
        "How fast, and how slow are the slow ones?",
        "Successful operations and bytes by wall time, over all ranks together, with how long one takes.",
    );
    Some(chapter.with(main.and_then(rates::figure), tables).repeating())
}

/// A number, or a dash.
fn optional(value: Option<f64>, shown: impl Fn(f64) -> String) -> String {
    value.map_or("–".into(), shown)
}

/// A quantile with its interval: `149 ms (141–160)`.
fn with_ends(value: Option<f64>, interval: Option<&QuantileInterval>) -> String {
    let ends = interval.map_or(String::new(), |found| {
        format!(" ({})", between(found.seconds, found.lower_seconds, found.upper_seconds))
    });
    optional(value, |value| format!("{}{ends}", time(value)))
}

fn of_operations(rows: &[&ResultRow], main: Option<&ResultRow>) -> Table {
    let largest = rows.iter().filter_map(|row| row.bytes_per_second).fold(0.0, f64::max);
    let of_main = main.and_then(|row| row.bytes_per_second).filter(|rate| *rate > 0.0);
    let (unit, factor) = unit_of_rates(of_main.unwrap_or(largest));
    let failed = rows.iter().any(|row| row.errors > 0);
    let mut columns =
        vec!["<operation", "count", "/s", unit, "depth", "p50 (95%)", "p99 (95%)", "p99.9 (95%)", "max"];
    if failed {
        columns.push("failed");
    }
    let mut table = Table::new("All operations, over all ranks", &columns);
    for row in rows {
        let found = row.headline();
        let at =
            |p: f64, value: fn(&Quantiles) -> Option<f64>| with_ends(found.and_then(value), row.interval(p));
        let mut cells = vec![
            row.name(),
            units::count(row.operations.unwrap_or(row.timings)),
            optional(row.operations_per_second, three),
            optional(row.bytes_per_second.filter(|rate| *rate > 0.0), |rate| rate_in(rate, (unit, factor))),
            optional(row.achieved_depth, three),
            at(0.5, |found| Some(found.p50)),
            at(0.99, |found| found.p99),
            at(0.999, |found| found.p999),
            optional(found.map(|found| found.max), time),
        ];
        if failed {
            cells.push(if row.errors > 0 { units::count(row.errors) } else { String::new() });
        }
        table.push(main.is_some_and(|main| std::ptr::eq(main, *row)), cells);
    }
    table.note = "Wall time is that inside the timed block around an operation, from its first begin to its last end over all \
                  ranks, without such a block that between the first operation and the end of the last; pauses between \
                  passes do not count. Intervals need no distribution and allow for slow \
                  operations that come together."
        .into();
    if rows.iter().any(|row| row.response_quantiles_seconds.is_some()) {
        table
            .note
            .push_str(" Under `rate`: p50 to max from when an operation was due, not from when it began.");
    }
    table
}

/// Each rank of the main operation, over its own wall time.
fn of_ranks(row: &ResultRow) -> Option<Table> {
    if row.per_rank.len() < 2 {
        return None;
    }
    let largest = row.per_rank.iter().map(|rank| rank.bytes_per_second).fold(0.0, f64::max);
    let (unit, factor) = unit_of_rates(largest);
    let title = format!("Each rank alone: {}", row.name());
    let mut table = Table::new(&title, &["rank", "count", "/s", unit, "depth", "p50", "p99", "max"]);
    for rank in &row.per_rank {
        let found = rank.quantiles_seconds.as_ref();
        table.push(
            false,
            [
                rank.rank.to_string(),
                units::count(rank.operations),
                three(rank.operations_per_second),
                if rank.bytes_per_second > 0.0 {
                    three(rank.bytes_per_second / factor)
                } else {
                    "–".into()
                },
                three(rank.achieved_depth),
                optional(found.map(|found| found.p50), time),
                optional(found.and_then(|found| found.p99), time),
                optional(found.map(|found| found.max), time),
            ],
        );
    }
    let wall = row.at_wall.map_or(String::new(), |wall| {
        let moved = match wall.bytes_per_second > 0.0 {
            true => format!(", {}", bandwidth(wall.bytes_per_second)),
            false => String::new(),
        };
        format!(
            " Until the first rank was through ({}): {} /s of all ranks{moved}; the slowest had then done {} of what the \
             quickest had.",
            time(wall.seconds),
            three(wall.operations_per_second),
            format_args!("{:.0}%", 100.0 * wall.balance)
        )
    });
    table.note = format!(
        "By each rank's own wall time: these rates do not add up to that of all ranks where ranks do not begin and end \
         together.{wall}"
    );
    Some(table)
}

/// Minimum, mean, maximum and deviation over the passes of the block around the main operation.
fn of_passes(row: &ResultRow) -> Option<Table> {
    let found = row.iterations.as_ref()?;
    let title = format!("Over {} passes: {}", units::count(found.count as u64), row.name());
    let mut table = Table::new(&title, &["<of a pass", "min", "mean", "median", "max", "sd"]);
    let (unit, factor) = unit_of_rates(found.bytes_per_second.max);
    let mut push = |name: &str, of: &results::Spread, shown: &dyn Fn(f64) -> String| {
        table.push(
            false,
            [name.into(), shown(of.min), shown(of.mean), shown(of.median), shown(of.max), shown(of.sd)],
        );
    };
    push("operations a second", &found.operations_per_second, &three);
    if found.bytes_per_second.max > 0.0 {
        push(unit, &found.bytes_per_second, &|rate| three(rate / factor));
    }
    push("time", &found.seconds, &time);
    table.note = match found.incomplete {
        0 => "The rate above is all work by all time, not the mean of these.".into(),
        n => format!("{n} passes that not every rank reached are left out here."),
    };
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_all_ranks_stand_before_those_of_each() {
        let rows = results::of_run(&samples::example::parallel_write(4, 60, 7));
        let main = rows.iter().find(|row| row.operation == "fwrite");
        let found = chapter(&rows, main).expect("operations");
        let titles: Vec<&str> = found.tables.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "All operations, over all ranks",
                "Each rank alone: write / fwrite",
                "Over 60 passes: write / fwrite"
            ]
        );
        assert_eq!(found.tables[1].rows.len(), 4);
        assert_eq!(found.figures[0].id, "rate");
        let strong: Vec<&str> =
            found.tables[0].rows.iter().filter(|row| row.strong).map(|row| row.cells[0].as_str()).collect();
        assert_eq!(strong, ["write / fwrite"]);
        assert!(chapter(&[], None).is_none());
    }
}
