//! Any text is a condition or a rule, or is refused in words: no panic, and what is read says the same again.

use ppl::condition::{Bound, Condition};
use ppl::plan::Settings;
use ppl::{Source, claim, compile};
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
            "5%",
            "0%",
            "+20%",
            "-10%",
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
                let least = if matches!(found.bound, Bound::Change(_)) { -1.0 } else { 0.0 };
                prop_assert!(value > least && value != 0.0 && value.is_finite(), "{found:?}");
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

/// A quantity with what it is of, as an option and as a program may write it, and what fits behind it.
fn quantity() -> impl Strategy<Value = (String, &'static str)> {
    let time = prop::sample::select(vec![
        "p50", "median", "p90", "p99", "p99.9", "p999", "p99.99", "mean", "max", "lat",
    ]);
    let rate = prop::sample::select(vec!["iops", "bw", "count", "n_eff", "bandwidth"]);
    let quantile = prop::sample::select(vec!["p50", "p99", "p99.9", "p9999"]);
    let of = |form: &'static str| {
        prop::sample::select(vec!["", "(\"read\")", " of read", " of \"read\"", " of \"a b/read\""])
            .prop_map(move |of| (form, of))
    };
    let plain =
        |bound: &'static str| move |(word, (_, of)): (&str, (&str, &str))| (format!("{word}{of}"), bound);
    let wide = |bound: &'static str| {
        move |(word, (form, of)): (&str, (&str, &str))| (form.replace("Q", &format!("{word}{of}")), bound)
    };
    prop_oneof![
        (time, of("")).prop_map(plain("5ms")),
        (rate, of("")).prop_map(plain("1000")),
        (quantile.clone(), of("width(Q)")).prop_map(wide("0.05")),
        (quantile.clone(), of("width(Q)")).prop_map(wide("5ms")),
        (quantile, of("n_eff(Q)")).prop_map(wide("400")),
    ]
}

/// The assertions of a program, as messages print them.
fn printed(condition: &str) -> Vec<String> {
    let text = format!("time[\"a b\"] read(\"f\");\nassert {condition};\n");
    let mut source = Source::new("a.ppl", &text);
    let (plan, _) = compile(&mut source, &Settings::default(), false, None)
        .unwrap_or_else(|found| panic!("{text}: {found:?}"));
    claim::assertions(&plan.code).into_iter().map(|(_, text)| text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_of_an_assertion_is_the_same_assertion_and_the_same_condition(
        (quantity, bound) in quantity(),
        relation in prop::sample::select(vec!["<", ">", "<=", ">="]),
    ) {
        let written = format!("{quantity} {relation} {bound}");
        let once = printed(&written);
        prop_assert_eq!(&once, &printed(&once[0]), "{}", written);
        let [as_option, again] = [&written, &once[0]].map(|text| Condition::parse(text).expect(text));
        prop_assert_eq!(
            (as_option.quantity, as_option.of, as_option.relation, as_option.bound.value()),
            (again.quantity, again.of, again.relation, again.bound.value())
        );
    }
}
