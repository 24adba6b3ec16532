//! Tables that were once read in another sense than they were written in, each with what is right.

mod common;

use std::path::{Path, PathBuf};

use common::{Done, lastrank, program};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numbers")
}

fn fit(arguments: &[&str]) -> Value {
    let done = done(arguments);
    assert_eq!(done.status, Some(0), "{}", done.err);
    serde_json::from_str(&done.out).unwrap()
}

fn done(arguments: &[&str]) -> Done {
    lastrank(&folder(), &[&["fit"], arguments, &["--json"]].concat())
}

/// The smallest value, and how many there are.
fn least(found: &Value) -> (f64, u64) {
    (found["summary"]["minimum"].as_f64().unwrap(), found["source"]["values"].as_u64().unwrap())
}

#[test]
fn the_header_of_a_frame_without_names_is_no_value() {
    let found = fit(&["header-of-pandas.csv"]);
    assert_eq!(least(&found), (8.253, 300));
    assert!(found["source"]["took"].as_str().unwrap().contains("--no-header takes it as values"));
    assert_eq!(least(&fit(&["header-of-pandas.csv", "--no-header"])), (0.0, 301));
}

#[test]
fn a_number_is_the_name_of_a_column_before_it_is_its_place() {
    // Columns of 1, 2 and 4 threads: the second is twice the first, and the third four times.
    for (column, least_value) in
        [("1", 8.253), ("2", 16.506), ("4", 33.012), ("#1", 8.253), ("#2", 16.506), ("#3", 33.012)]
    {
        assert_eq!(
            least(&fit(&["threads-as-names.csv", "--column", column])),
            (least_value, 300),
            "{column}"
        );
    }
    let missing = done(&["threads-as-names.csv", "--column", "8"]);
    assert!(missing.err.contains("`1`, `2`, `4`"), "{}", missing.err);
}

#[test]
fn a_table_without_header_has_a_name_for_each_of_its_values() {
    let found = fit(&["without-header.csv", "--column", "1", "--by", "2"]);
    assert_eq!(found["source"]["values"], 200);
    let groups = found["groups"]["groups"].as_array().unwrap();
    let sizes: Vec<(&str, u64)> =
        groups.iter().map(|group| (group["name"].as_str().unwrap(), group["n"].as_u64().unwrap())).collect();
    assert!(sizes.contains(&("read", 100)) && sizes.contains(&("write", 100)), "{sizes:?}");
}

#[test]
fn levels_at_a_covariate_above_a_threshold_are_those_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = tail::Xoshiro::new(9);
    let distribution = tail::Gev::new(1.5, 0.5, 0.1).unwrap();
    let mut text = String::from("when,host,load,seconds,ms\n");
    for at in 0..3000 {
        let load = random.uniform();
        let value = distribution.sample(&mut random) * (1.0 + load);
        text +=
            &format!("2024-01-01 {:02}:{:02}:00,a,{load},{},{value}\n", at / 60 % 24, at % 60, value / 1e3);
    }
    std::fs::write(folder.path().join("t.csv"), text).unwrap();
    let arguments = [
        "fit",
        "t.csv",
        "--column",
        "seconds",
        "--model",
        "gpd",
        "--threshold",
        "95%",
        "--covariate",
        "load",
    ];
    let done = lastrank(folder.path(), &[&arguments[..], &["--at", "load=0.9", "--json"]].concat());
    assert_eq!(done.status, Some(0), "{}", done.err);
    let found: Value = serde_json::from_str(&done.out).unwrap();
    // One in ten lies below the threshold, which is why it has no level.
    let levels = found["covariates"]["levels_at"]["levels"].as_array().unwrap();
    let periods: Vec<f64> = levels.iter().map(|level| level["period"].as_f64().unwrap()).collect();
    assert_eq!(periods, [100.0, 1000.0]);
    assert!(levels[0]["level"].as_f64() < levels[1]["level"].as_f64());
}

#[test]
fn a_column_that_its_own_condition_cut_gets_no_good_word_of_its_tail() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = tail::Xoshiro::new(3);
    let distribution = tail::Gev::new(10.0, 2.0, 0.0).unwrap();
    let rows: String = (0..300).map(|_| format!("{:.4},a\n", distribution.sample(&mut random))).collect();
    std::fs::write(folder.path().join("t.csv"), format!("lat,host\n{rows}")).unwrap();
    let fit = |condition: &str, more: &[&str]| {
        let arguments = ["fit", "t.csv", "--column", "lat", "--where", condition];
        lastrank(folder.path(), &[&arguments[..], more].concat()).out
    };
    const CUT: &str = "values off: how rare slow ones are cannot be told from the rest";
    // All that is above a value went: the distribution fits what is left, and says nothing of what went.
    let screen = fit("lat<18", &[]);
    assert!(screen.replace("\n ", "").contains(CUT) && !screen.contains('✔'), "{screen}");
    assert!(fit("lat<18", &["-q"]).starts_with("⚠ --where lat<18 cut "));
    let found: Value = serde_json::from_str(&fit("lat<18", &["--json"])).unwrap();
    assert!(found["warnings"][0].as_str().is_some_and(|text| text.ends_with(CUT)), "{}", found["warnings"]);
    // A condition of another column, one that takes all, and one that leaves out what means no value.
    for condition in ["host=a", "lat<900", "lat!=-1"] {
        let screen = fit(condition, &[]);
        assert!(screen.contains('✔') && !screen.contains("values off"), "{screen}");
    }
}

