//! Every number that a command takes is refused with the argument's name, or means what it says.

mod support;

use std::collections::BTreeMap;

use engine::run::Options;
use ppl::commands::{Class, Command, Default as OmittedArgument, Kind};
use support::alone;
use support::language::plan;

/// As a program writes it, and the integer that it stands for; `None`: none of 64 bits. A number below 0 is below 0
/// also where it has no integer part.
const VALUES: &[(&str, Option<i64>)] = &[
    ("0", Some(0)),
    ("1.5", Some(1)),
    ("$text", Some(3)),
    ("-1", Some(-1)),
    ("-5.0", Some(-5)),
    ("-0.5", Some(-1)),
    ("$negative", Some(-7)),
    ("4294967296", Some(1 << 32)),
    ("9223372036854775807", Some(i64::MAX)),
    ("-9223372036854775807 - 1", Some(i64::MIN)),
    ("1e18", Some(1_000_000_000_000_000_000)),
    ("1e300", None),
    ("-1e300", None),
];

/// What an argument is where another one is tried.
fn ordinary(command: Command, kind: Kind, name: &str, case: usize) -> String {
    match (kind, name) {
        (Kind::Path, "directory") => "\".\"".into(),
        (Kind::Path, _) if matches!(command, Command::Mkdir | Command::Write | Command::Append) => {
            format!("\"new-{case}\"")
        }
        (Kind::Path, _) if command == Command::Dwrite => format!("\"direct-{case}\""),
        (Kind::Path, _) if command == Command::Stripe => "\".\"".into(),
        (Kind::Path | Kind::PathOrFile, _) => "\"f\"".into(),
        (Kind::Text, "advice") => "\"normal\"".into(),
        (Kind::Text, "kind") if command == Command::Atomic => "\"add\"".into(),
        (Kind::Text, "kind") => "\"copy\"".into(),
        (Kind::Text, "key") => "\"user.a\"".into(),
        (Kind::Text, "pages") => "\"small\"".into(),
        (Kind::Text, "way") => "\"raw\"".into(),
        (Kind::Mode, _) => "\"r\"".into(),
        (Kind::Whence, _) => "\"SEEK_SET\"".into(),
        (Kind::File, _) => "$f".into(),
        (Kind::Permissions, _) => "0o600".into(),
        (Kind::Count, _) => "2".into(),
        // Numbers of processors, nodes and threads.
        (Kind::Integer, _) if command.class() == Class::Kernel => "0".into(),
        _ if command.class() == Class::Kernel => "1MiB".into(),
        _ => "4k".into(),
    }
}

/// Every command of files and kernels, with each value for each of its numbers.
fn cases() -> Vec<(Command, &'static str, Kind, Option<i64>, String)> {
    let mut cases = Vec::new();
    // A network address must be a parameter, which no literal is.
    let own = |command: &Command| {
        matches!(command.class(), Class::File | Class::Kernel) && *command != Command::NetPingpong
    };
    for command in Command::all().filter(own) {
        let arguments = command.spec().arguments;
        let required = |argument: &ppl::commands::ArgumentSpec| argument.default == OmittedArgument::Required;
        let needed = arguments.iter().rposition(required).unwrap_or(0);
        for (at, argument) in arguments.iter().enumerate() {
            let Some(bounds) = argument.kind.bounds() else { continue };
            for (text, value) in VALUES {
                // These do what they say, until the disk is full or for minutes.
                let fills = command.spec().moves.writes() || command == Command::Fallocate;
                let most = if fills && command.class() == Class::File { i64::MAX } else { 1 << 40 };
                let large = value.is_some_and(|value| (1 << 20..=most).contains(&value) && value <= bounds.1);
                if large && matches!(argument.name, "size" | "resident") {
                    continue;
                }
                let given = (0..=at.max(needed)).map(|other| match other == at {
                    true => (*text).to_owned(),
                    false => ordinary(command, arguments[other].kind, arguments[other].name, cases.len()),
                });
                let call = format!("{}({})", command.name(), given.collect::<Vec<_>>().join(", "));
                cases.push((command, argument.name, argument.kind, *value, call));
            }
        }
    }
    cases
}

