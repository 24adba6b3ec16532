//! The answer of repeated calls: how many a second in batches, beside what a single one takes and how slow it can be.

use super::cells::{waited, without_empty_columns};
use super::picture::{Dot, dots};
use super::{Answer, Measured};
use crate::Table;
use crate::number::{three, time};
use crate::views::{CallPair, Place, call_pairs};

pub(super) fn answer(measured: Measured) -> Option<Answer> {
    let mut pairs = call_pairs(&measured.seen.places);
    // An empty timing is the clock, of which a sentence tells.
    let is_empty = |place: &Place| place.operation == "empty";
    pairs.retain(|pair| !pair.single.or(pair.batch).is_some_and(is_empty));
    if !pairs.iter().any(|pair| pair.single.is_some() && pair.batch.is_some()) {
        return None;
    }
    let each = |pair: &CallPair| pair.batch.or(pair.single).map_or(f64::INFINITY, Place::median);
    let mut batched: Vec<&CallPair> = pairs.iter().filter(|pair| pair.batch.is_some()).collect();
    batched.sort_by(|a, b| each(a).total_cmp(&each(b)));
    let of_batch = |what: &str| {
        let pair = batched.iter().find(|pair| pair.name == what)?;
        Some(time(each(pair)))
    };
    let mut sentences = measured.said(&of_batch);
    let mut further = Vec::new();
    if let [first, .., last] = batched.as_slice() {
        let said = |pair: &CallPair| format!("{} ({})", time(each(pair)), pair.name);
        let ends = format!("A call takes {} to {} (medians of batch means).", said(first), said(last));
        let told = if sentences.is_empty() { &mut sentences } else { &mut further };
        told.push(ends);
    }
    if let Some((pair, factor)) = slowest(&pairs) {
        further.push(format!(
            "A single call can be far slower: the slowest {} took {} times its median.",
            pair.name,
            three(factor)
        ));
    }
    let has_short_ones =
        |pair: &CallPair| pair.single.is_some_and(|place| place.median() < 20.0 * measured.clock);
    if measured.clock > 0.0 && pairs.iter().any(has_short_ones) {
        let hidden =
            |pair: &CallPair| pair.single.is_some_and(|place| !measured.is_resolved(place, place.median()));
        let mark = if pairs.iter().any(hidden) { " (≤: mostly that)" } else { "" };
        sentences.push(format!(
            "Single calls include {} of clock reading{mark}: prefer the batch columns.",
            time(measured.clock)
        ));
    }
    let first = first_table(measured, &pairs);
    let rows: Vec<Dot> = pairs.iter().filter_map(dot).collect();
    let figures = dots("What a single call takes", &rows).into_iter().collect();
    let answer = Answer::new(sentences, vec![table(measured, &pairs)], figures);
    Some(answer.and_further(further).first(first, pairs.len()))
}

/// The calls that the program asks for as `first`.
fn first_table(measured: Measured, pairs: &[CallPair]) -> Table {
    let heads = ["<", "batch: calls/s", "batch: mean", "single: median", "p99"];
    let mut table = Table::new("The calls that are asked for", &heads);
    for wanted in measured.declared("first") {
        let Some(pair) = wanted.choices().find_map(|what| pairs.iter().find(|pair| pair.name == what)) else {
            continue;
        };
        let batch = pair.batch.map(Place::median);
        let summary = pair.single.and_then(Place::summary);
        let single = |value: Option<f64>| {
            value.zip(pair.single).map_or("–".into(), |(value, place)| measured.time(place, value))
        };
        table.push(
            false,
            [
                wanted.name.unwrap_or(&pair.name).to_owned(),
                batch.map_or("–".into(), |each| three(1.0 / each)),
                batch.map_or("–".into(), time),
                single(summary.as_ref().map(|summary| summary.median)),
                single(summary.as_ref().and_then(|summary| summary.p99)),
            ],
        );
    }
    without_empty_columns(&mut table);
    table
}

fn table(measured: Measured, pairs: &[CallPair]) -> Table {
    let mut table = Table::new(
        "Calls a second, single and in batches",
        &["<call", "batches: /s", "each", "single: /s", "p50", "p99", "waited", "slowest"],
    );
    for pair in pairs {
        let summary = pair.single.and_then(Place::summary);
        let batch = pair.batch.map(Place::median);
        let single = |of: fn(&crate::Summary) -> Option<f64>| {
            let value = summary.as_ref().and_then(of).zip(pair.single);
            value.map_or("–".into(), |(value, place)| measured.time(place, value))
        };
        // Of what is mostly the clock there is no rate.
        let resolved =
            pair.single.filter(|place| measured.is_resolved(place, place.median())).map(Place::median);
        table.push(
            false,
            [
                pair.name.clone(),
                batch.map_or("–".into(), |each| three(1.0 / each)),
                batch.map_or("–".into(), time),
                resolved.map_or("–".into(), |each| three(1.0 / each)),
                single(|summary| Some(summary.median)),
                single(|summary| summary.p99),
                pair.single.map_or("–".into(), waited),
                single(|summary| Some(summary.max)),
            ],
        );
    }
    without_empty_columns(&mut table);
    table.note = "Batches: by the median of batches, to whose calls the clock adds nearly nothing. Single: every call \
                  timed alone, the clock's cost in it; ≤ and – where it is mostly that. Of one rank."
        .into();
    table
}

/// The pair whose slowest call is the most times its median, and how many times.
fn slowest<'a, 'b>(pairs: &'b [CallPair<'a>]) -> Option<(&'b CallPair<'a>, f64)> {
    let factor = |pair: &CallPair| {
        let place = pair.single?;
        Some(place.sorted.last()? / place.median())
    };
    pairs
        .iter()
        .filter_map(|pair| Some((pair, factor(pair).filter(|factor| factor.is_finite())?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

fn dot(pair: &CallPair) -> Option<Dot> {
    let summary = pair.single?.summary()?;
    Some(Dot { name: pair.name.clone(), median: summary.median, p99: summary.p99, max: summary.max })
}
