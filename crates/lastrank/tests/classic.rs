//! Recorded programs with patterns leave the files that the original left, on the real back end with `--classic`.
//! `ppl`'s tests run all recorded programs, on a machine in memory.

mod common;

use std::collections::BTreeMap;

use common::lastrank;
use serde_json::Value as Json;

/// Names and sizes of the files in a folder.
fn files(folder: &std::path::Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())).collect()
}

#[test]
fn recorded_programs_with_patterns_leave_what_the_original_left() {
    let cases: BTreeMap<String, Json> =
        serde_json::from_str(include_str!("../../ppl/tests/golden-2.json")).unwrap();
    let results = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for (name, case) in cases.iter().filter(|(name, case)| {
        // The MPI library of the original failed in pattern3.
        case["program"].as_str().unwrap().contains("pattern") && name.as_str() != "pattern3"
    }) {
        let folder = tempfile::tempdir().unwrap();
        let program = results.path().join("program.pbl");
        std::fs::write(&program, case["program"].as_str().unwrap()).unwrap();
        let run = results.path().join("run.parquet");
        let ranks = case["ranks"].to_string();
        let mut arguments = vec!["run", program.to_str().unwrap(), "--classic", "--quiet", "-n", &ranks];
        arguments.extend(["--report", "none", "-o", run.to_str().unwrap()]);
        for group in case["groups"].as_array().unwrap() {
            arguments.extend(["-g", group.as_str().unwrap()]);
        }
        let done = lastrank(folder.path(), &arguments);
        let expected: BTreeMap<String, u64> = serde_json::from_value(case["files"].clone()).unwrap();
        assert_eq!(files(folder.path()), expected, "{name}: {}", done.err);
        // Where the original continued after a failure, the status says so.
        assert_eq!(done.status == Some(2), case["exit"] != 0, "{name}: {}", done.err);
        seen += 1;
    }
    assert!(seen >= 12, "{seen}");
}

#[test]
fn a_group_named_without_a_size_has_no_ranks_in_classic_and_is_refused_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let program =
        "define groups {\"a\":S, \"b\":S}; group \"a\" { print(\"a\"); } group \"b\" { print(\"b\"); }";
    let run = |more: &[&str]| {
        let arguments = [&["-n", "2", "-g", "a", "-g", "b:1", "--quiet"], more].concat();
        common::program(folder.path(), program, &arguments)
    };
    let classic = run(&["--classic"]);
    assert_eq!((classic.status, classic.out.as_str()), (Some(0), "[0] b\n"), "{}", classic.err);
    assert!(classic.err.contains("the group \"a\" has no size"), "{}", classic.err);
    let ours = run(&[]);
    assert_eq!(ours.status, Some(2));
    assert!(ours.err.contains("-g GROUP:RANKS"), "{}", ours.err);
}
