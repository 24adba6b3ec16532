//! Numbers of a first screen: three digits and one unit that reads well.

use results::QuantileInterval;

use crate::unit::{Unit, significant};

/// Behind a quantile whose interval has no upper end.
pub(crate) const DOUBT: &str = "?";

/// Three significant digits with thin groups: `46 900`, `2.41`, `0.0123`; from a million on with a prefix, `22.9 M`, and
/// from 10¹⁵ on with a power of ten, `1.80e31`.
pub(crate) fn three(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let magnitude = value.abs();
    if magnitude >= 999.5e12 {
        return format!("{value:.2e}");
    }
    if magnitude >= 999_500.0 {
        let prefixes = [("M", 1e6), ("G", 1e9), ("T", 1e12)];
        let at = prefixes.iter().rposition(|(_, factor)| magnitude >= 0.9995 * factor).unwrap_or(0);
        return format!("{} {}", digits(value / prefixes[at].1), prefixes[at].0);
    }
    digits(value)
}

/// Three significant digits, further ones of a large number as zeros.
fn digits(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        0.0 => "0".into(),
        m if m < 1e-9 => format!("{value:.2e}"),
        m if m < 0.09995 => {
            let decimals = (2 - m.log10().floor() as i32).clamp(2, 12) as usize;
            format!("{value:.decimals$}")
        }
        m if m < 0.9995 => format!("{value:.3}"),
        m if m < 9.995 => format!("{value:.2}"),
        m if m < 99.95 => format!("{value:.1}"),
        m if m < 999.5 => format!("{value:.0}"),
        m => {
            let unit = 10f64.powi(m.log10().floor() as i32 - 2);
            let rounded = (value / unit).round() * unit;
            // Counts end at 1.8e19, and groups of zeros are hard to read long before.
            if magnitude >= 1e9 { format!("{value:.2e}") } else { signed_count(rounded) }
        }
    }
}

/// A whole number with its groups, and its sign.
fn signed_count(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", samples::units::count(value.abs() as u64))
}

/// A duration with three digits: `518 ns`, `13.2 ms`, `90.5 s`, `1 h 12 min`.
pub(crate) fn time(seconds: f64) -> String {
    match seconds.abs() {
        0.0 => "0 s".into(),
        s if s >= 3.6e9 => format!("{seconds:.2e} s"),
        s if s >= 3600.0 => format!("{} h {} min", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64),
        s if s >= 999.5 => format!("{} min {} s", (s / 60.0) as u64, (s % 60.0) as u64),
        _ => {
            let unit = Unit::of_duration(seconds);
            unit.named(&digits(unit.scale(seconds)))
        }
    }
}

/// A quantile with a mark of doubt where its interval has no upper end.
pub(crate) fn in_doubt(seconds: f64, interval: Option<&QuantileInterval>) -> String {
    let is_open = interval.is_some_and(|found| found.upper_seconds.is_none());
    format!("{}{}", time(seconds), if is_open { DOUBT } else { "" })
}

impl Unit {
    /// The value with three significant digits; a duration in the unit that suits it, whatever this one is: `9.91 ms`
    /// beside `420 µs`. Numbers of an unknown unit have as many.
    pub fn plain(&self, value: f64) -> String {
        if self.name.is_empty() { three(value) } else { time(value) }
    }
}

/// Both ends of an interval beside its value, in the value's unit and without its name: `141–160`.
pub(crate) fn between(value: f64, lower: Option<f64>, upper: Option<f64>) -> String {
    let unit = Unit::of_duration(value);
    let end = |end: f64| digits(unit.scale(end));
    match (lower, upper) {
        (Some(lower), Some(upper)) => format!("{}–{}", end(lower), end(upper)),
        (Some(lower), None) => format!("{} or more", end(lower)),
        (None, Some(upper)) => format!("up to {}", end(upper)),
        (None, None) => "open".into(),
    }
}

/// A unit of bytes a second that suits several rates, and what to divide them by.
pub(crate) fn unit_of_rates(largest: f64) -> (&'static str, f64) {
    match largest {
        rate if rate >= 1024f64.powi(3) => ("GiB/s", 1024f64.powi(3)),
        rate if rate >= 0.01 * 1024f64.powi(2) => ("MiB/s", 1024f64.powi(2)),
        _ => ("KiB/s", 1024.0),
    }
}

/// `548 MiB/s`.
pub(crate) fn bandwidth(bytes_per_second: f64) -> String {
    let (unit, factor) = unit_of_rates(bytes_per_second);
    format!("{} {unit}", three(bytes_per_second / factor))
}

/// `5.0% slower`, `1.61 times as slow`, `10 800 times faster`; of a factor on time.
pub(crate) fn times(factor: f64) -> String {
    match factor {
        f if !f.is_finite() || f <= 0.0 => "–".into(),
        f if f >= 1.095 => format!("{} times as slow", three(f)),
        f if f > 1.0 => format!("{}% slower", significant(100.0 * (f - 1.0), 2)),
        1.0 => "as fast".into(),
        // Of the time, as the factor beside it.
        f if f > 1.0 / 1.095 => format!("{}% faster", significant(100.0 * (1.0 - f), 2)),
        f => format!("{} times faster", three(1.0 / f)),
    }
}

/// A positive number rounded to two digits.
pub(crate) fn two_digits(value: f64) -> f64 {
    let place = 10f64.powi(value.log10().floor() as i32 - 1);
    (value / place).round() * place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown: Vec<String> =
            [46_947.0, 2.4091, 0.01234, 0.000518, 22_912_345.0, 183.4, 0.0, 999.7].map(three).into();
        assert_eq!(shown, ["46,900", "2.41", "0.0123", "0.000518", "22.9 M", "183", "0", "1,000"]);
        assert_eq!([1.8e31, 2e21, -46_947.0, 5e14].map(three), ["1.80e31", "2.00e21", "-46,900", "500 T"]);
        assert_eq!(
            [518e-9, 0.0132, 1.0, 4521.0, 1100.0, 1e31].map(time),
            ["518 ns", "13.2 ms", "1.00 s", "1 h 15 min", "18 min 20 s", "1.00e31 s"]
        );
        assert_eq!([574_619_648.0, 4096.0, 3.2e9].map(bandwidth), ["548 MiB/s", "4.00 KiB/s", "2.98 GiB/s"]);
    }

    #[test]
    fn factors_read_as_one_says_them() {
        let shown: Vec<String> = [1.24, 1.05, 1.0, 0.96, 0.5, 1.0 / 10_800.0].map(times).into();
        assert_eq!(
            shown,
            [
                "1.24 times as slow",
                "5.0% slower",
                "as fast",
                "4.0% faster",
                "2.00 times faster",
                "10,800 times faster"
            ]
        );
    }

    #[test]
    fn ends_of_an_interval_share_the_unit_of_their_value() {
        assert_eq!(between(0.149, Some(0.141), Some(0.16)), "141–160");
        assert_eq!(between(0.0039, Some(0.00032), None), "0.320 or more");
    }
}
