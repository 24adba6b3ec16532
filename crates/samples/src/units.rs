//! Formats durations, sizes, counts and dates for a reader.

/// A duration with three to four significant digits and a fitting unit: `1.08 ns`, `12.4 ms`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return format!("{seconds}");
    }
    let magnitude = seconds.abs();
    let (scale, unit) = match magnitude {
        0.0 => return "0 s".into(),
        m if m < 0.9995e-6 => (1e9, "ns"),
        m if m < 0.9995e-3 => (1e6, "µs"),
        m if m < 0.9995 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", significant(seconds * scale))
}

/// Bytes with a binary unit: `4 KiB`, `1.5 GiB`; below 1 KiB `512 B`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value == value.trunc() {
        format!("{value} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// A count in groups of three: `1,000,000`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in UTC, from seconds since 1970: `2026-01-31T12:00:00Z` (RFC 3339).
pub fn utc(seconds_since_epoch: u64) -> String {
    let (days, rest) = (seconds_since_epoch / 86_400, seconds_since_epoch % 86_400);
    // Civil date from days, in eras of 400 years that begin on 1 March (Neri and Schneider 2022).
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

fn significant(value: f64) -> String {
    match value.abs() {
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_pick_the_unit_that_fits() {
        let shown: Vec<_> = [0.0, 1.08e-9, 0.9996e-6, 12.44e-3, 1.0, 634.2].map(duration).into();
        assert_eq!(shown, ["0 s", "1.08 ns", "1.00 µs", "12.4 ms", "1.00 s", "634 s"]);
    }

    #[test]
    fn sizes_pick_a_binary_unit() {
        let shown: Vec<_> = [0, 1023, 1024, 1536, 1 << 20, u64::MAX].map(bytes).into();
        assert_eq!(shown, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "1 MiB", "16 EiB"]);
    }

    #[test]
    fn times_are_written_as_calendar_dates() {
        let shown = [0, 951_782_399, 951_782_400, 4_102_444_799].map(utc);
        assert_eq!(
            shown,
            ["1970-01-01T00:00:00Z", "2000-02-28T23:59:59Z", "2000-02-29T00:00:00Z", "2099-12-31T23:59:59Z"]
        );
    }
}
