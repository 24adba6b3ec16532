//! How does the parser move over the tokens, and how does it go on after an error?

use crate::diagnostic::{Code, Diagnostic, Span, nearest};
use crate::source::{Loader, Source};

use super::lexer::{self, Lexer, Token, TokenKind};
use super::names::Symbol;
use super::tree::{Form, Node, Row, Statements, Tag, Tree};

/// How deeply blocks and brackets may be nested.
pub const MAX_NESTING: u32 = 200;
/// How many operators may follow each other on one path through an expression.
pub const MAX_OPERATORS: u32 = 1000;
/// More diagnostics than this are not kept: the first ones are the useful ones.
pub(super) const MAX_DIAGNOSTICS: usize = 200;

/// How many files a program may include, each time counted anew.
const MAX_INCLUDED: usize = 256;
/// How deeply files may include each other.
const MAX_INCLUDED_DEPTH: usize = 16;
/// The program itself, which no file includes.
const ROOT: usize = usize::MAX;

/// What parsing gives: always a tree, and what is wrong with the text.
#[derive(Clone, Debug)]
pub struct Parse {
    /// The tree; what could not be read is `Error` in it.
    pub tree: Tree,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a program. Never fails. Files named by `include` are not read.
pub fn parse(text: &str) -> Parse {
    let mut source = Source::new("program", text);
    parse_with(&mut source, false, None)
}

/// Parses a program with the lexing of the original (`classic`), reading included files through
/// `loader`, whose text is appended to `source`.
pub fn parse_with(source: &mut Source, classic: bool, loader: Option<Loader<'_>>) -> Parse {
    let mut tree = Tree { classic, ..Tree::default() };
    let mut diagnostics = Vec::new();
    let text = source.text().to_owned();
    let mut parser = Parser::new(&text, 0, classic, loader.is_some(), &mut tree, &mut diagnostics);
    let rows = parser.file();
    let mut includes = std::mem::take(&mut parser.includes);
    let top = tree.push_rows(&rows);
    let mut load = loader;
    // Files that were read: path, and the file that includes it.
    let mut files: Vec<(String, usize)> = Vec::new();
    let mut open: Vec<(Include, usize)> = includes.drain(..).map(|include| (include, ROOT)).collect();
    while let Some((include, parent)) = open.pop() {
        let Some(load) = load.as_mut() else { break };
        let mut above = std::iter::successors(files.get(parent), |(_, parent)| files.get(*parent));
        let problem = if above.clone().any(|(path, _)| *path == include.path) {
            Err("it includes itself, perhaps by way of others".to_owned())
        } else if above.nth(MAX_INCLUDED_DEPTH - 1).is_some() {
            Err(format!("files include each other more than {MAX_INCLUDED_DEPTH} deep"))
        } else if files.len() >= MAX_INCLUDED {
            Err(format!("the program includes more than {MAX_INCLUDED} files"))
        } else {
            load(&include.path).and_then(|text| {
                source
                    .append(&include.path, &text)
                    .map(|base| (text, base))
                    .ok_or("the program is too long".to_owned())
            })
        };
        match problem {
            Err(reason) => diagnostics.push(
                Diagnostic::error(
                    Code::IncludeFailed,
                    include.span,
                    format!("cannot include \"{}\": {reason}", include.path),
                )
                .help("the path is relative to the including program"),
            ),
            Ok((text, base)) => {
                let mut parser = Parser::new(&text, base, classic, true, &mut tree, &mut diagnostics);
                let rows = parser.file();
                let inner = std::mem::take(&mut parser.includes);
                let block = tree.push_rows(&rows);
                // The include statement refers to its statements once they have a place.
                if let Some(row) = tree
                    .rows
                    .iter_mut()
                    .find(|row| row.form == Form::Include && row.start == include.statement && row.count == 0)
                {
                    row.b = block.first;
                    row.count = block.count.min(u32::from(u16::MAX)) as u16;
                }
                let own = files.len();
                files.push((include.path, parent));
                open.extend(inner.into_iter().map(|include| (include, own)));
            }
        }
    }
    tree.top = top;
    tree.nodes.shrink_to_fit();
    tree.rows.shrink_to_fit();
    tree.wide.shrink_to_fit();
    Parse { tree, diagnostics }
}

/// An expression that is not in the tree yet, and how many operators deep it is.
#[derive(Clone, Copy)]
pub(super) struct Parsed {
    pub node: Node,
    pub depth: u32,
}

pub(super) struct Include {
    path: String,
    span: Span,
    statement: u32,
}

pub(super) struct Parser<'a, 't> {
    text: &'a str,
    /// What to add to an offset in `text` for one in the source.
    base: u32,
    lexer: Lexer<'a>,
    pub token: Token,
    /// End of the last token taken.
    pub last_end: u32,
    pub classic: bool,
    pub loads: bool,
    pub tree: &'t mut Tree,
    diagnostics: &'t mut Vec<Diagnostic>,
    pub pending: Vec<Row>,
    pub scratch: Vec<Node>,
    pub includes: Vec<Include>,
    nesting: u32,
    /// Everything up to here was complained about already.
    quiet_until: u32,
}

impl<'a, 't> Parser<'a, 't> {
    fn new(
        text: &'a str,
        base: u32,
        classic: bool,
        loads: bool,
        tree: &'t mut Tree,
        diagnostics: &'t mut Vec<Diagnostic>,
    ) -> Self {
        let mut lexer = Lexer::new(text).multiline(classic);
        if let Some(mut open) = lexer::complain(text) {
            open.span = Span::new(open.span.start + base, open.span.end + base);
            diagnostics.push(open);
        }
        let token = lexer.token();
        let mut parser = Self {
            text,
            base,
            lexer,
            token,
            last_end: 0,
            classic,
            loads,
            tree,
            diagnostics,
            pending: Vec::new(),
            scratch: Vec::new(),
            includes: Vec::new(),
            nesting: 0,
            quiet_until: 0,
        };
        parser.skip_unknown();
        parser
    }

