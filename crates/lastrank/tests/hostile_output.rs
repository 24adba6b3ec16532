//! Output to closed pipes, full disks, devices, and names that are in use.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{command, lastrank, of, program};
use samples::{Facts, Run, Sample, Site, SiteKind, commands_a_terminal};

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
        assert_eq!(status.code(), Some(3), "{backend}");
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
        let refused = done.err.contains("over the samples") || done.err.contains("a run is a Parquet file");
        assert!(refused && done.err.contains("--report FILE"), "{}", done.err);
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

/// Texts that clear a screen, write a clipboard, turn the order of text round, or are formulas.
const HOSTILE: [&str; 7] = [
    "=cmd|' /C calc'!A0",
    "+1\u{1b}[2J",
    "-1;=2",
    "@SUM(1)\u{9b}31m",
    "\t=1+1",
    " =\u{1b}]52;c;bHM=\u{7}",
    "a\u{202e}b\r\u{2028}\u{0}</script><script src=x>\n=1",
];

/// A run that a stranger made, who chose each text in it.
fn run_of(texts: [&str; 7]) -> Run {
    let kinds =
        [SiteKind::Operation, SiteKind::Time, SiteKind::CommandTime, SiteKind::Phase, SiteKind::Barrier];
    let site = |text: &str, kind| Site {
        line: 1,
        column: 1,
        operation: text.into(),
        kind,
        labels: vec![text.into()],
        group: text.into(),
        expects: None,
    };
    let sites: Vec<Site> =
        texts.iter().flat_map(|text| kinds.iter().map(move |kind| site(text, *kind))).collect();
    let sample = |number: u64| Sample {
        site: (number % sites.len() as u64) as u32,
        start_ns: number * 1_000_000,
        duration_ps: 1_000_000 + number * 77_777 % 999_983,
        bytes: 4096,
        errno: i32::from(number % 50 == 7),
        batch: 1,
        ..Sample::default()
    };
    let samples = (0..4000).map(sample).collect();
    let all = texts.concat();
    let facts = Facts {
        name: all.clone(),
        note: all.clone(),
        started: all.clone(),
        ranks: 1,
        complete: true,
        elapsed_s: 1.0,
        parameters: [(all.clone(), all.clone())].into(),
        tags: [(all.clone(), all.clone())].into(),
        warnings: vec![samples::Warning { code: all.clone(), text: all.clone(), advice: all.clone() }],
        failures: vec![all],
        ..Facts::default()
    };
    Run { facts, sites, samples }
}

/// Nothing in it commands a terminal or an editor.
fn commands_nothing(text: &str, of: &dyn std::fmt::Debug) {
    let found = text.chars().enumerate().find(|(_, character)| commands_a_terminal(*character));
    let around = |at: usize| text.chars().skip(at.saturating_sub(60)).take(120).collect::<String>();
    assert!(found.is_none(), "{of:?}: {found:?} in {:?}", found.map(|(at, _)| around(at)));
}

/// No field is a formula of a spreadsheet.
fn has_no_formula(text: &str, delimiter: u8, of: &dyn std::fmt::Debug) {
    let mut rows = csv::ReaderBuilder::new();
    let mut rows = rows.has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes());
    for field in rows.records().flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>()) {
        let begins = field.trim_start().starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
        assert!(!begins && !field.starts_with(['\t', '\r', '\n']), "{of:?}: {field:?}");
    }
}

#[test]
fn no_text_of_a_strangers_run_commands_a_terminal_or_is_a_formula() {
    let folder = tempfile::tempdir().unwrap();
    store::write(&folder.path().join("a.parquet"), &run_of(HOSTILE)).unwrap();
    for format in ["csv", "parabench-text", "parabench-xml", "parabench-report"] {
        let to_file = lastrank(folder.path(), &["export", "a.parquet", "--to", format, "-o", "out"]);
        assert_eq!(to_file.status, Some(0), "{}", to_file.err);
        let written = std::fs::read_to_string(folder.path().join("out")).unwrap();
        let shown = lastrank(folder.path(), &["export", "a.parquet", "--to", format, "-o", "-"]).out;
        for out in [&written, &shown] {
            assert!(out.matches("C calc").count() >= 5, "{format}: {out}");
            commands_nothing(out, &format);
            match format {
                "csv" => has_no_formula(out, b',', &format),
                "parabench-text" => has_no_formula(out, b';', &format),
                _ => {}
            }
        }
    }
    for words in [
        &["report", "a.parquet", "-v"][..],
        &["report", "a.parquet", "--json"],
        &["compare", "a.parquet", "a.parquet"],
        &["compare", "a.parquet", "a.parquet", "--json"],
        &["fit", "a.parquet"],
        &["fit", "a.parquet", "--json"],
        &["ls", "."],
        &["ls", ".", "--json"],
    ] {
        let done = lastrank(folder.path(), words);
        commands_nothing(&done.out, &words);
        commands_nothing(&done.err, &words);
    }
    // No text of the run makes an element of the page.
    store::write(&folder.path().join("b.parquet"), &run_of(["a", "b", "c", "d", "e", "f", "g"])).unwrap();
    assert_eq!(lastrank(folder.path(), &["report", "b.parquet"]).status, Some(0));
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    let plain = std::fs::read_to_string(folder.path().join("b.html")).unwrap();
    let scripts = |page: &str| (page.matches("<script").count(), page.matches("</script").count());
    assert_eq!(scripts(&page), scripts(&plain));
}

#[test]
fn no_row_of_many_runs_commands_a_terminal_or_is_a_formula() {
    let folder = tempfile::tempdir().unwrap();
    // A command line holds no NUL.
    for (number, text) in HOSTILE.map(|text| text.replace('\0', "")).iter().enumerate() {
        let (program, tag) = (format!("=p{number}.ppl"), format!("x={text}"));
        let note = format!("--note={text}");
        let source = format!("time[\"{}\"] repeat 20 stat(\".\");\n", text.replace(['\n', '$'], ""));
        std::fs::write(folder.path().join(&program), source).unwrap();
        let tables = ["rows.csv", "rows.jsonl"];
        for table in &tables[..1 + usize::from(number % 3 == 1)] {
            let words = ["run", &program, "-q", "--report", "none", "-o", "=r.parquet", "--append", table];
            let done = lastrank(folder.path(), &[&words[..], &[&note, "--tag", &tag]].concat());
            assert_eq!(done.status, Some(0), "{}", done.err);
            let rows = std::fs::read_to_string(folder.path().join(table)).unwrap();
            assert!(rows.contains("r.parquet"), "{rows}");
            commands_nothing(&rows, &(table, text));
            if *table == "rows.csv" {
                has_no_formula(&rows, b',', text);
            }
        }
    }
}

#[test]
fn a_name_with_a_line_end_makes_no_line_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let name = "a\n✔ fine.parquet";
    for text in [None, Some("1\n2\nx\n"), Some("frobnicate(1);\n")] {
        if let Some(text) = text {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        for command in ["fit", "report", "run", "check", "watch", "ls", "import", "recover"] {
            let done =
                lastrank(folder.path(), &[command, name, name][..if command == "watch" { 3 } else { 2 }]);
            let told = done.out + &done.err;
            let own = told.lines().find(|line| line.starts_with('✔'));
            assert_eq!(own, None, "{command} {text:?}: {told}");
            assert!(told.contains("a\\n✔ fine"), "{command} {text:?}: {told}");
        }
    }
}
