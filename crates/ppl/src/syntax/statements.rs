//! Parses statements: simple ones here, those with a body in `compound`, definitions in `defines`.

use crate::diagnostic::{Diagnostic, DiagnosticCode, nearest};

use super::ast::{ExprKind, ExprNode, Statement, StatementId, StatementKind};
use super::habits::of_statement;
use super::lexer::TokenKind;
use super::parser::Parser;
use super::words::{Keyword, Word, statement_words};

impl Parser<'_, '_> {
    /// Parses a statement; `top`: at the top level, where definitions are permitted.
    pub fn statement(&mut self, top: bool) -> Statement {
        let start = self.offset();
        if !self.deeper() {
            if self.token.kind != TokenKind::End && !self.is_sign(b'}') {
                self.take();
            }
            return self.done(start, StatementKind::Error);
        }
        let before = self.token;
        let statement = match self.token.kind {
            TokenKind::Sign(b';') => {
                self.take();
                self.done(start, StatementKind::Empty)
            }
            TokenKind::Sign(b'{') => self.block(),
            TokenKind::Variable => self.assignment(start),
            TokenKind::Word => self.worded(top),
            _ => {
                self.expected("a statement", None);
                self.failed(start)
            }
        };
        if self.token == before && self.token.kind != TokenKind::End && !self.is_sign(b'}') {
            // Nothing was taken: skip a token, to avoid an endless loop.
            self.take();
        }
        self.shallower();
        statement
    }

    /// Skips to the next statement, after an error was reported.
    pub fn failed(&mut self, start: u32) -> Statement {
        self.recover();
        self.done(start, StatementKind::Error)
    }

    /// `{ … }`
    pub fn block(&mut self) -> Statement {
        let start = self.offset();
        let open = self.here();
        self.take();
        let base = self.pending.len();
        while !self.is_sign(b'}') {
            if self.token.kind == TokenKind::End {
                self.error(
                    open,
                    DiagnosticCode::ExpectedToken,
                    "this `{` is never closed".into(),
                    Some("end the block with `}`".into()),
                );
                break;
            }
            let statement = self.statement(false);
            self.pending.push(statement);
        }
        self.accept(b'}');
        let list = self.push_pending(base);
        self.done(start, StatementKind::Block(list))
    }

    /// Parses the body of another statement and adds it to the tree.
    pub fn body(&mut self) -> StatementId {
        let statement = if self.ends_here() {
            self.expected("a statement or a block", None);
            self.done(self.offset(), StatementKind::Error)
        } else {
            self.inner()
        };
        self.push_statement(statement)
    }

    /// Whether the block or the text ends here.
    pub fn ends_here(&self) -> bool {
        matches!(self.token.kind, TokenKind::End | TokenKind::Sign(b'}'))
    }

    /// Parses a statement inside another one; its braces are not a separate nesting level.
    pub fn inner(&mut self) -> Statement {
        if !self.begins_statement() && self.has_block_ahead() {
            self.expected("a statement or a block", None);
            self.skip_to_block();
        }
        if self.is_sign(b'{') { self.block() } else { self.statement(false) }
    }

    /// Expects the semicolon at the end of a simple statement.
    pub fn end(&mut self, what: &str) {
        if self.expect(b';', what) {
            return;
        }
        // Where the next line begins another statement, nothing but the sign is missing.
        let begins = matches!(self.token.kind, TokenKind::Word | TokenKind::Variable);
        if !(begins && self.at_line_start()) {
            self.recover();
        }
    }

    /// `$v = e;` `$l[i] = e;`
    fn assignment(&mut self, start: u32) -> Statement {
        let target = self.variable();
        let index = self.is_sign(b'[').then(|| {
            self.take();
            let index = self.expression();
            self.expect(b']', "the index");
            index
        });
        let Some(value) = self.assigned_value() else { return self.failed(start) };
        let kind = match (index, target.kind) {
            (Some(index), _) => {
                let [list, index, value] = [target, index, value].map(|part| self.push_expr(part));
                StatementKind::AssignItem { list, index, value }
            }
            (None, ExprKind::Variable(variable)) => {
                StatementKind::Assign { variable, value: self.push_expr(value) }
            }
            (None, _) => StatementKind::Error,
        };
        self.end("the value");
        self.done(start, kind)
    }

    /// `let $v = e;`, whose first word is already consumed.
    fn declaration(&mut self, start: u32) -> Statement {
        if self.token.kind != TokenKind::Variable {
            self.expected("a variable", None);
            return self.failed(start);
        }
        let variable = self.variable();
        let Some(value) = self.assigned_value() else { return self.failed(start) };
        let [variable, value] = [variable, value].map(|part| self.push_expr(part));
        self.end("the value");
        self.done(start, StatementKind::Let { variable, value })
    }

    /// Parses `= e`; reports a missing `=`.
    fn assigned_value(&mut self) -> Option<ExprNode> {
        if self.accept(b'=') {
            return Some(self.expression());
        }
        self.expected("`=` after the variable", None);
        let (sign, next) = (self.token, self.peek());
        let is_compound = next.kind == TokenKind::Sign(b'=') && next.start == sign.end;
        if sign.kind != TokenKind::Equal && !is_compound {
            return None;
        }
        // What follows `==` and `+=` is read, so that its mistakes are found too.
        self.take();
        self.accept(b'=');
        Some(self.expression())
    }

