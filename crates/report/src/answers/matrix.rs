//! The answer of pairs: one time for each two of a kind, such as processors or memory nodes.

use results::ResultRow;
use samples::SiteKind;

use super::picture::{Dot, dots};
use super::{Answer, Measured};
use crate::Table;
use crate::number::{three, time};

/// Pairs of a figure: beyond, the table alone is read.
const MOST_DOTS: usize = 40;

/// The operation of one label `KIND A to B`.
struct Cell<'a> {
    kind: &'a str,
    from: &'a str,
    to: &'a str,
    row: &'a ResultRow,
    median: f64,
}

pub(super) fn answer(measured: Measured) -> Option<Answer> {
    let cells: Vec<Cell> = measured.results.iter().filter_map(cell).collect();
    let first = cells.first()?;
    let cells: Vec<&Cell> = cells
        .iter()
        .filter(|one| one.kind == first.kind && one.row.operation == first.row.operation)
        .collect();
    let rows: Vec<Dot> = cells.iter().filter_map(|cell| dot(cell)).collect();
    let figure = if rows.len() <= MOST_DOTS { dots("Time of each pair", &rows) } else { None };
    let mut sentences = sentences(&cells);
    let places = measured.seen.places.iter().filter(|place| place.operation == first.row.operation);
    sentences.extend(measured.about_the_clock(places));
    Some(Answer::new(sentences, vec![table(&cells)], figure.into_iter().collect()))
}

/// `node 0 to 1`: the kind, and the two.
fn cell(row: &ResultRow) -> Option<Cell<'_>> {
    if row.kind != SiteKind::Operation {
        return None;
    }
    let (before, to) = row.label.as_deref()?.split_once(" to ")?;
    let (kind, from) = before.rsplit_once(' ')?;
    let median = row.quantiles_seconds.as_ref()?.p50;
    Some(Cell { kind, from, to, row, median })
}

fn sentences(cells: &[&Cell]) -> Vec<String> {
    let by_time = |a: &&&Cell, b: &&&Cell| a.median.total_cmp(&b.median);
    let (own, other): (Vec<&Cell>, Vec<&Cell>) = cells.iter().partition(|cell| cell.from == cell.to);
    let Some(one) = cells.first() else { return Vec::new() };
    let (what, kind) = (&one.row.operation, one.kind);
    let pair = |cell: &Cell| format!("{} ({} to {})", time(cell.median), cell.from, cell.to);
    let quickest = other.iter().min_by(|a, b| a.median.total_cmp(&b.median));
    let slowest = other.iter().max_by(|a, b| a.median.total_cmp(&b.median));
    let nearest = cells.iter().filter(|cell| cell.from == cell.to).min_by(by_time);
    let mut said = Vec::new();
    match (nearest, quickest, slowest) {
        (Some(near), Some(_), Some(far)) => said.push(format!(
            "One {what} takes {} on its own {kind} and {} at most on another: {} times as long.",
            time(near.median),
            pair(far),
            three(far.median / near.median)
        )),
        (Some(near), ..) if own.len() == 1 => said.push(format!(
            "One {what} takes {}. There is one {kind} alone, so this machine does not show what another would cost.",
            time(near.median)
        )),
        (None, Some(near), Some(far)) if other.len() > 1 => said.push(format!(
            "One {what} takes {} between the nearest, {} between the farthest: {} times as long.",
            pair(near),
            pair(far),
            three(far.median / near.median)
        )),
        (_, Some(only), _) => said.push(format!("One {what} takes {}.", pair(only))),
        (..) => {}
    }
    said
}

/// One row for each that it goes from, one column for each that it goes to. A pair that was timed one way alone stands
/// in both places.
fn table(cells: &[&Cell]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for name in cells.iter().flat_map(|cell| [cell.from, cell.to]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| name.parse::<u64>().unwrap_or(u64::MAX));
    let kind = cells.first().map_or("", |cell| cell.kind);
    let operation = cells.first().map_or("", |cell| cell.row.operation.as_str());
    let heads: Vec<String> = names.iter().map(|name| format!("to {name}")).collect();
    let corner = format!("<{kind}");
    let columns: Vec<&str> =
        std::iter::once(corner.as_str()).chain(heads.iter().map(String::as_str)).collect();
    let mut table = Table::new(&format!("Median of one {operation}, from {kind} to {kind}"), &columns);
    let found = |from: &str, to: &str| cells.iter().find(|cell| cell.from == from && cell.to == to);
    for from in &names {
        let cell = |to: &&str| {
            found(from, to).or_else(|| found(to, from)).map_or("–".into(), |it| time(it.median))
        };
        table.push(false, std::iter::once((*from).to_owned()).chain(names.iter().map(cell)));
    }
    table
}

fn dot(cell: &Cell) -> Option<Dot> {
    let found = cell.row.quantiles_seconds.as_ref()?;
    let name = format!("{} to {}", cell.from, cell.to);
    Some(Dot { name, median: found.p50, p99: found.p99, max: found.max })
}
