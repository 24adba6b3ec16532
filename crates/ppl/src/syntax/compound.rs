//! Parses statements with bodies. The first word of each is taken already.

use crate::diagnostic::DiagnosticCode;

use super::ast::{ExprNode, StatementKind, Stonewall};
use super::lexer::{Token, TokenKind};
use super::parser::Parser;
use super::words::Word;

impl Parser<'_, '_> {
    /// `time ["label"] S`, `ctime ["label"] S`
    pub fn time(&mut self, inside_calls: bool) -> StatementKind {
        let brackets = self.accept(b'[');
        let label = match self.label_in_parentheses() {
            Some(label) => Some(self.push_expr(label)),
            None => (brackets || self.token.kind == TokenKind::Text).then(|| self.expression_pushed()),
        };
        if brackets {
            self.expect(b']', "the label");
        }
        StatementKind::Time { inside_calls, label, body: self.body() }
    }

    /// `group "name" S`
    pub fn group(&mut self) -> StatementKind {
        let parentheses = self.accept(b'(');
        let name = self.expression_pushed();
        if parentheses {
            self.expect(b')', "the name of the group");
        }
        StatementKind::Group { name, body: self.body() }
    }

    /// Parses `if c S else S`; the first S may be missing at the end of a block.
    pub fn condition(&mut self, start: u32) -> StatementKind {
        let condition = self.expression_pushed();
        let then = if self.ends_here() { self.done(start, StatementKind::Empty) } else { self.inner() };
        let otherwise = self.accept_word("else").then(|| self.inner());
        let then = self.push_statement(then);
        let otherwise = otherwise.map(|otherwise| self.push_statement(otherwise));
        StatementKind::If { condition, then, otherwise }
    }

    /// `repeat n S`, `repeat $v n S`, `repeat ($v, n) S`
    pub fn repeat(&mut self) -> StatementKind {
        let (next, after) = self.peek_two();
        let parentheses =
            self.is_sign(b'(') && next.kind == TokenKind::Variable && after.kind == TokenKind::Sign(b',');
        if self.token.kind == TokenKind::Variable && self.is_in(next) {
            let variable = self.variable();
            self.expected("a number after `repeat`", None);
            return self.through(variable);
        }
        if self.is_sign(b'{') {
            self.expected("a number", Some("say how often: `repeat 10 { … }`".into()));
        }
        let follows = |parser: &Self, next: Token| match next.kind {
            TokenKind::Word => parser.is_in(next),
            kind => matches!(kind, TokenKind::Number | TokenKind::Variable),
        };
        let mut variable = self.loop_variable_without_dollar(follows);
        if let Some(variable) = variable.filter(|_| self.is_word("in")) {
            return self.through(variable);
        }
        if parentheses {
            self.take();
            variable = Some(self.variable());
            self.take();
        } else if self.token.kind == TokenKind::Variable && self.counts(next.kind, after.kind) {
            variable = Some(self.variable());
        }
        let count = self.expression_pushed();
        if parentheses {
            self.expect(b')', "the number of repetitions");
        }
        let variable = variable.map(|variable| self.push_expr(variable));
        StatementKind::Repeat { variable, count, body: self.body(), parentheses }
    }

    /// Whether the variable after `repeat` is a counter: it is if another value follows.
    fn counts(&self, next: TokenKind, after: TokenKind) -> bool {
        match next {
            TokenKind::Number | TokenKind::Text | TokenKind::Builtin | TokenKind::Sign(b'(') => true,
            // `repeat $n $x = 1;` has no counter; its body is an assignment.
            TokenKind::Variable => after != TokenKind::Sign(b'='),
            TokenKind::Word => {
                let (word, _) = self.peek_two();
                matches!(Word::find(self.text_of(word)), Some(Word::Function(_)))
            }
            _ => false,
        }
    }

    /// `for $i in a..b step c S`, `for $x in list S`, `for 60s S`
    pub fn for_loop(&mut self) -> StatementKind {
        if let Some(found) = self.for_of_c() {
            return found;
        }
        let named = self.loop_variable_without_dollar(|parser, next| parser.is_in(next));
        if named.is_none() && (self.token.kind != TokenKind::Variable || !self.is_in(self.peek())) {
            let duration = self.expression_pushed();
            return StatementKind::ForTime { duration, body: self.body() };
        }
        let variable = named.unwrap_or_else(|| self.variable());
        self.through(variable)
    }

