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
    let of = |phase: &&Phase| match phase.bytes() {
        0 => format!("{} {} operations/s", phase.label, three(phase.count() as f64 / phase.wall_seconds)),
        bytes => format!("{} {}", phase.label, bandwidth(bytes as f64 / phase.wall_seconds)),
    };
    let rates: Vec<String> = timed.iter().map(of).collect();
    let mut sentences = vec![format!("{}.", rates.join(" · "))];
    let (bytes, wall) =
        timed.iter().fold((0, 0.0), |(b, w), phase| (b + phase.bytes(), w + phase.wall_seconds));
    if timed.len() > 1 && bytes > 0 {
        sentences.push(format!("All phases: {} in {}.", bandwidth(bytes as f64 / wall), time(wall)));
    }
    let busy = |row: &ResultRow| row.busy_seconds.unwrap_or(0.0);
    let all = || phases.iter().flat_map(|phase| phase.operations.iter().map(move |row| (phase, *row)));
    let total: f64 = all().map(|(_, row)| busy(row)).sum();
    if let Some((phase, row)) = all().max_by(|a, b| busy(a.1).total_cmp(&busy(b.1)))
        && total > 0.0
    {
        let found = row.quantiles_seconds.as_ref();
        let slow = found.map_or(String::new(), |found| {
            format!(": median {}, slowest {}", time(found.p50), time(found.max))
        });
        let share = 100.0 * busy(row) / total;
        sentences.push(format!("{} of {} takes {share:.0}% of the time{slow}.", row.operation, phase.label));
    }
    let rows: Vec<Dot> = all()
        .filter_map(|(phase, row)| {
            let found = row.quantiles_seconds.as_ref()?;
            let name = format!("{}: {}", phase.label, row.operation);
            Some(Dot { name, median: found.p50, p99: found.p99, max: found.max })
        })
        .collect();
    let figures = dots("What each operation takes", &rows).into_iter().collect();
    Some(Answer::new(sentences, vec![table], figures))
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