/// Which of these calls do not do what they say.
fn wrong_of(cases: &[(Command, &'static str, Kind, Option<i64>, String)]) -> Vec<String> {
    let mut text = String::from(
        "write(\"f\", 8k); $f = fopen(\"f\", \"r+\"); $text = \"3 apples\"; $negative = \"-7\";",
    );
    // Case n stands on line n + 2; what it changed is put right behind it.
    for (.., call) in cases {
        text += &format!("\n{call}; ftruncate($f, 8k); fseek($f, 0);");
    }
    // `stripe(".")` lays out the directory of the test.
    let allow = vec![".".into()];
    let options = Options { memory: Some(1 << 20), allow_spawn: true, allow, ..Options::new(1) };
    let outcome = engine::run(&plan(&text, 1, 7), &options, |_| ()).expect("a run");
    let mut told: BTreeMap<u32, String> = BTreeMap::new();
    for failure in &outcome.failures() {
        let site = &outcome.run.sites[failure.site as usize];
        let example = failure.examples.first().cloned().unwrap_or_default();
        if site.column == 1 {
            told.insert(site.line, example);
        }
    }
    let mut wrong = outcome.run.facts.failures.clone();
    for (line, (command, name, kind, value, call)) in (2_u32..).zip(cases) {
        let (least, most) = kind.bounds().expect("a number");
        let fits = value.is_some_and(|value| (least..=most).contains(&value));
        let own = |sample: &&samples::Sample| {
            let site = &outcome.run.sites[sample.site as usize];
            (site.line, site.column) == (line, 1)
        };
        let samples: Vec<_> = outcome.run.samples.iter().filter(own).collect();
        let told = told.get(&line).map_or("", String::as_str);
        let right = match (fits, &samples[..]) {
            // It was not tried, which takes no time.
            (false, [one]) if one.failed() && one.duration_ps == 0 => {
                told.contains(&format!("`{name}` must be {}", kind.bounds_in_words()))
            }
            (true, [one]) if one.failed() => !told.contains("must be"),
            (true, [one]) => match (kind, name) {
                (Kind::Count, _) => i64::from(one.batch) == value.unwrap_or(0).max(1),
                (Kind::Bytes | Kind::BytesOrBuffer, &"size") if one.bytes > 0 => {
                    one.bytes as i64 == value.unwrap_or(0) || command.class() == Class::Kernel
                }
                _ => true,
            },
            // An odd number of switches, words of `stream`: refused by the kernel's own rule.
            (true, []) => told.contains("EINVAL"),
            _ => false,
        };
        if !right {
            wrong.push(format!("line {line}: {call}: {fits}, {} samples, {told}", samples.len()));
        }
    }
    wrong
}

#[test]
fn every_number_of_every_command_is_refused_by_name_or_means_what_it_says() {
    let said = alone("every_number_of_every_command_is_refused_by_name_or_means_what_it_says", || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let cases = cases();
        // Of more places than that not each is told.
        let wrong: Vec<String> = cases.chunks(samples::Judgements::MOST).flat_map(wrong_of).collect();
        format!("{} of {} cases wrong\n{}", wrong.len(), cases.len(), wrong.join("\n"))
    });
    assert!(said.starts_with("0 of ") && !said.starts_with("0 of 0"), "{said}");
}

#[test]
fn an_unknown_position_or_kind_of_pages_is_refused_and_a_known_one_is_not() {
    let said = alone("an_unknown_position_or_kind_of_pages_is_refused_and_a_known_one_is_not", || {
        let outcome = support::language::run(
            r#"write("f", 100); $f = fopen("f", "r"); $where = "SIDEWAYS"; $pages = "hueg"; $way = "rwa";
               print(fseek($f, 5, $where)); print(fseek($f, 0, "SEEK_CUR"));
               $where = "SEEK_END"; print(fseek($f, -40, $where)); print(fseek($f, 3, 0));
               chase(64KiB, 5, $pages); getpid(1, $way); getpid(1, "raw");"#,
        );
        let told = outcome.failures().into_iter().map(|failure| failure.examples[0].clone());
        let counts = ["fseek", "chase", "getpid"].map(|name| {
            let (all, _, refused) = support::language::of(&outcome, name, libc::EINVAL);
            format!("{name} {refused} of {all}")
        });
        format!(
            "exit {}\n{}\n{}",
            outcome.exit_status(),
            counts.join("\n"),
            told.collect::<Vec<_>>().join("\n")
        )
    });
    insta::assert_snapshot!(said);
}
