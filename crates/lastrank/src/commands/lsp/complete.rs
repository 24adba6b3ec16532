//! Completion: lists what fits at the position of the cursor.

use std::collections::BTreeSet;

use ppl::commands::{Command, Function, Kind, mode};
use ppl::plan::Builtin;
use ppl::syntax::{Defined, Keyword, Lexer, Token, TokenKind, Word, is_closed};
use serde_json::{Value, json};

use super::answers::documentation;
use super::document::Document;

// Kinds of completion items in the protocol.
const FUNCTION: u32 = 3;
const VARIABLE: u32 = 6;
const VALUE: u32 = 12;
const KEYWORD: u32 = 14;

/// The items for an offset.
pub fn completion(document: &Document, offset: usize) -> Value {
    let before = before(document, offset);
    let Some((token, text)) = before.last().copied() else { return words(document) };
    let touches = token.end as usize == offset;
    match token.kind {
        TokenKind::Comment if touches && text.starts_with('#') => json!([]),
        TokenKind::Comment => words(document),
        TokenKind::Builtin if touches => builtins(document, token),
        TokenKind::Variable if touches => variables(document, token),
        TokenKind::Text if !is_closed(text, false) => inside_text(document, &before, text),
        _ => words(document),
    }
}

/// The tokens before an offset without blanks, the last one cut there.
fn before(document: &Document, offset: usize) -> Vec<(Token, &str)> {
    let mut lexer = Lexer::with_trivia(&document.text[..offset]);
    let mut out = Vec::new();
    loop {
        let token = lexer.token();
        match token.kind {
            TokenKind::End => return out,
            TokenKind::Blank => {}
            _ => out.push((token, &document.text[token.start as usize..token.end as usize])),
        }
    }
}

fn item(label: &str, kind: u32, detail: &str, documentation: &str) -> Value {
    let documentation = json!({"kind": "markdown", "value": documentation});
    json!({"label": label, "kind": kind, "detail": detail, "documentation": documentation})
}

/// An item that replaces the token, whose dollar signs an editor may not count as part of a word.
fn replacing(document: &Document, token: Token, label: &str, detail: &str) -> Value {
    let mut item = item(label, VARIABLE, detail, "");
    item["textEdit"] = json!({"range": document.range(token.span()), "newText": label});
    item["filterText"] = json!(label);
    item
}

fn words(document: &Document) -> Value {
    let commands = Command::all().map(|it| (it.name(), FUNCTION, it.spec().form(), Word::Command(it)));
    let functions =
        Function::all().map(|it| (it.spec().name, FUNCTION, it.spec().form.to_owned(), Word::Function(it)));
    let keywords = Keyword::ALL.iter().map(|(it, name)| {
        let form = it.spec().form.lines().next().unwrap_or("").to_owned();
        (*name, KEYWORD, form, Word::Keyword(*it))
    });
    let known = commands
        .chain(functions)
        .chain(keywords)
        .map(|(name, kind, form, word)| item(name, kind, &form, &documentation(word)));
    let own = document
        .definitions
        .iter()
        .filter(|definition| definition.kind == Defined::Function)
        .map(|definition| item(&definition.name, FUNCTION, "of this program", ""));
    known.chain(own).collect()
}

fn builtins(document: &Document, token: Token) -> Value {
    let all =
        Builtin::ALL.iter().map(|(_, name, what)| replacing(document, token, &format!("$${name}"), what));
    all.chain([replacing(document, token, "$$env(", "An environment variable: $$env(NAME)")]).collect()
}

fn names(document: &Document, kinds: &[Defined]) -> BTreeSet<String> {
    let known = document.definitions.iter().filter(|definition| kinds.contains(&definition.kind));
    known.map(|definition| definition.name.clone()).collect()
}

fn variables(document: &Document, token: Token) -> Value {
    let parameters = names(document, &[Defined::Parameter]);
    let all = names(document, &[Defined::Parameter, Defined::Variable]);
    // The name being typed is not offered as a suggestion.
    let written = &document.text[token.start as usize + 1..token.end as usize];
    let defined = |name: &str| {
        document.definitions.iter().filter(|it| it.name == name && it.span.start != token.start).count() > 0
    };
    all.iter()
        .filter(|name| name.as_str() != written || defined(name))
        .map(|name| {
            let what = if parameters.contains(name) { "parameter" } else { "variable" };
            replacing(document, token, &format!("${name}"), what)
        })
        .collect()
}

/// Inside a string: what may stand in it, as the command around it says; variables behind `$`.
fn inside_text(document: &Document, before: &[(Token, &str)], text: &str) -> Value {
    if let Some(at) = text.rfind('$')
        && text[at + 1..].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        let end = before[before.len() - 1].0.end;
        let doubled = at > 0 && text[..at].ends_with('$');
        let start = end - (text.len() - at) as u32 - u32::from(doubled);
        let token = Token { kind: TokenKind::Variable, start, end };
        return if doubled { builtins(document, token) } else { variables(document, token) };
    }
    let values = |list: BTreeSet<String>, what: &str| -> Value {
        list.iter().map(|name| item(name, VALUE, what, "")).collect()
    };
    let head: Vec<&str> = before[..before.len() - 1].iter().map(|(_, text)| *text).collect();
    let groups = || {
        let mut groups = names(document, &[Defined::Group]);
        groups.insert("world".into());
        values(groups, "group")
    };
    let last = head.iter().rev().find(|text| **text != "(").copied().unwrap_or("");
    if last.eq_ignore_ascii_case("group") || last.eq_ignore_ascii_case("barrier") {
        return groups();
    }
    match kind_of_argument(&head) {
        Some(Kind::Pattern) => values(names(document, &[Defined::Pattern]), "pattern"),
        Some(Kind::Group) => groups(),
        Some(Kind::Mode) => {
            let modes = ["r", "w", "a", "r+", "w+", "a+"].into_iter().chain(mode::FLAGS.iter().copied());
            values(modes.map(str::to_owned).collect(), "open mode")
        }
        _ => json!([]),
    }
}

/// What the argument must be whose first token follows these.
fn kind_of_argument(head: &[&str]) -> Option<Kind> {
    let (mut depth, mut commas) = (0i32, 0);
    for (at, text) in head.iter().enumerate().rev() {
        match *text {
            ")" | "]" => depth += 1,
            "(" | "[" if depth > 0 => depth -= 1,
            "(" => {
                let Some(Word::Command(command)) = Word::find(head.get(at.checked_sub(1)?)?) else {
                    return None;
                };
                return command.spec().argument(commas).map(|argument| argument.kind);
            }
            "," if depth == 0 => commas += 1,
            ";" | "{" | "}" => return None,
            _ => {}
        }
    }
    None
}