    fn file(&mut self) -> Vec<Row> {
        let base = self.pending.len();
        while self.token.kind != TokenKind::End {
            if self.is_sign(b'}') {
                self.error(self.here(), Code::ExpectedToken, "this `}` closes nothing".into(), None);
                self.take();
                continue;
            }
            let row = self.statement(true);
            self.pending.push(row);
        }
        self.pending.split_off(base)
    }

    // --- tokens ---

    /// The text of a token.
    pub fn text_of(&self, token: Token) -> &'a str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    /// The text of the current token.
    pub fn word(&self) -> &'a str {
        self.text_of(self.token)
    }

    /// The place of the current token.
    pub fn here(&self) -> Span {
        self.place(self.token)
    }

    /// The place of a token in the source.
    pub fn place(&self, token: Token) -> Span {
        Span::new(token.start + self.base, token.end + self.base)
    }

    pub fn offset(&self) -> u32 {
        self.token.start + self.base
    }

    pub fn last(&self) -> u32 {
        self.last_end + self.base
    }

    /// Takes the current token.
    pub fn take(&mut self) -> Token {
        let token = self.token;
        self.last_end = token.end;
        self.token = self.lexer.token();
        self.skip_unknown();
        token
    }

    /// Characters that mean nothing are complained about once and left out.
    fn skip_unknown(&mut self) {
        while self.token.kind == TokenKind::Unknown || (self.classic && self.is_foreign_in_classic()) {
            let text = self.word();
            let span = self.here();
            if self.classic {
                let message = format!("`{text}` is ignored");
                self.push(Diagnostic::warning(Code::ClassicIgnored, span, message));
            } else {
                let help = match text {
                    "&" => Some("`&&` means and"),
                    "|" => Some("`||` means or"),
                    "'" | "`" | "“" | "”" => Some("strings stand in double quotes: \"…\""),
                    "." => Some("joining strings is `+`; a fraction needs a digit before its point"),
                    "\\" => Some("a backslash has a meaning only inside a string"),
                    _ => None,
                };
                let message = format!("`{text}` means nothing here");
                self.error(span, Code::UnknownCharacter, message, help.map(str::to_owned));
            }
            self.token = self.lexer.token();
        }
    }

