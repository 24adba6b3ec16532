//! Tests of the language server: speaks to the real binary over its pipes, as an editor does.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use common::command;
use serde_json::{Value, json};

/// An editor with one server.
struct Editor {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: i64,
}

const URI: &str = "file:///nowhere/a.ppl";

impl Editor {
    fn start(folder: &Path) -> Self {
        let mut server = command(folder, &["lsp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let to = server.stdin.take().unwrap();
        let from = BufReader::new(server.stdout.take().unwrap());
        let mut editor = Self { server, to, from, next: 0 };
        let answer =
            editor.ask("initialize", json!({"capabilities": {}, "processId": null, "rootUri": null}));
        assert_eq!(answer["serverInfo"]["name"], "lastrank");
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.to.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn hear(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server hung up");
            match line.trim().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().unwrap();
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Opens a document; returns its diagnostics.
    fn open(&mut self, text: &str) -> Vec<Value> {
        let document = json!({"uri": URI, "languageId": "ppl", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
        self.told()
    }

    fn change(&mut self, text: &str) -> Vec<Value> {
        let params = json!({"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": text}]});
        self.tell("textDocument/didChange", params);
        self.told()
    }

    fn told(&mut self) -> Vec<Value> {
        let message = self.hear();
        assert_eq!(message["method"], "textDocument/publishDiagnostics");
        assert_eq!(message["params"]["uri"], URI);
        message["params"]["diagnostics"].as_array().unwrap().clone()
    }

    /// Asks about a place.
    fn at(&mut self, what: &str, line: u32, character: u32) -> Value {
        let place = json!({"line": line, "character": character});
        self.ask(&format!("textDocument/{what}"), json!({"textDocument": {"uri": URI}, "position": place}))
    }

    fn labels(&mut self, line: u32, character: u32) -> Vec<String> {
        let items = self.at("completion", line, character);
        items.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        assert!(self.server.wait().unwrap().success());
    }
}

#[test]
fn mistakes_are_told_as_one_types_and_go_when_mended() {
    let folder = tempfile::tempdir().unwrap();
    let mut editor = Editor::start(folder.path());
    let found = editor.open("$file = \"a\";\nprint(\"é\", $fiel);\nprint(1)\n");
    let codes: Vec<&str> = found.iter().map(|it| it["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["E0201", "E0110"]);
    assert_eq!(found[0]["range"]["start"], json!({"line": 1, "character": 11}));
    assert_eq!(found[0]["range"]["end"], json!({"line": 1, "character": 16}));
    assert_eq!(found[0]["severity"], 1);
    assert!(found[0]["message"].as_str().unwrap().contains("help: did you mean `$file`?"));

    let range = json!({"start": {"line": 1, "character": 12}, "end": {"line": 1, "character": 12}});
    let params = json!({"textDocument": {"uri": URI}, "range": range, "context": {"diagnostics": []}});
    let actions = editor.ask("textDocument/codeAction", params);
    assert_eq!(actions[0]["edit"]["changes"][URI][0]["newText"], "$file");
    assert_eq!(actions[0]["edit"]["changes"][URI][0]["range"], found[0]["range"]);

    assert!(editor.change("$file = \"a\";\nprint(\"é\", $file);\nprint(1);\n").is_empty());
    editor.tell("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    assert!(editor.told().is_empty());
    editor.end();
}

#[test]
fn words_are_explained_and_names_lead_to_their_definitions() {
    let folder = tempfile::tempdir().unwrap();
    let mut editor = Editor::start(folder.path());
    let text = "define param \"size\" $size 4k\ndefine groups {\"writers\":D};\ndef twice($n) { return 2 * $n; }\n\
                $f = fcreat(\"a\");\nfwrite($f, twice($size));\ngroup \"writers\" { repeat 3 print($$rank); }\n";
    assert!(editor.open(text).is_empty());
    let value = |answer: Value| answer["contents"]["value"].as_str().unwrap_or("nothing").to_owned();
    let hovers: Vec<String> = [(4, 2), (4, 8), (4, 13), (4, 20), (5, 20), (5, 37), (5, 9)]
        .map(|(l, c)| value(editor.at("hover", l, c)))
        .into();
    insta::assert_snapshot!(hovers.join("\n----\n"));
    let line = |answer: Value| answer["range"]["start"]["line"].as_i64();
    assert_eq!(line(editor.at("definition", 4, 8)), Some(3));
    assert_eq!(line(editor.at("definition", 4, 13)), Some(2));
    assert_eq!(line(editor.at("definition", 4, 20)), Some(0));
    assert_eq!(line(editor.at("definition", 5, 10)), Some(1));
    assert_eq!(line(editor.at("definition", 5, 20)), None);
    let symbols = editor.ask("textDocument/documentSymbol", json!({"textDocument": {"uri": URI}}));
    let names: Vec<&str> =
        symbols.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["size", "writers", "twice"]);
    editor.end();
}

#[test]
fn completion_offers_what_fits_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut editor = Editor::start(folder.path());
    editor.open(
        "define groups {\"writers\":D};\ndefine pattern {\"big\", 4, 1k, 1};\n$file = 1;\n\n$fi\n$$r\npwrite(\"x\", \"\ngroup \"\nfopen(\"x\", \"\nwrite(\"$f\n# $\n",
    );
    let words = editor.labels(3, 0);
    for word in ["fwrite", "repeat", "uniform", "async", "fdatasync"] {
        assert!(words.iter().any(|known| known == word), "{word}");
    }
    assert_eq!(editor.labels(4, 3), ["$file"]);
    assert!(editor.labels(5, 3).contains(&"$$rank".to_owned()));
    assert_eq!(editor.labels(6, 13), ["big"]);
    assert_eq!(editor.labels(7, 7), ["world", "writers"]);
    assert!(editor.labels(8, 12).contains(&"O_DIRECT".to_owned()));
    assert_eq!(editor.labels(9, 9), ["$file"]);
    assert!(editor.labels(10, 3).is_empty());
    editor.end();
}

#[test]
fn a_document_is_formatted_as_the_command_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut editor = Editor::start(folder.path());
    editor.open("repeat 3{print(1);}");
    let edits = editor.ask("textDocument/formatting", json!({"textDocument": {"uri": URI}, "options": {}}));
    assert_eq!(edits[0]["newText"], "repeat 3 { print(1); }\n");
    assert_eq!(edits[0]["range"]["end"], json!({"line": 0, "character": 19}));
    editor.change("print(1");
    let edits = editor.ask("textDocument/formatting", json!({"textDocument": {"uri": URI}, "options": {}}));
    assert_eq!(edits, Value::Null);
    editor.end();
}

#[test]
fn included_files_are_read_beside_the_document() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("b c.ppl"), "$x = 1;\nprint($y);\n").unwrap();
    let uri = format!("file://{}/a%20b.ppl", folder.path().display());
    let mut editor = Editor::start(folder.path());
    let document =
        json!({"uri": uri, "languageId": "ppl", "version": 1, "text": "include \"b c.ppl\";\nprint($x);\n"});
    editor.tell("textDocument/didOpen", json!({"textDocument": document}));
    let found = editor.hear()["params"]["diagnostics"].clone();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert!(found[0]["message"].as_str().unwrap().starts_with("b c.ppl:2:7: unknown variable"));
    editor.end();
}
