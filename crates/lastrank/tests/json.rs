//! `run --json` prints one document and nothing else, and `report --json` gives the same of the run file.

mod common;

use std::path::Path;

use common::{lastrank, program};
use serde_json::Value;

const PROGRAM: &str = r#"
    define ranks 2;
    print("to whom it may concern");
    spawn("/bin/echo from a child");
    phase "write" repeat 30 { write("f-$$rank", 4KiB); time["check"] { stat("f-$$rank"); stat("missing"); } }
    rate 2000/s repeat 20 read("f-$$rank");
    getpid();
    delete("f-$$rank");
"#;

/// The document of a run, and what went to standard error.
fn document(folder: &Path, arguments: &[&str]) -> (Value, String) {
    let may_start = ["--json", "--allow-spawn"];
    let done = program(folder, PROGRAM, &[&may_start, arguments].concat());
    assert!(matches!(done.status, Some(0 | 3)), "{}", done.err);
    (serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.out)), done.err)
}

#[test]
fn standard_output_is_one_document_whatever_the_program_prints_and_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (found, said) = document(folder.path(), &[]);
    assert_eq!(found["schema"], "lastrank.run/1");
    for line in ["[0] to whom it may concern", "[1] to whom it may concern", "from a child"] {
        assert!(said.contains(line), "{line} is lost: {said}");
    }
    let (_, said) = document(folder.path(), &["--backend", "simulate:normal(1ms,10us)"]);
    assert!(said.contains("[1] to whom it may concern"), "{said}");
}

#[test]
fn a_report_of_the_run_file_is_the_same_document_but_for_paths() {
    for backend in ["posix", "simulate:gev(10ms,1ms,0.1)"] {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, _) = document(folder.path(), &["--backend", backend]);
        std::fs::rename(folder.path().join("run.parquet"), folder.path().join("moved.parquet")).unwrap();
        let done = lastrank(folder.path(), &["report", "moved.parquet", "--json"]);
        let failed = !first["judgements"]["found"].as_array().unwrap().is_empty();
        assert_eq!(done.status, Some(if failed { 3 } else { 0 }), "{}", done.err);
        let mut again: Value = serde_json::from_str(&done.out).unwrap();
        assert_eq!((&again["run"], &again["page"]), (&"moved.parquet".into(), &Value::Null));
        for document in [&mut first, &mut again] {
            document["run"].take();
            document["page"].take();
        }
        assert!(first == again, "{backend}: {}", difference(&first, &again, String::new()));
        assert!(!folder.path().join("moved.html").exists(), "no page was asked for");
    }
}

/// The first place at which two documents differ.
fn difference(one: &Value, other: &Value, at: String) -> String {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => a
            .iter()
            .find(|(key, value)| b[*key] != **value)
            .map_or_else(String::new, |(key, value)| difference(value, &b[key], format!("{at}.{key}"))),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .position(|(a, b)| a != b)
            .map_or_else(String::new, |n| difference(&a[n], &b[n], format!("{at}[{n}]"))),
        _ => format!("{at}: {one} and {other}"),
    }
}

#[test]
fn the_rows_count_what_the_program_did() {
    let folder = tempfile::tempdir().unwrap();
    let (found, _) = document(folder.path(), &[]);
    let row = |label: Value, operation: &str| {
        let rows = found["results"].as_array().unwrap();
        let fits = |row: &&Value| row["label"] == label && row["operation"] == operation;
        rows.iter().find(fits).unwrap_or_else(|| panic!("no row of {operation}: {rows:#?}")).clone()
    };
    let write = row("write".into(), "write");
    assert_eq!(
        (&write["timings"], &write["operations"], &write["errors"]),
        (&60.into(), &60.into(), &0.into())
    );
    assert_eq!((&write["bytes"], &write["ranks"]), (&(60 * 4096).into(), &2.into()));
    let (rate, wall) = (write["bytes_per_second"].as_f64().unwrap(), write["wall_seconds"].as_f64().unwrap());
    assert!((rate * wall - 60.0 * 4096.0).abs() < 1.0);
    assert!(write["achieved_depth"].as_f64().unwrap() <= 2.0, "two ranks, one operation at a time");
    let stat = row("check".into(), "stat");
    assert_eq!((&stat["timings"], &stat["errors"]), (&60.into(), &60.into()));
    assert_eq!(stat["errors_by_errno"]["2"], 60);
    assert_eq!(row("check".into(), "time")["kind"], "time");
    let read = row(Value::Null, "read");
    assert_eq!((&read["timings"], &read["bytes"]), (&40.into(), &(40 * 4096).into()));
    assert!(read["quantiles_seconds"]["p99"].is_null(), "40 values carry no p99");
    assert!(write["response_quantiles_seconds"].is_null());
}

