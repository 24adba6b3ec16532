//! How a ratio of times is told.

use trace::fidelity::Ratio;

/// From such a factor between its ends on an interval tells nothing of a ratio.
const TELLS_NOTHING: f64 = 100.0;

/// `1.02 (0.98–1.06)`; without an interval that would tell nothing.
pub(super) fn told(ratio: Ratio) -> String {
    match ratio.interval {
        Some((low, high)) if high >= TELLS_NOTHING * low => format!("{:.2} (too few to tell)", ratio.value),
        Some((low, high)) => format!("{:.2} ({low:.2}–{high:.2})", ratio.value),
        None => format!("{:.2}", ratio.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_tells_nothing_is_not_told() {
        let of = |interval| told(Ratio { value: 1.016, interval });
        assert_eq!(of(Some((0.0, 1450.52))), "1.02 (too few to tell)");
        assert_eq!(of(Some((0.98, 1.06))), "1.02 (0.98–1.06)");
        assert_eq!(of(None), "1.02");
    }
}
