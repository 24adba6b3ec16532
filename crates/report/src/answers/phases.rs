//! The answer of an application: for each phase its operations with quantity, average, minimum and maximum, and what
//! the phase moved in a second.

use results::{Phase, ResultRow, phases, quantity};
use samples::units;

use super::cells::mib;
use super::picture::{Dot, dots};
use super::{Answer, Measured};
use crate::Table;
use crate::number::{bandwidth, three, time};
use crate::unit::significant;

pub(super) fn answer(measured: Measured) -> Option<Answer> {
    let phases = phases(measured.results);
    let timed: Vec<&Phase> = phases.iter().filter(|phase| phase.wall_seconds > 0.0).collect();
    if timed.is_empty() {
        return None;
    }
    let table = table(&phases);
    let of = |phase: &Phase| match phase.bytes() {
        0 => format!("{} {} operations/s", phase.label, three(rate_of(phase))),
        _ => format!("{} moves {}", phase.label, mib_per_second(phase)),
    };
    let busy = |row: &ResultRow| row.busy_seconds.unwrap_or(0.0);
    let all = || phases.iter().flat_map(|phase| phase.operations.iter().map(move |row| (phase, *row)));
    let total: f64 = all().map(|(_, row)| busy(row)).sum();
    let main = all().max_by(|a, b| busy(a.1).total_cmp(&busy(b.1))).filter(|_| total > 0.0);
    let is_main = |phase: &&Phase| main.is_some_and(|(of, _)| std::ptr::eq(of, *phase));
    let mut sentences = Vec::new();
    if let Some((phase, row)) = main {
        let found = row.quantiles_seconds.as_ref();
        let slow = found.map_or(String::new(), |found| {
            format!(" (median {}, slowest {})", time(found.p50), time(found.max))
        });
        let share = 100.0 * busy(row) / total;
        let text = format!("{}; its {}s take {share:.0}% of the time{slow}.", of(phase), row.operation);
        sentences.push(crate::words::capital(&text));
    }
    let others: Vec<String> = timed.iter().copied().filter(|phase| !is_main(phase)).map(of).collect();
    if !others.is_empty() {
        sentences.push(crate::words::capital(&format!("{}.", others.join("; "))));
    }
    let (bytes, wall) =
        timed.iter().fold((0, 0.0), |(b, w), phase| (b + phase.bytes(), w + phase.wall_seconds));
    let total_rate = (timed.len() > 1 && bytes > 0)
        .then(|| format!("All phases: {} in {}.", bandwidth(bytes as f64 / wall), time(wall)));
    let rows: Vec<Dot> = all()
        .filter_map(|(phase, row)| {
            let found = row.quantiles_seconds.as_ref()?;
            let name = format!("{}: {}", phase.label, row.operation);
            Some(Dot { name, median: found.p50, p99: found.p99, max: found.max })
        })
        .collect();
    let figures = dots("What each operation takes", &rows).into_iter().collect();
    let first = first_table(&phases);
    // Every phase is in it as a whole; `-v` adds operations.
    let of = timed.len() + phases.iter().map(|phase| phase.operations.len()).sum::<usize>();
    Some(Answer::new(sentences, vec![table], figures).and_further(total_rate).first(first, of))
}

/// Operations of a phase in a second of its wall time.
fn rate_of(phase: &Phase) -> f64 {
    phase.count() as f64 / phase.wall_seconds
}

/// What a phase moves, in the unit of the table.
fn mib_per_second(phase: &Phase) -> String {
    format!("{} MiB/s", mib(Some(phase.bytes() as f64 / phase.wall_seconds)))
}

/// Each phase with the operation that takes most of its time, then the operations that take most, as many as there is
/// room for.
fn first_table(phases: &[Phase]) -> Table {
    /// Rows of operations and phases together.
    const MOST_ROWS: usize = 7;
    let busy = |row: &ResultRow| row.busy_seconds.unwrap_or(0.0);
    let is_whole = |phase: &Phase| phase.wall_seconds > 0.0;
    let wholes = phases.iter().filter(|phase| is_whole(phase)).count();
    // Which operation of its phase by time, then the time.
    let mut order: Vec<(usize, &ResultRow)> = Vec::new();
    for phase in phases {
        let mut rows = phase.operations.clone();
        rows.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
        order.extend(rows.into_iter().enumerate().map(|(at, row)| (at.min(1), row)));
    }
    order.sort_by(|a, b| a.0.cmp(&b.0).then(busy(b.1).total_cmp(&busy(a.1))));
    order.truncate(MOST_ROWS.saturating_sub(wholes));
    let heads = ["<phase", "<operation", "median", "max", "MiB/s", "ops/s", "count"];
    let mut table = Table::new("What takes the time of each phase", &heads);
    for phase in phases {
        let shown: Vec<_> = phase
            .operations
            .iter()
            .filter(|row| order.iter().any(|(_, other)| std::ptr::eq(*other, **row)))
            .collect();
        let of_operation = |row: &ResultRow| {
            let found = row.quantiles_seconds.as_ref();
            [
                row.operation.clone(),
                found.map_or("–".into(), |found| time(found.p50)),
                found.map_or("–".into(), |found| time(found.max)),
                mib(row.bytes_per_busy_second()),
                "–".into(),
                units::count(quantity(row)),
            ]
        };
        let whole = is_whole(phase).then(|| {
            [
                "all".into(),
                "–".into(),
                "–".into(),
                mib(Some(phase.bytes() as f64 / phase.wall_seconds)),
                three(rate_of(phase)),
                units::count(phase.count()),
            ]
        });
        for (n, cells) in whole.into_iter().chain(shown.into_iter().map(|row| of_operation(row))).enumerate()
        {
            let label = if n == 0 { phase.label.to_owned() } else { String::new() };
            table.push(false, std::iter::once(label).chain(cells));
        }
    }
    super::cells::without_empty_columns(&mut table);
    table
}

fn table(phases: &[Phase]) -> Table {
    let mut table = Table::new(
        "Operations of each phase",
        &["<phase", "<operation", "quantity", "avg ms", "min ms", "max ms", "MiB/s"],
    );
    let ms = |seconds: f64| significant(1e3 * seconds, 3);
    for phase in phases {
        for (n, row) in phase.operations.iter().enumerate() {
            let found = row.quantiles_seconds.as_ref();
            table.push(
                false,
                [
                    if n == 0 { phase.label.to_owned() } else { String::new() },
                    row.operation.clone(),
                    units::count(quantity(row)),
                    row.mean_seconds.map_or("–".into(), ms),
                    found.map_or("–".into(), |found| ms(found.min)),
                    found.map_or("–".into(), |found| ms(found.max)),
                    // Of an operation: over the time in which one was under way.
                    mib(row.bytes_per_busy_second()),
                ],
            );
        }
        if phase.wall_seconds > 0.0 && phase.operations.len() > 1 {
            table.push(
                true,
                [
                    String::new(),
                    "the phase".into(),
                    units::count(phase.count()),
                    "–".into(),
                    "–".into(),
                    "–".into(),
                    mib(Some(phase.bytes() as f64 / phase.wall_seconds)),
                ],
            );
        }
    }
    table.note = "Every operation of the run is in it. MiB/s of an operation: over the time in which one was under way on \
                  any rank; of the phase: over the time in which any rank was inside."
        .into();
    table
}
