//! Columns of values as expressions of the language: numbers, counters, lists.

use std::fmt::Write;

use super::paths::{Paths, Text, escaped};
use crate::columns::{Column, Indices, column};
use crate::maps::HashMap;
use crate::packed::Packed;
use crate::sequence::unpacked_name;

/// A list that stands at the head of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Items {
    Numbers(Packed),
    Names(Packed),
}

/// Lists and helpers that expressions need.
#[derive(Default)]
pub struct Heads {
    lists: HashMap<Items, String>,
    /// Definitions, in order.
    pub text: String,
    cursors: usize,
    names: usize,
    /// What counts the executions of the statement whose expressions are made.
    counted_by: CountedBy,
}

/// Whether a statement is made, and the variable that counts its executions.
#[derive(Debug, Default)]
enum CountedBy {
    /// What is made is of no statement.
    #[default]
    Nothing,
    NoVariableYet,
    Variable(String),
}

/// Where an expression stands.
pub struct Place<'a> {
    /// The loops around it.
    pub indices: &'a Indices<'a>,
    /// Their counters, outermost first.
    pub counters: &'a [String],
    /// Whether a reader may give the outermost loop another number of iterations.
    pub scaled: bool,
}

/// An expression, with what must stand before and behind the statement that uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    pub text: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl From<String> for Expression {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl Heads {
    /// The expressions that follow are those of one statement: one variable counts for all of its lists.
    pub fn begin_statement(&mut self) {
        self.counted_by = CountedBy::NoVariableYet;
    }

    /// The statement is made.
    pub fn end_statement(&mut self) {
        self.counted_by = CountedBy::Nothing;
    }

    /// A number.
    pub fn number(&mut self, values: &Packed, place: &Place<'_>, what: &str) -> Expression {
        match column(values, place.indices) {
            Column::Affine { base, steps } => affine(base, &steps, place.counters).into(),
            Column::List => self.item(Items::Numbers(values.clone()), place, what),
        }
    }

    /// A name, with its quotes.
    pub fn name(&mut self, values: &Packed, place: &Place<'_>, paths: &Paths) -> Expression {
        let first = paths.get(unpacked_name(values.get(0)));
        if values.constant().is_some() {
            return quoted(first.text, first.below).into();
        }
        if let Some(counted) = self.counted(values, place, paths) {
            return counted;
        }
        // A text of its own beside names below `$dir`: such a column is rare, and each item is written whole.
        let is_other = |text: Text<'_>| text.below != first.below || text.text.is_empty();
        let mixed = values.iter().any(|value| paths.known(unpacked_name(value)).is_none_or(is_other));
        let item = self.item(Items::Names(values.clone()), place, "name");
        let list = item.text.split('[').next().unwrap_or("").to_owned();
        self.define_names(&list, values, mixed, paths);
        let mut made = Expression { text: String::new(), before: Vec::new(), after: item.after };
        let variable = self.variable();
        made.before.push(format!("{variable} = {};", item.text));
        made.text = if mixed || !first.below { variable } else { format!("\"$dir/{variable}\"") };
        made
    }

    fn define_names(&mut self, list: &str, values: &Packed, mixed: bool, paths: &Paths) {
        let head = format!("{list} = [");
        if self.text.contains(&head) {
            return;
        }
        self.text += &head;
        for (at, value) in values.iter().enumerate() {
            let text = paths.get(unpacked_name(value));
            self.text += if at == 0 { "" } else { ", " };
            if mixed {
                self.text += &quoted(text.text, text.below);
            } else {
                let _ = write!(self.text, "\"{}\"", escaped(text.text));
            }
        }
        self.text += "];\n";
    }

    fn variable(&mut self) -> String {
        self.names += 1;
        format!("$n{}", self.names)
    }

    /// Names that differ only in numbers that follow from loop counters.
    fn counted(&mut self, values: &Packed, place: &Place<'_>, paths: &Paths) -> Option<Expression> {
        let first = paths.get(unpacked_name(values.get(0)));
        let (parts, holes) = digits(first.text);
        let mut columns: Vec<Packed> = vec![Packed::default(); holes.len()];
        let mut widths: Vec<Option<usize>> = holes.iter().map(|hole| Some(hole.len())).collect();
        let mut zeros = vec![false; holes.len()];
        for value in values.iter() {
            let text = paths.get(unpacked_name(value));
            let (own, numbers) = digits(text.text);
            if own != parts || text.below != first.below {
                return None;
            }
            for (at, number) in numbers.iter().enumerate() {
                columns[at].push(number.parse::<i64>().ok()?.cast_unsigned());
                zeros[at] |= number.len() > 1 && number.starts_with('0');
                if widths[at] != Some(number.len()) {
                    widths[at] = None;
                }
            }
        }
        let mut made = Expression::default();
        let mut text = if first.below { "$dir/".to_owned() } else { String::new() };
        for (at, part) in parts.iter().enumerate() {
            text += &escaped(part);
            let Some(values) = columns.get(at) else { continue };
            let Column::Affine { base, steps } = column(values, place.indices) else { return None };
            if steps.iter().all(|step| *step == 0) {
                text += holes[at];
                continue;
            }
            let number = affine(base, &steps, place.counters);
            let is_counter = place.counters.contains(&number);
            let variable = match (zeros[at], is_counter) {
                (false, true) => number,
                (false, false) => {
                    let variable = self.variable();
                    made.before.push(format!("{variable} = {number};"));
                    variable
                }
                (true, _) => {
                    let (variable, width) = (self.variable(), widths[at]?);
                    made.before.push(format!("{variable} = digits({number}, {width});"));
                    variable
                }
            };
            let follows = parts.get(at + 1).and_then(|part| part.chars().next());
            let bare = follows.is_none_or(|next| !next.is_alphanumeric() && next != '_' && next != '(');
            text += &if bare || variable.starts_with("$$") {
                variable
            } else {
                format!("${{{}}}", variable.trim_start_matches('$'))
            };
        }
        made.text = format!("\"{text}\"");
        Some(made)
    }

    /// The list item of an execution.
    fn item(&mut self, items: Items, place: &Place<'_>, what: &str) -> Expression {
        let count = match &items {
            Items::Numbers(values) => values.len(),
            Items::Names(values) => values.len(),
        };
        let next = self.lists.len() + 1;
        let name = match self.lists.get(&items) {
            Some(known) => known.clone(),
            None => {
                let name = format!("${what}s{next}");
                if let Items::Numbers(values) = &items {
                    let _ = write!(self.text, "{name} = [");
                    for (at, value) in values.iter().enumerate() {
                        let comma = if at == 0 { "" } else { ", " };
                        let _ = write!(self.text, "{comma}{}", value.cast_signed());
                    }
                    self.text += "];\n";
                }
                self.lists.insert(items, name.clone());
                name
            }
        };
        let wrapped = |index: String| match (place.scaled, index.contains(' ')) {
            (false, _) => index,
            (true, false) => format!("{index} % {count}"),
            (true, true) => format!("({index}) % {count}"),
        };
        match &place.indices.counts {
            Some(counts) => {
                let steps: Vec<i64> = (0..counts.len())
                    .map(|level| counts[level + 1..].iter().product::<u64>() as i64)
                    .collect();
                Expression::from(format!("{name}[{}]", wrapped(affine(0, &steps, place.counters))))
            }
            None => {
                if let CountedBy::Variable(cursor) = &self.counted_by {
                    return Expression::from(format!("{name}[{}]", wrapped(cursor.clone())));
                }
                self.cursors += 1;
                let cursor = format!("$at{}", self.cursors);
                let _ = writeln!(self.text, "{cursor} = 0;");
                let mut item = Expression::from(format!("{name}[{}]", wrapped(cursor.clone())));
                item.after.push(format!("{cursor} = {cursor} + 1;"));
                if matches!(self.counted_by, CountedBy::NoVariableYet) {
                    self.counted_by = CountedBy::Variable(cursor);
                }
                item
            }
        }
    }
}

