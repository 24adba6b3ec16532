//! Any text is a condition or a rule, or is refused in words: no panic, and what is read says the same again.

use ppl::condition::{Bound, Condition};
use proptest::prelude::*;

/// Pieces of conditions and rules, mixed with what stands in none.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "p99",
            "p999",
            "p99.99",
            "p0",
            "median",
            "iops",
            "bw",
            "lat",
            "factor",
            "width(",
            "n_eff",
            "return-level(",
            ")",
            "(",
            "\"",
            "of",
            "over",
            "each",
            "after",
            "deviation",
            "range",
            "slope",
            "<",
            "<=",
            ">",
            "≥",
            "=",
            "!=",
            "5%",
            "5 %",
            "0%",
            "-1",
            "1e308",
            "5ms",
            "30s",
            "9e18s",
            "1ns",
            "100/s",
            "18446744073709551616",
            "1.5GiB",
            "%",
            " ",
            "\u{202f}",
            "µs",
            "𝟓",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_the_readers(text in text(), joined in any::<bool>()) {
        let text = if joined { text.replace(' ', "") } else { text };
        match Condition::parse(&text) {
            Ok(found) => {
                let value = found.bound.value();
                prop_assert!(value > 0.0 && value.is_finite(), "{found:?}");
                let unit = if matches!(found.bound, Bound::Seconds(_)) { "s" } else { "" };
                let again = Condition::parse(&format!("{} < 1{unit}", found.quantity));
                prop_assert_eq!(again.map(|again| again.quantity), Ok(found.quantity));
            }
            Err(why) => prop_assert!(!why.to_string().is_empty()),
        }
        match Condition::parse_steady(&text) {
            Ok(rule) => {
                prop_assert!(rule.bin_ns > 0 && rule.window_ns / rule.bin_ns >= 3, "{rule:?}");
                prop_assert!(rule.deviation.or(rule.range).or(rule.slope).is_some());
                prop_assert_eq!(Condition::parse_steady(&rule.text), Ok(rule));
            }
            Err(why) => prop_assert!(!why.to_string().is_empty()),
        }
    }
}
