//! The numbers of an answer in the footer of a large run, so that a list need not read its samples, and what a comparison
//! needs of them.

use std::path::Path;

use report::{KeptSubject, Report};
use results::{AnswerNumbers, KeptRow};
use samples::{Facts, Run};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// The key of a number with a fraction, which is kept by its bits: read from digits it can be another one.
const BITS: &str = "~";

/// What is kept of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KeptAnswer {
    numbers: AnswerNumbers,
    /// The answer in one line.
    line: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compared: Option<KeptComparison>,
}

/// What is kept for comparisons with other runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptComparison {
    /// What is compared.
    pub subject: KeptSubject,
    /// All rows.
    pub rows: Vec<KeptRow>,
}

/// Keeps what a report says in the footer of the run that was just written with these facts, where it has a place for it.
pub fn keep(path: &Path, facts: &Facts, report: &Report) {
    let subject = report.main.as_ref().and_then(|main| KeptSubject::of(main, &report.results));
    let rows = || report.results.iter().map(KeptRow::of).collect();
    let compared = subject.map(|subject| KeptComparison { subject, rows: rows() });
    let whole = KeptAnswer { numbers: report.numbers.clone(), line: report.one_line(), compared };
    let alone = KeptAnswer { compared: None, ..whole.clone() };
    // Of many rows the numbers alone have room.
    let _kept = [whole, alone].iter().filter_map(text_of).any(|text| store::keep_answer(path, facts, &text));
}

/// The run without its samples, and its numbers, where its footer has them and the file is sound. What is in no JSON is not in
/// these numbers: rows, and shares of the run.
pub fn of_file(path: &Path) -> Option<(Run, AnswerNumbers)> {
    let (run, text) = store::kept_answer(path)?;
    Some((run, of_text(&text)?.numbers))
}

/// The same with the answer in one line.
pub fn line(path: &Path) -> Option<(Run, String)> {
    let (run, text) = store::kept_answer(path)?;
    Some((run, of_text(&text)?.line))
}

/// The same with what a comparison needs.
pub fn compared(path: &Path) -> Option<(Run, KeptComparison)> {
    let (run, text) = store::kept_answer(path)?;
    Some((run, of_text(&text)?.compared?))
}

/// As text, where what is read from it is the same.
fn text_of(kept: &KeptAnswer) -> Option<String> {
    let value = serde_json::to_value(kept).ok()?;
    let text = by_bits(value.clone()).to_string();
    let read = serde_json::to_value(of_text(&text)?).ok()?;
    (read == value).then_some(text)
}

fn of_text(text: &str) -> Option<KeptAnswer> {
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
