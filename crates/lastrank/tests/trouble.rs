//! Tests of what a user reads when something is wrong, and of what is left behind.

mod common;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{all, command, lastrank, of, program};
use insta::assert_snapshot;

#[test]
fn mistakes_on_the_command_line_name_the_thing_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut said = String::new();
    for arguments in [
        &["run", "nope"][..],
        &["run", "parallel_write", "--set", "siez=4"],
        &["run", "parallel_write", "--set", "size=abc"],
        &["run", "parallel_write", "--set", "size"],
        &["run", "parallel_write", "-g", "writers"],
        &["run", "parallel_write", "-n", "0"],
        &["run", "parallel_write", "--backend", "floppy"],
        &["run", "parallel_write", "--backend", "simulate:gev(1"],
        &["run", "parallel_write", "-o", "/nonexistent/run.parquet"],
        &["run", "parallel_write", "-o", "."],
        &["report", "nope.parquet"],
        &["fit", "nope.csv"],
        &["check", "nope.ppl"],
        &["machine", "nope"],
        &["experiments", "nope"],
    ] {
        said +=
            &format!("$ lastrank {}\n{}\n", arguments.join(" "), all(&lastrank(folder.path(), arguments)));
    }
    assert_snapshot!(said);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn data_that_cannot_be_fitted_get_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("few"), "1\n2\n3\n").unwrap();
    std::fs::write(path("equal"), "7\n".repeat(40)).unwrap();
    std::fs::write(path("nan"), "1\n2\nNaN\n4\n".repeat(5)).unwrap();
    std::fs::write(path("infinite"), "1\n2\ninf\n4\n".repeat(5)).unwrap();
    std::fs::write(path("text"), "1\n2\nslow\n").unwrap();
    std::fs::write(path("empty"), "").unwrap();
    std::fs::write(path("table.csv"), "time,bytes\n1,2\n3,4\n").unwrap();
    std::fs::write(path("half.parquet"), b"PAR1 and no more").unwrap();
    let mut said = String::new();
    for arguments in [
        &["few"][..],
        &["equal"],
        &["nan"],
        &["infinite"],
        &["text"],
        &["empty"],
        &["table.csv"],
        &["table.csv", "--column", "tiem"],
        &["few", "--gate"],
        &["few", "--label", "write"],
        &["half.parquet"],
    ] {
        let arguments = [&["fit"], arguments].concat();
        said +=
            &format!("$ lastrank {}\n{}\n", arguments.join(" "), all(&lastrank(folder.path(), &arguments)));
    }
    assert_snapshot!(said);
}

#[test]
fn several_mistakes_of_a_program_are_shown_in_one_pass() {
    let folder = tempfile::tempdir().unwrap();
    let text = "repeat $i 10 {\n    write(\"$fiel-$i\", 10K);\n    frobnicate(1);\n}\nfclose($nothing);\n";
    std::fs::write(folder.path().join("program.ppl"), text).unwrap();
    assert_snapshot!(all(&lastrank(folder.path(), &["check", "program.ppl"])));
    assert_snapshot!(all(&lastrank(folder.path(), &["check", "program.ppl", "--format", "json"])));
}

#[test]
fn failed_operations_are_told_and_set_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let done = program(folder.path(), "time[\"look\"] stat(\"missing\");\nprint(\"after\");\n", &["--quiet"]);
    assert_snapshot!(all(&done));
}

#[test]
fn a_step_whose_operation_failed_is_not_analysed_as_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let text = "create(\"there\");\nrepeat $i 30 time[\"look\"] stat(\"missing\");\ndelete(\"there\");\n";
    let done = program(folder.path(), text, &["--json"]);
    let found: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let codes: Vec<_> = found["warnings"].as_array().unwrap().iter().map(|w| w["code"].clone()).collect();
    assert!(codes.contains(&"failed-operations".into()), "{codes:?}");
    assert_eq!(done.status, Some(3));
}

#[test]
fn a_program_stays_in_its_directories() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let done = program(&inside, "write(\"/var/lastrank-escape\", 1);\n", &["--quiet"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("/var/lastrank-escape") && done.err.contains("--allow"), "{}", done.err);
    assert!(!Path::new("/var/lastrank-escape").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path(), &["experiments", "parallel_write"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = of(child.wait_with_output().unwrap());
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
}

#[test]
fn a_killed_rank_ends_the_run_with_its_samples_kept() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path());
    let ranks = wait_for_ranks(&child, 4);
    kill("-KILL", ranks[2]);
    let done = of(child.wait_with_output().unwrap());
    assert_eq!(done.status, Some(3), "{}", done.err);
    assert!(done.err.contains("was killed by SIGKILL"), "{}", done.err);
    after_a_broken_run(folder.path());
}

#[test]
fn ctrl_c_ends_the_run_with_its_samples_kept_and_its_files_removed() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path());
    wait_for_ranks(&child, 4);
    kill("-INT", child.id());
    let done = of(child.wait_with_output().unwrap());
    assert_eq!(done.status, Some(3), "{}", done.err);
    assert!(done.err.contains("stopped by Ctrl-C"), "{}", done.err);
    after_a_broken_run(folder.path());
}

fn start(folder: &Path) -> Child {
    let arguments = [
        "run",
        "parallel_write",
        "--set",
        "targets=4",
        "--set",
        "size=64KiB",
        "--set",
        "repeat=1000000",
        "-o",
        "run.parquet",
        "--report",
        "none",
    ];
    let mut command = command(folder, &arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap()
}

/// The ranks are the children of the process that was started; they must have begun to write.
fn wait_for_ranks(parent: &Child, count: usize) -> Vec<u32> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let path = format!("/proc/{0}/task/{0}/children", parent.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let ranks: Vec<u32> = text.split_whitespace().filter_map(|id| id.parse().ok()).collect();
        if ranks.len() == count && ranks.iter().all(|rank| calls_of_write(*rank) >= 5) {
            return ranks;
        }
        assert!(Instant::now() < deadline, "{count} ranks did not begin to write, only {ranks:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How often a process has called write(2) and its like.
fn calls_of_write(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("syscw: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn kill(signal: &str, process: u32) {
    assert!(
        std::process::Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success()
    );
}

/// The run file can be read and says that it is incomplete; no target file is left.
fn after_a_broken_run(folder: &Path) {
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["run.parquet"]);
    let run = store::read(&folder.join("run.parquet")).unwrap();
    assert!(!run.facts.complete && !run.facts.failures.is_empty());
    assert!(!run.samples.is_empty());
}

#[test]
fn a_run_that_is_told_to_wait_begins_at_its_signal() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.ppl"), "create(\"begun\");\n").unwrap();
    let arguments = ["run", "program.ppl", "--wait", "-s", "-o", "run.parquet", "--report", "none"];
    let mut child = command(folder.path(), &arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let before = folder.path().join("begun").exists();
    let told = format!("note: ready; `kill -USR1 {}` begins\n", child.id());
    let signalled = std::process::Command::new("kill").args(["-USR1", &child.id().to_string()]).status();
    let status = child.wait().unwrap();
    assert!(signalled.unwrap().success());
    assert_eq!(said, told);
    assert!(!before && folder.path().join("begun").exists());
    assert_eq!(status.code(), Some(0));
}
