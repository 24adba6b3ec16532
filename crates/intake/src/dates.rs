//! Reads dates and moments of a table as days, for covariates and for blocks of time.

/// Days since 1970 of `2026-03-02`, `2026-03-02 09:30`, `2026-03-02T09:30:10.5Z` or with an offset such as `+01:00`;
/// none of anything else.
pub fn days(text: &str) -> Option<f64> {
    let text = text.trim();
    let (date, time) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], Some(text[at + 1..].trim())),
        None => (text, None),
    };
    let mut parts = date.split('-').map(|part| (part.len(), part.parse::<i64>().ok()));
    let (Some((4, Some(year))), Some((2, Some(month))), Some((2, Some(day))), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    if !(1..=12).contains(&month) || !(1..=length(year, month)).contains(&day) {
        return None;
    }
    let seconds = time.map_or(Some(0.0), second_of_day)?;
    Some(civil(year, month, day) as f64 + seconds / 86_400.0)
}

/// Days of a month.
fn length(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn civil(year: i64, month: i64, day: i64) -> i64 {
    let years = year - i64::from(month <= 2);
    let leaps = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * years + leaps + of_year - 719_468
}

/// `09:30`, `09:30:10.5`, with `Z` or an offset, as seconds since midnight UTC; may lie outside of the day.
fn second_of_day(text: &str) -> Option<f64> {
    let (clock, offset) = match text.find(['Z', '+', '-']) {
        Some(at) if &text[at..] == "Z" => (&text[..at], 0.0),
        Some(at) => {
            let sign = if text[at..].starts_with('-') { -1.0 } else { 1.0 };
            let (hours, minutes) = text[at + 1..].split_once(':')?;
            (&text[..at], sign * (3600.0 * hours.parse::<f64>().ok()? + 60.0 * minutes.parse::<f64>().ok()?))
        }
        None => (text, 0.0),
    };
    let mut parts = clock.trim().split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = parts.next().map_or(Some(0.0), |seconds| seconds)?;
    let fits =
        (0.0..24.0).contains(&hours) && (0.0..60.0).contains(&minutes) && (0.0..61.0).contains(&seconds);
    (fits && parts.next().is_none()).then_some(3600.0 * hours + 60.0 * minutes + seconds - offset)
}

/// Days since 1970 of a moment: a date as [`days`] reads it, or seconds, milliseconds, microseconds or nanoseconds since
/// 1970 as a number, which their size tells apart (from 1973 on).
pub fn moment(text: &str) -> Option<f64> {
    if let Some(found) = days(text) {
        return Some(found);
    }
    let number: f64 = text.trim().parse().ok()?;
    let unit = [(1e8, 1.0), (1e11, 1e3), (1e14, 1e6), (1e17, 1e9)];
    let (_, a_second) = unit.into_iter().rev().find(|(from, _)| number >= *from && number < 1e3 * from)?;
    Some(number / a_second / 86_400.0)
}

#[cfg(test)]
mod tests {
    use super::{days, moment};

    #[test]
    fn moments_are_dates_or_count_from_1970() {
        assert_eq!(moment("2026-03-02T12:00:00Z"), Some(20_514.5));
        for number in
            ["1772452800", "1772452800000", "1772452800000000", "1772452800000000000", "1772452800.0"]
        {
            assert_eq!(moment(number), Some(20_514.5), "{number}");
        }
        for wrong in ["12.5", "20260302", "", "-1", "nan", "1e300"] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn dates_are_days_and_times_their_parts() {
        assert_eq!(days("1970-01-01"), Some(0.0));
        assert_eq!(days("2000-03-01"), Some(11_017.0));
        assert_eq!(days("2024-02-29"), Some(19_782.0));
        assert_eq!(days("2026-03-02T12:00:00Z"), Some(20_514.5));
        assert_eq!(days("2026-03-02 13:00+01:00"), Some(20_514.5));
        for wrong in ["2023-02-29", "2026-13-01", "26-01-01", "2026-01-01 25:00", "12", "", "2026-1-1"] {
            assert_eq!(days(wrong), None, "{wrong}");
        }
    }
}
