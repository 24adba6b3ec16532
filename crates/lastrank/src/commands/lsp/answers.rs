//! Answers about a document: diagnostics, hover, definitions, symbols, formatting, quick fixes.

use ppl::plan::Builtin;
use ppl::syntax::{Defined, Definition, TokenKind, Word};
use ppl::{Diagnostic, Severity, Span};
use serde_json::{Value, json};

use super::document::Document;

/// The mistakes. One in an included file is shown at the top, with its place.
pub fn diagnostics(document: &Document) -> Vec<Value> {
    document.diagnostics.iter().map(|diagnostic| mistake(document, diagnostic)).collect()
}

fn mistake(document: &Document, diagnostic: &Diagnostic) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Note => 3,
    };
    let mut message = diagnostic.message.clone();
    if !document.holds(diagnostic.span) {
        let place = document.source.position(diagnostic.span.start);
        message = format!("{}:{}:{}: {message}", place.file, place.line, place.column);
    }
    if let Some(help) = &diagnostic.help {
        message += &format!("\nhelp: {help}");
    }
    let inside = document.holds(diagnostic.span);
    let span = if inside { diagnostic.span } else { Span::default() };
    let related: Vec<Value> = diagnostic
        .labels
        .iter()
        .filter(|label| document.holds(label.span))
        .map(|label| {
            let location = json!({"uri": document.uri, "range": document.range(label.span)});
            json!({"location": location, "message": label.text})
        })
        .collect();
    json!({
        "range": document.range(span),
        "severity": severity,
        "code": diagnostic.code,
        "source": "lastrank",
        "message": message,
        "relatedInformation": related,
    })
}

/// The documentation of the word at an offset.
pub fn hover(document: &Document, offset: usize) -> Value {
    let Some((token, text)) = document.token(offset) else { return Value::Null };
    let words = match token.kind {
        TokenKind::Word => Word::find(text).map(documentation).or_else(|| named(document, text)),
        TokenKind::Builtin => Builtin::ALL
            .iter()
            .find(|(_, name, _)| text[2..].eq_ignore_ascii_case(name))
            .map(|(_, name, what)| format!("```ppl\n$${name}\n```\n{what}"))
            .or_else(|| {
                let env = text.eq_ignore_ascii_case("$$env");
                env.then(|| "```ppl\n$$env(NAME)\n```\nAn environment variable of the run.".to_owned())
            }),
        TokenKind::Variable | TokenKind::Text => named(document, text),
        _ => None,
    };
    match words {
        Some(words) => {
            let contents = json!({"kind": "markdown", "value": words});
            json!({"contents": contents, "range": document.range(token.span())})
        }
        None => Value::Null,
    }
}

/// What a word of the language means, in Markdown.
pub fn documentation(word: Word) -> String {
    match word {
        Word::Command(command) => {
            let spec = command.spec();
            let mut text = format!("```ppl\n{}\n```\n{}", spec.form(), spec.text);
            if let Some(errors) = spec.errors {
                text += &format!("\n\nLikely errors: {errors}");
            }
            text + &format!("\n\n```ppl\n{}\n```", spec.example)
        }
        Word::Function(function) => {
            format!("```ppl\n{}\n```\n{}", function.spec().form, function.spec().text)
        }
        Word::Keyword(keyword) => format!("```ppl\n{}\n```\n{}", keyword.spec().form, keyword.spec().text),
    }
}

/// The statement that defines a variable, function, group or pattern.
fn named(document: &Document, text: &str) -> Option<String> {
    let definition = find(document, text)?;
    let statement = document.source.slice(definition.statement);
    let mut lines = statement.lines();
    let first = lines.next().unwrap_or("");
    let more = if lines.next().is_some() { " …" } else { "" };
    let place = document.source.position(definition.span.start);
    Some(format!("```ppl\n{first}{more}\n```\n{}, line {}", place.file, place.line))
}

/// The first definition of what a token names.
fn find<'a>(document: &'a Document, text: &str) -> Option<&'a Definition> {
    let fits = |definition: &&Definition| match definition.kind {
        Defined::Parameter | Defined::Variable => text.strip_prefix('$') == Some(&definition.name),
        Defined::Function => text == definition.name,
        Defined::Group | Defined::Pattern => {
            text.starts_with('"') && text.trim_matches('"').trim() == definition.name
        }
    };
    document.definitions.iter().find(fits)
}

/// Where the name at an offset is defined.
pub fn definition(document: &Document, offset: usize) -> Value {
    let found = document.token(offset).and_then(|(_, text)| find(document, text));
    match found.filter(|definition| document.holds(definition.span)) {
        Some(definition) => json!({"uri": document.uri, "range": document.range(definition.span)}),
        None => Value::Null,
    }
}

/// What the document defines, but for plain variables.
pub fn symbols(document: &Document) -> Value {
    let shown = document.definitions.iter().filter_map(|definition| {
        let (kind, detail) = match definition.kind {
            Defined::Parameter => (13, "parameter"),
            Defined::Function => (12, "function"),
            Defined::Group => (3, "group"),
            Defined::Pattern => (23, "pattern"),
            Defined::Variable => return None,
        };
        document.holds(definition.statement).then(|| {
            json!({
                "name": definition.name,
                "detail": detail,
                "kind": kind,
                "range": document.range(definition.statement),
                "selectionRange": document.range(definition.span),
            })
        })
    });
    shown.collect()
}

/// The edit that formats the document; none where it cannot be read.
pub fn formatting(document: &Document) -> Value {
    match ppl::format::format(&document.text) {
        Ok(text) if text == document.text => json!([]),
        Ok(text) => {
            let whole = Span::new(0, document.text.len() as u32);
            json!([{"range": document.range(whole), "newText": text}])
        }
        Err(_) => Value::Null,
    }
}

/// The edits that mistakes propose.
pub fn actions(document: &Document, range: &Value) -> Value {
    let (from, to) = (document.offset(&range["start"]), document.offset(&range["end"]));
    let touches = |span: Span| span.start as usize <= to && span.end as usize >= from;
    let fixes = document.diagnostics.iter().filter(|it| document.holds(it.span) && touches(it.span));
    fixes
        .filter_map(|diagnostic| {
            let replacement = diagnostic.replacement.as_ref()?;
            let edit = json!([{"range": document.range(replacement.span), "newText": replacement.text}]);
            Some(json!({
                "title": format!("Replace by {}", replacement.text),
                "kind": "quickfix",
                "diagnostics": [mistake(document, diagnostic)],
                "edit": {"changes": {document.uri.as_str(): edit}},
            }))
        })
        .collect()
}
