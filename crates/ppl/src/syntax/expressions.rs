//! Parses expressions by precedence climbing over [`BinaryOp::binding`].

use crate::condition;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::literal::{self, BadLiteral};
use crate::number::Number;

use super::ast::{BinaryOp, Callee, ExprId, ExprKind, ExprNode, UnaryOp};
use super::lexer::{TokenKind, is_closed};
use super::parser::{MAX_OPERATORS, Parsed, Parser};
use super::words::{Word, constant};

/// The largest number of arguments.
const MAX_ARGUMENTS: usize = 200;

impl Parser<'_, '_> {
    /// Parses an expression and adds it to the tree.
    pub fn expression_pushed(&mut self) -> ExprId {
        let node = self.expression();
        self.push_expr(node)
    }

    /// Parses an expression.
    pub fn expression(&mut self) -> ExprNode {
        self.ternary().node
    }

    /// Parses an expression in which `/` and `*` are not operators: the rate of `rate 100/s`.
    pub fn tight_expression(&mut self) -> ExprNode {
        self.binary(7).node
    }

    fn ternary(&mut self) -> Parsed {
        let start = self.offset();
        let condition = self.binary(1);
        if !self.is_sign(b'?') || !self.deeper() {
            return condition;
        }
        self.take();
        let yes = self.ternary();
        self.expect(b':', "the first choice of `? :`");
        let no = self.ternary();
        self.shallower();
        let depth = condition.depth.max(yes.depth).max(no.depth) + 1;
        let [a, b, c] = [condition, yes, no].map(|part| self.push_expr(part.node));
        Parsed { node: self.node(start, ExprKind::Choice(a, b, c)), depth }
    }

    fn operator(&self) -> Option<BinaryOp> {
        Some(match self.token.kind {
            TokenKind::Or => BinaryOp::Or,
            TokenKind::And => BinaryOp::And,
            TokenKind::Equal => BinaryOp::Equal,
            TokenKind::NotEqual => BinaryOp::NotEqual,
            TokenKind::AtMost => BinaryOp::AtMost,
            TokenKind::AtLeast => BinaryOp::AtLeast,
            TokenKind::Sign(sign) => match sign {
                b'<' => BinaryOp::Less,
                b'>' => BinaryOp::Greater,
                b'+' => BinaryOp::Add,
                b'-' => BinaryOp::Subtract,
                b'%' => BinaryOp::Modulo,
                b'*' => BinaryOp::Multiply,
                b'/' => BinaryOp::Divide,
                b'^' => BinaryOp::Power,
                _ => return None,
            },
            _ => return None,
        })
    }

    fn binary(&mut self, least: u8) -> Parsed {
        let start = self.offset();
        let mut left = self.unary();
        let mut told = false;
        while let Some(op) = self.operator().filter(|op| op.binding() >= least) {
            let at = self.here();
            self.take();
            let right = if op == BinaryOp::Power {
                if !self.deeper() {
                    return left;
                }
                let right = self.binary(op.binding());
                self.shallower();
                right
            } else {
                self.binary(op.binding() + 1)
            };
            let depth = left.depth.max(right.depth) + 1;
            let (a, b) = (self.push_expr(left.node), self.push_expr(right.node));
            left = Parsed { node: self.node(start, ExprKind::Binary(op, a, b)), depth };
            if depth > MAX_OPERATORS {
                // Once: each finding shows its line, which is long.
                if !std::mem::replace(&mut told, true) {
                    self.error(
                        at,
                        DiagnosticCode::TooDeep,
                        format!("more than {MAX_OPERATORS} operators in one expression"),
                        Some("a loop or a list does the same".into()),
                    );
                }
                // Drop the expression so far, since walks must not recurse that deep.
                left = Parsed { node: self.node(start, ExprKind::Error), depth: 0 };
            }
        }
        left
    }

