//! One value as a text writes it: a number, with a unit or without, or a mark that it is missing.

use crate::{Unit, Wanted};

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Number(f64, Option<Unit>),
    Missing,
    Wrong(&'static str),
}

const NO_COMMA: &str = "has a comma in it: --decimal , reads it as the decimal sign, --thousands , as one between groups of digits";

/// The signs in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signs {
    /// Before the fraction.
    pub decimal: char,
    /// Between groups of three digits.
    pub thousands: Option<char>,
}

impl Signs {
    pub fn of(wanted: &Wanted) -> Signs {
        Signs { decimal: wanted.decimal, thousands: wanted.thousands }
    }
}

/// Reads a field with these signs.
pub(crate) fn read_with(text: &str, signs: Signs) -> Value {
    match signs.thousands.filter(|sign| text.contains(*sign)) {
        Some(sign) => match without_marks(text, sign, signs.decimal) {
            Some(text) => read(&text, signs.decimal),
            None => Value::Wrong("has other than three digits between the signs of --thousands"),
        },
        None => read(text, signs.decimal),
    }
}

/// `1,234,567.8` without its commas; none where they are not between groups of three digits.
fn without_marks(text: &str, sign: char, decimal: char) -> Option<String> {
    let digits_of = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut groups = text.split(sign);
    let first = groups.next()?;
    let mut out = first.to_owned();
    let of_first = first.trim_start_matches(['+', '-']);
    let (most, groups) = (digits_of(of_first), groups.collect::<Vec<&str>>());
    if !(1..=3).contains(&most) || most != of_first.len() {
        return None;
    }
    for (at, group) in groups.iter().enumerate() {
        let rest = group.get(3..).filter(|_| digits_of(group) == 3)?;
        let ends = at + 1 == groups.len() && !rest.starts_with(|c: char| c.is_ascii_digit());
        if !rest.is_empty() && !ends || rest.contains(sign) && decimal != sign {
            return None;
        }
        out += group;
    }
    Some(out)
}

/// Reads a field; `decimal` is the sign before the fraction.
pub(crate) fn read(text: &str, decimal: char) -> Value {
    if decimal == '.' {
        return read_with_point(text);
    }
    if text.contains('.') {
        return Value::Wrong("has a point in it, where --decimal names another sign");
    }
    read_with_point(&text.replacen(decimal, ".", 1))
}

fn read_with_point(text: &str) -> Value {
    if let Ok(number) = text.parse::<f64>() {
        return match number {
            n if n.is_nan() => Value::Missing,
            n if n.is_infinite() => Value::Wrong("is infinite (or too large for a double)"),
            n => Value::Number(n, None),
        };
    }
    if is_missing(text) {
        return Value::Missing;
    }
    if let Some((number, unit)) = with_unit(text) {
        return Value::Number(number, Some(unit));
    }
    match text.contains(',') && text.replace(',', "").parse::<f64>().is_ok_and(f64::is_finite) {
        true => Value::Wrong(NO_COMMA),
        false => Value::Wrong("is not a number"),
    }
}

/// Marks of a missing value.
fn is_missing(text: &str) -> bool {
    const MARKS: [&str; 13] =
        ["", "NA", "N/A", "n/a", "na", "<NA>", "null", "NULL", "None", "none", "-", "–", "."];
    MARKS.contains(&text)
}

/// `10.7ms`, `10.7 ms`: a number and its unit.
fn with_unit(text: &str) -> Option<(f64, Unit)> {
    let at = text.rfind(|c: char| c.is_ascii_digit() || c == '.')? + 1;
    let number: f64 = text[..at].parse().ok()?;
    let unit = Unit::of_word(text[at..].trim_start())?;
    number.is_finite().then_some((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_or_are_missing() {
        assert_eq!(read("10.7ms", '.'), Value::Number(10.7, Some(Unit::Ms)));
        assert_eq!(read("1e3 µs", '.'), Value::Number(1000.0, Some(Unit::Us)));
        assert_eq!(read("-2s", '.'), Value::Number(-2.0, Some(Unit::S)));
        assert_eq!(read("10,5", ','), Value::Number(10.5, None));
        assert_eq!(read("10,5ms", ','), Value::Number(10.5, Some(Unit::Ms)));
        for missing in ["", "NaN", "nan", "N/A", "null", "-"] {
            assert_eq!(read(missing, '.'), Value::Missing, "{missing}");
        }
        for wrong in ["10,5", "10ms5", "ms", "1.2.3", "5 apples", "inf", "1e999", "infs", "1_000"] {
            assert!(matches!(read(wrong, '.'), Value::Wrong(_)), "{wrong}");
        }
        assert!(matches!(read("1.000,5", ','), Value::Wrong(_)));
    }

    #[test]
    fn groups_of_digits_have_three() {
        let of =
            |text: &str, decimal, thousands| read_with(text, Signs { decimal, thousands: Some(thousands) });
        assert_eq!(of("1,234,567.5", '.', ','), Value::Number(1_234_567.5, None));
        assert_eq!(of("-1.234,5ms", ',', '.'), Value::Number(-1234.5, Some(Unit::Ms)));
        assert_eq!(of("12'345", '.', '\''), Value::Number(12_345.0, None));
        assert_eq!(of("345.5", '.', ','), Value::Number(345.5, None));
        for wrong in ["1,23", "1,2345", "1234,567", ",123", "1,,234", "1,234.5,678", "a,123"] {
            assert!(matches!(of(wrong, '.', ','), Value::Wrong(_)), "{wrong}");
        }
    }
}
