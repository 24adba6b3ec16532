//! Predictions for more ranks, and the number of runs for a precision, as a user reads them.

mod common;

use std::path::Path;

use common::{all, lastrank};
use insta::assert_snapshot;
use serde_json::Value;

/// Simulated runs of 4, 16 and 64 independent ranks.
fn runs(folder: &Path, sizes: &[u32], repeat: u32) {
    for ranks in sizes {
        let (ranks, repeat) = (ranks.to_string(), format!("repeat={repeat}"));
        let (targets, file) = (format!("targets={ranks}"), format!("run{ranks}.parquet"));
        let distribution = "simulate:gev(10ms,300us,0.05)";
        let arguments = [
            "run",
            "parallel_write",
            "--backend",
            distribution,
            "-n",
            &ranks,
            "--seed",
            &ranks,
            "--set",
            &repeat,
        ];
        let more = ["--set", &targets, "--report", "none", "-o", &file];
        assert_eq!(lastrank(folder, &[&arguments[..], &more].concat()).status, Some(0));
    }
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let done = lastrank(folder, arguments);
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

#[test]
fn one_size_foretells_a_few_times_as_many_and_warns_beyond() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), &[16], 400);
    assert_snapshot!(all(&lastrank(
        folder.path(),
        &["scale", "run16.parquet", "--to", "64", "--to", "1024"]
    )));
}

#[test]
fn three_sizes_tell_how_far_ranks_depend_on_each_other() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), &[4, 16, 64], 200);
    let files = ["run16.parquet", "run4.parquet", "run64.parquet"];
    assert_snapshot!(all(&lastrank(folder.path(), &[&["scale"], &files[..], &["--to", "1024"]].concat())));
    let found = json(folder.path(), &[&["scale"], &files[..], &["--to", "1024", "--json"]].concat());
    assert_eq!(found["schema"], "lastrank.scale/1");
    let exponent = &found["joint"]["interval"];
    assert!(exponent["lower"].as_f64().unwrap() < 1.0 && exponent["upper"].as_f64().unwrap() > 1.0);
    // The known distribution of 1024 independent ranks.
    let truth = tail::Gev::new(0.01, 0.0003, 0.05).unwrap().max_of(1024.0);
    for quantile in found["predictions"][0]["quantiles"].as_array().unwrap() {
        let expected = truth.quantile(quantile["probability"].as_f64().unwrap());
        let interval = &quantile["interval"];
        assert!(
            interval["lower"].as_f64().unwrap() < expected && expected < interval["upper"].as_f64().unwrap()
        );
    }
}

#[test]
fn drifting_runs_foretell_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        (0..200).map(|i| format!("{}\n", 100.0 + f64::from(i) + f64::from(i * 7919 % 13))).collect();
    std::fs::write(folder.path().join("drift.txt"), text).unwrap();
    let done = lastrank(folder.path(), &["scale", "drift.txt", "--parts", "16", "--to", "32"]);
    assert_eq!(done.status, Some(1));
    assert!(done.out.contains("not to be used"), "{}", done.out);
}

#[test]
fn a_pilot_says_how_many_runs_a_precision_needs() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), &[16], 400);
    let wishes =
        ["--precision", "return-level(100)=0.5%", "--precision", "location=50us", "--precision", "k=1%"];
    assert_snapshot!(all(&lastrank(folder.path(), &[&["plan-runs", "run16.parquet"], &wishes[..]].concat())));
}

#[test]
fn an_assumed_distribution_gives_the_numbers_of_the_text_books() {
    let folder = tempfile::tempdir().unwrap();
    // Exponential tail: half-width 0.05 of the shape, and half a scale of the level of 100 runs.
    let wishes = ["--precision", "shape=0.05", "--precision", "return-level(100)=0.5"];
    let distribution = ["plan-runs", "--location", "10", "--scale", "1", "--json"];
    let found = json(folder.path(), &[&distribution[..], &wishes].concat());
    let runs: Vec<f64> =
        found["plans"].as_array().unwrap().iter().map(|plan| plan["runs"].as_f64().unwrap()).collect();
    assert!((runs[0] - 733.0).abs() <= 2.0 && (runs[1] - 796.0).abs() <= 2.0, "{runs:?}");
}

#[test]
fn runs_that_resemble_their_neighbours_count_for_less() {
    let folder = tempfile::tempdir().unwrap();
    let distribution = tail::Gev::new(10.0, 1.0, 0.0).unwrap();
    let mut random = tail::Xoshiro::new(3);
    let mut state = random.normal();
    let text: String = (0..400)
        .map(|_| {
            state = 0.6 * state + 0.8 * random.normal();
            format!("{}\n", distribution.quantile(tail::special::normal_cdf(state)))
        })
        .collect();
    std::fs::write(folder.path().join("pilot.txt"), text).unwrap();
    let found = json(folder.path(), &["plan-runs", "pilot.txt", "--precision", "location=1%", "--json"]);
    let plan = &found["plans"][0];
    let factor = plan["runs"].as_f64().unwrap() / plan["runs_independent"].as_f64().unwrap();
    assert!((2.0..6.0).contains(&factor), "{factor}");
}

#[test]
fn mistakes_name_the_thing_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), &[4, 16], 40);
    std::fs::write(folder.path().join("numbers.txt"), "1\n2\n3\n4.5\n".repeat(10)).unwrap();
    std::fs::write(folder.path().join("few.txt"), "1\n2\n3\n").unwrap();
    let mut said = String::new();
    for arguments in [
        &["scale", "run16.parquet"][..],
        &["scale", "run16.parquet", "--to", "0"],
        &["scale", "run16.parquet", "--to", "32", "--period", "1"],
        &["scale", "run16.parquet", "run4.parquet", "--to", "32"],
        &["scale", "run16.parquet", "run16.parquet", "run4.parquet", "--to", "32"],
        &["scale", "run16.parquet", "--label", "write", "--to", "32"],
        &["scale", "numbers.txt", "--to", "32"],
        &["scale", "numbers.txt", "--parts", "4", "--parts", "5", "--to", "32"],
        &["scale", "few.txt", "--parts", "4", "--to", "32"],
        &["plan-runs", "--precision", "shape=0.1"],
        &["plan-runs", "run16.parquet"],
        &["plan-runs", "run16.parquet", "--precision", "shape"],
        &["plan-runs", "run16.parquet", "--precision", "shape=5%"],
        &["plan-runs", "run16.parquet", "--precision", "shape=5ms"],
        &["plan-runs", "run16.parquet", "--precision", "speed=5%"],
        &["plan-runs", "run16.parquet", "--precision", "return-level(1)=5%"],
        &["plan-runs", "run16.parquet", "--precision", "k=0.5"],
        &["plan-runs", "numbers.txt", "--precision", "location=5ms"],
        &["plan-runs", "few.txt", "--precision", "location=5%"],
        &["plan-runs", "run16.parquet", "--scale", "1", "--location", "2", "--precision", "shape=0.1"],
        &["plan-runs", "--location", "1", "--scale", "-1", "--precision", "shape=0.1"],
        &["plan-runs", "--location", "1", "--scale", "1", "--shape", "-0.7", "--precision", "shape=0.1"],
        &["plan-runs", "numbers.txt", "--precision", "shape=0.1", "--inflation", "0"],
    ] {
        said +=
            &format!("$ lastrank {}\n{}\n", arguments.join(" "), all(&lastrank(folder.path(), arguments)));
    }
    assert_snapshot!(said);
}