    fn unary(&mut self) -> Parsed {
        let start = self.offset();
        let op = match self.token.kind {
            TokenKind::Sign(b'-') => UnaryOp::Negate,
            TokenKind::Sign(b'!') => UnaryOp::Not,
            _ => return self.postfix(),
        };
        if !self.deeper() {
            return Parsed { node: self.absent(), depth: 0 };
        }
        self.take();
        // `-2^2` is `-(2^2)`.
        let inner = match op {
            UnaryOp::Negate => self.binary(BinaryOp::Power.binding()),
            UnaryOp::Not => self.unary(),
        };
        self.shallower();
        let operand = self.push_expr(inner.node);
        Parsed { node: self.node(start, ExprKind::Unary(op, operand)), depth: inner.depth + 1 }
    }

    fn postfix(&mut self) -> Parsed {
        let start = self.offset();
        let mut value = self.primary();
        while self.is_sign(b'[')
            && matches!(
                value.node.kind,
                ExprKind::Variable(_)
                    | ExprKind::Index(..)
                    | ExprKind::List(_)
                    | ExprKind::Call(Callee::Named(_), _)
            )
        {
            if value.depth >= MAX_OPERATORS || !self.deeper() {
                break;
            }
            self.take();
            let index = self.ternary();
            self.expect(b']', "the index");
            self.shallower();
            let depth = value.depth.max(index.depth) + 1;
            let (list, index) = (self.push_expr(value.node), self.push_expr(index.node));
            value = Parsed { node: self.node(start, ExprKind::Index(list, index)), depth };
        }
        value
    }

    fn primary(&mut self) -> Parsed {
        let start = self.offset();
        let leaf = |node| Parsed { node, depth: 1 };
        match self.token.kind {
            TokenKind::Number => self.number_of_condition(),
            TokenKind::Text => leaf(self.text()),
            TokenKind::Variable => leaf(self.variable()),
            TokenKind::Builtin => leaf(self.builtin()),
            TokenKind::Sign(b'(') => {
                if !self.deeper() {
                    return leaf(self.absent());
                }
                self.take();
                let inner = self.ternary();
                self.expect(b')', "the expression");
                self.shallower();
                let node = self.push_expr(inner.node);
                Parsed { node: self.node(start, ExprKind::Parens(node)), depth: inner.depth + 1 }
            }
            TokenKind::Sign(b'[') => {
                let base = self.scratch.len();
                let depth = self.items(b'[', b']', u32::MAX as usize, "the list");
                let items = self.push_scratch(base);
                Parsed { node: self.node(start, ExprKind::List(items)), depth: depth + 1 }
            }
            TokenKind::Word
                if self.peek().kind == TokenKind::Sign(b'(')
                    || Word::find(self.word()).is_some_and(|word| matches!(word, Word::Command(_))) =>
            {
                self.call()
            }
            TokenKind::Word => self.estimate().unwrap_or_else(|| self.bare_word()),
            _ => {
                if !self.braces_of_others() {
                    self.expected("a value", None);
                }
                leaf(self.absent())
            }
        }
    }

    /// A word that is not a call. Names of errnos, flags and positions may be bare words, in any case.
    fn bare_word(&mut self) -> Parsed {
        let start = self.offset();
        let word = self.word();
        let leaf = |node| Parsed { node, depth: 1 };
        let capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let constant = constant(word).or((word.len() >= 3 && word.bytes().all(capital)).then_some(word));
        if let Some(name) = constant {
            let symbol = self.intern(name);
            self.take();
            return leaf(self.node(start, ExprKind::Word(symbol)));
        }
        let error = self.expectation("a value");
        if let Some(near) = self.in_condition.then(|| condition::near(word)).flatten() {
            self.error_here(error.did_you_mean(&near, Some(self.here())));
            return leaf(self.absent());
        }
        let (error, stands_alone) = self.no_value(error);
        self.error_here(error);
        let is_named = self.peek().kind == TokenKind::Sign(b'=')
            && matches!(self.last_token.kind, TokenKind::Sign(b'(' | b','));
        if is_named {
            self.take();
            self.take();
            return self.unary();
        }
        if stands_alone {
            self.take();
        }
        leaf(self.absent())
    }

