//! An open document: its text, its analysis, and the conversion of editor positions to offsets.

use std::path::PathBuf;

use ppl::plan::{Settings, plan};
use ppl::syntax::{Definition, Lexer, Token, TokenKind, outline, parse_with};
use ppl::{Diagnostic, Source, Span, check};
use serde_json::{Value, json};

/// An open program, parsed and checked.
pub struct Document {
    /// What the editor calls it.
    pub uri: String,
    /// Its text alone.
    pub text: String,
    /// With everything it includes.
    pub source: Source,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// What it gives names to.
    pub definitions: Vec<Definition>,
    /// Where its lines begin.
    lines: Vec<usize>,
}

impl Document {
    /// Parses and checks; included files are read from the document's folder.
    pub fn new(uri: &str, text: &str) -> Self {
        let mut source = Source::new(uri.rsplit('/').next().unwrap_or(uri), text);
        let folder = path(uri).and_then(|path| path.parent().map(PathBuf::from)).unwrap_or_default();
        let mut read = |name: &str| crate::program::included(&folder.join(name), &folder);
        let parse = parse_with(&mut source, false, Some(&mut read));
        let mut checked = check::check(&parse.tree, &source);
        checked.diagnostics.splice(..0, parse.diagnostics);
        let settings = Settings { tentative: true, ..Settings::default() };
        let (Ok((_, mut diagnostics)) | Err(mut diagnostics)) = plan(checked, &source, &settings);
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        let definitions = outline(&parse.tree, source.text());
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Self { uri: uri.to_owned(), text: text.to_owned(), source, diagnostics, definitions, lines }
    }

    /// The offset of an editor's position: a line and a number of UTF-16 units in it.
    pub fn offset(&self, position: &Value) -> usize {
        let number = |name: &str| position[name].as_u64().unwrap_or(0) as usize;
        let Some(&start) = self.lines.get(number("line")) else { return self.text.len() };
        let line = self.text[start..].split('\n').next().unwrap_or("");
        let mut units = 0;
        for (at, letter) in line.char_indices() {
            if units >= number("character") {
                return start + at;
            }
            units += letter.len_utf16();
        }
        start + line.len()
    }

    /// The editor's position of an offset; of the end where the offset lies behind it.
    pub fn position(&self, offset: usize) -> Value {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let units: usize =
            self.text.get(self.lines[line]..offset).unwrap_or("").chars().map(char::len_utf16).sum();
        json!({"line": line, "character": units})
    }

    /// The editor's range of a span.
    pub fn range(&self, span: Span) -> Value {
        json!({"start": self.position(span.start as usize), "end": self.position(span.end as usize)})
    }

    /// Whether a span lies in the document itself, not in what it includes.
    pub fn holds(&self, span: Span) -> bool {
        span.end as usize <= self.text.len()
    }

    /// The token that holds an offset, or ends there, and its text.
    pub fn token(&self, offset: usize) -> Option<(Token, &str)> {
        let mut lexer = Lexer::with_trivia(&self.text);
        let mut before = None;
        loop {
            let token = lexer.token();
            if token.kind == TokenKind::End || token.start as usize > offset {
                break;
            }
            let named = matches!(
                token.kind,
                TokenKind::Word | TokenKind::Variable | TokenKind::Builtin | TokenKind::Text
            );
            if token.end as usize >= offset && (named || token.end as usize > offset) {
                before = Some(token);
            }
            if token.end as usize > offset {
                break;
            }
        }
        before.map(|token| (token, &self.text[token.start as usize..token.end as usize]))
    }
}

/// The path of a `file:` address.
fn path(uri: &str) -> Option<PathBuf> {
    let encoded = uri.strip_prefix("file://")?;
    let mut bytes = Vec::new();
    let mut rest = encoded.as_bytes();
    while let [first, others @ ..] = rest {
        let code = (*first == b'%').then(|| others.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &others[2..] } else { others };
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_utf_16_units() {
        let document = Document::new("file:///a.ppl", "print(1);\nprint(\"é😀x\");\n");
        let offset = document.text.find('x').unwrap();
        let position = document.position(offset);
        assert_eq!(position, json!({"line": 1, "character": 10}));
        assert_eq!(document.offset(&position), offset);
        assert_eq!(document.offset(&json!({"line": 99, "character": 0})), document.text.len());
    }

    #[test]
    fn addresses_are_decoded() {
        assert_eq!(path("file:///a%20b/%C3%A9.ppl"), Some(PathBuf::from("/a b/é.ppl")));
        assert_eq!(path("untitled:1"), None);
    }
}