    fn is_foreign_in_classic(&self) -> bool {
        self.token.kind == TokenKind::Word && self.word() == "_"
    }

    /// The token after the current one.
    pub fn peek(&self) -> Token {
        self.lexer.clone().token()
    }

    /// The two tokens after the current one.
    pub fn peek_two(&self) -> (Token, Token) {
        let mut lexer = self.lexer.clone();
        (lexer.token(), lexer.token())
    }

    /// Where the parser is, to come back to.
    pub fn mark(&self) -> (Lexer<'a>, Token, u32, usize, usize, usize, usize, u32) {
        (
            self.lexer.clone(),
            self.token,
            self.last_end,
            self.tree.nodes.len(),
            self.tree.wide.len(),
            self.diagnostics.len(),
            self.scratch.len(),
            self.quiet_until,
        )
    }

    /// Back to a mark.
    #[allow(clippy::type_complexity)]
    pub fn reset(&mut self, mark: (Lexer<'a>, Token, u32, usize, usize, usize, usize, u32)) {
        self.lexer = mark.0;
        self.token = mark.1;
        self.last_end = mark.2;
        self.tree.nodes.truncate(mark.3);
        self.tree.wide.truncate(mark.4);
        self.diagnostics.truncate(mark.5);
        self.scratch.truncate(mark.6);
        self.quiet_until = mark.7;
    }

    pub fn is_sign(&self, sign: u8) -> bool {
        self.token.kind == TokenKind::Sign(sign)
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.token.kind == TokenKind::Word && self.word().eq_ignore_ascii_case(word)
    }

    /// Takes the sign if it is there.
    pub fn accept(&mut self, sign: u8) -> bool {
        let there = self.is_sign(sign);
        if there {
            self.take();
        }
        there
    }

    /// Takes the word if it is there.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let there = self.is_word(word);
        if there {
            self.take();
        }
        there
    }

    /// Takes the sign, or complains that it is missing `after` something.
    pub fn expect(&mut self, sign: u8, after: &str) -> bool {
        if self.accept(sign) {
            return true;
        }
        let found = self.found();
        // A missing sign is shown where it should have stood: right behind the last token.
        let at = Span::new(self.last(), self.last());
        self.error_at(
            self.offset(),
            at,
            Code::ExpectedToken,
            format!("expected `{}` after {after}, found {found}", sign as char),
            None,
        );
        false
    }

    /// The current token in words.
    pub fn found(&self) -> String {
        match self.token.kind {
            TokenKind::End => "the end of the program".into(),
            TokenKind::Text => "a string".into(),
            _ => {
                let text: String = self.word().chars().take(40).collect();
                format!("`{text}`")
            }
        }
    }

