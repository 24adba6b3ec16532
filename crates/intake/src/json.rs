//! Values of JSON: of a format by its row, of any other by a path.

use std::cell::Cell;
use std::io::{BufRead, Read};
use std::rc::Rc;

use serde_json::Value as Json;

use crate::bins::Collected;
use crate::error::{LineError, listed, refuse_columns};
use crate::format::{Format, Json as Rule, Mark, Take, UnitOf};
use crate::formats;
use crate::gather::{Gather, Taken};
use crate::row::{Fate, Row};
use crate::value;
use crate::wanted::compare;
use crate::{Error, Unit, Wanted};

/// Bytes of the largest value at the top of a file: a document, or a line of JSON lines.
const LARGEST: u64 = 128 << 20;

/// A reader that ends with an error where one value is too large.
struct Limited<R> {
    reader: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(to)?;
        self.read.set(self.read.get() + read as u64);
        match self.read.get() > LARGEST {
            true => Err(std::io::Error::other("a value of more than 128 MiB; JSON lines may be longer")),
            false => Ok(read),
        }
    }
}

/// Reads a document, or values one after another (JSON lines).
pub(crate) fn read(reader: impl BufRead, name: &str, wanted: &Wanted) -> Result<Taken, Error> {
    let table = |what: String| Error::Table { name: name.into(), what };
    let read = Rc::new(Cell::new(0));
    // What the stream needs is a buffer that it may look into byte by byte.
    let limited = std::io::BufReader::new(Limited { reader, read: read.clone() });
    let mut values = serde_json::Deserializer::from_reader(limited).into_iter::<Json>();
    let Some(first) = values.next() else { return Err(table("it holds no numbers".into())) };
    let first = first.map_err(|error| table(format!("it begins as JSON and is none: {error}")))?;
    let format = formats::all().find(|format| match format.mark {
        Mark::Paths(paths) => paths.iter().all(|path| !walk(&first, path).is_empty()),
        _ => false,
    });
    let rule = match format.map(|format| &format.take) {
        Some(Take::Refused(why)) => {
            return Err(Error::Refused { name: name.into(), what: format!("{}: {why}", known(format)) });
        }
        Some(Take::JsonBins(take)) => {
            let format = known(format);
            let mut to = Collected::default();
            for (index, value) in std::iter::once(Ok(first)).chain(values).enumerate() {
                let in_value =
                    |what: String| table(format!("{format}: in value {} of the file, {what}", index + 1));
                let value = value.map_err(|error| in_value(error.to_string()))?;
                (take.read)(&value, &mut to).map_err(in_value)?;
                read.set(0);
            }
            refuse_columns(wanted, name)?;
            return Err(Error::binned(name, to.finish(wanted, format, take.out).map_err(table)?));
        }
        Some(Take::JsonRows(take)) => {
            refuse_columns(wanted, name)?;
            let mut gather = Gather::new(wanted, true, None);
            gather.note = take.note.map(Into::into);
            for (index, value) in std::iter::once(Ok(first)).chain(values).enumerate() {
                let in_value = |what: String| table(format!("in value {} of the file, {what}", index + 1));
                let value = value.map_err(|error| in_value(error.to_string()))?;
                (take.read)(&value, &mut |row| gather.push(row))
                    .map_err(|error| in_value(error.to_string()))?;
                read.set(0);
            }
            if gather.is_empty() {
                return Err(table(format!("it is {} {}", known(format), take.without)));
            }
            return gather.finish(format.map(|format| format.name), "").map_err(table);
        }
        Some(Take::Json(rule)) => Some(rule),
        _ => None,
    };
    if let (Some(rule), Some(column)) = (rule, &wanted.column)
        && rule.series.is_empty()
    {
        let column = crate::error::shown(column);
        return Err(table(format!("{} has one series, no `{column}`: leave --column out", known(format))));
    }
    let only = (rule.is_none() && wanted.column.is_none()).then(|| only_path(&first)).flatten();
    let of_only = only.clone().map(|path| Wanted { column: Some(path), ..wanted.clone() });
    let wanted = of_only.as_ref().unwrap_or(wanted);
    let mut gather =
        Gather::new(wanted, rule.is_some_and(|rule| !rule.series.is_empty()), rule.and_then(|r| r.default));
    let mut paths = None;
    for (index, value) in std::iter::once(Ok(first)).chain(values).enumerate() {
        let value = value.map_err(|error| table(format!("value {}: {error}", index + 1)))?;
        if only.is_some() && index < VALUES_OF_ONE_SHAPE && only_path(&value) != only {
            return Err(table(asked(&numbers_of(&value))));
        }
        read_one(&value, rule, wanted, &mut gather, &mut paths).map_err(|error| match error {
            LineError::Layout(what) => table(what),
            error => table(format!("in value {} of the file, {error}", index + 1)),
        })?;
        read.set(0);
    }
    finish(gather, format, wanted, paths).map_err(table)
}

