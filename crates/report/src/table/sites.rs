//! Tables of the durations of every site, of the gates and of the ranks.

use results::{QuantileInterval, ResultRow};
use samples::{Run, SiteKind, units};

use super::grid::Table;
use crate::Analysis;
use crate::figures::{LastRanks, TargetEffects};
use crate::number::{DOUBT, in_doubt, time};
use crate::place_key::PlaceKey;
use crate::summary::Summary;
use crate::tail_of::Tail;
use crate::unit::{duration, fixed, percent, probability};

/// Rows that a table of sites or ranks shows; the rest is counted in its note.
const MOST_ROWS: usize = 60;
/// Sites from which on blocks that ran once are left out.
const MANY_SITES: usize = 20;
/// Steps whose median by the clock is so many times that of T do not begin together.
const APART: f64 = 1.5;

/// Every duration with the digits and the doubt of the screen.
fn quantiles(summary: &Summary, intervals: &[QuantileInterval]) -> [String; 7] {
    let at = |p: f64, value: Option<f64>| {
        value.map_or("–".into(), |value| in_doubt(value, intervals.iter().find(|one| one.probability == p)))
    };
    // One observation is no distribution: it stands as the mean and the maximum.
    let several = |p: f64, value: f64| at(p, (summary.n > 1).then_some(value));
    [
        units::count(summary.n as u64),
        time(summary.mean),
        several(0.5, summary.median),
        several(0.9, summary.p90),
        at(0.99, summary.p99),
        at(0.999, summary.p999),
        time(summary.max),
    ]
}

/// Count, mean and quantiles of T and of every site.
///
/// Steps that begin together on all ranks last as long as T; where they do not, a row says how long they took by the
/// clock.
pub(crate) fn sites(run: &Run, rows: &[ResultRow], main: Option<&Analysis>) -> Table {
    let subject = main.map(|main| &main.subject);
    let mut table = Table::new(
        "Durations",
        &["<what", "<line", "n", "mean", "median", "p90", "p99", "p99.9", "max", "failed"],
    );
    let mut push = |strong: bool,
                    [name, line]: [String; 2],
                    summary: Option<Summary>,
                    intervals: &[QuantileInterval],
                    failed: usize| {
        if let Some(summary) = summary {
            let failed = if failed == 0 { String::new() } else { units::count(failed as u64) };
            let cells = quantiles(&summary, intervals);
            table.push(strong, [name, line].into_iter().chain(cells).chain([failed]));
        }
    };
    if let Some(subject) = subject.filter(|subject| subject.gate && subject.ranks.len() > 1) {
        let mut lines: Vec<u32> =
            subject.sites.iter().filter_map(|site| Some(run.sites.get(*site as usize)?.line)).collect();
        lines.dedup();
        let line = lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let name = format!("T = {}", subject.describe());
        let longest = Summary::of(&subject.values());
        let median = longest.as_ref().map_or(f64::INFINITY, |longest| longest.median);
        let intervals = main.map_or(&[][..], |main| &main.intervals);
        push(true, [name, line.clone()], longest, intervals, subject.failed);
        if subject.has_correction() {
            let corrected: Vec<f64> = subject.steps.iter().map(|step| step.corrected).collect();
            push(false, ["T without CPU wait".into(), line.clone()], Summary::of(&corrected), intervals, 0);
        }
        let by_clock = main.and_then(|main| main.by_clock.as_ref());
        if let Some(steps) = by_clock.filter(|steps| steps.whole.median > APART * median) {
            let name = match steps.uncertainty_s {
                0.0 => "from the first begin to the last end".to_owned(),
                apart => format!("from the first begin to the last end, ± {}", duration(apart)),
            };
            push(false, [name, line], Some(steps.whole.clone()), intervals, 0);
        }
    }
    let mut durations: Vec<(u128, Vec<f64>, usize)> = vec![(0, Vec::new(), 0); run.sites.len()];
    for sample in &run.samples {
        if let Some((time, values, failed)) = durations.get_mut(sample.site as usize) {
            *time += u128::from(sample.duration_ps);
            if sample.failed() { *failed += 1 } else { values.push(sample.seconds_each()) }
        }
    }
    let mut order: Vec<usize> = (0..run.sites.len()).filter(|&site| durations[site].0 > 0).collect();
    let total = order.len();
    if total > MANY_SITES {
        // A block that ran once adds nothing to its operations.
        order.retain(|&site| {
            durations[site].1.len() + durations[site].2 > 1
                || matches!(run.sites[site].kind, SiteKind::Operation | SiteKind::Barrier)
        });
    }
    order.sort_by_key(|&site| std::cmp::Reverse(durations[site].0));
    order.truncate(MOST_ROWS);
    order.sort_by_key(|&site| (run.sites[site].line, run.sites[site].column, site));
    for site in &order {
        let (_, values, failed) = &durations[*site];
        let line = run.sites[*site].line;
        let line = if line == 0 { String::new() } else { line.to_string() };
        let strong = subject.is_some_and(|subject| {
            (!subject.gate || subject.ranks.len() == 1) && subject.sites.contains(&(*site as u32))
        });
        // One line of several is known no better than all of them together.
        let key = PlaceKey::of(&run.sites[*site]);
        let row = rows.iter().find(|row| PlaceKey::of_row(row) == key);
        let intervals = row.map_or(&[][..], |row| &row.intervals);
        push(strong, [site_name(run, *site), line], Summary::of(values), intervals, *failed);
    }
    if table.rows.iter().all(|row| row.cells.last().is_none_or(String::is_empty)) {
        table.columns.pop();
        table.rows.iter_mut().for_each(|row| {
            row.cells.pop();
        });
    }
    table.note = notes(run, &table, total - order.len()).join(" ");
    table
}

