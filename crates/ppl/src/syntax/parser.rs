//! Holds the parser's state: advances over tokens, reports errors and recovers, adds nodes to the tree.

use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};

use super::ast::{ExprId, ExprKind, ExprNode, Exprs, Statement, StatementId, StatementKind, Statements};
use super::lexer::{self, Lexer, Token, TokenKind};
use super::names::Symbol;
use super::tree::Tree;
use super::words::{Word, constant, is_part_of_a_form};

/// The largest nesting depth of blocks and brackets.
pub const MAX_NESTING: u32 = 200;
/// The largest operator depth of an expression.
pub const MAX_OPERATORS: u32 = 1000;
/// The largest number of diagnostics kept; the first ones are the most useful.
pub(super) const MAX_DIAGNOSTICS: usize = 200;

/// An expression that is not in the tree yet, with its operator depth.
#[derive(Clone, Copy)]
pub(super) struct Parsed {
    pub node: ExprNode,
    pub depth: u32,
}

/// The text of one file, and how to parse it.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub text: &'a str,
    /// Its offset in the source.
    pub base: u32,
    /// Whether to use the rules of the original.
    pub classic: bool,
    /// Whether included files are read.
    pub loads: bool,
}

/// A file to include.
pub(super) struct Include {
    pub path: String,
    /// The span of the path.
    pub span: Span,
    /// The offset of the statement.
    pub statement: u32,
}

/// A saved state of the parser, for backtracking.
pub(super) struct Mark<'a> {
    lexer: Lexer<'a>,
    token: Token,
    last_token: Token,
    exprs: usize,
    diagnostics: usize,
    scratch: usize,
    quiet_until: u32,
}

pub(super) struct Parser<'a, 't> {
    text: &'a str,
    /// The offset of `text` in the source.
    base: u32,
    lexer: Lexer<'a>,
    pub token: Token,
    /// The last token taken.
    pub last_token: Token,
    pub classic: bool,
    pub loads: bool,
    pub tree: &'t mut Tree,
    diagnostics: &'t mut Vec<Diagnostic>,
    /// Statements of blocks that are still open.
    pub pending: Vec<Statement>,
    /// Expressions of lists that are still open.
    pub scratch: Vec<ExprNode>,
    pub includes: Vec<Include>,
    /// Whether unknown words are names here, as in `$$env(NAME)`, so that `classic` must not skip them.
    pub keeps_words: bool,
    /// Whether this is the condition of an `assert`, in which quantities are words.
    pub in_condition: bool,
    nesting: u32,
    /// Errors before this offset are suppressed.
    quiet_until: u32,
}

impl<'a, 't> Parser<'a, 't> {
    pub fn new(input: Input<'a>, tree: &'t mut Tree, diagnostics: &'t mut Vec<Diagnostic>) -> Self {
        let Input { text, base, classic, loads } = input;
        let mut lexer = Lexer::new(text).classic(classic);
        if let Some(mut open) = lexer::unclosed_comment(text, classic) {
            open.span = Span::new(open.span.start + base, open.span.end + base);
            diagnostics.push(open);
        }
        let token = lexer.token();
        let mut parser = Self {
            text,
            base,
            lexer,
            token,
            last_token: Token { kind: TokenKind::End, start: 0, end: 0 },
            classic,
            loads,
            tree,
            diagnostics,
            pending: Vec::new(),
            scratch: Vec::new(),
            includes: Vec::new(),
            keeps_words: false,
            in_condition: false,
            nesting: 0,
            quiet_until: 0,
        };
        parser.skip_unknown();
        parser
    }

