//! First screens at 60, 80 and 120 columns: snapshots of all whose numbers do not change from run to run.

mod common;

use std::path::Path;

use common::{command, lastrank, of};
use insta::assert_snapshot;

/// Display columns, near enough: every character of our output takes one.
fn width(line: &str) -> usize {
    line.chars().count()
}

/// The output at a width, which no line may exceed and which has at most so many lines.
fn at(folder: &Path, columns: usize, most_lines: usize, arguments: &[&str]) -> String {
    let output = command(folder, arguments).env("COLUMNS", columns.to_string()).output().unwrap();
    let done = of(output);
    assert!(done.status.is_some_and(|status| status < 2), "{arguments:?}: {}{}", done.out, done.err);
    // An event of `watch` is one line, for those who read it by lines; and a single word cannot be broken.
    let stays = |line: &&str| line.starts_with("run ") || !line.trim().contains(' ');
    let wide: Vec<&str> = done.out.lines().filter(|line| width(line) > columns && !stays(line)).collect();
    assert!(wide.is_empty(), "{arguments:?} at {columns}: {wide:#?}");
    let lines = done.out.lines().count();
    assert!(lines <= most_lines, "{arguments:?} at {columns}: {lines} lines\n{}", done.out);
    done.out
}

fn screens(name: &str, folder: &Path, most_lines: usize, arguments: &[&str]) {
    for columns in [60, 80, 120] {
        assert_snapshot!(format!("{name}_{columns}"), at(folder, columns, most_lines, arguments));
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, seed) in [("quiet.parquet", 1), ("new.parquet", 2), ("other.parquet", 3)] {
        let run = samples::example::parallel_write(4, 200, seed);
        store::write(&folder.path().join(name), &run).unwrap();
    }
    let distribution = tail::Gev::new(11.17, 0.21, 0.0).unwrap();
    for (name, n, factor, seed) in [("quiet.txt", 400, 1.0, 1), ("stream.txt", 120, 1.06, 2)] {
        let mut random = tail::Xoshiro::new(seed);
        let text: String =
            (0..n).map(|_| format!("{:.5}\n", factor * distribution.sample(&mut random))).collect();
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn ls_lists_the_runs_of_a_folder() {
    screens("ls", folder().path(), 24, &["ls"]);
}

#[test]
fn compare_of_two_and_of_three() {
    let folder = folder();
    screens("compare", folder.path(), 24, &["compare", "quiet.parquet", "new.parquet"]);
    let three = ["compare", "quiet.parquet", "new.parquet", "other.parquet"];
    screens("compare_three", folder.path(), 24, &three);
}

#[test]
fn fit_says_whether_to_extrapolate() {
    screens("fit", folder().path(), 24, &["fit", "quiet.txt", "--unit", "ms"]);
}

#[test]
fn watch_says_what_it_promises_and_what_happened() {
    screens("watch", folder().path(), 24, &["watch", "quiet.txt", "stream.txt", "--unit", "ms"]);
}

#[test]
fn scale_says_how_long_the_slowest_of_more_ranks_takes() {
    screens(
        "scale",
        folder().path(),
        24,
        &["scale", "quiet.txt", "--parts", "16", "--unit", "ms", "--to", "64"],
    );
}

#[test]
fn plan_runs_says_how_many() {
    screens(
        "plan_runs",
        folder().path(),
        24,
        &["plan-runs", "quiet.txt", "--unit", "ms", "p99=1%", "location=1%"],
    );
}

#[test]
fn report_of_a_run() {
    screens("report", folder().path(), 24, &["report", "quiet.parquet"]);
}

#[test]
fn io_on_a_virtual_clock() {
    let folder = tempfile::tempdir().unwrap();
    let io = [
        "io",
        "randread",
        "--bs",
        "4k",
        "--ops",
        "2000",
        "--size",
        "1MiB",
        "--backend",
        "simulate:lognormal(100us,0.5)",
        "-o",
        "run.parquet",
        "--report",
        "none",
    ];
    for columns in [60, 80, 120] {
        let text = at(folder.path(), columns, 24, &io);
        assert_snapshot!(format!("io_{columns}"), text);
    }
}

#[test]
fn machine_keeps_to_the_width() {
    // What the machine is differs from place to place; that no line is too wide does not.
    let folder = tempfile::tempdir().unwrap();
    for columns in [60, 80, 120] {
        let text = at(folder.path(), columns, 400, &["machine", "--mpi", "none"]);
        assert!(text.lines().next().is_some_and(|line| line.contains("it to measure")), "{text}");
    }
}

#[test]
fn ab_keeps_to_the_width_and_answers_first() {
    let folder = tempfile::tempdir().unwrap();
    let answer = lastrank(folder.path(), &["ab", "true", "true", "--time", "1s", "--quiet"]).out;
    assert_eq!(answer.lines().count(), 1, "{answer}");
    for columns in [60, 80, 120] {
        let text = at(folder.path(), columns, 24, &["ab", "true", "true", "--time", "1s"]);
        let answer = text.strip_prefix("✔ ").or_else(|| text.strip_prefix("⚠ "));
        assert!(answer.is_some_and(|line| line.starts_with("B ") || line.starts_with("Undecided")), "{text}");
    }
}

#[test]
fn a_run_that_does_not_look_for_causes_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["io", "randread", "--bs", "4k", "--size", "1MiB", "--ops", "400", "-o", "run.parquet", "."];
    let said = "Causes of slow operations were not looked for (--no-causes).";
    let with = lastrank(folder.path(), &arguments);
    assert!(!with.out.contains(said), "{}{}", with.out, with.err);
    let without = lastrank(folder.path(), &[&arguments[..], &["--no-causes"]].concat());
    assert!(without.out.contains(said), "{}{}", without.out, without.err);
    let run = store::read(&folder.path().join("run.parquet")).unwrap();
    assert!(run.samples.iter().all(|sample| sample.causes == 0 && sample.queue_ns == 0));
    let coverage = run.facts.coverage.unwrap();
    assert!(coverage.unwanted && coverage.sees.is_empty(), "{coverage:?}");
}
