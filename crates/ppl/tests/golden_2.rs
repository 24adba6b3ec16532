//! Tests further programs against the original, with and without `--classic`. `golden-2.json` holds them with
//! the original's output, messages and files; deliberate differences are listed here with the reason, and in docs/language.md with the same words.

mod common;

use std::collections::BTreeMap;

use ppl::plan::Settings;
use ppl::{Diagnostic, DiagnosticCode};
use serde::Deserialize;

/// A program and what the original did with it.
#[derive(Deserialize)]
struct Recorded {
    program: String,
    ranks: u32,
    /// `name=value`
    arguments: Vec<String>,
    /// `name:size`
    groups: Vec<String>,
    /// Sorted where there are several ranks.
    stdout: Vec<String>,
    said: Vec<String>,
    files: BTreeMap<String, u64>,
    exit: i32,
}

/// The observable result of one run.
#[derive(Debug, PartialEq)]
struct Seen {
    lines: Vec<String>,
    files: BTreeMap<String, u64>,
    ok: bool,
}

fn original(case: &Recorded) -> Seen {
    Seen { lines: case.stdout.clone(), files: case.files.clone(), ok: case.exit == 0 }
}

/// The result of lastrank, and its diagnostics.
fn ours(case: &Recorded, classic: bool) -> (Seen, Vec<Diagnostic>) {
    let pair =
        |text: &String, sign| text.split_once(sign).map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let settings = Settings {
        ranks: Some(case.ranks),
        parameters: case.arguments.iter().map(|text| pair(text, '=')).collect(),
        groups: case
            .groups
            .iter()
            .map(|text| pair(text, ':'))
            .map(|(name, size)| (name, size.parse().unwrap()))
            .collect(),
        ..Settings::default()
    };
    let plan = if classic { common::classic_plan_with } else { common::plan_with };
    match plan(&case.program, &settings) {
        Err(said) => (Seen { lines: Vec::new(), files: BTreeMap::new(), ok: false }, said),
        Ok((plan, said)) => {
            let mut outcome = common::execute(&plan);
            if case.ranks > 1 {
                outcome.lines.sort();
            }
            let name = |name: String| name.trim_start_matches("./").to_owned();
            let files = outcome.files.into_iter().map(|(file, size)| (name(file), size)).collect();
            (Seen { lines: outcome.lines, files, ok: outcome.stops.is_empty() }, said)
        }
    }
}

/// The result of lastrank instead.
enum Instead {
    Refuses,
    Prints(&'static [&'static str]),
    Leaves(&'static [(&'static str, u64)]),
}
use Instead::{Leaves, Prints, Refuses};

impl Instead {
    fn shown(&self) -> Seen {
        let (lines, files): (&[&str], &[(&str, u64)]) = match self {
            Refuses => (&[], &[]),
            Prints(lines) => (lines, &[]),
            Leaves(files) => (&[], files),
        };
        Seen {
            lines: lines.iter().map(|line| (*line).into()).collect(),
            files: files.iter().map(|(name, size)| ((*name).into(), *size)).collect(),
            ok: !matches!(self, Refuses),
        }
    }
}

type Differences = Vec<(&'static str, Instead, &'static str)>;

/// Differences with and without `--classic`, with the reason.
fn always_different() -> Differences {
    vec![
        ("assignvar", Prints(&["[0] 5"]), "$b = $a; is accepted"),
        (
            "defgroups_twice",
            Prints(&["[0] B 0", "[1] B 1"]),
            "groups may be defined in several places, as other definitions",
        ),
        ("define_late", Prints(&["[0] 1", "[0] 2"]), "definitions may be anywhere at the top level"),
        ("expr_file", Leaves(&[("f1", 5)]), "strings are joined with +"),
        (
            "group2",
            Prints(&[
                "[0] A 0", "[1] B 1", "[1] D 1", "[1] E", "[2] B 2", "[2] D 2", "[2] E", "[3] C 3",
                "[3] D 3", "[3] E", "[4] C 4", "[4] E",
            ]),
            "a group may hold a statement without braces, as a loop may",
        ),
        (
            "interp2",
            Prints(&["[0] q 52"]),
            "the longest defined beginning of a name counts, as the paper's $ia needs",
        ),
        ("label_no_str", Prints(&["[0] 1"]), "a label may be any value"),
        ("nestedblock", Prints(&["[0] 1"]), "a block is allowed wherever a statement is"),
        ("onlydef", Prints(&[]), "a program may do nothing"),
        ("param_str_interp", Prints(&["[0] a$b"]), "the text of a parameter is data: nothing is filled in"),
        (
            "pattern3",
            Leaves(&[("g", 6000)]),
            "the original's MPI library failed in a transfer of level 3 (\"known error not in list\")",
        ),
        ("repeat_str", Prints(&["[0] 0", "[0] 1", "[0] 2"]), "a string of digits counts as a number"),
        ("unary", Prints(&["[0] -3"]), "negative numbers can be written"),
    ]
}

