//! Quiet against new: what a user reads, and what the JSON holds.

mod common;

use common::{all, lastrank};
use insta::assert_snapshot;
use serde_json::Value;

/// `n` values around 11, `factor` times as long.
fn values(n: usize, factor: f64, seed: u64) -> String {
    let distribution = tail::Gev::new(11.17, 0.21, 0.0).unwrap();
    let mut random = tail::Xoshiro::new(seed);
    (0..n).map(|_| format!("{:.5}\n", factor * distribution.sample(&mut random))).collect()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("quiet.txt", values(300, 1.0, 1)),
        ("slow.txt", values(300, 1.1, 2)),
        ("few.txt", values(2, 1.0, 3) + &values(1, 1.2, 4)),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn a_factor_reads_well_with_its_companions_and_tests() {
    let folder = folder();
    let arguments = ["compare", "quiet.txt", "slow.txt", "--unit", "ms", "-v"];
    assert_snapshot!(all(&lastrank(folder.path(), &arguments)));
    let first = all(&lastrank(folder.path(), &arguments[..5]));
    assert!(first.lines().count() <= 24, "{first}");
    assert!(first.starts_with("⚠ 9.9% slower: 1.0989 times as long (95%: "), "{first}");
}

#[test]
fn few_new_runs_are_judged_one_by_one() {
    let folder = folder();
    assert_snapshot!(all(&lastrank(folder.path(), &["compare", "quiet.txt", "few.txt", "--unit", "ms"])));
    let done = lastrank(folder.path(), &["compare", "quiet.txt", "few.txt", "--json"]);
    let found: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((found["code"].as_str(), found["runs"].as_array().unwrap().len()), (Some("single-runs"), 3));
    // What decides a condition is said: the lowest of all, not an interval of all together.
    let words = ["compare", "quiet.txt", "few.txt", "--unit", "ms", "--fail-if", "factor > 1.05"];
    let said = all(&lastrank(folder.path(), &words));
    let decides = "factor > 1.05: not shown; the lowest interval of the 3 single values begins at 0.";
    assert!(said.contains(decides) && said.contains("(all 3 must lie above; from 10 values on"), "{said}");
}

#[test]
fn the_json_holds_k_every_way_its_tests_and_the_curve() {
    let folder = folder();
    let done = lastrank(folder.path(), &["compare", "quiet.txt", "slow.txt", "--json", "--level", "0.9"]);
    let found: Value = serde_json::from_str(&done.out).unwrap();
    let page = include_str!("../../../docs/json.md");
    for field in found.as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{field}`")), "docs/json.md does not mention `{field}`");
    }
    let holds = |interval: &Value| {
        interval["level"] == 0.9
            && interval["lower"].as_f64().unwrap() < 1.1
            && 1.1 < interval["upper"].as_f64().unwrap()
    };
    assert!(holds(&found["factor"]["interval"]) && holds(&found["single_run"]["interval"]), "{found}");
    assert!(holds(&found["robust"]["hodges_lehmann"]["interval"]));
    // The curve is the deviance of k: nothing at the estimate, 2.706 at the ends of a 90% interval.
    let by_fit = &found["gev"];
    assert!(holds(&by_fit["factor"]["interval"]), "{by_fit}");
    let curve: Vec<[f64; 2]> = serde_json::from_value(by_fit["curve"].clone()).unwrap();
    let end = by_fit["factor"]["interval"]["upper"].as_f64().unwrap();
    let right = curve.windows(2).find(|pair| pair[0][0] <= end && end < pair[1][0]).unwrap();
    assert!(right[0][1] <= 2.706 && 2.705 <= right[1][1], "{right:?}");
    assert!(curve.iter().map(|point| point[1]).fold(f64::INFINITY, f64::min).abs() < 1e-6);
}

/// One number has the name of the factor: in the JSON that which the screen quotes and `--fail-if` asks.
#[test]
fn the_factor_of_the_json_is_the_one_that_is_quoted_and_judged() {
    let folder = folder();
    for (old, new) in [("quiet.txt", "slow.txt"), ("slow.txt", "quiet.txt"), ("quiet.txt", "quiet.txt")] {
        let done = lastrank(folder.path(), &["compare", old, new, "--json"]);
        let found: Value = serde_json::from_str(&done.out).unwrap();
        assert_eq!(found["factor"], found["headline"], "{found}");
        let lower = found["factor"]["interval"]["lower"].as_f64().unwrap();
        if found["code"] == "slower" {
            for (limit, status) in [(lower * 0.999, 1), (lower * 1.001, 0)] {
                let condition = format!("factor > {limit}");
                let done = lastrank(folder.path(), &["compare", old, new, "--fail-if", &condition]);
                assert_eq!(done.status, Some(status), "{condition}: {}", done.out);
            }
        }
    }
}

#[test]
fn mistakes_name_the_thing_and_the_way_out() {
    let folder = folder();
    std::fs::write(
        folder.path().join("negative.txt"),
        (0..40).map(|i| format!("{}\n", i - 5)).collect::<String>(),
    )
    .unwrap();
    let mut said = String::new();
    for arguments in [
        &["quiet.txt", "nope.txt"][..],
        &["few.txt", "quiet.txt"],
        &["quiet.txt", "negative.txt"],
        &["quiet.txt", "slow.txt", "--fail-if", "slower"],
        &["quiet.txt", "slow.txt", "--level", "95"],
        &["quiet.txt", "slow.txt", "--gate"],
        &["quiet.txt", "slow.txt", "--statistic", "p99"],
        &["quiet.txt", "."],
        &[".", "."],
        &["quiet.txt", "slow.txt", "--fail-if", "k>1.05"],
    ] {
        let all_arguments = [&["compare"], arguments].concat();
        let done = lastrank(folder.path(), &all_arguments);
        said += &format!(
            "$ lastrank {}\n{}---- exit status {:?} ----\n\n",
            all_arguments.join(" "),
            done.err,
            done.status
        );
    }
    assert_snapshot!(said);
}

/// The file of `tests/compare`, with the command that compares it with another.
fn measured(a: &str, b: &str, more: &[&str]) -> common::Done {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compare");
    lastrank(&folder, &[&["compare", a, b, "--unit", "ms"], more].concat())
}

#[test]
fn samples_of_one_distribution_and_rounded_ones_are_answered_right() {
    let first = |a: &str, b: &str| -> String {
        let done = measured(a, b, &[]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        done.out.lines().next().unwrap().into()
    };
    for distribution in ["ar06", "iid"] {
        let line =
            first(&format!("same-law-{distribution}-a.txt"), &format!("same-law-{distribution}-b.txt"));
        assert!(line.starts_with("✔ No difference is shown: 1.0"), "{line}");
    }
    // Whole milliseconds, four different ones.
    let line = first("whole-ms-a.txt", "whole-ms-b.txt");
    assert!(line.starts_with("⚠ 4.7% slower: 1.05 times as long (95%: 1.04 to 1.05)"), "{line}");
    let line = first("same-law-ar06-a.txt", "same-law-ar06-a.txt");
    assert_eq!(line, "✔ No difference: both are the same values.");
    // The JSON says the same.
    let done = measured("whole-ms-a.txt", "whole-ms-b.txt", &["--json"]);
    let found: Value = serde_json::from_str(&done.out).unwrap();
    assert!(found["code"] == "slower" && found["headline"]["by"] == "means", "{found}");
    assert_eq!(found["undecided"], false, "{found}");
    assert!(
        found["text"].as_str().unwrap().starts_with("4.7% slower: 1.05 times as long"),
        "{}",
        found["text"]
    );
    // A condition that fails is what the sign says.
    let done = measured("whole-ms-a.txt", "whole-ms-b.txt", &["--fail-if", "k>1.03"]);
    assert!(done.status == Some(1) && done.out.starts_with("✖ 4.7% slower"), "{}", done.out);
    let done = measured("same-law-ar06-a.txt", "same-law-ar06-b.txt", &["--fail-if", "k>1"]);
    assert_eq!(done.status, Some(0), "{}", done.out);
}

#[test]
fn a_difference_too_small_to_matter_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    for (name, factor, seed) in [("quiet.txt", 1.0, 1), ("new.txt", 1.002, 2)] {
        std::fs::write(folder.path().join(name), values(20_000, factor, seed)).unwrap();
    }
    let done = lastrank(folder.path(), &["compare", "quiet.txt", "new.txt"]);
    assert!(done.out.starts_with("✔ 0.1") && done.out.contains("too little to matter"), "{}", done.out);
}

#[test]
fn several_runs_a_side_are_compared_by_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for side in ["quiet", "new"] {
        std::fs::create_dir(path.join(side)).unwrap();
    }
    std::fs::write(path.join("p.ppl"), "time[\"one\"] { repeat 40 { write(\"a\", 4k); } }\n").unwrap();
    // The level of a run varies by 5%, far more than its 40 values say.
    for (side, levels) in [("quiet", [10.0, 10.6, 9.6]), ("new", [10.4, 9.7, 10.2])] {
        for (at, level) in levels.iter().enumerate() {
            let (distribution, file) =
                (format!("simulate:gev({level}ms,100us,0.05)"), format!("{side}/{at}.parquet"));
            let done = lastrank(
                path,
                &["run", "p.ppl", "--backend", &distribution, "--report", "none", "-o", &file],
            );
            assert_eq!(done.status, Some(0), "{}", done.err);
        }
    }
    let done = lastrank(path, &["compare", "quiet", "new"]);
    // 0.91 to 1.11 times as long is no equality.
    assert!(
        done.out.starts_with("⚠ Undecided: ") && done.out.contains("baseline: quiet: 3 runs"),
        "{}",
        done.out
    );
    let done = lastrank(path, &["compare", "quiet", "new", "--json", "--statistic", "p90"]);
    let found: Value = serde_json::from_str(&done.out).unwrap();
    assert!(found["code"] == "no-difference" && found["runs"] == serde_json::json!([3, 3]), "{found}");
    assert_eq!(found["undecided"], true, "{found}");
    // One run against one, the same 40 values a side look decided: what the directories are for.
    let alone = lastrank(path, &["compare", "quiet/0.parquet", "quiet/1.parquet"]);
    assert!(alone.out.contains("slower") && alone.out.contains("One run a side"), "{}", alone.out);
}

/// A run of one program; `gev` is its simulated distribution.
fn run(folder: &std::path::Path, name: &str, text: &str) {
    std::fs::write(folder.join("p.ppl"), text).unwrap();
    let arguments =
        ["run", "p.ppl", "--backend", "simulate:gev(10ms,300us,0.05)", "--report", "none", "-o", name];
    let done = lastrank(folder, &arguments);
    assert_eq!(done.status, Some(0), "{}", done.err);
}

#[test]
fn runs_are_matched_by_label_and_operation_and_the_rest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let part = |label: &str| format!("time[\"{label}\"] {{ repeat 60 {{ write(\"a\", 4k); }} }}\n");
    run(path, "quiet.parquet", &format!("{}{}{}", part("one"), part("two"), part("one")));
    run(path, "new.parquet", &format!("sleep(0);\n\n{}{}", part("three"), part("one")));
    let json = |arguments: &[&str]| -> Value {
        let done =
            lastrank(path, &[&["compare", "quiet.parquet", "new.parquet", "--json"], arguments].concat());
        serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.err))
    };
    // Lines differ, and the label stands twice in one of them: all of `one` against all of `one`.
    let found = json(&["--label", "one/write"]);
    assert_eq!((&found["quiet"]["n"], &found["new"]["n"]), (&120.into(), &60.into()));
    assert_eq!(found["warnings"], serde_json::json!([]));
    // An operation in labels that only one run has: what both have, and the rest by name.
    let found = json(&["--label", "write"]);
    assert_eq!((&found["quiet"]["n"], &found["new"]["n"]), (&120.into(), &60.into()));
    let told = found["warnings"].to_string();
    assert!(
        told.contains("`two / write` of quiet.parquet") && told.contains("`three / write` of new.parquet"),
        "{told}"
    );
    let none = lastrank(path, &["compare", "quiet.parquet", "new.parquet", "--label", "two/write"]);
    assert!(none.status == Some(2) && none.err.contains("no sample of `two/write`"), "{}", none.err);
}

#[test]
fn one_run_a_side_tells_nothing_of_what_differs_from_run_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = "time[\"one\"] { repeat 60 { write(\"a\", 4k); } }\n";
    run(path, "quiet.parquet", text);
    run(path, "new.parquet", text);
    let done = lastrank(path, &["compare", "quiet.parquet", "new.parquet", "-v"]);
    assert!(done.out.contains("Is it a factor at all?"), "{}", done.out);
    assert!(!done.out.contains("Random k") && !done.out.contains("k changes"), "{}", done.out);
    // Of numbers each of which is a run, a bound of nothing is none.
    std::fs::write(path.join("a.txt"), values(60, 1.0, 3)).unwrap();
    let same = lastrank(path, &["compare", "a.txt", "a.txt", "-v"]);
    assert!(same.out.contains("Random k: that k changes from run to run is not shown"), "{}", same.out);
    assert!(!same.out.contains("by 0.00%"), "{}", same.out);
}

#[test]
fn a_difference_that_is_not_one_factor_is_not_quoted_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let draw = |scale: f64, seed: u64| -> String {
        let distribution = tail::Gev::new(10.0, scale, 0.0).unwrap();
        let mut random = tail::Xoshiro::new(seed);
        (0..300).map(|_| format!("{:.6}\n", distribution.sample(&mut random))).collect()
    };
    std::fs::write(folder.path().join("quiet.txt"), draw(0.2, 3)).unwrap();
    std::fs::write(folder.path().join("new.txt"), draw(0.9, 4)).unwrap();
    let done = lastrank(folder.path(), &["compare", "quiet.txt", "new.txt", "-o", "page.html", "-v"]);
    let found: Value =
        serde_json::from_str(&lastrank(folder.path(), &["compare", "quiet.txt", "new.txt", "--json"]).out)
            .unwrap();
    assert_eq!((&found["headline"]["by_law"], &found["code"]), (&false.into(), &"other-difference".into()));
    let (verdict, table) = (done.out.find("Verdict: ").unwrap(), done.out.find("Factor k: ").unwrap());
    assert!(verdict < table && done.out[table..].contains("not to be used"), "{}", done.out);
    let k = format!("{:.4}", found["factor"]["value"].as_f64().unwrap());
    assert!(!done.out[verdict..table].contains(&k), "{}", done.out);
}

#[test]
fn runs_of_other_sizes_are_not_called_faster_or_slower() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, size: &str| {
        let text = format!("repeat $i 400 {{ write(\"x\", {size}); }}\n");
        run(folder.path(), &format!("{name}.parquet"), &text);
    };
    at("small", "4k");
    at("large", "64k");
    at("again", "64k");
    let said = |more: &[&str]| {
        common::lastrank(folder.path(), &[&["compare", "small.parquet", "large.parquet"], more].concat())
    };
    let screen = said(&[]).out;
    assert!(screen.contains("⚠ Not the same work (other sizes): one write takes p50 "), "{screen}");
    assert!(!screen.contains(" faster") && !screen.contains(" slower"), "{screen}");
    // Bytes a second, which differ where operations a second do not.
    assert!(screen.lines().any(|line| line.contains("iB/s ")), "{screen}");
    let line = said(&["-q"]).out;
    assert!(line.starts_with("Not the same work") && line.trim_end().ends_with('⚠'), "{line}");
    for text in [said(&["-v"]).out, said(&["--markdown"]).out] {
        assert!(text.contains("Not the same work (other sizes)"), "{text}");
    }
    let found: serde_json::Value = serde_json::from_str(&said(&["--json"]).out).unwrap();
    assert_eq!(found["code"], "other-work");
    assert_eq!(found["text"], found["other_work"]);
    // What is relative to the old run is not judged; what the new run must keep is.
    for (condition, status) in [("factor > 1.05", 3), ("iops < -5%", 3), ("p99 > 10s", 0), ("p99 > 1ns", 1)] {
        let done = said(&["-q", "--fail-if", condition]);
        assert_eq!(done.status, Some(status), "{condition}: {}{}", done.out, done.err);
        assert_eq!(done.err.contains("is not judged: Not the same work"), status == 3, "{}", done.err);
    }
    let several =
        common::lastrank(folder.path(), &["compare", "small.parquet", "large.parquet", "again.parquet"]).out;
    assert!(several.contains("not the same work, and not judged"), "{several}");
    let alike = common::lastrank(folder.path(), &["compare", "-q", "large.parquet", "again.parquet"]).out;
    assert!(!alike.contains("Not the same work"), "{alike}");
}

#[test]
fn directories_of_other_programs_and_copies_of_one_run_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let sides = [("one", "repeat 60 { write(\"x\", 4k); }\n"), ("two", "repeat 50 { write(\"x\", 4k); }\n")];
    for (side, text) in sides {
        std::fs::create_dir(path.join(side)).unwrap();
        for at in 0..3 {
            let name = format!("{side}/{at}.parquet");
            std::fs::write(path.join(format!("{side}.ppl")), text).unwrap();
            let program = format!("{side}.ppl");
            let distribution = "simulate:gev(10ms,300us,0.05)";
            let seed = at.to_string();
            let words = [
                "run",
                &program,
                "--backend",
                distribution,
                "--seed",
                &seed,
                "--report",
                "none",
                "-o",
                &name,
            ];
            assert_eq!(lastrank(path, &words).status, Some(0));
        }
    }
    let said = |more: &[&str]| lastrank(path, &[&["compare"], more].concat()).out;
    assert!(
        said(&["one", "two"]).contains("baseline program one; new program two"),
        "{}",
        said(&["one", "two"])
    );
    assert!(said(&["one", "two", "-q"]).trim_end().ends_with('⚠'));
    // Three copies of one run.
    for at in 1..3 {
        std::fs::copy(path.join("two/0.parquet"), path.join(format!("two/{at}.parquet"))).unwrap();
    }
    let copies = said(&["one", "two"]).replace('\n', " ");
    assert!(copies.contains("2 of the 3 runs of two equal another in each value"), "{copies}");
    assert!(
        !copies.contains("runs of one equal") && !copies.contains("runs of one were set unlike"),
        "{copies}"
    );
    // A run of another program in one of them.
    std::fs::copy(path.join("two/0.parquet"), path.join("one/3.parquet")).unwrap();
    let mixed = said(&["one", "two"]).replace('\n', " ");
    assert!(mixed.contains("runs of one were set unlike: 3 with program one; 1 with program two"), "{mixed}");
}

/// The table and the headline quote one ratio with one interval, also where values are correlated.
#[test]
fn the_row_of_what_is_compared_has_the_ratio_of_the_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let text = "$f = fopen(\"x\", \"w+\"); repeat 300 fwrite($f, 4KiB, 0); fclose($f);\n";
    for seed in ["1", "2"] {
        let distribution = "simulate:gev(10ms,3ms,0.1)";
        let name = format!("{seed}.parquet");
        std::fs::write(folder.path().join("p.ppl"), text).unwrap();
        let words =
            ["run", "p.ppl", "--report", "none", "--backend", distribution, "--seed", seed, "-o", &name];
        assert_eq!(lastrank(folder.path(), &words).status, Some(0));
    }
    let said = lastrank(folder.path(), &["compare", "1.parquet", "2.parquet", "--json"]).out;
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    let median = &found["robust"]["median_ratio"];
    let rows = found["rows"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == "fwrite").unwrap();
    assert_eq!(row["p50"]["value"], median["value"], "{row}");
    assert_eq!(row["p50"]["lower"], median["interval"]["lower"], "{row}");
    assert_eq!(row["p99"], found["p99_ratio"], "{row}");
}

/// How many operations there were of a name that no run has is no number: not that of all operations.
#[test]
fn a_count_of_a_name_that_is_not_there_is_judged_by_nobody() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("p.ppl"),
        "repeat 60 { time[\"w\"] write(\"f\", 4k, 0); stat(\"f\"); }\n",
    )
    .unwrap();
    for name in ["a.parquet", "b.parquet"] {
        let arguments =
            ["run", "p.ppl", "--backend", "simulate:gev(10ms,1ms,0.1)", "-s", "--report", "none", "-o", name];
        assert_eq!(lastrank(folder.path(), &arguments).status, Some(0));
    }
    for (condition, status) in
        [("count of wriet < 1", 2), ("count of wriet > 1", 2), ("count of w < 61", 1), ("count of w > 60", 0)]
    {
        let arguments = ["compare", "a.parquet", "b.parquet", "--fail-if", condition];
        let done = lastrank(folder.path(), &arguments);
        assert_eq!(done.status, Some(status), "{condition}: {}{}", done.out, done.err);
    }
}
