//! Output to closed pipes, full disks, devices, and names that are in use.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{command, lastrank, of, program};

const SIMULATED: &str = "time[\"look\"] repeat 40 stat(\".\");\nprint(\"said\");\n";

fn full() -> Stdio {
    std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

#[test]
fn a_full_standard_error_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.ppl"), "frobnicate(1);").unwrap();
    for arguments in [&["run", "nope"][..], &["check", "bad.ppl"], &["run", "bad.ppl"], &["fit", "nope"]] {
        let status = command(folder.path(), arguments).stdout(Stdio::null()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn samples_are_kept_whatever_happens_to_standard_output_and_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), SIMULATED).unwrap();
    let run = folder.path().join("a.parquet");
    for backend in ["posix", "simulate"] {
        let arguments = ["run", "a.ppl", "--backend", backend, "-o", "a.parquet", "--report", "none"];
        let status = command(folder.path(), &arguments).stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{backend}");
        let found = store::read(&run).unwrap();
        assert!(found.samples.len() >= 40 && found.facts.complete, "{backend}");
        std::fs::remove_file(&run).unwrap();
    }
}

#[test]
fn a_line_that_standard_output_does_not_take_is_a_warning_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), "repeat 3 print(\"said\");\nrepeat 40 stat(\".\");\n")
        .unwrap();
    let arguments = ["run", "a.ppl", "-o", "a.parquet", "--report", "none", "--quiet"];
    let done = command(folder.path(), &arguments).stdout(full()).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("warning: standard output did not take").count(), 1, "{said}");
    assert!(said.contains("ENOSPC") || said.contains("No space left"), "{said}");
    let found = store::read(&folder.path().join("a.parquet")).unwrap();
    assert!(found.samples.len() == 40 && found.facts.complete);
}

#[test]
fn a_reader_that_goes_away_does_not_change_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), "time[\"look\"] repeat 40 stat(\"missing\");\n").unwrap();
    let mut child =
        command(folder.path(), &["run", "a.ppl", "-o", "a.parquet"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3), "operations failed");
    assert!(folder.path().join("a.parquet").exists() && folder.path().join("a.html").exists());
}

#[test]
fn the_page_is_not_written_over_the_samples() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), SIMULATED).unwrap();
    for arguments in [&["-o", "a.html"][..], &["-o", "a.parquet", "--report", "a.parquet"]] {
        let done = lastrank(folder.path(), &[&["run", "a.ppl"], arguments].concat());
        assert_eq!(done.status, Some(2), "{arguments:?}");
        assert!(done.err.contains("over the samples") && done.err.contains("--report FILE"), "{}", done.err);
    }
    assert_eq!(program(folder.path(), SIMULATED, &[]).status, Some(0));
    std::fs::rename(folder.path().join("run.parquet"), folder.path().join("run.html")).unwrap();
    for arguments in [&["report", "run.html"][..], &["report", "run.html", "-o", "./run.html"]] {
        let done = lastrank(folder.path(), arguments);
        assert_eq!(done.status, Some(2), "{arguments:?}");
        assert!(done.err.contains("run.html would be overwritten"), "{}", done.err);
    }
    assert!(store::read(&folder.path().join("run.html")).is_ok());
}

#[test]
fn a_program_is_not_overwritten_by_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ppl");
    std::fs::write(&path, SIMULATED).unwrap();
    for arguments in [&["-o", "a.ppl"][..], &["-o", "b", "--report", "./a.ppl"]] {
        let done = lastrank(folder.path(), &[&["run", "a.ppl"], arguments].concat());
        assert_eq!(done.status, Some(2));
        assert!(done.err.contains("a.ppl would be overwritten"), "{}", done.err);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SIMULATED);
}

#[test]
fn a_pipe_or_a_device_is_never_replaced_by_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(folder.path().join("a.ppl"), SIMULATED).unwrap();
    assert_eq!(program(folder.path(), SIMULATED, &[]).status, Some(0));
    for arguments in [
        &["run", "a.ppl", "-o", "pipe"][..],
        &["run", "a.ppl", "-o", "b", "--report", "pipe"],
        &["report", "run.parquet", "-o", "pipe"],
    ] {
        let done = lastrank(folder.path(), arguments);
        assert_eq!(done.status, Some(2), "{arguments:?}");
        assert!(done.err.contains("pipe is not an ordinary file"), "{}", done.err);
    }
    let said = store::write(&pipe, &samples::Run::default()).unwrap_err().to_string();
    assert!(said.contains("not an ordinary file"), "{said}");
    assert!(!pipe.metadata().unwrap().is_file() && Path::new("/dev/full").exists());
}

#[test]
fn numbers_from_a_pipe_are_all_read() {
    let folder = tempfile::tempdir().unwrap();
    let line = "seq 1 100 | \"$0\" fit /dev/stdin --json";
    let output = Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_lastrank")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let done = of(output);
    let found: serde_json::Value = serde_json::from_str(&done.out).expect(&done.err);
    assert_eq!(found["summary"]["n"], 100, "{}", done.out);
}

#[test]
fn runs_that_begin_in_the_same_second_keep_their_samples_each() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), "time[\"look\"] repeat 20 stat(\".\");\nsleep(300ms);\n")
        .unwrap();
    let start = || command(folder.path(), &["run", "a.ppl", "-s"]).stdout(Stdio::null()).spawn().unwrap();
    let runs: Vec<_> = (0..4).map(|_| start()).collect();
    for mut run in runs {
        assert_eq!(run.wait().unwrap().code(), Some(0));
    }
    let names = || std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let of_kind = |kind: &str| names().filter(|path| path.extension().is_some_and(|it| it == kind)).collect();
    let (files, pages): (Vec<_>, Vec<_>) = (of_kind("parquet"), of_kind("html"));
    assert_eq!((files.len(), pages.len()), (4, 4), "{files:?} {pages:?}");
    assert!(files.iter().all(|file| store::read(file).is_ok()));
}
