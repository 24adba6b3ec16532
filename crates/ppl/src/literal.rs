//! Reads numbers and their units, in programs and in strings.

use crate::number::Number;

/// Reason why a number cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadLiteral {
    /// It does not fit 64 bits.
    TooLarge,
    /// It ends in letters that are not a unit; with the most similar unit.
    Unit(Option<String>),
    /// It is not a number.
    NotANumber,
}

/// The factor of a unit: a plain number (bytes), or nanoseconds.
enum Unit {
    Factor(i64),
    Nanoseconds(i64),
}

fn unit(text: &str) -> Option<Unit> {
    use Unit::{Factor, Nanoseconds};
    Some(match text {
        "" | "B" => Factor(1),
        "k" | "KiB" => Factor(1 << 10),
        "m" | "MiB" => Factor(1 << 20),
        "g" | "GiB" => Factor(1 << 30),
        "TiB" => Factor(1 << 40),
        "PiB" => Factor(1 << 50),
        "kB" | "KB" => Factor(1_000),
        "MB" => Factor(1_000_000),
        "GB" => Factor(1_000_000_000),
        "TB" => Factor(1_000_000_000_000),
        "ns" => Nanoseconds(1),
        "us" | "µs" | "μs" => Nanoseconds(1_000),
        "ms" => Nanoseconds(1_000_000),
        "s" => Nanoseconds(1_000_000_000),
        "min" => Nanoseconds(60_000_000_000),
        "h" => Nanoseconds(3_600_000_000_000),
        _ => return None,
    })
}

/// The unit most similar to an unknown one.
fn meant(text: &str) -> Option<&'static str> {
    const UNITS: [&str; 16] =
        ["k", "m", "g", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB", "ns", "us", "ms", "s", "min"];
    UNITS
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(text))
        .or_else(|| crate::diagnostic::nearest(text, UNITS))
}

/// A number and the unit behind it as one word: `5` and `ms`, `1` and `mib`. `None` where the one has a unit already, and
/// where the other is none.
pub fn with_unit(digits: &str, word: &str) -> Option<String> {
    let is_bare = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_unit = !word.is_empty() && (unit(word).is_some() || two_meanings(&format!("1{word}")).is_some());
    let known = || meant(word).filter(|near| near.eq_ignore_ascii_case(word));
    match (is_bare, is_unit) {
        (true, true) => Some(format!("{digits}{word}")),
        (true, false) => known().map(|near| format!("{digits}{near}")),
        (false, _) => None,
    }
}

/// For a number of bytes such as `4kb`, whose unit is read by 1000 in one tool and by 1024 in another: what to write for each.
pub fn two_meanings(text: &str) -> Option<String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let suffix = &text[digits.len()..];
    let is_one = matches!(suffix.to_ascii_lowercase().as_str(), "kb" | "mb" | "gb" | "tb");
    // What is a unit has one meaning.
    if !is_one || unit(suffix).is_some() || digits.is_empty() {
        return None;
    }
    let letter = suffix[..1].to_ascii_uppercase();
    Some(format!("write `{digits}{letter}iB` for units of 1024, `{digits}{letter}B` for units of 1000"))
}

/// The radix of a prefix, and the digits after it.
fn radix(text: &str) -> Option<(u32, &str)> {
    let octal = text.strip_prefix("0o").or_else(|| text.strip_prefix("0O")).map(|digits| (8, digits));
    octal.or_else(|| text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).map(|digits| (16, digits)))
}

/// For a decimal number that looks octal, such as `0644`, its octal spelling.
pub fn looks_octal(text: &str) -> Option<String> {
    let digits = text.strip_prefix('0')?.trim_start_matches('0');
    let octal = !digits.is_empty() && digits.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    octal.then(|| format!("0o{digits}"))
}

/// The value of a number token: an integer (`0o…` octal, `0x…` hexadecimal), a float, or a duration in nanoseconds.
///
/// # Errors
/// If it does not fit 64 bits or has an unknown unit.
pub fn number(text: &str) -> Result<Number, BadLiteral> {
    let bytes = text.as_bytes();
    let mut end = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if end == 0 {
        return Err(BadLiteral::NotANumber);
    }
    if let Some((radix, digits)) = radix(text) {
        let wrong = !digits.chars().all(|digit| digit.is_digit(radix));
        if digits.is_empty() || wrong {
            return Err(BadLiteral::NotANumber);
        }
        return i64::from_str_radix(digits, radix).map(Number::Int).map_err(|_| BadLiteral::TooLarge);
    }
    let mut float = false;
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        float = true;
        end += 1 + bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits =
            bytes[(end + 1 + sign).min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 {
            float = true;
            end += 1 + sign + digits;
        }
    }
    let (digits, suffix) = text.split_at(end);
    let Some(unit) = unit(suffix) else {
        return Err(BadLiteral::Unit(meant(suffix).map(|unit| format!("{digits}{unit}"))));
    };
    if float {
        let value: f64 = digits.parse().map_err(|_| BadLiteral::NotANumber)?;
        return match unit {
            Unit::Factor(1) if value.is_infinite() => Err(BadLiteral::TooLarge),
            Unit::Factor(1) => Ok(Number::Float(value)),
            Unit::Factor(factor) => whole(value * factor as f64).map(Number::Int),
            Unit::Nanoseconds(factor) => whole(value * factor as f64).map(Number::Duration),
        };
    }
    let value: i64 = digits.parse().map_err(|_| BadLiteral::TooLarge)?;
    match unit {
        Unit::Factor(factor) => value.checked_mul(factor).map(Number::Int).ok_or(BadLiteral::TooLarge),
        Unit::Nanoseconds(factor) => {
            value.checked_mul(factor).map(Number::Duration).ok_or(BadLiteral::TooLarge)
        }
    }
}

