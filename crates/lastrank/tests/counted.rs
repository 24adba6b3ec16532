//! A run recorded as histograms: its output, and the commands that refuse it.

mod common;

use common::{all, lastrank, program};
use insta::assert_snapshot;

const PROGRAM: &str = "\
define ranks 2
$f = fopen(\"data\", \"w+\");
repeat 50000 {
    time[\"step\"] fwrite($f, 4KiB, 0);
}
fclose($f);
";
const DISTRIBUTION: &str = "simulate:gev(1ms,200us,0.2)";

#[test]
fn a_run_of_histograms_reads_well_and_can_be_reported_again() {
    let folder = tempfile::tempdir().unwrap();
    let done = program(folder.path(), PROGRAM, &["--backend", DISTRIBUTION, "--record", "histogram", "-v"]);
    assert_snapshot!(all(&done));
    let again = lastrank(folder.path(), &["report", "run.parquet", "--text"]);
    let table = "Durations, from histograms";
    assert_eq!(
        again.out.split(table).nth(1).map(|rest| rest.chars().take(900).collect::<String>()),
        done.out.split(table).nth(1).map(|rest| rest.chars().take(900).collect::<String>())
    );
    let page = std::fs::read_to_string(folder.path().join("run.html")).unwrap();
    assert!(page.contains("How often it takes longer") && page.contains("Every operation was counted"));
    // 200,002 operations of 64 bytes would be 12.8 MB; what stays are the slowest, packed.
    assert!(std::fs::metadata(folder.path().join("run.parquet")).unwrap().len() < 2_000_000);
}

#[test]
fn a_tail_without_a_mean_predicts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let said = |distribution: &str| {
        let done =
            program(folder.path(), PROGRAM, &["--backend", distribution, "--record", "histogram", "-v"]);
        all(&done).replace('\n', " ")
    };
    let endless = said("simulate:gev(1ms,200us,1.5)");
    assert!(endless.contains("no limit in sight") && !endless.contains("is expected near"), "{endless}");
    let heavy = said(DISTRIBUTION);
    assert!(heavy.contains("is expected near") && !heavy.contains("no limit in sight"), "{heavy}");
}

#[test]
fn its_json_holds_the_histograms_and_their_quantiles_are_those_of_all_samples() {
    let folder = tempfile::tempdir().unwrap();
    let json = |record: &str| -> serde_json::Value {
        let done =
            program(folder.path(), PROGRAM, &["--backend", DISTRIBUTION, "--record", record, "--json"]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        serde_json::from_str(&done.out).unwrap()
    };
    let (counted, whole) = (json("histogram"), json("samples"));
    let sum = |place: &serde_json::Value| -> u64 {
        let buckets = place["histogram"]["buckets"].as_array().unwrap();
        buckets.iter().map(|pair| pair[1].as_u64().unwrap()).sum()
    };
    let counts: Vec<u64> = counted["facts"]["counted"].as_array().unwrap().iter().map(sum).collect();
    assert_eq!(counts.iter().filter(|count| **count == 100_000).count(), 2, "{counts:?}");
    assert!(whole["facts"]["counted"].is_null());
}

/// The distribution is slower than the rate, so that all but the first operation wait for their turn.
#[test]
fn rates_and_expected_failures_count_as_in_a_run_of_samples() {
    const PROGRAM: &str = "\
define ranks 2
$f = fopen(\"data\", \"w+\");
repeat 2000 rate 1000/s fwrite($f, 4KiB, 0);
fclose($f);
";
    const FAILING: &str = "define ranks 2\nrepeat 50 expect errno == ENOENT stat(\"none\");\n";
    let folder = tempfile::tempdir().unwrap();
    let json = |text: &str, backend: &str, record: &str| -> serde_json::Value {
        let done = program(folder.path(), text, &["--backend", backend, "--record", record, "--json"]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        serde_json::from_str(&done.out).unwrap()
    };
    let row = |answer: &serde_json::Value, operation: &str| -> serde_json::Value {
        let rows = answer["results"].as_array().unwrap();
        rows.iter().find(|row| row["operation"] == operation).unwrap_or_else(|| panic!("{rows:?}")).clone()
    };
    let (counted, whole) = (json(PROGRAM, DISTRIBUTION, "histogram"), json(PROGRAM, DISTRIBUTION, "samples"));
    for quantiles in ["quantiles_seconds", "response_quantiles_seconds"] {
        for quantile in ["p50", "p99", "max"] {
            let of = |answer| row(answer, "fwrite")[quantiles][quantile].as_f64().expect("a number");
            let (found, truth) = (of(&counted), of(&whole));
            assert!((found / truth - 1.0).abs() < 0.004, "{quantiles} {quantile}: {found} for {truth}");
        }
    }
    for record in ["histogram", "samples"] {
        let stat = row(&json(FAILING, "posix", record), "stat");
        assert_eq!((&stat["errors"], &stat["failed_as_expected"]), (&0.into(), &100.into()), "{stat}");
    }
    let done = program(folder.path(), PROGRAM, &["--backend", DISTRIBUTION, "--record", "histogram"]);
    assert!(done.out.contains("of their scheduled start") && done.out.contains("0 errors"), "{}", done.out);
    assert!(done.out.contains("Next:  lastrank report run.parquet -v"), "{}", done.out);
}

#[test]
fn a_mix_has_its_table_for_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let text = "$f = fopen(\"x\", \"w+\"); repeat 2000 { fwrite($f, 1k, 0); fread($f, 1k, 0); fsync($f); }\n";
    let done = program(folder.path(), text, &["--backend", DISTRIBUTION, "--record", "histogram"]);
    assert!(done.out.contains("6,001 operations in ") && !done.out.contains("Nothing was"), "{}", done.out);
}

#[test]
fn a_program_that_asks_for_its_samples_is_refused_before_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    for asking in ["assert p99(\"write\") < 5ms;", "time[\"a\"] write(\"x\", 1); assert iops > 1/s;"] {
        let text = format!("write(\"made\", 1);\n{asking}\n");
        let done = program(folder.path(), &text, &["--record", "histogram"]);
        assert_eq!(done.status, Some(2), "{}", done.err);
        assert!(done.err.contains("needs every one: leave --record histogram out"), "{}", done.err);
        assert!(!folder.path().join("made").exists());
    }
}

#[test]
fn what_needs_every_sample_refuses_it_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), PROGRAM, &["--backend", DISTRIBUTION, "--record", "histogram", "-s"]);
    for words in [
        &["fit", "run.parquet"][..],
        &["export", "run.parquet", "--to", "csv"],
        &["compare", "run.parquet", "run.parquet"],
        &["compare", "run.parquet", "run.parquet", "run.parquet"],
    ] {
        let done = lastrank(folder.path(), words);
        assert_eq!(done.status, Some(2), "{words:?}");
        assert!(done.err.contains("run it with --record samples"), "{words:?}: {}", done.err);
    }
}