    /// Whether a token is the `in` of a loop.
    fn is_in(&self, token: Token) -> bool {
        token.kind == TokenKind::Word && self.text_of(token).eq_ignore_ascii_case("in")
    }

    /// The loop over a range or a list behind its variable: `in a..b step c S`, `in list S`.
    fn through(&mut self, variable: ExprNode) -> StatementKind {
        let variable = self.push_expr(variable);
        self.take();
        let from = self.expression_pushed();
        if self.token.kind != TokenKind::Range {
            return StatementKind::ForEach { variable, list: from, body: self.body() };
        }
        self.take();
        let to = self.expression_pushed();
        let step = self.accept_word("step").then(|| self.expression_pushed());
        StatementKind::ForRange { variable, from, to, step, body: self.body() }
    }

    /// `rate 1000/s [poisson] S`
    pub fn rate(&mut self) -> StatementKind {
        let rate = self.tight_expression();
        let rate = self.push_expr(rate);
        if self.accept(b'/') && !self.accept_word("s") {
            self.expected("`s` after `/`", Some("a rate is per second: `rate 1000/s`".into()));
        }
        let poisson = self.accept_word("poisson");
        StatementKind::Rate { rate, poisson, body: self.body() }
    }

    /// `async depth=32 S`
    pub fn asynchronous(&mut self) -> StatementKind {
        if self.accept_word("depth") {
            self.expect(b'=', "`depth`");
        }
        if self.is_sign(b'{') {
            self.expected("the depth", Some("say how many are in flight: `async depth=8 { … }`".into()));
            let depth = self.absent();
            return StatementKind::Async { depth: self.push_expr(depth), body: self.body() };
        }
        let depth = self.expression_pushed();
        StatementKind::Async { depth, body: self.body() }
    }

    /// `phase "name" [stonewall [time]] S`
    pub fn phase(&mut self) -> StatementKind {
        let name = self.expression_pushed();
        let mut stonewall = Stonewall::None;
        if self.accept_word("stonewall") {
            // If the next token begins no statement, it is the time.
            let limited = match self.token.kind {
                TokenKind::Number | TokenKind::Sign(b'(') => true,
                TokenKind::Variable => self.peek().kind != TokenKind::Sign(b'='),
                _ => false,
            };
            stonewall = if limited { Stonewall::Time(self.expression_pushed()) } else { Stonewall::First };
        }
        StatementKind::Phase { name, stonewall, body: self.body() }
    }

    /// `expect errno == ENOENT S`
    pub fn expect_errno(&mut self) -> StatementKind {
        if !self.accept_word("errno") {
            self.expected(
                "`errno == …` after `expect`",
                Some("the form is `expect errno == ENOENT { … }`".into()),
            );
        } else if self.token.kind == TokenKind::Equal {
            self.take();
        } else {
            self.expect(b'=', "`errno`");
        }
        let errno = self.expression_pushed();
        StatementKind::Expect { errno, body: self.body() }
    }

    /// `choose { 70: S 30: S }`
    pub fn choose(&mut self) -> StatementKind {
        let weights = self.scratch.len();
        let bodies = self.pending.len();
        let open = self.here();
        if self.expect(b'{', "`choose`") {
            while !self.is_sign(b'}') {
                if self.token.kind == TokenKind::End {
                    self.error(open, DiagnosticCode::ExpectedToken, "this `{` is never closed".into(), None);
                    break;
                }
                let before = self.token;
                let weight = self.expression();
                if !self.expect(b':', "the weight") {
                    self.recover();
                    if self.token == before {
                        self.take();
                    }
                    continue;
                }
                let body = self.statement(false);
                self.scratch.push(weight);
                self.pending.push(body);
            }
            self.accept(b'}');
        }
        let weights = self.push_scratch(weights);
        StatementKind::Choose { weights, bodies: self.push_pending(bodies) }
    }
}
