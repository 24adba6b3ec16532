//! Tests that the generated reference pages are up to date and that their examples run.
//!
//! `INSTA_UPDATE=always cargo test -p lastrank-ppl --test reference` writes the page again.

mod common;

use std::fmt::Write;

use common::{execute, plan_of};
use ppl::commands::{Command, Default, Function, FunctionKind, Since};
use ppl::plan::Builtin;
use ppl::syntax::Keyword;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language-reference.md");

/// A formatted example.
fn example(text: &str) -> String {
    format!("```ppl\n{}```\n", ppl::format::format(text).unwrap())
}

/// A form in lines of at most 80 columns, broken between its arguments.
fn folded(form: &str) -> String {
    let mut lines = vec![String::new()];
    for (at, part) in form.split("[, ").enumerate() {
        let part = if at == 0 { part.to_owned() } else { format!("[, {part}") };
        match lines.last_mut() {
            Some(line) if line.len() + part.len() <= 80 => *line += &part,
            _ => lines.push(format!("    {part}")),
        }
    }
    lines.join("\n")
}

fn page() -> String {
    let mut out = String::from(
        "# PPL reference: statements, commands, functions, built-in values\n\n\
         <!-- Made from the tables of the language by `cargo test -p lastrank-ppl --test reference`. -->\n\n\
         The elements of the language, and the differences from the original, are in [PPL, the language](language.md);\n\
         diagnostics are in [their list](language-diagnostics.md). Every example here runs in\n\
         the tests. `S` is a statement or a block, brackets enclose optional parts.\n\n",
    );
    out += "## Statements\n\n";
    for (keyword, _) in Keyword::ALL {
        let spec = keyword.spec();
        writeln!(out, "### `{}`\n\n```text\n{}\n```\n\n{}\n", spec.name, spec.form, spec.text).unwrap();
        if !spec.example.is_empty() {
            writeln!(out, "{}", example(spec.example)).unwrap();
        }
    }
    out += "## Commands\n\n\
            Each call is timed and kept as a sample. A call that fails keeps its errno, is counted, and the\n\
            program goes on (`on_error stop;` ends it). Sizes and offsets are bytes; `4k` is 4096.\n\n";
    for command in Command::all() {
        let spec = command.spec();
        let since = match spec.since {
            Since::Paper => "classic, 2010",
            Since::Grammar => "classic, 2013",
            Since::Lastrank => "an addition",
        };
        writeln!(
            out,
            "### `{}`\n\n```text\n{}\n```\n\n{} ({since})\n",
            spec.name,
            folded(&spec.form()),
            spec.text
        )
        .unwrap();
        if !spec.arguments.is_empty() {
            out += "| argument | what | default |\n|---|---|---|\n";
            for argument in spec.arguments {
                let default = match argument.default {
                    Default::Required => "required".to_owned(),
                    Default::Int(value) => value.to_string(),
                    Default::Absent(text) => text.to_owned(),
                    Default::Many => "any number of them".to_owned(),
                };
                writeln!(out, "| {} | {} | {default} |", argument.name, argument.kind.name()).unwrap();
            }
            out.push('\n');
        }
        if let Some(errors) = spec.errors {
            writeln!(out, "Likely errors: {errors}.\n").unwrap();
        }
        writeln!(out, "{}", example(spec.example)).unwrap();
    }
    out += "## Functions\n\n\
            They are called inside expressions. Those that draw use the rank's own seeded sequence: the same\n\
            seed gives the same program.\n\n";
    for function in Function::all() {
        let spec = function.spec();
        let random = if spec.kind == FunctionKind::Draws { " Random." } else { "" };
        writeln!(out, "### `{}`\n\n{}{random}\n\n{}", spec.form, spec.text, example(spec.example)).unwrap();
    }
    out += "## Built-in values\n\n| name | what it is |\n|---|---|\n";
    for (_, name, what) in Builtin::ALL {
        writeln!(out, "| `$${name}` | {what} |").unwrap();
    }
    out += "| `$$env(NAME)` | The environment variable of the run; an error where it is not set. |\n";
    out
}

#[test]
fn the_page_is_made_from_the_tables() {
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(PATH, page()).unwrap();
    }
    let there = std::fs::read_to_string(PATH).unwrap();
    assert!(
        there == page(),
        "write it anew: INSTA_UPDATE=always cargo test -p lastrank-ppl --test reference"
    );
}

#[test]
fn every_example_runs_to_its_end_without_a_diagnostic() {
    let commands = Command::all().map(|command| command.spec().example);
    let keywords = Keyword::ALL.iter().map(|(keyword, _)| keyword.spec().example);
    let functions = Function::all().map(|function| function.spec().example);
    for example in commands.chain(keywords).chain(functions) {
        let outcome = execute(&plan_of(example));
        assert!(outcome.stops.is_empty(), "{example}: {:?}", outcome.stops);
        assert!(outcome.diagnostics.is_empty(), "{example}: {:?}", outcome.diagnostics);
    }
}

#[test]
fn every_example_uses_the_word_it_belongs_to() {
    for command in Command::all() {
        assert!(command.spec().example.contains(command.name()), "{}", command.name());
    }
    for (keyword, name) in Keyword::ALL {
        let example = keyword.spec().example;
        assert!(example.contains(name) || example.is_empty(), "{name}");
    }
    for function in Function::all() {
        assert!(function.spec().example.contains(function.spec().name), "{}", function.spec().name);
    }
}

#[test]
fn the_programs_of_the_language_page_run_and_are_formatted() {
    let page = include_str!("../../../docs/language.md");
    let programs: Vec<&str> =
        page.split("```ppl\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(programs.len() >= 8);
    for program in programs {
        let outcome = execute(&plan_of(program));
        assert!(outcome.stops.is_empty(), "{program}: {:?}", outcome.stops);
        assert!(outcome.asserts.iter().all(|holds| *holds), "{program}");
        let formatted = ppl::format::format(program).unwrap();
        assert!(formatted == program, "formatted:\n{formatted}");
    }
}