fn known(format: Option<&'static Format>) -> &'static str {
    format.map_or("JSON", |format| format.name)
}

fn finish(
    gather: Gather,
    format: Option<&'static Format>,
    wanted: &Wanted,
    paths: Option<Vec<String>>,
) -> Result<Taken, String> {
    if let (Some(Take::Json(rule)), true) = (format.map(|format| &format.take), gather.is_empty()) {
        return Err(format!("it is {} {}", known(format), rule.without));
    }
    if let Some(paths) = paths.filter(|_| gather.is_empty()) {
        return Err(match (&wanted.column, paths.is_empty()) {
            (_, true) => "it holds no numbers".into(),
            (None, _) => asked(&paths),
            (Some(path), _) => format!(
                "there is no number at `{path}` of this JSON; it has {}",
                listed(paths.iter().map(String::as_str))
            ),
        });
    }
    let path = wanted.column.as_deref().unwrap_or_default();
    gather.finish(format.map(|format| format.name).or(Some("JSON")), if format.is_some() { "" } else { path })
}

fn read_one(
    value: &Json,
    rule: Option<&Rule>,
    wanted: &Wanted,
    gather: &mut Gather,
    paths: &mut Option<Vec<String>>,
) -> Result<(), LineError> {
    if let Some(rule) = rule {
        return walk(value, rule.each).into_iter().try_for_each(|item| of_item(item, rule, wanted, gather));
    }
    let found = of_path(value, wanted, gather)?;
    if !found && paths.as_ref().is_none_or(Vec::is_empty) {
        *paths = Some(numbers_of(value));
    }
    Ok(())
}

/// The values of one item of a format.
fn of_item(item: &Json, rule: &Rule, wanted: &Wanted, gather: &mut Gather) -> Result<(), LineError> {
    let is = |path: &str, text: &str| walk(item, path).first().is_some_and(|value| shown(value) == text);
    if rule.only.is_some_and(|(path, text)| !is(path, text)) {
        return Ok(());
    }
    let parts = rule.series.iter().flat_map(|path| walk(item, path)).map(shown);
    let series = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let unit = match rule.unit {
        UnitOf::Field(path) => {
            let word = walk(item, path).first().map(|value| shown(value)).unwrap_or_default();
            let unit = Unit::of_word(word.strip_suffix("/op").unwrap_or(&word));
            if unit.is_none() {
                gather.note = Some(format!("in {word}"));
            }
            unit
        }
        other => other.of_series(&series),
    };
    if let UnitOf::Other(unit) = rule.unit {
        gather.other_unit = Some(unit);
    }
    let values = walk(item, rule.values);
    let beside =
        |path: Option<&str>| path.map(|path| walk(item, path)).filter(|all| all.len() == values.len());
    let others = wanted.beside.as_deref().map(|path| walk(item, path)).unwrap_or_default();
    let other = others.first().map(|value| shown(value)).unwrap_or_default();
    let (per, failures) = (beside(rule.per), beside(rule.failed.map(|(path, ..)| path)));
    for (at, value) in values.iter().enumerate() {
        let text = shown(value);
        let mut row =
            Row { series: &series, text: &text, unit, beside: &other, ..Row::number("", 0.0, None) };
        row.value = value::read(&text, '.');
        if let (value::Value::Number(number, own), Some(per)) = (row.value, &per) {
            row.value = match per[at].as_f64() {
                Some(per) if per > 0.0 => value::Value::Number(number / per, own),
                _ => value::Value::Wrong("is of no iteration"),
            };
        }
        if let (Some(failures), Some((_, how, bad)), false) = (&failures, rule.failed, wanted.failed)
            && compare(&shown(failures[at]), how, bad)
        {
            row.fate = Fate::Failed;
        }
        if wanted.filters.iter().any(|filter| !meets(item, filter)) {
            row.fate = Fate::Filtered;
        }
        gather.push(&row)?;
    }
    Ok(())
}

fn meets(item: &Json, filter: &crate::Filter) -> bool {
    walk(item, &filter.column).first().is_some_and(|value| filter.meets(&shown(value)))
}

/// The numbers at the path that is wanted; of a list of numbers all of them. Whether there is one.
fn of_path(value: &Json, wanted: &Wanted, gather: &mut Gather) -> Result<bool, LineError> {
    let path = wanted.column.as_deref().unwrap_or_default();
    let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut found = false;
    // Of a place the list itself is the parent.
    let all = if last.starts_with('#') { reach(value, parents) } else { walk(value, parents) };
    for parent in all {
        for number in walk(parent, last) {
            let is_value = number.is_number() || number.is_null() || (number.is_string() && !path.is_empty());
            if !is_value {
                continue;
            }
            found = true;
            let text = shown(number);
            let besides = wanted.beside.as_deref().map(|path| walk(parent, path)).unwrap_or_default();
            let beside = besides.first().map(|value| shown(value)).unwrap_or_default();
            let mut row = Row { text: &text, beside: &beside, ..Row::number("", 0.0, Unit::of_name(last)) };
            row.value = value::read(&text, '.');
            if wanted.filters.iter().any(|filter| !meets(parent, filter)) {
                row.fate = Fate::Filtered;
            }
            gather.push(&row)?;
        }
    }
    Ok(found)
}

/// Whatever is at a path: keys with points between, `*` for all, `#2` for a place in a list; lists are gone through.
fn walk<'a>(value: &'a Json, path: &str) -> Vec<&'a Json> {
    let mut flat = Vec::new();
    reach(value, path).into_iter().for_each(|one| flatten(one, &mut flat));
    flat
}