    /// `$name`
    pub fn variable(&mut self) -> ExprNode {
        let start = self.offset();
        let name = &self.word()[1..];
        if self.token.kind == TokenKind::Variable && name.is_empty() && !self.classic {
            let help = Some("`--classic` accepts `$` alone as a name, as the original did".to_owned());
            self.error(self.here(), DiagnosticCode::ExpectedToken, "expected a name after `$`".into(), help);
        }
        if self.classic && name.contains('_') {
            self.push(Diagnostic::warning(
                DiagnosticCode::ClassicIgnored,
                self.here(),
                format!("what follows `_` in `${name}` is ignored"),
            ));
        }
        let name = if self.classic { name.split('_').next().unwrap_or("") } else { name };
        let symbol = self.intern(name);
        self.take();
        self.node(start, ExprKind::Variable(symbol))
    }

    fn builtin(&mut self) -> ExprNode {
        let start = self.offset();
        let name = &self.word()[2..];
        let symbol = self.intern(name);
        let environment = name.eq_ignore_ascii_case("env");
        self.keeps_words = environment;
        self.take();
        let opened = environment && self.accept(b'(');
        self.keeps_words = false;
        if opened {
            let inner = self.word();
            let inner = inner.trim_matches('"');
            let symbol = self.intern(inner);
            if matches!(self.token.kind, TokenKind::Word | TokenKind::Text) {
                self.take();
            } else {
                self.expected("the name of an environment variable", None);
            }
            self.expect(b')', "the name of the environment variable");
            return self.node(start, ExprKind::Environment(symbol));
        }
        self.node(start, ExprKind::Builtin(symbol))
    }

    /// A number token.
    pub(super) fn number(&mut self) -> ExprNode {
        let start = self.offset();
        let span = self.here();
        let apart = self.unit_apart();
        let text = apart.as_deref().unwrap_or(self.word());
        let value = match literal::number(text) {
            _ if self.classic && !text.contains('.') => Number::Int(self.classic_integer(text)),
            Ok(value) => {
                self.warn_of_leading_zero(text, span);
                value
            }
            Err(bad) => {
                match bad {
                    BadLiteral::Unit(meant) => {
                        let message = format!("`{text}` has an unknown unit");
                        let mut error = Diagnostic::error(DiagnosticCode::BadNumber, span, message);
                        if let Some(help) = literal::two_meanings(text) {
                            error = error.help(help);
                        } else if let Some(meant) = meant {
                            error = error.did_you_mean(&meant, Some(span));
                        }
                        self.error_here(error);
                    }
                    BadLiteral::TooLarge => {
                        self.error(
                            span,
                            DiagnosticCode::BadNumber,
                            format!("`{text}` does not fit 64 bits"),
                            None,
                        );
                    }
                    BadLiteral::NotANumber => {
                        self.error(
                            span,
                            DiagnosticCode::BadNumber,
                            format!("`{text}` is not a number"),
                            None,
                        );
                    }
                }
                leading_digits(text)
            }
        };
        self.take();
        self.node(start, ExprKind::Number(value.into()))
    }

    /// Warns of a number such as `0644`, which is 644 but may have been meant as octal.
    fn warn_of_leading_zero(&mut self, text: &str, span: Span) {
        if let Some(meant) = literal::looks_octal(text) {
            let message = format!("`{text}` is the decimal number {}", text.trim_start_matches('0'));
            let help = format!("an octal number is written `{meant}`; otherwise omit the 0");
            self.push(Diagnostic::warning(DiagnosticCode::LeadingZero, span, message).help(help));
        }
    }

    /// A number as the original read it: digits and an optional `k`, `m` or `g`. The rest is ignored.
    fn classic_integer(&mut self, text: &str) -> i64 {
        let (value, rest) = literal::classic(text);
        if value.is_none() {
            let message = format!("`{text}` does not fit 64 bits: it counts as {}", i64::MAX);
            self.push(Diagnostic::warning(DiagnosticCode::ClassicIgnored, self.here(), message));
        }
        if !rest.is_empty() {
            let read = &text[..text.len() - rest.len()];
            let message = format!("`{rest}` after `{read}` is ignored");
            self.push(Diagnostic::warning(DiagnosticCode::ClassicIgnored, self.here(), message));
        }
        value.unwrap_or(i64::MAX)
    }