    /// Parses all statements of the text; returns them and the includes.
    pub fn file(mut self) -> (Vec<Statement>, Vec<Include>) {
        while self.token.kind != TokenKind::End {
            if self.is_sign(b'}') {
                self.error(
                    self.here(),
                    DiagnosticCode::ExpectedToken,
                    "this `}` closes nothing".into(),
                    Some("remove it, or begin its block with `{`".into()),
                );
                self.take();
                continue;
            }
            let statement = self.statement(true);
            self.pending.push(statement);
        }
        (self.pending, self.includes)
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

    /// The span of the current token.
    pub fn here(&self) -> Span {
        self.place(self.token)
    }

    /// The span of a token in the source.
    pub fn place(&self, token: Token) -> Span {
        Span::new(token.start + self.base, token.end + self.base)
    }

    pub fn offset(&self) -> u32 {
        self.token.start + self.base
    }

    pub fn last(&self) -> u32 {
        self.last_token.end + self.base
    }

    /// Takes the current token.
    pub fn take(&mut self) -> Token {
        let token = self.token;
        self.last_token = token;
        self.token = self.lexer.token();
        if self.classic || self.token.kind == TokenKind::Unknown {
            self.skip_unknown();
        }
        token
    }

    /// Skips characters that are not part of the language, and reports each once.
    fn skip_unknown(&mut self) {
        while self.means_nothing(self.token, &self.lexer) {
            let text = self.word();
            let span = self.here();
            if self.classic {
                let message = format!("`{text}` is ignored");
                self.push(Diagnostic::warning(DiagnosticCode::ClassicIgnored, span, message));
            } else {
                let help = match text {
                    "&" => Some("`&&` means and"),
                    "|" => Some("`||` means or"),
                    "'" | "`" | "“" | "”" => Some("strings are in double quotes: \"…\""),
                    "." => Some("strings are joined by `+`; a fraction needs a digit before its point"),
                    "\\" => Some("a backslash has a meaning only inside a string"),
                    _ => None,
                };
                let message = format!("`{text}` has no meaning here");
                self.error(span, DiagnosticCode::UnknownCharacter, message, help.map(str::to_owned));
            }
            self.token = self.lexer.token();
        }
    }

    /// Whether the token is to be skipped: an unknown character, or in `classic` a word that the original
    /// ignored.
    fn means_nothing(&self, token: Token, after: &Lexer<'_>) -> bool {
        match token.kind {
            TokenKind::Unknown => true,
            TokenKind::Word if self.classic && !self.keeps_words => match Word::find(self.text_of(token)) {
                Some(Word::Keyword(_) | Word::Command(_)) => false,
                Some(Word::Function(_)) => after.clone().token().kind != TokenKind::Sign(b'('),
                None => !is_part_of_a_form(self.text_of(token)) && constant(self.text_of(token)).is_none(),
            },
            _ => false,
        }
    }

    /// The next token that is not skipped.
    fn next_of(&self, lexer: &mut Lexer<'_>) -> Token {
        loop {
            let token = lexer.token();
            if !self.means_nothing(token, lexer) {
                return token;
            }
        }
    }

    /// The token after the current one.
    pub fn peek(&self) -> Token {
        self.next_of(&mut self.lexer.clone())
    }

    /// The two tokens after the current one.
    pub fn peek_two(&self) -> (Token, Token) {
        let mut lexer = self.lexer.clone();
        (self.next_of(&mut lexer), self.next_of(&mut lexer))
    }

    /// A lexer that gives the tokens after the current one.
    pub fn lexer_at_next(&self) -> Lexer<'a> {
        self.lexer.clone()
    }