/// Differences without `--classic` only, with the reason.
fn different_without_classic() -> Differences {
    vec![
        ("bigint", Refuses, "integers that pass 64 bits are an error"),
        ("dollar", Refuses, "`$` without a name is hardly ever meant"),
        (
            "group_nosize",
            Prints(&["[0] W 0", "[1] W 1", "[2] R 2", "[3] R 3"]),
            "groups without sizes share the ranks, as in the paper",
        ),
        (
            "group_nosize_S",
            Prints(&["[0] W 0", "[1] W 1", "[2] W 2"]),
            "groups without sizes share the ranks",
        ),
        (
            "group_nosize_none",
            Prints(&["[0] W 0", "[1] W 1", "[2] W 2"]),
            "groups without sizes share the ranks",
        ),
        ("group_over", Refuses, "groups that need more ranks than there are would measure something else"),
        ("gunknown", Refuses, "a size for a group that does not exist is a mistake"),
        ("longnum", Refuses, "a number that does not fit 64 bits is an error"),
        ("mkdir_multi", Refuses, "the second argument of mkdir is the permissions; a string is none"),
        ("mixed_g", Prints(&["[0] B 0", "[1] B 1", "[2] C 2"]), "groups without sizes share the ranks"),
        ("quote_in_str", Prints(&["[0] say \"hi\" now"]), "\\\" is a quote, without its backslash"),
    ]
}

fn cases() -> BTreeMap<String, Recorded> {
    serde_json::from_str(include_str!("golden-2.json")).unwrap()
}

/// Compares each program: listed ones must differ as listed, all others must be equal.
fn compare(classic: bool, differences: Differences) {
    let mut differences: BTreeMap<_, _> =
        differences.into_iter().map(|(name, instead, why)| (name, (instead, why))).collect();
    let mut wrong = Vec::new();
    for (name, case) in &cases() {
        let before = original(case);
        let (shown, _) = ours(case, classic);
        let expected = match differences.remove(name.as_str()) {
            Some((instead, why)) => {
                let expected = instead.shown();
                assert_ne!(expected, before, "{name} is listed as different ({why}) but is the same");
                expected
            }
            None => before,
        };
        if shown != expected {
            wrong.push(format!("{name}: {shown:?}\n    instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(differences.is_empty(), "no such programs: {:?}", differences.keys());
}

#[test]
fn with_classic_every_recorded_program_does_what_the_original_did_or_what_is_listed() {
    compare(true, always_different());
}

#[test]
fn without_classic_every_recorded_program_does_so_or_what_is_listed() {
    compare(false, always_different().into_iter().chain(different_without_classic()).collect());
}

#[test]
fn with_classic_a_group_that_the_original_warned_of_is_named_in_a_warning() {
    let mut seen = 0;
    for (name, case) in &cases() {
        let (_, found) = ours(case, true);
        for said in case.said.iter().filter(|said| said.starts_with("Warning: ") && said.contains("roup \""))
        {
            let group = said.split('"').nth(1).unwrap();
            let told = found.iter().any(|found| {
                found.code == DiagnosticCode::ClassicGroups && found.message.contains(&format!("\"{group}\""))
            });
            assert!(told, "{name}: nothing is said of the group {group}");
            seen += 1;
        }
    }
    assert!(seen >= 7, "{seen}");
}

#[test]
fn what_the_original_did_not_support_is_refused_by_name() {
    for (name, kind) in [("pattype0", "0"), ("pattype3", "3")] {
        for classic in [true, false] {
            let (_, found) = ours(&cases()[name], classic);
            let told =
                found.iter().any(|found| found.message.contains("type") && found.message.contains(kind));
            assert!(told, "{name}: {found:?}");
        }
    }
}

#[test]
fn the_documentation_names_exactly_the_programs_that_differ() {
    let row =
        |(name, _, why): &(&str, Instead, &str), classic: &str| common::difference_row(name, classic, why);
    let always = always_different();
    let without = different_without_classic();
    let rows: Vec<String> = always
        .iter()
        .map(|difference| row(difference, "differs"))
        .chain(without.iter().map(|difference| row(difference, "as the original")))
        .collect();
    common::assert_differences("golden-2.json", rows);
}
