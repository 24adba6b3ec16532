//! `ls` of large runs: numbers of the footer are those of the samples, and damage is told.

mod common;

use std::fs;
use std::path::Path;

use common::lastrank;
use serde_json::Value;

/// Steps of ranks, with waits.
const STEPS: &str = r#"define ranks 4
repeat $i 6000 {
    barrier;
    time["step"] {
        $f = fopen("none-$$rank", "r");
    }
}
"#;

/// Runs whose answers differ in form: one operation, reads beside writes, steps, a warm-up that is left out.
const RUNS: [&[&str]; 4] = [
    &["io", "randread", "--ops", "70000"],
    &["io", "randrw", "--jobs", "2", "--ops", "40000"],
    &["run", "steps.ppl"],
    &["io", "randread", "--size", "1MiB", "--steady", "iops 90% over 1s", "--time", "10s"],
];

fn listed(folder: &Path) -> (Value, String) {
    let done = lastrank(folder, &["ls", "--json"]);
    let found: Value = serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{}", done.err));
    (found["runs"].clone(), done.err)
}

fn measure(folder: &Path, file: &str, arguments: &[&str]) {
    fs::write(folder.join("steps.ppl"), STEPS).unwrap();
    let common = ["--backend", "simulate:lognormal(100us,0.4)", "--report", "none", "-o", file];
    let done = lastrank(folder, &[arguments, common.as_slice()].concat());
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
}

/// The same run as if it had no place for an answer: the key has another name.
fn forgotten(mut bytes: Vec<u8>) -> Vec<u8> {
    let key = b"lastrank.answer";
    let at = bytes.windows(key.len()).rposition(|found| found == key).expect("a place for an answer");
    bytes[at] = b'X';
    bytes
}

#[test]
fn numbers_of_the_footer_are_those_of_the_samples_to_the_last_digit() {
    let folder = tempfile::tempdir().unwrap();
    for (at, arguments) in RUNS.iter().enumerate() {
        let file = format!("{at}.parquet");
        measure(folder.path(), &file, arguments);
        assert!(store::kept_answer(&folder.path().join(&file)).is_some(), "{arguments:?}");
    }
    let of_footers = listed(folder.path());
    let lines = || -> Vec<_> {
        let line = |at| lastrank(folder.path(), &["report", "-q", &format!("{at}.parquet")]);
        (0..RUNS.len()).map(line).map(|done| (done.out, done.err, done.status)).collect()
    };
    let of_footer = lines();
    for at in 0..RUNS.len() {
        let path = folder.path().join(format!("{at}.parquet"));
        let bytes = forgotten(fs::read(&path).unwrap());
        fs::write(&path, bytes).unwrap();
        assert!(store::kept_answer(&path).is_none());
    }
    assert_eq!(of_footers, listed(folder.path()));
    assert_eq!(of_footer, lines());
    assert!(of_footer.iter().all(|(line, ..)| !line.is_empty()));
    let runs = of_footers.0.as_array().unwrap();
    assert_eq!(runs.len(), RUNS.len());
    assert!(runs.iter().all(|run| run["p99_seconds"].is_number() || run["numbers"]["parts"][1].is_object()));
}

#[test]
fn damage_of_a_run_with_an_answer_is_told_as_of_one_without() {
    let folder = tempfile::tempdir().unwrap();
    measure(folder.path(), "run.parquet", RUNS[0]);
    let path = folder.path().join("run.parquet");
    let whole = fs::read(&path).unwrap();
    let good = listed(folder.path());
    let mut data = whole.clone();
    data[5000] ^= 1;
    let facts = b"lastrank.facts";
    let at = whole.windows(facts.len()).rposition(|found| found == facts).unwrap() + 60;
    let mut changed = whole.clone();
    changed[at] ^= 1;
    for damaged in [data, changed, whole[..whole.len() - 7].to_vec(), whole[..9000].to_vec()] {
        fs::write(&path, &damaged).unwrap();
        let why = store::read(&path).unwrap_err().to_string();
        let why = why.rsplit_once("run.parquet").expect("it names the file").1.to_owned();
        let (runs, told) = listed(folder.path());
        assert_eq!((runs, told.contains(&why)), (serde_json::json!([]), true), "{told} and not {why}");
    }
    // Of an answer that is not whole the samples tell.
    let mut torn = whole.clone();
    let key = b"lastrank.answer";
    let at = whole.windows(key.len()).rposition(|found| found == key).unwrap() + 60;
    torn[at..at + 40].fill(b'~');
    fs::write(&path, &torn).unwrap();
    assert!(store::kept_answer(&path).is_none());
    assert_eq!(listed(folder.path()), good);
}

#[test]
fn small_and_quiet_runs_are_listed_from_their_samples() {
    let folder = tempfile::tempdir().unwrap();
    measure(folder.path(), "small.parquet", &["io", "randread", "--ops", "600"]);
    measure(folder.path(), "quiet.parquet", &["io", "randread", "--ops", "70000", "--quiet"]);
    let small = fs::read(folder.path().join("small.parquet")).unwrap();
    assert!(!small.windows(15).any(|found| found == b"lastrank.answer"));
    let (runs, _) = listed(folder.path());
    let counts: Vec<_> =
        runs.as_array().unwrap().iter().map(|run| run["numbers"]["parts"][0]["count"].clone()).collect();
    assert_eq!(counts, [600, 70_000]);
}
