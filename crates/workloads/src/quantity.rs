//! Reads sizes, times and counts as fio and IOR spell them, and writes them as the language does.

/// What `KiB` and `KB` stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefixes {
    /// As everywhere: `4k` and `4KiB` are 4096 bytes; `4KB`, which fio and the language read differently, is refused.
    Plain,
    /// As fio with its default `kb_base=1024`: `4k`, `4kb` and `4ki` are 4096 bytes, `4KiB` is 4000.
    Fio,
}

/// The largest number of bytes that is taken: 1 EiB.
const LARGEST: u64 = 1 << 60;

/// A number of bytes: `4096`, `4k`, `1GiB`, `1.5m`. `None` of anything else, below 0 or beyond 1 EiB:
/// programs add such numbers, and sums must be integers too.
///
/// ```
/// use workloads::quantity::{Prefixes, bytes};
///
/// assert_eq!(bytes("4k", Prefixes::Plain), Some(4096));
/// assert_eq!(bytes("1GiB", Prefixes::Plain), Some(1 << 30));
/// assert_eq!(bytes("1MiB", Prefixes::Fio), Some(1_000_000));
/// assert_eq!(bytes("-1", Prefixes::Plain), None);
/// ```
pub fn bytes(text: &str, prefixes: Prefixes) -> Option<u64> {
    let (number, unit) = split(text)?;
    let unit = unit.to_ascii_lowercase();
    let power = match unit.as_bytes().first() {
        None | Some(b'b') => 0,
        Some(b'k') => 1,
        Some(b'm') => 2,
        Some(b'g') => 3,
        Some(b't') => 4,
        Some(b'p') => 5,
        Some(_) => return None,
    };
    let base: u64 = match (unit.get(1..).unwrap_or(""), prefixes) {
        ("", _) => 1024,
        ("ib", Prefixes::Plain) => 1024,
        ("ib", Prefixes::Fio) => 1000,
        ("b" | "i", Prefixes::Fio) => 1024,
        (_, Prefixes::Plain | Prefixes::Fio) => return None,
    };
    if unit == "b" && prefixes == Prefixes::Fio {
        return None;
    }
    scaled(number, base.pow(power)).filter(|bytes| *bytes <= LARGEST)
}

/// A time in nanoseconds: `10s`, `500ms`, `2m`, `1h`; without a unit, of `plain` nanoseconds each.
///
/// ```
/// use workloads::quantity::{SECOND, nanoseconds};
///
/// assert_eq!(nanoseconds("10", SECOND), Some(10 * SECOND));
/// assert_eq!(nanoseconds("1.5ms", SECOND), Some(1_500_000));
/// ```
pub fn nanoseconds(text: &str, plain: u64) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" => plain,
        "ns" | "nsec" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => SECOND,
        "m" | "min" => 60 * SECOND,
        "h" => 3600 * SECOND,
        "d" => 86_400 * SECOND,
        _ => return None,
    };
    scaled(number, factor)
}

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// A whole number of at least 0, with `k`, `m` … by 1024 as fio and IOR take them for counts too.
pub fn count(text: &str) -> Option<u64> {
    bytes(text, Prefixes::Plain)
}

/// A number and the text after it.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.starts_with(|c: char| c.is_ascii_digit()) && !number.ends_with('.'))
        .then(|| (number, unit.trim()))
}

/// `number · factor`, where it is whole and within 63 bits.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > 9 {
        return None;
    }
    let tenths = 10_u128.pow(fraction.len() as u32);
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let product = digits.checked_mul(u128::from(factor))?;
    let exact = product.is_multiple_of(tenths).then_some(product / tenths)?;
    i64::try_from(exact).ok().and_then(|exact| u64::try_from(exact).ok())
}

/// A number of bytes as the language spells it: `4KiB`, `1GiB`, `1000`.
pub fn bytes_literal(bytes: u64) -> String {
    let units = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let fitting = units.into_iter().find(|(_, size)| bytes >= *size && bytes.is_multiple_of(*size));
    fitting.map_or_else(|| bytes.to_string(), |(unit, size)| format!("{}{unit}", bytes / size))
}

/// A time as the language spells it: `10s`, `500ms`.
pub fn time_literal(nanoseconds: u64) -> String {
    let units = [("h", 3600 * SECOND), ("min", 60 * SECOND), ("s", SECOND), ("ms", 1_000_000), ("us", 1_000)];
    let fitting =
        units.into_iter().find(|(_, size)| nanoseconds >= *size && nanoseconds.is_multiple_of(*size));
    fitting.map_or_else(|| format!("{nanoseconds}ns"), |(unit, size)| format!("{}{unit}", nanoseconds / size))
}

/// A number of bytes for a sentence: `4 KiB`.
pub fn bytes_in_words(bytes: u64) -> String {
    let literal = bytes_literal(bytes);
    let digits = literal.len() - literal.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = literal.split_at(digits);
    format!("{number} {}", if unit.is_empty() { "bytes" } else { unit })
}

/// A time for a sentence: `10 s`.
pub fn time_in_words(nanoseconds: u64) -> String {
    let literal = time_literal(nanoseconds);
    let digits = literal.len() - literal.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = literal.split_at(digits);
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_size_is_none() {
        for text in ["", "-1", "k", "4x", "1..5", ".5k", "1.", "99999999999g", "4 k b", "0.3", "４k", "1e3"]
        {
            assert_eq!(bytes(text, Prefixes::Plain), None, "{text}");
        }
        assert_eq!(bytes("1.5k", Prefixes::Plain), Some(1536));
        assert_eq!(bytes("4kb", Prefixes::Plain), None);
    }

    #[test]
    fn fio_reads_three_letters_by_thousands_and_fewer_by_1024() {
        // As fio 3.33 prints them: `fio --name=x --ioengine=null --size=…`.
        for (text, expected) in [("1MiB", 1_000_000), ("1mb", 1 << 20), ("1m", 1 << 20), ("1mi", 1 << 20)] {
            assert_eq!(bytes(text, Prefixes::Fio), Some(expected), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in 0_u64..=1 << 60) {
            prop_assert_eq!(bytes(&bytes_literal(value), Prefixes::Plain), Some(value));
            prop_assert_eq!(nanoseconds(&time_literal(value), 1), Some(value));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,20}") {
            let _ = (bytes(&text, Prefixes::Plain), bytes(&text, Prefixes::Fio), nanoseconds(&text, SECOND));
        }
    }
}
