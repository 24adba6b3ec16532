//! Formats numbers and lists inside sentences.

/// A count of runs to two significant digits, rounded up.
pub(super) fn runs(count: f64) -> String {
    if !(count.is_finite() && count < 1e9) {
        return "more than a billion".to_string();
    }
    let digits = count.max(1.0).log10().floor() as i32;
    let unit = 10f64.powi((digits - 1).max(0));
    let rounded = ((count / unit).ceil() * unit) as u64;
    let text = rounded.to_string();
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i > 0 && (text.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A probability as a share of cases.
pub(super) fn cases(p: f64) -> String {
    if p < 0.001 { "fewer than 1 in 1000".to_string() } else { format!("{:.1}%", 100.0 * p) }
}

/// `a`, `a or b`, `a, b or c`; `none` for an empty list.
pub(super) fn any_of(names: &[&str], none: &str) -> String {
    match names {
        [] => none.to_string(),
        [one] => (*one).to_string(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The text with its first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
