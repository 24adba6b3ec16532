//! Units and digits in which quantities are shown.

use serde::Serialize;

/// The unit that the numbers of one report share: of durations the one that suits the data, or none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unit {
    /// `ns`, `µs`, `ms`, `s`, or empty for numbers whose unit is not known.
    pub name: &'static str,
    /// Multiply a value (in seconds, where the unit is known) by this to show it.
    pub factor: f64,
}

impl Unit {
    /// For numbers whose unit is not known.
    pub const NONE: Unit = Unit { name: "", factor: 1.0 };

    /// The unit in which `seconds` reads well: 1 to 1000 of it.
    pub fn of_duration(seconds: f64) -> Unit {
        let magnitude = seconds.abs();
        let (name, factor) = match magnitude {
            m if m < 0.9995e-6 => ("ns", 1e9),
            m if m < 0.9995e-3 => ("µs", 1e6),
            m if m < 0.9995 => ("ms", 1e3),
            _ => ("s", 1.0),
        };
        Unit { name, factor }
    }

    /// The value in this unit, without its name.
    pub fn scale(&self, value: f64) -> f64 {
        value * self.factor
    }

    /// All values in this unit, rounded to what a figure can show (nine significant digits).
    pub fn scale_all<'a>(&self, values: impl IntoIterator<Item = &'a f64>) -> Vec<f64> {
        values.into_iter().map(|value| rounded(self.scale(*value))).collect()
    }

    /// `text` with the unit's name behind it.
    pub fn named(&self, text: &str) -> String {
        if self.name.is_empty() { text.into() } else { format!("{text} {}", self.name) }
    }

    /// An axis title: `duration (ms)`.
    pub fn axis(&self, what: &str) -> String {
        if self.name.is_empty() { what.into() } else { format!("{what} ({})", self.name) }
    }

    /// Two values as [`Unit::plain`] writes them, with as many more digits as it takes to tell them apart.
    pub fn apart(&self, values: [f64; 2]) -> [String; 2] {
        let plain = values.map(|value| self.plain(value));
        let digits =
            (4..=17).map(|digits| values.map(|value| self.named(&significant(self.scale(value), digits))));
        let all = std::iter::once(plain.clone()).chain(digits);
        all.into_iter().find(|[one, other]| one != other).unwrap_or(plain)
    }

    /// The value with four significant digits and the unit: `11.17 ms`.
    pub fn show(&self, value: f64) -> String {
        self.named(&significant(self.scale(value), 4))
    }

    /// Estimate and error with as many decimals as two digits of the error need.
    pub fn with_error(&self, value: f64, error: f64) -> (String, String) {
        let (value, error) = (self.scale(value), self.scale(error));
        let decimals = decimals_for(error, 2);
        (fixed(value, decimals), fixed(error, decimals))
    }

    /// An estimate and the ends of its interval, with as many decimals as the interval's half width
    /// needs: two digits of it if it begins with 1 or 2, otherwise one. `12.10`, `11.95`, `12.30`.
    pub fn with_interval(&self, value: f64, lower: f64, upper: f64) -> [String; 3] {
        let half = self.scale(upper - lower).abs() / 2.0;
        let leading = half / 10f64.powf(half.log10().floor());
        let decimals = decimals_for(half, if leading < 3.0 { 2 } else { 1 });
        [value, lower, upper]
            .map(|v| if v.is_finite() { fixed(self.scale(v), decimals) } else { infinite(v) })
    }
}

impl Unit {
    /// The unit that suits a value of the same kind: far levels are many times the typical value.
    pub fn that_suits(&self, value: f64) -> Unit {
        if self.name.is_empty() { *self } else { Unit::of_duration(value) }
    }

    /// An estimate and the ends of its interval as [`Unit::plain`] writes them, on every screen and page alike; with more
    /// digits where it takes them to tell an end from the estimate. `–` for an end that was not found.
    pub fn level_and_ends(&self, value: f64, lower: f64, upper: f64) -> [String; 3] {
        let all = [value, lower, upper];
        let plain = all.map(|one| if one.is_finite() { self.plain(one) } else { infinite(one) });
        let is_hidden = |end: usize| plain[end] == plain[0] && all[end] != value;
        if !is_hidden(1) && !is_hidden(2) {
            return plain;
        }
        let unit = self.that_suits(value);
        let named = |text: String, one: f64| if one.is_finite() { unit.named(&text) } else { text };
        let [value, lower, upper] = unit.with_interval(value, lower, upper);
        [named(value, all[0]), named(lower, all[1]), named(upper, all[2])]
    }
}