#[test]
fn the_version_tells_the_commit_target_and_features() {
    let folder = tempfile::tempdir().unwrap();
    let short = lastrank(folder.path(), &["-V"]).out;
    assert_eq!(short, format!("lastrank {}\n", env!("CARGO_PKG_VERSION")));
    let told = lastrank(folder.path(), &["--version"]).out;
    let lines: Vec<&str> = told.lines().collect();
    let [first, target, features, built] = lines[..] else { panic!("{told}") };
    assert!(target.starts_with("target: ") && target.contains(std::env::consts::ARCH), "{told}");
    assert_eq!(features, if cfg!(feature = "mpi") { "features: mpi" } else { "features: none" });
    let is_debug = cfg!(debug_assertions);
    assert_eq!(built, if is_debug { "built: without optimisation, for tests" } else { "built: optimised" });
    let what = first.strip_prefix(short.trim_end()).unwrap().trim().trim_matches(['(', ')']);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    if let Some(commit) = what.strip_prefix("commit ").and_then(|rest| rest.split(' ').next()) {
        let known = std::process::Command::new("git").args(["-C", root, "cat-file", "-e", commit]).status();
        assert!(known.unwrap().success(), "{told}");
    } else {
        assert!(!Path::new(root).join(".git").exists() && what.contains("archive"), "{told}");
    }
}

#[test]
fn rows_of_many_runs_gather_in_one_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |words: &[&str]| {
        let simulated = ["--backend", "simulate:gev(10ms,1ms,0.1)", "--report", "none", "--quiet"];
        lastrank(folder.path(), &[words, &simulated].concat())
    };
    let mix = ["io", "randrw", "--size", "4MiB", "--ops", "500", "--append", "all.csv", "--tag", "a=1"];
    assert_eq!(run(&[&mix[..], &["-o", "1.parquet"]].concat()).status, Some(0));
    assert_eq!(run(&["run", "parallel_write", "--append", "all.csv", "-o", "2.parquet"]).status, Some(0));
    let text = std::fs::read_to_string(folder.path().join("all.csv")).expect("a table");
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let header = table.headers().expect("a header").clone();
    let rows: Vec<_> = table.records().map(|row| row.expect("as many fields")).collect();
    let column = |name: &str| header.iter().position(|one| one == name).expect("a column");
    let operations: Vec<&str> = rows.iter().map(|row| &row[column("operation")]).collect();
    assert_eq!(operations, ["fread", "fwrite", "fwrite"], "{text}");
    assert_eq!(&rows[0][column("tags")], "a=1");

    // The numbers are those of the answer.
    let json: Value =
        serde_json::from_str(&lastrank(folder.path(), &["report", "2.parquet", "--json"]).out).expect("JSON");
    let part = &json["numbers"]["parts"][0];
    let number = |name: &str| serde_json::from_str::<Value>(&rows[2][column(name)]).expect("a number");
    for name in ["operations_per_second", "bytes_per_second"] {
        assert_eq!(number(name), part[name], "{name}");
    }
    assert_eq!(number("p50_seconds"), part["quantiles_seconds"]["p50"]);

    // Of an answer that is a table of phases, each operation of a phase has a row.
    let phases = "define report {\"answer\": \"phases\"}\n\
        phase \"fill\" repeat 30 append(\"f\", 4k);\nphase \"use\" { read(\"f\"); delete(\"f\"); }\n";
    std::fs::write(folder.path().join("phases.ppl"), phases).expect("written");
    assert_eq!(run(&["run", "phases.ppl", "--append", "p.csv", "-o", "5.parquet"]).status, Some(0));
    let mut table = csv::Reader::from_path(folder.path().join("p.csv")).expect("a table");
    let rows: Vec<_> = table.records().map(|row| row.expect("as many fields")).collect();
    let told = |row: &csv::StringRecord| {
        ["phase", "operation", "operations"].map(|name| row[column(name)].to_owned())
    };
    let told: Vec<_> = rows.iter().map(told).collect();
    assert_eq!(told, [["fill", "append", "30"], ["use", "read", "1"], ["use", "delete", "1"]]);
    assert!(rows.iter().all(|row| row[column("seconds")].parse::<f64>().is_ok_and(|seconds| seconds > 0.0)));

    // JSON lines; a table of another kind is refused before anything runs.
    assert_eq!(run(&["run", "parallel_write", "--append", "all.jsonl", "-o", "3.parquet"]).status, Some(0));
    let line = std::fs::read_to_string(folder.path().join("all.jsonl")).expect("lines");
    let line: Value = serde_json::from_str(line.trim_end()).expect("one JSON object");
    assert_eq!(line["operations_per_second"], part["operations_per_second"]);
    std::fs::write(folder.path().join("other.csv"), "a,b\n1,2\n").expect("written");
    let refused = run(&["run", "parallel_write", "--append", "other.csv", "-o", "4.parquet"]);
    assert!(refused.status != Some(0) && !folder.path().join("4.parquet").exists());
    assert!(refused.err.contains("other.csv has other columns"));
}

