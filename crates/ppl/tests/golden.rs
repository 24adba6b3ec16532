//! Tests that programs behave as with the original. `golden.json` holds programs with the original's output;
//! deliberate differences are listed here case by case, and in docs/language.md with the same words.

mod common;

use std::collections::BTreeMap;

use ppl::plan::Settings;
use serde_json::Value as Json;

/// The output of lastrank for one program.
#[derive(Debug, PartialEq)]
struct Shown {
    lines: Vec<String>,
    commands: Vec<String>,
    ok: bool,
}

/// The names under which the original counted commands.
fn original_name(name: &str) -> String {
    match name {
        "fopen" => "FOpen".into(),
        "fclose" => "FClose".into(),
        "fwrite" => "FWrite".into(),
        "fread" => "FRead".into(),
        "fseek" => "FSeek".into(),
        other => other[..1].to_uppercase() + &other[1..],
    }
}

fn shown(program: &str, classic: bool) -> Shown {
    let plan = if classic { common::classic_plan_with } else { common::plan_with };
    match plan(program, &Settings::default()) {
        Err(_) => Shown { lines: Vec::new(), commands: Vec::new(), ok: false },
        Ok((plan, _)) => {
            let outcome = common::execute(&plan);
            let failed = outcome.commands.values().any(|(_, failed)| *failed > 0);
            let mut commands: Vec<String> = outcome
                .commands
                .iter()
                .map(|(name, (good, bad))| {
                    format!("{} {good} successful / {bad} failed", original_name(name))
                })
                .collect();
            commands.sort();
            // As in the original, a failed command does not make the program fail in this view;
            // the exit status of 3 is the binary's.
            let _ = failed;
            Shown { lines: outcome.lines, commands, ok: outcome.stops.is_empty() }
        }
    }
}

fn original(case: &Json) -> Shown {
    let texts = |key: &str| -> Vec<String> {
        case[key].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    };
    let ok = case["exit"] == 0;
    let mut commands: Vec<String> =
        texts("commands").into_iter().filter(|line| !line.starts_with("No I/O")).collect();
    commands.sort();
    let lines = texts("stdout").into_iter().filter(|line| line.starts_with("[0] ")).collect();
    Shown { lines: if ok { lines } else { Vec::new() }, commands, ok }
}

/// Deliberate differences, with the reason.
fn mended() -> BTreeMap<&'static str, (Shown, &'static str)> {
    let lines = |lines: &[&str]| Shown {
        lines: lines.iter().map(|l| (*l).into()).collect(),
        commands: Vec::new(),
        ok: true,
    };
    let refused = || Shown { lines: Vec::new(), commands: Vec::new(), ok: false };
    let done = |commands: &[&str]| Shown {
        lines: Vec::new(),
        commands: commands.iter().map(|c| (*c).into()).collect(),
        ok: true,
    };
    BTreeMap::from([
        ("float", (lines(&["[0] 1.5"]), "lastrank has floats")),
        ("esc-dollar", (lines(&["[0] v=$x 3 3"]), "${x} is the variable x in a string")),
        ("interp-neg", (lines(&["[0] -5 -5"]), "negative numbers interpolate as they are")),
        ("pow-big", (refused(), "integers that pass 64 bits are an error; --classic wraps them around")),
        ("assign-var", (lines(&["[0] 5"]), "$b = $a; is accepted")),
        (
            "loopvar-nested-same",
            (
                lines(&["[0] in 0", "[0] in 1", "[0] out 0", "[0] in 0", "[0] in 1", "[0] out 1"]),
                "a loop variable that existed before is restored",
            ),
        ),
        ("size", (lines(&["[0] 1"]), "$$size is the number of ranks")),
        ("leading-semi", (lines(&["[0] 1"]), "a leading ; does not drop the program")),
        ("empty-block", (done(&[]), "an empty block does nothing, and does not crash")),
        ("unknown-keyword", (refused(), "an unknown word is an error; --classic ignores it")),
        (
            "unknown-char",
            (
                refused(),
                "an unknown character is an error; --classic ignores it, and does not echo it as the original did",
            ),
        ),
        ("underscore", (refused(), "names may hold _; so $a is not defined here")),
        ("define-order", (lines(&["[0] 1"]), "definitions may be anywhere at the top level")),
        (
            "fopen-missing",
            (
                Shown {
                    lines: vec!["[0] next".into()],
                    commands: vec![
                        "FOpen 0 successful / 1 failed".into(),
                        "FRead 0 successful / 1 failed".into(),
                    ],
                    ok: true,
                },
                "a failed fopen is a value below 0; using it is a failed command, not the end",
            ),
        ),
        (
            "fopen-modes",
            (
                done(&[
                    "FClose 6 successful / 0 failed",
                    "FOpen 6 successful / 0 failed",
                    "FWrite 1 successful / 0 failed",
                    "Write 1 successful / 0 failed",
                ]),
                "a+ can write",
            ),
        ),
        (
            "use-after-close",
            (
                done(&[
                    "FClose 1 successful / 0 failed",
                    "FOpen 1 successful / 0 failed",
                    "FRead 0 successful / 1 failed",
                    "Write 1 successful / 0 failed",
                ]),
                "a closed file is a failed command, not the end",
            ),
        ),
        ("barrier-nompi", (lines(&["[0] 1"]), "barriers need no MPI")),
        (
            "listing1",
            (
                Shown {
                    lines: vec!["[0] START".into(), "[0] STOP".into()],
                    commands: vec![
                        "Create 3 successful / 0 failed".into(),
                        "Mkdir 1 successful / 0 failed".into(),
                        "Write 3 successful / 0 failed".into(),
                    ],
                    ok: true,
                },
                "the paper's $ia is $i followed by a",
            ),
        ),
    ])
}

#[test]
fn every_golden_program_behaves_as_the_original_or_as_listed() {
    let cases: BTreeMap<String, Json> = serde_json::from_str(include_str!("golden.json")).unwrap();
    assert!(cases.len() >= 40);
    let mut mended = mended();
    let mut wrong = Vec::new();
    for (name, case) in &cases {
        let ours = shown(case["program"].as_str().unwrap(), false);
        let before = original(case);
        let expected = match mended.remove(name.as_str()) {
            Some((mended, why)) => {
                assert_ne!(mended, before, "{name} is listed as mended ({why}) but does the same");
                mended
            }
            None => before,
        };
        if ours != expected {
            wrong.push(format!("{name}: {ours:?}\n    instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(mended.is_empty(), "no such programs: {:?}", mended.keys());
}

#[test]
fn with_classic_no_other_program_differs_and_the_documentation_names_those_that_do() {
    let cases: BTreeMap<String, Json> = serde_json::from_str(include_str!("golden.json")).unwrap();
    let mended = mended();
    let mut rows = Vec::new();
    for (name, case) in &cases {
        let is_same = shown(case["program"].as_str().unwrap(), true) == original(case);
        match mended.get(name.as_str()) {
            Some((_, why)) => {
                let classic = if is_same { "as the original" } else { "differs" };
                rows.push(common::difference_row(name, classic, why));
            }
            None => assert!(is_same, "{name}"),
        }
    }
    common::assert_differences("golden.json", rows);
}
