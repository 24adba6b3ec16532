//! The words of the statistics: nothing is praised that was rejected, and no number is shown that is none.

use report::words;
use tail::assess::{AssessOptions, Assessment, assess};
use tail::verdict::VerdictCode;
use tail::{Gev, Xoshiro};

fn assessed(values: &[f64]) -> Assessment {
    assess(values, &AssessOptions { bootstrap: 99, ..AssessOptions::default() }).unwrap()
}

/// All that is said of an assessment.
fn said(values: &[f64]) -> Vec<String> {
    let found = assessed(values);
    let tests = found.diagnostics.independence.tests.iter().map(|test| words::finding(&test.finding));
    let verdict = [words::verdict::text(&found)];
    tests
        .chain(words::verdict::findings(&found))
        .chain(words::verdict::advice(&found, "value"))
        .chain(verdict)
        .collect()
}

/// 51 values that are not independent, one of them absurd.
fn one_absurd(largest: f64) -> Vec<f64> {
    (0..50).map(|i| 10.0 + 0.1 * f64::from((i * 7) % 11)).chain([largest]).collect()
}

#[test]
fn whichever_test_of_independence_fails_the_words_never_commend_the_gev() {
    let mut random = Xoshiro::new(41);
    let mut distribution = |location: f64| Gev::new(location, 0.2, 0.05).unwrap().sample(&mut random);
    let step: Vec<f64> = (0..300).map(|i| distribution(if i < 120 { 11.0 } else { 11.4 })).collect();
    let drift: Vec<f64> = (0..300).map(|i| distribution(11.0 + 0.002 * f64::from(i))).collect();
    let modes: Vec<f64> =
        (0..300).map(|i| distribution(if (i * 7919) % 10 < 3 { 13.0 } else { 11.0 })).collect();
    let mut last = 0.0;
    let memory: Vec<f64> = (0..300)
        .map(|_| {
            last = 0.7 * last + distribution(0.0);
            11.0 + last
        })
        .collect();
    for (name, values) in [("step", step), ("drift", drift), ("modes", modes), ("memory", memory)] {
        let found = assessed(&values);
        assert_eq!(found.verdict.code, VerdictCode::NotIndependent, "{name}");
        let said =
            format!("{} {}", words::verdict::text(&found), words::verdict::advice(&found, "value").join(" "));
        for praise in ["Consistent with a GEV", "preferred", "A GEV (", "nothing against"] {
            assert!(!said.contains(praise), "{name}: {said}");
        }
    }
}

#[test]
fn what_comes_back_is_told_by_its_distance_and_no_neighbours_that_differ_resemble_each_other() {
    let distribution = Gev::new(11.0, 0.5, 0.05).unwrap();
    let mut random = Xoshiro::new(8);
    // Eight parts take turns, one of them slow.
    let turns: Vec<f64> =
        (0..480).map(|at| distribution.sample(&mut random) * if at % 8 == 5 { 1.3 } else { 1.0 }).collect();
    let all = said(&turns).join("\n");
    assert!(all.contains("values that are 8 apart are correlated"), "{all}");
    assert!(all.contains("Look for what happens every 8 values"), "{all}");
    assert!(!all.contains("neighbouring"), "{all}");
    // Every fifth has the rest of the one five before.
    let mut last = [0.0; 5];
    let apart: Vec<f64> = (0..400)
        .map(|at| {
            last[at % 5] = 0.5 * last[at % 5] + distribution.sample(&mut random) - 11.0;
            11.0 + last[at % 5]
        })
        .collect();
    let all = said(&apart).join("\n");
    assert!(all.contains("values that are 5 apart are correlated"), "{all}");
    assert!(all.contains("Find what comes back after every 5 values"), "{all}");
    // Two parts take turns.
    let two: Vec<f64> =
        (0..300).map(|at| distribution.sample(&mut random) + if at % 2 == 0 { 0.5 } else { 0.0 }).collect();
    let all = said(&two).join("\n");
    assert!(all.contains("neighbouring values alternate between high and low"), "{all}");
    assert!(!all.contains("resemble"), "{all}");
}

#[test]
fn the_json_of_an_assessment_has_sentences_where_the_schema_has_them() {
    let distribution = Gev::new(10.0, 0.5, 0.1).unwrap();
    let mut random = Xoshiro::new(3);
    let values: Vec<f64> = (0..200).map(|_| distribution.sample(&mut random)).collect();
    let json = words::json(&assessed(&values)).unwrap();
    assert!(json["verdict"]["text"].is_string());
    for key in ["findings", "advice"] {
        let all = json["verdict"][key].as_array().unwrap();
        assert!(!all.is_empty() && all.iter().all(|sentence| sentence.is_string()), "{key}");
    }
    for test in json["diagnostics"]["independence"]["tests"].as_array().unwrap() {
        assert!(test["text"].is_string() && test.get("finding").is_none(), "{test}");
    }
}

#[test]
fn no_words_hold_a_number_that_is_none() {
    // Half of the values and more are equal, and the others rise: no interquartile range to speak in.
    let creeping: Vec<f64> = (0..120)
        .map(|i| match i {
            _ if i % 7 == 0 && i < 60 => 9.0 + 0.001 * f64::from(i),
            _ if i % 7 == 0 => 11.0 + 0.001 * f64::from(i),
            _ => 10.0,
        })
        .collect();
    let few: Vec<f64> = [1.0, 2.0, 3.0, 4.0].into_iter().cycle().take(40).collect();
    let huge: Vec<f64> = (0..60).map(|i| 1e200 * (1.0 + f64::from((i * 37) % 61))).collect();
    let negative: Vec<f64> = (0..60).map(|i| -f64::from((i * 37) % 61)).collect();
    for values in [creeping, few, huge, negative, one_absurd(1e9), one_absurd(-1e300)] {
        for text in said(&values) {
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
            assert!(!text.contains("by about 1.0."), "{text}");
        }
    }
}

#[test]
fn a_creep_of_mostly_equal_values_is_said_without_a_range() {
    let values: Vec<f64> = (0..200)
        .map(|i| match i {
            0..50 if i % 5 == 0 => 9.0 - 0.01 * f64::from(i % 3),
            150..200 if i % 5 == 0 => 11.0 + 0.01 * f64::from(i % 4),
            _ => 10.0,
        })
        .collect();
    let text = said(&values).into_iter().find(|text| text.contains("drifts")).unwrap();
    assert!(text.contains("drifts up over the run (tau"), "{text}");
}

#[test]
fn the_period_of_a_flush_is_named_with_what_to_look_for() {
    let distribution = Gev::new(10.0, 0.3, 0.0).unwrap();
    let mut random = Xoshiro::new(5);
    let values: Vec<f64> =
        (0..2000).map(|i| distribution.sample(&mut random) + if i % 100 == 3 { 5.0 } else { 0.0 }).collect();
    let all = said(&values).join("\n");
    assert!(all.contains("slow values come every 100 values"), "{all}");
    assert!(all.contains("Look for what happens every 100 values"), "{all}");
    let far = tail::latency::analyse(&values, &[1e4], 0.95, 1).unwrap();
    let text = report::far_levels(&far, report::Unit::NONE, "value", "").note;
    assert!(text.contains("slow values come every 100 values") && !text.contains("singly"), "{text}");
}
