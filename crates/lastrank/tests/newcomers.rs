//! Commands and programs as newcomers write them, one a line: each is refused, and its message names the thing and the way
//! out.

mod common;

use std::path::Path;

use common::lastrank;
use insta::assert_snapshot;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let numbers: String =
        (0..300).map(|i| format!("{}\n", 10.0 + f64::from(i * 7919 % 100) / 50.0)).collect();
    std::fs::write(folder.path().join("t.txt"), numbers).unwrap();
    std::fs::write(folder.path().join("table.csv"), "time,latency_ms,bytes\n1,2.5,4\n2,3.5,4\n3,2.7,8\n")
        .unwrap();
    let run = [
        "run",
        "parallel_write",
        "--backend",
        "simulate:gev(10ms,1ms,0.1)",
        "-n",
        "4",
        "--set",
        "repeat=60",
        "-o",
        "a.parquet",
        "--report",
        "none",
    ];
    assert_eq!(lastrank(folder.path(), &run).status, Some(0));
    folder
}

/// What is said of each line, with the line before it.
fn told(folder: &Path, lines: &str, of: impl Fn(&str) -> Vec<String>) -> String {
    let mut said = String::new();
    for line in lines.lines() {
        let words = of(line);
        let done = lastrank(folder, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(done.status, Some(2), "{line}\n{}{}", done.out, done.err);
        assert_eq!(done.out, "", "{line}");
        let text = done
            .err
            .replace("\n\nUsage: ", "\nUsage: ")
            .replace("\n\nFor more information, try '--help'.", "");
        let text: String = text
            .lines()
            .filter(|line| line.trim() != "|" && !line.ends_with("explains each code"))
            .map(|line| format!("{line}\n"))
            .collect();
        said += &format!("$ {line}\n{}\n\n", text.trim_end());
    }
    said
}

#[test]
fn wrong_commands() {
    let folder = folder();
    let lines = include_str!("newcomers/commands.txt");
    assert!(lines.lines().count() >= 60);
    let of = |line: &str| line.split(' ').map(str::to_owned).collect();
    assert_snapshot!(told(folder.path(), lines, of));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left behind");
}

#[test]
fn wrong_programs() {
    let folder = tempfile::tempdir().unwrap();
    let lines = include_str!("newcomers/programs.txt");
    assert!(lines.lines().count() >= 40);
    let of = |line: &str| {
        std::fs::write(folder.path().join("p.ppl"), format!("{line}\n")).unwrap();
        ["check", "p.ppl"].map(str::to_owned).to_vec()
    };
    assert_snapshot!(told(folder.path(), lines, of));
}