/// What a reader of the table must know; so many places are `left_out`.
fn notes(run: &Run, table: &Table, left_out: usize) -> Vec<String> {
    let mut notes: Vec<String> = doubt(table).into_iter().collect();
    if run.samples.iter().any(|sample| sample.late_ns > 0) {
        notes.push(
            "Under `rate`: of operations once begun, without their wait since they were due.".to_owned(),
        );
    }
    if run.samples.iter().any(|sample| sample.batch > 1) {
        notes.push("Operations that were timed in batches: n counts batches, each of which is the mean of its operations.".to_owned());
    }
    if left_out > 0 {
        notes.push(format!("{left_out} further places, that ran once or took less time, are left out."));
    }
    notes
}

/// What the mark of doubt means, where a cell has it.
fn doubt(table: &Table) -> Option<String> {
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    cells
        .any(|cell| cell.ends_with(DOUBT))
        .then(|| format!("{DOUBT} too few to say how much larger it may be."))
}

/// The name of a site in a table that has a column for its line.
pub(crate) fn site_name(run: &Run, site: usize) -> String {
    let site = &run.sites[site];
    if site.labels.is_empty() { site.operation.clone() } else { site.name() }
}

/// All gates of a run with their verdicts; `left_out` more are only counted.
pub(crate) fn gates<'a>(found: impl Iterator<Item = &'a Analysis>, left_out: usize) -> Table {
    let mut table = Table::new("All gates", &["<gate", "n", "median", "p99", "max", "shape", "<verdict"]);
    let (mut judged, mut chance) = (0, 0.0);
    for (index, gate) in found.enumerate() {
        if let Some(assessment) = gate.tail.as_ref().and_then(|tail| tail.assessment.as_ref()) {
            judged += 1;
            chance += assessment.verdict.levels.whole;
        }
        let Some(summary) = &gate.summary else { continue };
        let shape = gate
            .tail
            .as_ref()
            .and_then(Tail::distribution)
            .map_or("–".into(), |distribution| fixed(distribution.shape, 2));
        table.push(
            index == 0,
            [
                gate.subject.name.clone(),
                units::count(summary.n as u64),
                time(summary.median),
                summary.p99.map_or("–".into(), |p99| {
                    in_doubt(p99, gate.intervals.iter().find(|one| one.probability == 0.99))
                }),
                time(summary.max),
                shape,
                gate.tail.as_ref().map_or("–".into(), |tail| tail.code().replace('-', " ")),
            ],
        );
    }
    let mut notes: Vec<String> = doubt(&table).into_iter().collect();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} further gates, with less time, are left out: choose one with `--label`."
        ));
    }
    if judged > 1 {
        notes.push(format!(
            "Each gate is judged on its own: of {judged} gates that are independent draws of a GEV, up to {chance:.1} \
             on average get a verdict against it by chance."
        ));
    }
    table.note = notes.join(" ");
    table
}

/// Each rank against the others, and how often it was last; of many ranks the slowest.
pub(crate) fn targets(effects: &TargetEffects, last: &LastRanks) -> Table {
    let mut table = Table::new(
        "Ranks against each other",
        &["<rank", "slower than the others by", "from", "to", "last in", "from", "to", "<"],
    );
    let mut order: Vec<usize> = (0..effects.rank.len()).collect();
    if order.len() > MOST_ROWS {
        order.sort_by(|a, b| effects.relative[*b].total_cmp(&effects.relative[*a]));
        order.truncate(MOST_ROWS);
        table.note = format!("The {MOST_ROWS} slowest of {} ranks.", effects.rank.len());
    }
    let over = |factor: f64| format!("{}%", fixed(100.0 * (factor - 1.0), 2));
    for at in order {
        table.push(
            effects.slow[at],
            [
                effects.rank[at].to_string(),
                over(effects.relative[at]),
                over(effects.lower[at]),
                over(effects.upper[at]),
                percent(last.count[at] as f64 / last.of.max(1) as f64),
                percent(last.lower[at]),
                percent(last.upper[at]),
                if effects.slow[at] { "slow".into() } else { String::new() },
            ],
        );
    }
    if let Some(p) = last.p_value {
        table.note = format!(
            "{}Largest share of being last: p {} by exchange of blocks of steps. Intervals of 95%, of the first joint over all ranks.",
            if table.note.is_empty() { String::new() } else { format!("{} ", table.note) },
            probability(p)
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_samples_are_counted_and_not_averaged() {
        let mut run = samples::example::parallel_write(2, 10, 1);
        run.samples[0].errno = 12;
        run.samples[0].duration_ps = 1 << 60;
        let table = sites(&run, &[], None);
        let alloc = &table.rows[0].cells;
        assert_eq!((alloc[0].as_str(), alloc[2].as_str(), alloc[9].as_str()), ("alloc", "19", "1"));
        assert!(alloc[8].ends_with("ms"), "{alloc:?}");
    }

    #[test]
    fn durations_of_batches_are_those_of_one_operation() {
        let mut run = samples::example::parallel_write(2, 10, 1);
        let single = sites(&run, &[], None);
        for sample in &mut run.samples {
            (sample.batch, sample.duration_ps) = (1000, sample.duration_ps * 1000);
        }
        let batches = sites(&run, &[], None);
        let cells = |table: &Table| table.rows.iter().map(|row| row.cells.clone()).collect::<Vec<_>>();
        assert_eq!(cells(&single), cells(&batches));
        assert!(
            single.note.is_empty() && batches.note.contains("mean of its operations"),
            "{}",
            batches.note
        );
    }
}