/// A duration with four significant digits in the unit that suits it: `11.18 ms`.
pub fn duration(seconds: f64) -> String {
    Unit::of_duration(seconds).show(seconds)
}

/// Nine significant digits: more than a screen can show, and a report half as large.
pub(crate) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// A number with `digits` significant digits and no exponent where it reads well without.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return infinite(value);
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..=9).contains(&magnitude) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    fixed(value, (digits as i32 - 1 - magnitude).max(0) as usize)
}

/// A probability or p-value as a reader expects it: `0.42`, `0.003`, `< 0.001`.
pub fn probability(p: f64) -> String {
    match p {
        p if !p.is_finite() => "–".into(),
        p if p < 0.001 => "< 0.001".into(),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// A confidence level in percent, with no more digits than it has: `95%`, `99.9%`.
pub fn confidence(level: f64) -> String {
    format!("{}%", (1e8 * level).round() / 1e6)
}

/// A share in percent: `93.8%`.
pub fn percent(share: f64) -> String {
    format!("{}%", significant(100.0 * share, 3))
}

fn infinite(value: f64) -> String {
    if value.is_nan() {
        "–".into()
    } else if value > 0.0 {
        "∞".into()
    } else {
        "−∞".into()
    }
}

/// Fixed decimals with a true minus sign, and no "-0.00".
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.into(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

fn decimals_for(error: f64, digits: i32) -> usize {
    if error == 0.0 || !error.is_finite() {
        return 3;
    }
    (digits - 1 - error.abs().log10().floor() as i32).clamp(0, 12) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_has_the_decimals_of_its_error() {
        let ms = Unit::of_duration(0.011);
        assert_eq!(ms.with_error(0.0109341234, 0.0000123), ("10.934".into(), "0.012".into()));
        assert_eq!(Unit::NONE.with_error(-0.0004, 0.034), ("0.000".into(), "0.034".into()));
        assert_eq!(Unit::NONE.with_error(-0.0514, 0.034), ("−0.051".into(), "0.034".into()));
    }

    #[test]
    fn an_interval_has_the_decimals_of_its_width() {
        let ms = Unit::of_duration(0.012);
        assert_eq!(ms.with_interval(0.0121042, 0.01195, 0.0123), ["12.10", "11.95", "12.30"]);
        assert_eq!(ms.with_interval(0.0115874, 0.011526, 0.0116872), ["11.59", "11.53", "11.69"]);
        assert_eq!(ms.with_interval(0.0121042, 0.01195, f64::INFINITY), ["12.104", "11.950", "∞"]);
    }

    #[test]
    fn a_level_has_the_digits_of_a_first_screen_and_more_where_an_end_would_look_like_it() {
        let ms = Unit::of_duration(0.012);
        assert_eq!(ms.level_and_ends(0.01193, 0.0118, 0.01208), ["11.9 ms", "11.8 ms", "12.1 ms"]);
        assert_eq!(ms.level_and_ends(0.0156, 0.0149, 1.02), ["15.6 ms", "14.9 ms", "1.02 s"]);
        assert_eq!(ms.level_and_ends(0.011931, 0.011926, 0.01208), ["11.93 ms", "11.93 ms", "12.08 ms"]);
        assert_eq!(ms.level_and_ends(0.0119, f64::NAN, f64::INFINITY), ["11.9 ms", "–", "∞"]);
        assert_eq!(Unit::NONE.level_and_ends(11_931.0, 11_800.0, 12_080.0), ["11,900", "11,800", "12,100"]);
    }

    #[test]
    fn two_values_are_told_with_the_digits_that_tell_them_apart() {
        let unit = Unit::of_duration(17.6e-3);
        assert_eq!(unit.apart([24.5e-3, 23.7e-3]), ["24.5 ms", "23.7 ms"]);
        assert_eq!(unit.apart([17.604e-3, 17.601e-3]), ["17.604 ms", "17.601 ms"]);
        assert_eq!(unit.apart([1e-3, 1e-3])[0], unit.plain(1e-3));
    }

    #[test]
    fn numbers_read_well() {
        let shown: Vec<_> = [0.0, 11.1679, 1234567.0, 0.00012345, 1e-9].map(|v| significant(v, 4)).into();
        assert_eq!(shown, ["0", "11.17", "1234567", "0.0001234", "1.000e-9"]);
        assert_eq!([0.5, 0.0312, 1e-5].map(probability), ["0.50", "0.031", "< 0.001"]);
    }
}