fn whole(value: f64) -> Result<i64, BadLiteral> {
    if value.abs() < 9.2e18 { Ok(value.round() as i64) } else { Err(BadLiteral::TooLarge) }
}

/// A number as the original reads it: digits and one letter of `k m g`, and the rest of the text. `None` if
/// it does not fit 64 bits.
pub fn classic(text: &str) -> (Option<i64>, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    let (factor, rest) = match rest.as_bytes().first() {
        Some(b'k') => (1 << 10, &rest[1..]),
        Some(b'm') => (1 << 20, &rest[1..]),
        Some(b'g') => (1 << 30, &rest[1..]),
        _ => (1, rest),
    };
    (digits.parse::<i64>().ok().and_then(|value| value.checked_mul(factor)), rest)
}

/// A signed number with an optional unit, as in a parameter or a variable.
pub fn signed(text: &str) -> Result<Number, BadLiteral> {
    let text = text.trim();
    match text.strip_prefix('-') {
        None => number(text),
        Some(rest) => number(rest).map(|value| -value),
    }
}

/// The number that a string counts as.
///
/// As in the original this is its leading integer (`"12k"` is 12), but a full unit (`"4MiB"`, `"5ms"`) or a
/// fraction is read as well.
pub fn leading(text: &str) -> Option<Number> {
    let text = text.trim_start();
    let classic = |suffix: &str| matches!(suffix, "k" | "m" | "g");
    let digits = text.strip_prefix('-').unwrap_or(text).trim_end_matches(|c: char| !c.is_ascii_digit());
    let suffix = text.rsplit(|c: char| c.is_ascii_digit()).next().unwrap_or_default().trim_end();
    if !digits.is_empty()
        && !classic(suffix)
        && let Ok(value) = signed(text)
    {
        return Some(value);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let end = rest.bytes().take_while(u8::is_ascii_digit).count();
    if end == 0 {
        return None;
    }
    rest[..end].parse::<i64>().ok().map(|value| Number::Int(sign * value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_multiply() {
        assert_eq!(number("4k"), Ok(Number::Int(4096)));
        assert_eq!(number("1.5KiB"), Ok(Number::Int(1536)));
        assert_eq!(number("5ms"), Ok(Number::Duration(5_000_000)));
        assert_eq!(number("1.25s"), Ok(Number::Duration(1_250_000_000)));
        assert_eq!(number("2.5"), Ok(Number::Float(2.5)));
    }

    #[test]
    fn octal_and_hexadecimal_numbers_have_a_prefix_and_decimals_that_look_octal_are_found() {
        assert_eq!(number("0o644"), Ok(Number::Int(420)));
        assert_eq!(number("0xFf"), Ok(Number::Int(255)));
        assert_eq!(signed("-0x10"), Ok(Number::Int(-16)));
        assert_eq!(leading("0o755"), Some(Number::Int(0o755)));
        assert_eq!(number("0x8000000000000000"), Err(BadLiteral::TooLarge));
        for wrong in ["0x", "0o", "0o8", "0xg", "0o644k", "0x+5"] {
            assert_eq!(number(wrong), Err(BadLiteral::NotANumber), "{wrong}");
        }
        assert_eq!(number("1e999"), Err(BadLiteral::TooLarge));
        assert_eq!(number("0644"), Ok(Number::Int(644)));
        assert_eq!(looks_octal("0644").as_deref(), Some("0o644"));
        assert_eq!(["0", "00", "0.5", "089", "644", "0k"].map(looks_octal), [const { None }; 6]);
    }

    #[test]
    fn the_original_read_digits_and_one_letter() {
        assert_eq!(classic("12"), (Some(12), ""));
        assert_eq!(classic("2kb"), (Some(2048), "b"));
        assert_eq!(classic("5ms"), (Some(5 << 20), "s"));
        assert_eq!(classic("10K"), (Some(10), "K"));
        assert_eq!(classic("0644"), (Some(644), ""));
        assert_eq!(classic("9223372036854775808"), (None, ""));
    }

    #[test]
    fn a_unit_of_two_meanings_is_asked_for_by_both() {
        let both = two_meanings("4kb").unwrap();
        assert_eq!(both, "write `4KiB` for units of 1024, `4KB` for units of 1000");
        assert!(two_meanings("1.5Mb").is_some_and(|told| told.contains("`1.5MiB`")));
        assert_eq!(["4k", "4KB", "4kB", "4KiB", "kb", "4kbit", "4µs"].map(two_meanings), [const { None }; 7]);
        for (word, joined) in [("ms", "5ms"), ("MB", "5MB"), ("mib", "5MiB"), ("Ms", "5ms"), ("mb", "5mb")] {
            assert_eq!(with_unit("5", word).as_deref(), Some(joined), "{word}");
        }
        assert_eq!(["step", "from", "", "x"].map(|word| with_unit("5", word)), [const { None }; 4]);
        assert_eq!(with_unit("5k", "ms"), None);
    }

    #[test]
    fn a_capital_suffix_offers_the_small_one() {
        assert_eq!(number("10K"), Err(BadLiteral::Unit(Some("10k".into()))));
    }

    #[test]
    fn a_string_counts_as_its_leading_number_unless_its_unit_is_written_in_full() {
        assert_eq!(leading("12k"), Some(Number::Int(12)));
        assert_eq!(leading("4MiB"), Some(Number::Int(4 << 20)));
        assert_eq!(leading("-7 apples"), Some(Number::Int(-7)));
        assert_eq!(leading("apples"), None);
    }
}