    /// Saves the state for [`Self::rewind`].
    pub fn mark(&self) -> Mark<'a> {
        Mark {
            lexer: self.lexer.clone(),
            token: self.token,
            last_token: self.last_token,
            exprs: self.tree.exprs.len(),
            diagnostics: self.diagnostics.len(),
            scratch: self.scratch.len(),
            quiet_until: self.quiet_until,
        }
    }

    /// Restores a saved state.
    pub fn rewind(&mut self, mark: Mark<'a>) {
        self.lexer = mark.lexer;
        self.token = mark.token;
        self.last_token = mark.last_token;
        self.tree.exprs.truncate(mark.exprs);
        self.diagnostics.truncate(mark.diagnostics);
        self.scratch.truncate(mark.scratch);
        self.quiet_until = mark.quiet_until;
    }

    pub fn is_sign(&self, sign: u8) -> bool {
        self.token.kind == TokenKind::Sign(sign)
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.token.kind == TokenKind::Word && self.word().eq_ignore_ascii_case(word)
    }

    /// Takes the sign if it is the current token.
    pub fn accept(&mut self, sign: u8) -> bool {
        let there = self.is_sign(sign);
        if there {
            self.take();
        }
        there
    }

    /// Takes the word if it is the current token.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let there = self.is_word(word);
        if there {
            self.take();
        }
        there
    }

    /// Takes the sign, or reports that it is missing `after` something.
    pub fn expect(&mut self, sign: u8, after: &str) -> bool {
        if self.accept(sign) {
            return true;
        }
        let found = self.found();
        // A missing sign is reported just after the last token.
        let at = Span::new(self.last(), self.last());
        let message = format!("expected `{}` after {after}, found {found}", sign as char);
        let missing = (sign == b';').then(|| "end the statement with `;`".to_owned());
        let error = Diagnostic::error(DiagnosticCode::ExpectedToken, at, message);
        self.error_at(self.offset(), error.help_maybe(self.habit().or(missing)));
        false
    }

    /// The current token, for messages.
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

    // --- errors ---

    /// Reports a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS
            || diagnostic.is_error() && self.diagnostics.len() < 2 * MAX_DIAGNOSTICS
        {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports an error, unless one was already reported here.
    pub fn error(&mut self, span: Span, code: DiagnosticCode, message: String, help: Option<String>) {
        self.error_at(span.start, Diagnostic::error(code, span, message).help_maybe(help));
    }

    /// Reports an error about the token at the offset `at`.
    fn error_at(&mut self, at: u32, error: Diagnostic) {
        if at >= self.quiet_until {
            self.quiet_until = at + 1;
            self.push(error);
        }
    }

    /// Reports that `what` was expected instead of the current token.
    pub fn expected(&mut self, what: &str, help: Option<String>) {
        let error = self.expectation(what).help_maybe(help.or_else(|| self.habit()));
        self.error_here(error);
    }

    /// The error that `what` was expected instead of the current token.
    pub fn expectation(&self, what: &str) -> Diagnostic {
        let message = format!("expected {what}, found {}", self.found());
        Diagnostic::error(DiagnosticCode::ExpectedToken, self.here(), message)
    }

    /// Reports an error about the current token.
    pub fn error_here(&mut self, error: Diagnostic) {
        self.error_at(self.here().start, error);
    }

    /// Drops further errors about the current token.
    pub fn silence_errors_here(&mut self) {
        self.quiet_until = self.offset() + 1;
    }

    // --- nesting ---

    /// Enters a nesting level. If it is too deep, reports that, skips the inside and returns `false`.
    pub fn deeper(&mut self) -> bool {
        if self.nesting >= MAX_NESTING {
            self.error(
                self.here(),
                DiagnosticCode::TooDeep,
                format!("nested more than {MAX_NESTING} deep"),
                Some("a loop or a list does the same with less nesting".into()),
            );
            self.skip_nested();
            return false;
        }
        self.nesting += 1;
        true
    }

    /// Leaves a nesting level.
    pub fn shallower(&mut self) {
        self.nesting -= 1;
    }

    /// Skips to the end of the enclosing bracket, without recursion.
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

    /// Skips to the next place where a statement can begin, after an error.
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
                // A keyword, a command or an assignment at the beginning of a line is a new statement.
                TokenKind::Word
                    if open == 0 && self.at_line_start() && super::Word::find(self.word()).is_some() =>
                {
                    return;
                }
                TokenKind::Variable
                    if open == 0 && self.at_line_start() && self.peek().kind == TokenKind::Sign(b'=') =>
                {
                    return;
                }
                _ => {}
            }
            self.take();
        }
    }

    pub fn at_line_start(&self) -> bool {
        let before = &self.text.as_bytes()[self.last_token.end as usize..self.token.start as usize];
        before.contains(&b'\n')
    }

    // --- building ---

    /// An expression from `start` to the last token taken.
    pub fn node(&self, start: u32, kind: ExprKind) -> ExprNode {
        ExprNode { kind, span: Span::new(start, self.last()) }
    }

    /// An absent part: an error without a span.
    pub fn absent(&self) -> ExprNode {
        self.node(self.last(), ExprKind::Error)
    }

    /// A statement from `start` to the last token taken.
    pub fn done(&self, start: u32, kind: StatementKind) -> Statement {
        Statement { kind, span: Span::new(start, self.last()) }
    }

    /// Adds an expression to the tree.
    pub fn push_expr(&mut self, expr: ExprNode) -> ExprId {
        self.tree.push_expr(expr)
    }

    /// Moves the expressions collected since `base` into the tree.
    pub fn push_scratch(&mut self, base: usize) -> Exprs {
        let exprs = self.tree.push_exprs(&self.scratch[base..]);
        self.scratch.truncate(base);
        exprs
    }

    /// Adds a statement to the tree.
    pub fn push_statement(&mut self, statement: Statement) -> StatementId {
        self.tree.push_statement(statement)
    }

    /// Moves the statements collected since `base` into the tree.
    pub fn push_pending(&mut self, base: usize) -> Statements {
        let statements = self.tree.push_statements(&self.pending[base..]);
        self.pending.truncate(base);
        statements
    }

    pub fn intern(&mut self, name: &str) -> Symbol {
        self.tree.names.intern(name)
    }

    /// The text of a span of the source.
    pub fn slice(&self, span: Span) -> &'a str {
        self.text.get((span.start - self.base) as usize..(span.end - self.base) as usize).unwrap_or("")
    }
}