    /// Parses a statement that begins with a word.
    fn worded(&mut self, top: bool) -> Statement {
        let start = self.offset();
        let word = self.word();
        match Word::find(word) {
            Some(Word::Keyword(keyword)) => self.keyword(keyword, top),
            Some(Word::Command(command)) => {
                self.take();
                let base = self.scratch.len();
                let parentheses = self.arguments();
                let arguments = self.push_scratch(base);
                // Build the message only if it is needed.
                if !self.accept(b';') {
                    self.end(&format!("`{}`", command.name()));
                }
                self.done(start, StatementKind::Command { command, arguments, parentheses })
            }
            None if top && self.function_of_others() => {
                let kind = self.function();
                self.done(start, kind)
            }
            Some(Word::Function(_)) | None if self.peek().kind == TokenKind::Sign(b'(') => {
                let call = self.expression_pushed();
                self.end("the call");
                self.done(start, StatementKind::Call(call))
            }
            Some(Word::Function(_)) | None => self.unknown_word(top),
        }
    }

    fn unknown_word(&mut self, top: bool) -> Statement {
        let (start, word) = (self.offset(), self.word());
        if self.classic {
            let message = format!("`{word}` is ignored");
            self.push(Diagnostic::warning(DiagnosticCode::ClassicIgnored, self.here(), message));
            self.take();
            return if self.ends_here() {
                self.done(start, StatementKind::Empty)
            } else {
                self.statement(top)
            };
        }
        let span = self.here();
        let mut error =
            Diagnostic::error(DiagnosticCode::UnknownWord, span, format!("unknown word `{word}`"));
        // `i = 1;`: who assigns means a variable, however near a keyword is.
        let assigns = self.peek().kind == TokenKind::Sign(b'=');
        match (of_statement(word), nearest(word, statement_words())) {
            (Some(help), _) => error = error.help(help),
            (None, _) if assigns => error = error.did_you_mean(&format!("${word}"), Some(span)),
            (None, Some(near)) => error = error.did_you_mean(near, Some(span)),
            (None, None) => {}
        }
        self.error_here(error);
        self.take();
        // `foo print(1);` resumes at `print`, `foo 10 { … }` in its block; any other unknown word is skipped with its arguments.
        if self.token.kind == TokenKind::Word && Word::find(self.word()).is_some() {
            return self.done(start, StatementKind::Error);
        }
        if self.has_block_ahead() {
            self.skip_to_block();
            return self.block();
        }
        self.recover();
        self.done(start, StatementKind::Error)
    }

    fn keyword(&mut self, keyword: Keyword, top: bool) -> Statement {
        let start = self.offset();
        if matches!(keyword, Keyword::Define | Keyword::Def | Keyword::Include) && !top {
            let message = format!("`{}` is permitted at the top level only", self.word());
            self.error(
                self.here(),
                DiagnosticCode::Misplaced,
                message,
                Some("move it out of the block".into()),
            );
        }
        if matches!(keyword, Keyword::Else | Keyword::Stonewall) {
            let message = format!("`{}` has no statement to belong to", self.word());
            self.error(self.here(), DiagnosticCode::ExpectedToken, message, None);
        }
        self.take();
        let kind = match keyword {
            Keyword::Define => return self.define(start),
            Keyword::Let => return self.declaration(start),
            Keyword::Def => self.function(),
            Keyword::Include => self.included(start),
            Keyword::Repeat => self.repeat(),
            Keyword::Time => self.time(false),
            Keyword::Ctime => self.time(true),
            Keyword::Group => self.group(),
            Keyword::Master => StatementKind::Master(self.body()),
            Keyword::Verify => StatementKind::Verify(self.body()),
            Keyword::Barrier => self.barrier(),
            Keyword::If => self.condition(start),
            Keyword::While => {
                let condition = self.expression_pushed();
                StatementKind::While { condition, body: self.body() }
            }
            Keyword::For => self.for_loop(),
            Keyword::Break => self.ended("the statement", StatementKind::Break),
            Keyword::Continue => self.ended("the statement", StatementKind::Continue),
            Keyword::Return => {
                let value = (!self.is_sign(b';')).then(|| self.expression_pushed());
                self.ended("`return`", StatementKind::Return(value))
            }
            Keyword::Rate => self.rate(),
            Keyword::At => {
                let time = self.expression_pushed();
                StatementKind::At { time, body: self.body() }
            }
            Keyword::Parallel => {
                let count = self.expression_pushed();
                StatementKind::Parallel { count, body: self.body() }
            }
            Keyword::Async => self.asynchronous(),
            Keyword::Phase => self.phase(),
            Keyword::Think => {
                let time = self.expression_pushed();
                self.ended("the value", StatementKind::Think(time))
            }
            Keyword::Assert => {
                let each = self.accept_word("each");
                self.in_condition = !self.classic;
                let condition = self.expression_pushed();
                self.in_condition = false;
                self.ended("the condition", StatementKind::Assert { condition, each })
            }
            Keyword::Choose => self.choose(),
            Keyword::Expect => self.expect_errno(),
            Keyword::OnError => self.on_error(),
            Keyword::Else | Keyword::Stonewall => StatementKind::Error,
        };
        self.done(start, kind)
    }

    /// Ends a simple statement with its semicolon.
    fn ended(&mut self, what: &str, kind: StatementKind) -> StatementKind {
        self.end(what);
        kind
    }

    /// `barrier;` `barrier("name");`
    fn barrier(&mut self) -> StatementKind {
        let base = self.scratch.len();
        self.arguments();
        let arguments = self.push_scratch(base);
        self.ended("`barrier`", StatementKind::Barrier(arguments.get(0)))
    }

    /// `on_error stop;` `on_error continue;`
    fn on_error(&mut self) -> StatementKind {
        let stop = self.is_word("stop");
        if stop || self.is_word("continue") {
            self.take();
        } else {
            self.expected("`stop` or `continue`", None);
        }
        self.ended("`on_error`", StatementKind::OnError { stop })
    }
}
