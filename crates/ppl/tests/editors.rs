//! Tests that the VS Code grammar contains the words of the language.
//!
//! `INSTA_UPDATE=always cargo test -p lastrank-ppl --test editors` writes it again.

use ppl::commands::{Command, Function};
use ppl::syntax::Keyword;
use serde_json::json;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/vscode/syntaxes/ppl.tmLanguage.json");

fn any_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<&str> = words.collect();
    words.sort_unstable();
    format!("(?i)\\b({})\\b", words.join("|"))
}

fn grammar() -> String {
    let others = [
        "param", "place", "groups", "pattern", "ranks", "space", "content", "report", "hints", "in", "step",
        "poisson",
    ];
    let keywords = any_of(Keyword::ALL.iter().map(|(_, name)| *name).chain(others));
    let commands = any_of(Command::all().map(|command| command.name()));
    let functions = any_of(Function::all().map(|function| function.spec().name));
    let interpolated = json!([
        {"name": "constant.character.escape.ppl", "match": "\\\\\\\\(?=\\\\*\")|\\\\[$\"]"},
        {"name": "variable.language.ppl", "match": "\\$\\$[A-Za-z0-9_]+(\\([^)\"]*\\))?"},
        {"name": "variable.other.ppl", "match": "\\$\\{[^}\"]*\\}|\\$[A-Za-z0-9_]+"}
    ]);
    let grammar = json!({
        "name": "PPL",
        "scopeName": "source.ppl",
        "patterns": [
            {"name": "comment.line.number-sign.ppl", "match": "#.*$"},
            {"name": "comment.block.ppl", "begin": "/\\*", "end": "\\*/"},
            {"name": "string.quoted.double.ppl", "begin": "\"", "end": "\"|$", "patterns": interpolated},
            {"name": "variable.language.ppl", "match": "\\$\\$[A-Za-z0-9_]+"},
            {"name": "variable.other.ppl", "match": "\\$[A-Za-z0-9_]+"},
            {"name": "constant.numeric.ppl", "match": "\\b[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?[A-Za-zµμ]*"},
            {"name": "keyword.control.ppl", "match": keywords},
            {"name": "support.function.command.ppl", "match": commands},
            {"name": "support.function.builtin.ppl", "match": functions},
            {"name": "constant.language.ppl", "match": "\\b[A-Z][A-Z0-9_]{2,}\\b"},
            {"name": "keyword.operator.ppl", "match": "[-+*/%^=<>!?:]|&&|\\|\\||\\.\\."}
        ]
    });
    serde_json::to_string_pretty(&grammar).unwrap() + "\n"
}

#[test]
fn the_grammar_holds_every_word() {
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        // Renamed into place, since the other test reads it concurrently.
        let beside = format!("{PATH}.new");
        std::fs::write(&beside, grammar()).unwrap();
        std::fs::rename(beside, PATH).unwrap();
    }
    let there = std::fs::read_to_string(PATH).unwrap();
    assert!(
        there == grammar(),
        "write it again: INSTA_UPDATE=always cargo test -p lastrank-ppl --test editors"
    );
}

#[test]
fn the_extension_is_in_order() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/vscode/");
    let package: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{folder}package.json")).unwrap()).unwrap();
    let files = ["/main", "/contributes/languages/0/configuration", "/contributes/grammars/0/path"];
    for pointer in files {
        let file = package.pointer(pointer).and_then(|file| file.as_str()).unwrap();
        let text = std::fs::read_to_string(format!("{folder}{file}")).unwrap();
        if file.ends_with("json") {
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
        }
    }
}
