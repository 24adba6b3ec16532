//! What somebody meets in the first hour: files that a killed run left, files that this run makes, words of errors.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{command, lastrank};

/// Starts a load that keeps a file open, of a name that is the same in each run (`--keep`), and kills the process that was started when it has written it.
fn killed(folder: &Path, output: &str) {
    let words = ["io", "randwrite", ".", "--size", "8M", "--time", "60s", "--keep", "-o", output];
    let mut child = command(folder, &words)
        .env("TMPDIR", folder)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let file = folder.join("lastrank-io-0");
    while !file.metadata().is_ok_and(|found| found.len() >= 4 << 10) {
        assert!(Instant::now() < until, "the load never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_a_killed_run_left_is_told_with_the_way_out_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let again = |output: &str| {
        let words = ["io", "randread", ".", "--size", "8M", "--ops", "10", "-o", output, "--keep"];
        common::of(command(here, &words).env("TMPDIR", here).output().unwrap())
    };
    killed(here, "killed.parquet");
    // At once, with the name that the dying ranks still hold.
    let refused = again("killed.parquet");
    assert!(!refused.err.contains("another run that is under way"), "{}", refused.err);
    let told = words(&refused.out);
    assert!(told.contains("what a run that was killed left is in the way"), "{told}");
    assert!(!told.contains("the program is at fault") && !told.contains("This run filled"), "{told}");
    assert!(told.contains("Next: lastrank recover "), "{told}");
    std::fs::remove_file(here.join("killed.parquet")).unwrap();
    let recovered = common::of(command(here, &["recover", "."]).env("TMPDIR", here).output().unwrap());
    assert!(recovered.out.contains("killed.parquet"), "{}{}", recovered.out, recovered.err);
    // Nobody can make again what it measured.
    let kept = std::fs::read(here.join("killed.parquet")).unwrap();
    let refused = again("killed.parquet");
    assert_eq!(refused.status, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("is what `lastrank recover` made of a run that was killed"),
        "{}",
        refused.err
    );
    assert_eq!(std::fs::read(here.join("killed.parquet")).unwrap(), kept);
    assert_eq!(again("other.parquet").status, Some(0));
    // A name that lastrank makes up for one run is nobody else's.
    let own = ["io", "randread", ".", "--size", "8M", "--ops", "10", "-o", "own.parquet"];
    let own = common::of(command(here, &own).env("TMPDIR", here).output().unwrap());
    assert_eq!(own.status, Some(0), "{}", own.err);
    let names = std::fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name());
    let files: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("lastrank-io")).collect();
    assert_eq!(files, ["lastrank-io-0"]);
}

#[test]
fn a_file_that_was_not_there_is_said_to_be_laid_out_with_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let io = |words: &[&str]| {
        let mut all = vec!["io"];
        all.extend(words);
        all.extend(["--ops", "10", "-o", "r.parquet", "--report", "none"]);
        let done = lastrank(folder.path(), &all);
        assert_eq!(done.status, Some(0), "{}", done.err);
        done.out
    };
    let made = io(&["randread", "nofile", "--size", "2M"]);
    assert!(made.contains("This run filled nofile first (2 MiB) and removed it at its end."), "{made}");
    let kept = io(&["randread", "nofile", "--size", "2M", "--keep"]);
    assert!(kept.contains("This run filled nofile first (2 MiB).\n"), "{kept}");
    let there = io(&["randread", "nofile"]);
    assert!(!there.contains("This run filled"), "{there}");
    // Ten of anything have one verdict, in one sentence without a hole.
    for screen in [made, kept, there] {
        let told = words(&screen);
        assert!(told.contains("10 samples are too few to say how rare slower ones are"), "{told}");
        assert!(!told.contains("Usable with care: neighbouring") && !told.contains("… …"), "{told}");
    }
}

#[test]
fn a_table_is_no_run_and_the_command_for_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("header.csv"), "a,b\n1,2\n3,4\n").unwrap();
    let report = lastrank(folder.path(), &["report", "header.csv"]);
    assert!(
        report.err.contains("`lastrank fit header.csv`, of a table with `--column NAME`"),
        "{}",
        report.err
    );
    assert!(!report.err.contains("what can be read"), "{}", report.err);
    let fit = lastrank(folder.path(), &["fit", "header.csv"]);
    assert!(fit.err.contains("choose one of its columns: `a`, `b` (`--column NAME`)"), "{}", fit.err);
}

#[test]
fn asynchronous_operations_are_not_said_to_have_no_cause() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["io", "randread", ".", "--size", "4M", "--depth", "16", "--ops", "4000", "-o", "r.parquet"];
    let done = lastrank(folder.path(), &words);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(!done.out.contains("no cause seen"), "{}", done.out);
    assert!(done.out.contains("Causes of slow asynchronous operations are not watched."), "{}", done.out);
}
