//! Numbers as a screen shows them, with the error of their rounding.

/// A number read from a screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Its value; seconds where a unit of time stands behind it.
    pub value: f64,
    /// Half of its last digit.
    pub rounding: f64,
}

/// Prefixes and units, and what they multiply by.
const UNITS: [(&str, f64); 11] = [
    ("ns", 1e-9),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("min", 60.0),
    ("h", 3600.0),
    ("s", 1.0),
    ("GiB/s", 1_073_741_824.0),
    ("MiB/s", 1_048_576.0),
    ("KiB/s", 1024.0),
    ("M", 1e6),
    ("G", 1e9),
];

impl Number {
    /// The number at the beginning of a text, and the bytes that it takes with its unit.
    pub fn at(text: &str) -> Option<(Number, usize)> {
        let (mut value, mut rounding, mut end) = plain(text)?;
        if let Some((factor, unit_end)) = unit(&text[end..]) {
            (value, rounding, end) = (value * factor, rounding * factor, end + unit_end);
            // `1 h 12 min` has two parts.
            let more =
                text[end..].strip_prefix(' ').and_then(plain).filter(|_| (60.0..=3600.0).contains(&factor));
            if let Some((more, _, more_end)) = more {
                let next = end + 1 + more_end;
                if let Some((factor, unit_end)) = unit(&text[next..]) {
                    (value, rounding, end) = (value + more * factor, 0.5 * factor, next + unit_end);
                }
            }
        }
        Some((Number { value, rounding }, end))
    }

    /// Whether it is this value, as rounded.
    pub fn is(&self, value: f64) -> bool {
        (self.value - value).abs() <= 1.02 * self.rounding + 1e-9 * value.abs()
    }
}

/// Digits with groups, a fraction, an exponent.
fn plain(text: &str) -> Option<(f64, f64, usize)> {
    let sign = text.chars().next().filter(|sign| matches!(sign, '-' | '+' | '−'));
    let mut end = sign.map_or(0, char::len_utf8);
    let mut digits = String::new();
    let count = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = count(&text[end..]);
    if first == 0 {
        return None;
    }
    digits.push_str(&text[end..end + first]);
    end += first;
    // Groups of three, of a number whose first group is short.
    if first <= 3 {
        loop {
            let rest = &text[end..];
            let mark = [",", " ", "\u{202f}"].into_iter().find(|mark| rest.starts_with(mark));
            let Some(mark) = mark else { break };
            let group = &rest[mark.len()..];
            if count(group) != 3 {
                break;
            }
            digits.push_str(&group[..3]);
            end += mark.len() + 3;
        }
    }
    let mut unit = 1.0;
    if let Some(fraction) = text[end..].strip_prefix('.').map(count).filter(|count| *count > 0) {
        digits.push_str(&text[end..end + 1 + fraction]);
        end += 1 + fraction;
        unit = 10f64.powi(-(fraction as i32));
    } else if digits.len() > 3 {
        // Three digits of a large number.
        unit = 10f64.powi(digits.len() as i32 - 3);
    }
    if let Some(exponent) = text[end..].strip_prefix('e') {
        let length = exponent.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
        if let Ok(power) = exponent[..length].parse::<i32>() {
            digits.push_str(&text[end..end + 1 + length]);
            unit *= 10f64.powi(power);
            end += 1 + length;
        }
    }
    let value: f64 = digits.parse().ok()?;
    let signed = if matches!(sign, Some('-' | '−')) { -value } else { value };
    Some((signed, 0.5 * unit, end))
}

/// A unit behind a blank: its factor and bytes with the blank.
fn unit(text: &str) -> Option<(f64, usize)> {
    let blank = [" ", "\u{202f}"].into_iter().find(|blank| text.starts_with(blank))?;
    let rest = &text[blank.len()..];
    let word = rest.split(|letter: char| !(letter.is_alphabetic() || letter == '/')).next()?;
    let (name, factor) = UNITS.iter().find(|(name, _)| *name == word)?;
    Some((*factor, blank.len() + name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units_and_groups() {
        let read = |text: &str| {
            Number::at(text).map(|(found, end)| (found.value, found.rounding, text[end..].to_owned()))
        };
        let told = |value: f64, rounding: f64, rest: &str| Some((value, rounding, rest.to_owned()));
        assert_eq!(read("12,600 values"), told(12_600.0, 50.0, " values"));
        assert_eq!(read("400 values count"), told(400.0, 0.5, " values count"));
        assert_eq!(read("1.50 s (1"), told(1.5, 0.005, " (1"));
        assert_eq!(read("+0.64, tested"), told(0.64, 0.005, ", tested"));
        assert_eq!(read("1 h 15 min."), told(4500.0, 30.0, "."));
        assert_eq!(read("1.80e31"), told(1.8e31, 0.5 * 1e-2 * 1e31, ""));
        assert_eq!(read("many"), None);
        let (tens, _) = Number::at("10.1 ms (10.1 to 10.1)").unwrap();
        assert!(tens.is(10.149e-3) && !tens.is(10.2e-3));
    }
}