    // --- complaints ---

    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS
            || diagnostic.is_error() && self.diagnostics.len() < 2 * MAX_DIAGNOSTICS
        {
            self.diagnostics.push(diagnostic);
        }
    }

    /// An error, unless this place was complained about already.
    pub fn error(&mut self, span: Span, code: Code, message: String, help: Option<String>) {
        self.error_at(span.start, span, code, message, help);
    }

    fn error_at(&mut self, at: u32, span: Span, code: Code, message: String, help: Option<String>) {
        if at < self.quiet_until {
            return;
        }
        self.quiet_until = at + 1;
        self.push(Diagnostic::error(code, span, message).help_maybe(help));
    }

    /// No more complaints about the current token.
    pub fn hush(&mut self) {
        self.quiet_until = self.offset() + 1;
    }

    /// The help for a word that is unknown.
    pub fn meant<'c>(&self, word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
        nearest(word, candidates).map(|near| format!("did you mean `{near}`?"))
    }

    // --- nesting ---

    /// One level deeper; `false` (and a complaint, and the inside skipped) where that is too deep.
    pub fn deeper(&mut self) -> bool {
        if self.nesting >= MAX_NESTING {
            self.error(
                self.here(),
                Code::TooDeep,
                format!("nested more than {MAX_NESTING} deep"),
                Some("a loop or a list does the same with less nesting".into()),
            );
            self.skip_nested();
            return false;
        }
        self.nesting += 1;
        true
    }

    /// Back from one level.
    pub fn shallower(&mut self) {
        self.nesting -= 1;
    }

    /// Skips to the end of what is open, without recursion.
    fn skip_nested(&mut self) {
        let mut open = 0u32;
        loop {
            match self.token.kind {
                TokenKind::End => return,
                TokenKind::Sign(b'(' | b'[' | b'{') => open += 1,
                TokenKind::Sign(b')' | b']' | b'}') => {
                    if open == 0 {
                        return;
                    }
                    open -= 1;
                }
                TokenKind::Sign(b';') if open == 0 => return,
                _ => {}
            }
            self.take();
        }
    }

    /// After an error: to the next place where a statement can begin.
    pub fn recover(&mut self) {
        let mut open = 0u32;
        loop {
            match self.token.kind {
                TokenKind::End => return,
                TokenKind::Sign(b';') if open == 0 => {
                    self.take();
                    return;
                }
                TokenKind::Sign(b'{') => open += 1,
                TokenKind::Sign(b'}') => {
                    if open == 0 {
                        return;
                    }
                    open -= 1;
                    if open == 0 {
                        self.take();
                        return;
                    }
                }
                // A keyword or command at the beginning of a line is a new statement.
                TokenKind::Word
                    if open == 0 && self.at_line_start() && super::Word::find(self.word()).is_some() =>
                {
                    return;
                }
                _ => {}
            }
            self.take();
        }
    }

    fn at_line_start(&self) -> bool {
        let before = &self.text.as_bytes()[self.last_end as usize..self.token.start as usize];
        before.contains(&b'\n')
    }

    // --- building ---

    /// A node from `start` to the last token taken.
    pub fn node(&self, tag: Tag, small: u8, start: u32, data: u32) -> Node {
        let length = self.last().saturating_sub(start).min(u32::from(u16::MAX)) as u16;
        Node { tag, small, length, start, data }
    }

    /// An absent part: an error node without a span.
    pub fn absent(&self) -> Node {
        Node { tag: Tag::Error, small: 0, length: 0, start: self.last(), data: 0 }
    }

    pub fn push_nodes(&mut self, nodes: &[Node]) -> u32 {
        let first = self.tree.nodes.len() as u32;
        self.tree.nodes.extend_from_slice(nodes);
        first
    }

    /// Puts the nodes that were collected since `base` into the tree.
    pub fn push_scratch(&mut self, base: usize) -> (u32, u32) {
        let first = self.tree.nodes.len() as u32;
        self.tree.nodes.extend_from_slice(&self.scratch[base..]);
        let count = (self.scratch.len() - base) as u32;
        self.scratch.truncate(base);
        (first, count)
    }

    pub fn push_row(&mut self, row: Row) -> u32 {
        let at = self.tree.rows.len() as u32;
        self.tree.rows.push(row);
        at
    }

    /// Puts the statements that were collected since `base` into the tree.
    pub fn push_pending(&mut self, base: usize) -> Statements {
        let first = self.tree.rows.len() as u32;
        self.tree.rows.extend_from_slice(&self.pending[base..]);
        let count = (self.pending.len() - base) as u32;
        self.pending.truncate(base);
        Statements { first, count }
    }

    pub fn row(&self, form: Form, start: u32, a: u32, b: u32) -> Row {
        Row { form, flag: 0, count: 0, start, end: self.last(), a, b }
    }

    pub fn intern(&mut self, name: &str) -> Symbol {
        self.tree.names.intern(name)
    }

    pub fn include(&mut self, path: String, span: Span, statement: u32) {
        self.includes.push(Include { path, span, statement });
    }
}

impl Tree {
    fn push_rows(&mut self, rows: &[Row]) -> Statements {
        let first = self.rows.len() as u32;
        self.rows.extend_from_slice(rows);
        Statements { first, count: rows.len() as u32 }
    }
}

impl Parser<'_, '_> {
    /// Text between two offsets of the source.
    pub fn slice(&self, start: u32, end: u32) -> &str {
        self.text.get((start - self.base) as usize..(end - self.base) as usize).unwrap_or("")
    }
}