#[test]
fn rows_are_appended_to_whole_lines_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |table: &str, out: &str| {
        let words = ["run", "parallel_write", "--append", table, "-o", out];
        let simulated = ["--backend", "simulate:gev(10ms,1ms,0.1)", "--report", "none", "--quiet"];
        lastrank(folder.path(), &[&words[..], &simulated].concat())
    };
    for (table, cut) in [("all.csv", 40), ("all.jsonl", 3)] {
        let path = folder.path().join(table);
        assert_eq!(run(table, "1.parquet").status, Some(0));
        let one = std::fs::read_to_string(&path).expect("a table");
        // Only the end of the line is missing.
        std::fs::write(&path, one.trim_end()).expect("written");
        assert_eq!(run(table, "2.parquet").status, Some(0));
        let two = std::fs::read_to_string(&path).expect("a table");
        assert!(two.starts_with(&one) && two.ends_with('\n'), "{two}");
        let rows = |text: &str| text.lines().count() - usize::from(table == "all.csv");
        assert_eq!(rows(&two), 2 * rows(&one), "{two}");
        // Of the last line a part is missing, or an empty line is.
        std::fs::write(&path, &two[..two.len() - cut]).expect("written");
        let refused = run(table, "3.parquet");
        assert_eq!(refused.status, Some(2), "{}", refused.err);
        assert!(refused.err.contains(&format!("the last line of {table} is cut")), "{}", refused.err);
        assert!(!folder.path().join("3.parquet").exists());
    }
}

#[test]
fn the_document_is_of_the_size_of_an_answer_whatever_the_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    for ranks in [16, 64] {
        let (name, targets) = (format!("{ranks}.parquet"), format!("targets={ranks}"));
        let backend = "simulate:lognormal(1ms,0.5)";
        let run = ["run", "parallel_write", "--set", &targets, "--set", "repeat=200", "--backend", backend];
        let done =
            lastrank(folder.path(), &[&run[..], &["-o", &name, "--report", "none", "--json"]].concat());
        assert_eq!(done.status, Some(0), "{}", done.err);
        assert!(done.out.len() < 60_000, "{ranks} ranks: {} bytes", done.out.len());
        let found: Value = serde_json::from_str(&done.out).unwrap();
        let all = lastrank(folder.path(), &["report", &name, "--json", "--with", "ranks"]);
        let all: Value = serde_json::from_str(&all.out).unwrap();
        assert_eq!((&found["with"], &all["with"]), (&Value::Array(vec![]), &serde_json::json!(["ranks"])));
        for (row, all) in found["results"].as_array().unwrap().iter().zip(all["results"].as_array().unwrap())
        {
            let about = row["operation"] == "fwrite";
            assert_eq!(row["per_rank"].as_array().unwrap().len(), if about { 4 } else { 1 });
            assert_eq!(all["per_rank"].as_array().unwrap().len(), ranks);
        }
        assert_eq!(found["numbers"], all["numbers"]);
    }
}

/// Groups with patterns, of which some ranks find nothing to open.
const GROUPS: &str = r#"
define groups {"writers":D, "readers":D };
define pattern {"level 2", 10, (100*1024), 2};
master mkdir("d");
barrier;
group "writers" {
    time["write"] repeat 10 append("d/$$rank", 10*1024);
    time["pwrite"] pwrite("d/shared", "level 2");
}
barrier;
group "readers" {
    $fh = fopen("d/$$rank", "r+");
    time["read"] repeat 100 fread($fh, 10*1024);
    fclose($fh);
    time["pread"] pread("d/shared", "level 2");
}
"#;

/// The line that is read first and the table behind it speak of the same operations.
#[test]
fn the_head_counts_the_operations_that_the_rows_count() {
    let folder = tempfile::tempdir().unwrap();
    let done = program(folder.path(), GROUPS, &["-n", "4"]);
    let asked = lastrank(folder.path(), &["report", "run.parquet", "--json"]);
    let found: Value = serde_json::from_str(&asked.out).unwrap();
    let rows = found["results"].as_array().unwrap().iter().filter(|row| row["kind"] == "operation");
    let (good, failed) = rows.fold((0, 0), |(good, failed), row| {
        (good + row["operations"].as_u64().unwrap(), failed + row["errors"].as_u64().unwrap())
    });
    // mkdir, 2 × 10 append, 2 pwrite, and of the readers 2 fopen, 2 × 100 fread, 2 fclose, 2 pread.
    assert_eq!((good + failed, failed), (229, 204));
    let head = format!("{failed} of {} operations failed", good + failed);
    assert!(done.out.contains(&head), "{head}: {}", done.out);
}