/// A name as a string of the language.
pub fn quoted(text: &str, below: bool) -> String {
    match (below, text.is_empty()) {
        (true, true) => "\"$dir\"".to_owned(),
        (true, false) => format!("\"$dir/{}\"", escaped(text)),
        (false, _) => format!("\"{}\"", escaped(text)),
    }
}

/// `base + step * $i + …`
fn affine(base: i64, steps: &[i64], counters: &[String]) -> String {
    let mut terms: Vec<String> = steps
        .iter()
        .zip(counters)
        .filter(|(step, _)| **step != 0)
        .map(|(step, counter)| if *step == 1 { counter.clone() } else { format!("{counter} * {step}") })
        .collect();
    if base != 0 || terms.is_empty() {
        terms.push(base.to_string());
    }
    terms.join(" + ").replace("+ -", "- ")
}

/// A text without its numbers, and its numbers. Longer ones than 18 digits are text.
fn digits(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut parts, mut holes, mut from, mut at) = (Vec::new(), Vec::new(), 0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let end = at + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if end > at && end - at <= 18 {
            parts.push(&text[from..at]);
            holes.push(&text[at..end]);
            from = end;
        }
        at = end.max(at + 1);
    }
    parts.push(&text[from..]);
    (parts, holes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_out_of_names() {
        assert_eq!(digits("a/f-07.d2"), (vec!["a/f-", ".d", ""], vec!["07", "2"]));
        assert_eq!(digits("plain"), (vec!["plain"], vec![]));
        assert_eq!(digits("é1"), (vec!["é", ""], vec!["1"]));
    }

    #[test]
    fn sums_are_written_as_a_person_writes_them() {
        let counters = ["$i".to_owned(), "$j".to_owned()];
        assert_eq!(affine(0, &[1, 0], &counters), "$i");
        assert_eq!(affine(-8, &[4096, 1], &counters), "$i * 4096 + $j - 8");
        assert_eq!(affine(7, &[0, 0], &counters), "7");
        assert_eq!(affine(0, &[0, -2], &counters), "$j * -2");
    }
}