/// The same, with lists as they are.
fn reach<'a>(value: &'a Json, path: &str) -> Vec<&'a Json> {
    let mut found = vec![value];
    for key in path.split('.').filter(|key| !key.is_empty()) {
        let mut next = Vec::new();
        for one in found {
            step(one, key, &mut next);
        }
        found = next;
    }
    found
}

fn step<'a>(value: &'a Json, key: &str, found: &mut Vec<&'a Json>) {
    match value {
        Json::Object(fields) if key == "*" => found.extend(fields.values()),
        Json::Object(fields) => found.extend(fields.get(key)),
        Json::Array(items) => match key.strip_prefix('#').and_then(|place| place.parse::<usize>().ok()) {
            // Of lists in a list, the place is that in the inner ones.
            Some(_) if items.iter().any(Json::is_array) => {
                items.iter().for_each(|item| step(item, key, found))
            }
            Some(place) => found.extend(place.checked_sub(1).and_then(|at| items.get(at))),
            None => items.iter().for_each(|item| step(item, key, found)),
        },
        _ => {}
    }
}

fn flatten<'a>(value: &'a Json, flat: &mut Vec<&'a Json>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| flatten(item, flat)),
        other => flat.push(other),
    }
}

/// A value as a text, without quotes.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// First values in which the only path to numbers is to be the same.
const VALUES_OF_ONE_SHAPE: usize = 64;

/// The path to the numbers, where there is one only, and it is not the value itself.
fn only_path(value: &Json) -> Option<String> {
    let mut all = numbers_of(value);
    (all.len() == 1 && !all[0].is_empty()).then(|| all.remove(0))
}

fn numbers_of(value: &Json) -> Vec<String> {
    let mut all = Vec::new();
    paths_to_numbers(value, &mut String::new(), &mut all);
    all
}

fn asked(paths: &[String]) -> String {
    format!("it is JSON: choose with --column one of {}", listed(paths.iter().map(String::as_str)))
}

/// Most paths that an error looks for.
const MOST_PATHS: usize = 200;

/// All paths below which there are numbers.
fn paths_to_numbers(value: &Json, at: &mut String, found: &mut Vec<String>) {
    if found.len() >= MOST_PATHS {
        return;
    }
    match value {
        // A text may be a number with its unit.
        Json::String(text) if !matches!(value::read(text, '.'), value::Value::Number(..)) => {}
        Json::Number(_) | Json::String(_) if !found.contains(at) => found.push(at.clone()),
        Json::Array(items) => items.iter().for_each(|item| paths_to_numbers(item, at, found)),
        Json::Object(fields) => {
            for (key, value) in fields {
                let length = at.len();
                if length > 0 {
                    at.push('.');
                }
                at.push_str(key);
                paths_to_numbers(value, at, found);
                at.truncate(length);
            }
        }
        _ => {}
    }
}
