//! The numbers of an answer in the footer of a large run, so that a list need not read its samples.

use std::path::Path;

use results::AnswerNumbers;
use samples::{Facts, Run};
use serde_json::{Map, Number, Value};

/// The key of a number with a fraction, which is kept by its bits: read from digits it can be another one.
const BITS: &str = "~";

/// Keeps the numbers in the footer of the run that was just written with these facts, where it has a place for them.
pub fn keep(path: &Path, facts: &Facts, numbers: &AnswerNumbers) {
    if let Some(text) = text_of(numbers) {
        store::keep_answer(path, facts, &text);
    }
}

/// The run without its samples, and its numbers, where its footer has them and the file is sound. What is in no JSON is not in
/// these numbers: rows, and shares of the run.
pub fn of_file(path: &Path) -> Option<(Run, AnswerNumbers)> {
    let (run, text) = store::kept_answer(path)?;
    Some((run, of_text(&text)?))
}

/// As text, where what is read from it is the same.
fn text_of(numbers: &AnswerNumbers) -> Option<String> {
    let value = serde_json::to_value(numbers).ok()?;
    let text = by_bits(value.clone()).to_string();
    let read = serde_json::to_value(of_text(&text)?).ok()?;
    (read == value).then_some(text)
}

fn of_text(text: &str) -> Option<AnswerNumbers> {
    serde_json::from_value(from_bits(serde_json::from_str(text).ok()?)?).ok()
}

fn by_bits(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let bits = number.as_f64().unwrap_or(0.0).to_bits();
            Value::Object(Map::from_iter([(BITS.to_owned(), bits.into())]))
        }
        Value::Array(all) => all.into_iter().map(by_bits).collect(),
        Value::Object(all) => all.into_iter().map(|(key, value)| (key, by_bits(value))).collect(),
        other => other,
    }
}

fn from_bits(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(all) => match all.get(BITS) {
            Some(bits) => Value::Number(Number::from_f64(f64::from_bits(bits.as_u64()?))?),
            None => {
                let each = all.into_iter().map(|(key, value)| Some((key, from_bits(value)?)));
                Value::Object(each.collect::<Option<_>>()?)
            }
        },
        Value::Array(all) => all.into_iter().map(from_bits).collect::<Option<_>>()?,
        other => other,
    })
}