#[test]
fn one_line_of_a_fit_has_the_notes_of_its_screen() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = tail::Xoshiro::new(5);
    let distribution = tail::Gev::new(10.0, 2.0, 0.0).unwrap();
    let mut values: Vec<f64> = (0..300).map(|_| distribution.sample(&mut random)).collect();
    let said = |values: &[f64]| {
        let text: String = values.iter().map(|value| format!("{value}\n")).collect();
        std::fs::write(folder.path().join("t.txt"), text).unwrap();
        [&["fit", "t.txt"][..], &["fit", "t.txt", "-q"]].map(|words| lastrank(folder.path(), words).out)
    };
    for out in said(&values) {
        assert!(!out.contains("are sorted"), "{out}");
    }
    values.sort_by(f64::total_cmp);
    for out in said(&values) {
        assert!(out.contains("⚠ The values are sorted"), "{out}");
    }
}

/// All but the first operation wait for their turn; the answer is about what a user waits.
#[test]
fn a_fit_and_a_comparison_of_a_rate_are_of_the_times_in_its_headline() {
    let folder = tempfile::tempdir().unwrap();
    let text = "$f = fopen(\"x\", \"w+\"); repeat 400 rate 1000/s fwrite($f, 4KiB, 0); fclose($f);\n";
    std::fs::write(folder.path().join("p.ppl"), text).unwrap();
    for seed in ["1", "2"] {
        let distribution = "simulate:gev(990us,20us,0.1)";
        let words = [
            "run",
            "p.ppl",
            "--report",
            "none",
            "--backend",
            distribution,
            "--seed",
            seed,
            "-o",
            &format!("{seed}.parquet"),
        ];
        assert_eq!(lastrank(folder.path(), &words).status, Some(0));
    }
    let json = |words: &[&str]| -> Value {
        serde_json::from_str(&lastrank(folder.path(), &[words, &["--json"]].concat()).out).unwrap()
    };
    let run = json(&["report", "1.parquet"]);
    let part = &run["numbers"]["parts"][0];
    assert_eq!(part["value"], "response");
    let median = part["quantiles_seconds"]["p50"].as_f64().unwrap();
    let service = run["results"].as_array().unwrap().iter().find(|row| row["operation"] == "fwrite").unwrap();
    assert!(median > 1.5 * service["quantiles_seconds"]["p50"].as_f64().unwrap(), "{part}");
    let near = |found: &Value| (found.as_f64().unwrap() / median - 1.0).abs() < 0.01;
    assert!(near(&json(&["compare", "1.parquet", "2.parquet"])["quiet"]["median"]));
    let screen = lastrank(folder.path(), &["fit", "1.parquet"]).out;
    assert!(screen.contains("every fwrite, from its scheduled start"), "{screen}");
}

#[test]
fn steps_of_a_rate_count_from_their_schedule_and_have_a_mean() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\
define ranks 2
$f = fopen(\"x-$$rank\", \"w+\");
repeat 200 rate 1000/s time[\"g\"] { barrier; fwrite($f, 4KiB, 0); }
repeat 100 rate 1000/s getpid();
assert mean of getpid < 1s && p50 of g > 1ms;
fclose($f);
";
    let done = program(folder.path(), text, &["--backend", "simulate:gev(1200us,20us,0.1)", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let found: Value = serde_json::from_str(&done.out).unwrap();
    let part = &found["numbers"]["parts"][0];
    assert_eq!((&part["value"], &part["from_schedule"]), (&"step".into(), &true.into()), "{part}");
    let rows = found["results"].as_array().unwrap();
    let row = rows.iter().find(|row| row["labels"][0] == "g" && row["kind"] == "time").unwrap();
    let p50 = |of: &Value| of["p50"].as_f64().unwrap();
    // The slowest of two ranks waits at least as long as one of them.
    assert!(
        p50(&part["quantiles_seconds"]) >= 0.99 * p50(&row["response_quantiles_seconds"]),
        "{part} {row}"
    );
    assert!(p50(&row["response_quantiles_seconds"]) > 5.0 * p50(&row["quantiles_seconds"]), "{row}");
    let fit = lastrank(folder.path(), &["fit", "run.parquet", "--of", "g", "--gate"]).out;
    assert!(fit.contains("from its scheduled start"), "{fit}");
    let screen = lastrank(folder.path(), &["report", "run.parquet", "--exit-zero", "-q"]).out;
    assert!(!screen.contains("takes 1.2"), "{screen}");
}

#[test]
fn what_failed_under_a_rate_was_not_as_many_as_requested() {
    let folder = tempfile::tempdir().unwrap();
    let text = "mkdir(\"d\"); $n = 0;\n\
        repeat 200 rate 400/s { $n = $n + 1; if $n % 4 > 0 { expect errno == ENOENT stat(\"none\"); } else stat(\"d\"); }\n\
        assert iops of stat > 350/s; rmdir(\"d\");\n";
    let done = program(folder.path(), text, &[]);
    assert_eq!(done.status, Some(1), "{}{}", done.out, done.err);
    let said = done.out.replace("\n", " ");
    // On a machine that was too busy for it the rate was not reached either.
    let is_told = said.contains("begun as often as requested") || said.contains(" requested while looking");
    assert!(is_told && !said.contains("as many as requested"), "{said}");
}