    /// A string token.
    pub fn text(&mut self) -> ExprNode {
        let start = self.offset();
        let text = self.word();
        let closed = is_closed(text, self.classic);
        if !closed {
            let help = if text.contains("\\\"") {
                "`\\\"` is a quote inside a string; a string that ends in a backslash ends in `\\\\\"`"
            } else {
                "end it with `\"` on the same line"
            };
            let message = "this string is never closed".into();
            self.error(self.here(), DiagnosticCode::UnclosedString, message, Some(help.into()));
        }
        self.take();
        if !closed {
            // Further messages about the same place would not help.
            self.silence_errors_here();
        }
        self.node(start, ExprKind::Text)
    }

    /// `name(…)`
    fn call(&mut self) -> Parsed {
        let start = self.offset();
        let name = self.word();
        let callee = match Word::find(name) {
            Some(Word::Command(command)) => Callee::Command(command),
            Some(Word::Function(function)) => Callee::Function(function),
            Some(Word::Keyword(_)) | None => Callee::Named(self.intern(name)),
        };
        self.take();
        let base = self.scratch.len();
        let depth =
            if self.is_sign(b'(') { self.items(b'(', b')', MAX_ARGUMENTS, "the arguments") } else { 0 };
        let arguments = self.push_scratch(base);
        Parsed { node: self.node(start, ExprKind::Call(callee, arguments)), depth: depth + 1 }
    }

    /// Parses items between brackets onto `scratch`; returns the largest depth.
    pub fn items(&mut self, open: u8, close: u8, most: usize, what: &str) -> u32 {
        let base = self.scratch.len();
        let mut depth = 0;
        let mut surplus = false;
        if !self.deeper() {
            return 0;
        }
        debug_assert!(self.is_sign(open));
        self.take();
        if self.is_sign(b',') {
            self.push(Diagnostic::warning(
                DiagnosticCode::LeadingComma,
                self.here(),
                "there is no argument before this comma",
            ));
            self.take();
        }
        while !self.is_sign(close) && self.token.kind != TokenKind::End {
            let at = self.token.start;
            let item = self.ternary();
            depth = depth.max(item.depth);
            if self.scratch.len() - base == most && !std::mem::replace(&mut surplus, true) {
                let help = Some("a list holds more: `[a, b, …]`".into());
                self.error(
                    self.here(),
                    DiagnosticCode::TooManyArguments,
                    format!("more than {most} arguments"),
                    help,
                );
            }
            if self.scratch.len() - base < most {
                self.scratch.push(item.node);
            }
            if !self.accept(b',') && (self.token.start == at || !self.is_sign(close)) {
                break;
            }
        }
        self.expect(close, what);
        self.shallower();
        depth
    }

    /// Parses items without brackets up to the end of the statement onto `scratch`.
    pub fn bare_items(&mut self) {
        let base = self.scratch.len();
        loop {
            let item = self.expression();
            if self.scratch.len() - base == MAX_ARGUMENTS {
                self.error(
                    self.here(),
                    DiagnosticCode::TooManyArguments,
                    format!("more than {MAX_ARGUMENTS} arguments"),
                    None,
                );
                return;
            }
            self.scratch.push(item);
            if !self.accept(b',') {
                return;
            }
        }
    }

    /// Parses items with or without brackets onto `scratch`; returns whether there were brackets.
    pub fn arguments(&mut self) -> bool {
        if self.is_sign(b'(') {
            let mark = self.mark();
            self.items(b'(', b')', MAX_ARGUMENTS, "the arguments");
            // `print (1 + 2) * 3;` is one argument that begins with a bracket.
            if self.operator().is_none() && !self.is_sign(b',') && !self.is_sign(b'?') {
                return true;
            }
            self.rewind(mark);
        }
        if !self.is_sign(b';') && !self.is_sign(b'}') && self.token.kind != TokenKind::End {
            self.bare_items();
        }
        false
    }
}

/// The decimal number at the beginning.
fn leading_digits(text: &str) -> Number {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Number::Int(text[..digits].parse().unwrap_or(0))
}
