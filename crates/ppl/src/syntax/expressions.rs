//! How are expressions read? Precedence climbing over [`BinaryOp::binding`].

use crate::diagnostic::{Code, Diagnostic};
use crate::value::Value;

use super::lexer::TokenKind;
use super::literal::{self, BadLiteral};
use super::parser::{MAX_OPERATORS, Parsed, Parser};
use super::tree::{BinaryOp, Node, Tag};
use super::words::Word;

/// More arguments than this do not fit a row.
const MAX_ARGUMENTS: usize = 200;

impl Parser<'_, '_> {
    /// An expression that is put into the tree; its number.
    pub fn expression_pushed(&mut self) -> u32 {
        let node = self.expression();
        self.push_nodes(&[node])
    }

    /// An expression.
    pub fn expression(&mut self) -> Node {
        self.ternary().node
    }

    /// An expression in which `/` and `*` do not count as operators: the rate of `rate 100/s`.
    pub fn tight_expression(&mut self) -> Node {
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
        let first = self.push_nodes(&[condition.node, yes.node, no.node]);
        Parsed { node: self.node(Tag::Choice, 0, start, first), depth }
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
            let first = self.push_nodes(&[left.node, right.node]);
            left = Parsed { node: self.node(Tag::Binary, op as u8, start, first), depth };
            if depth > MAX_OPERATORS {
                self.error(
                    at,
                    Code::TooDeep,
                    format!("more than {MAX_OPERATORS} operators in one expression"),
                    Some("a loop or a list does the same".into()),
                );
                // Cut what was read so far, so that nobody has to walk so deep.
                left = Parsed { node: self.node(Tag::Error, 0, start, 0), depth: 0 };
            }
        }
        left
    }

    fn unary(&mut self) -> Parsed {
        let start = self.offset();
        let op = match self.token.kind {
            TokenKind::Sign(b'-') => 0,
            TokenKind::Sign(b'!') => 1,
            _ => return self.postfix(),
        };
        if !self.deeper() {
            return Parsed { node: self.absent(), depth: 0 };
        }
        self.take();
        // `-2^2` is `-(2^2)`.
        let inner = if op == 0 { self.binary(BinaryOp::Power.binding()) } else { self.unary() };
        self.shallower();
        let first = self.push_nodes(&[inner.node]);
        Parsed { node: self.node(Tag::Unary, op, start, first), depth: inner.depth + 1 }
    }

    fn postfix(&mut self) -> Parsed {
        let start = self.offset();
        let mut value = self.primary();
        while self.is_sign(b'[')
            && matches!(value.node.tag, Tag::Variable | Tag::Index | Tag::List | Tag::CallNamed)
        {
            if value.depth >= MAX_OPERATORS || !self.deeper() {
                break;
            }
            self.take();
            let index = self.ternary();
            self.expect(b']', "the index");
            self.shallower();
            let first = self.push_nodes(&[value.node, index.node]);
            value = Parsed {
                node: self.node(Tag::Index, 0, start, first),
                depth: value.depth.max(index.depth) + 1,
            };
        }
        value
    }

    fn primary(&mut self) -> Parsed {
        let start = self.offset();
        let leaf = |node| Parsed { node, depth: 1 };
        match self.token.kind {
            TokenKind::Number => leaf(self.number()),
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
                let first = self.push_nodes(&[inner.node]);
                Parsed { node: self.node(Tag::Parens, 0, start, first), depth: inner.depth + 1 }
            }
            TokenKind::Sign(b'[') => {
                let base = self.scratch.len();
                let depth = self.items(b'[', b']', u32::MAX as usize, "the list");
                let count = Node {
                    tag: Tag::Count,
                    small: 0,
                    length: 0,
                    start,
                    data: (self.scratch.len() - base) as u32,
                };
                let first = self.push_nodes(&[count]);
                self.push_scratch(base);
                Parsed { node: self.node(Tag::List, 0, start, first), depth: depth + 1 }
            }
            TokenKind::Word
                if self.peek().kind == TokenKind::Sign(b'(')
                    || Word::find(self.word()).is_some_and(|word| matches!(word, Word::Command(_))) =>
            {
                self.call()
            }
            TokenKind::Word => {
                let word = self.word();
                // Names of errnos and flags may stand bare.
                if word.len() >= 3
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
                {
                    let symbol = self.intern(word);
                    self.take();
                    return leaf(self.node(Tag::Word, 0, start, symbol.0));
                }
                let help = Some(format!("a variable begins with a dollar sign: `${word}`"));
                self.error(
                    self.here(),
                    Code::ExpectedToken,
                    format!("expected a value, found `{word}`"),
                    help,
                );
                leaf(self.absent())
            }
            _ => {
                let found = self.found();
                self.error(
                    self.here(),
                    Code::ExpectedToken,
                    format!("expected a value, found {found}"),
                    None,
                );
                leaf(self.absent())
            }
        }
    }

    /// `$name`
    pub fn variable(&mut self) -> Node {
        let start = self.offset();
        let name = &self.word()[1..];
        if self.token.kind == TokenKind::Variable && name.is_empty() {
            self.error(self.here(), Code::ExpectedToken, "expected a name after `$`".into(), None);
        }
        if self.classic && name.contains('_') {
            self.push(Diagnostic::warning(
                Code::ClassicIgnored,
                self.here(),
                format!("what follows `_` in `${name}` is ignored"),
            ));
        }
        let name = if self.classic { name.split('_').next().unwrap_or("") } else { name };
        let symbol = self.intern(name);
        self.take();
        self.node(Tag::Variable, 0, start, symbol.0)
    }

    fn builtin(&mut self) -> Node {
        let start = self.offset();
        let name = &self.word()[2..];
        let symbol = self.intern(name);
        self.take();
        if name.eq_ignore_ascii_case("env") && self.accept(b'(') {
            let inner = self.word();
            let inner = inner.trim_matches('"');
            let symbol = self.intern(inner);
            if matches!(self.token.kind, TokenKind::Word | TokenKind::Text) {
                self.take();
            } else {
                let found = self.found();
                self.error(
                    self.here(),
                    Code::ExpectedToken,
                    format!("expected the name of an environment variable, found {found}"),
                    None,
                );
            }
            self.expect(b')', "the name of the environment variable");
            return self.node(Tag::Environment, 0, start, symbol.0);
        }
        self.node(Tag::Builtin, 0, start, symbol.0)
    }

    /// A number token.
    fn number(&mut self) -> Node {
        let start = self.offset();
        let text = self.word();
        let span = self.here();
        let value = match literal::number(text) {
            Ok(value) => value,
            Err(bad) => {
                match bad {
                    BadLiteral::Unit(_) if self.classic => {
                        self.push(Diagnostic::warning(
                            Code::ClassicIgnored,
                            span,
                            format!("the letters behind `{text}` are ignored"),
                        ));
                    }
                    BadLiteral::Unit(meant) => {
                        let help = meant.map(|meant| format!("did you mean `{meant}`?"));
                        self.error(span, Code::BadNumber, format!("`{text}` has an unknown unit"), help);
                    }
                    BadLiteral::TooLarge => {
                        self.error(span, Code::BadNumber, format!("`{text}` does not fit 64 bits"), None);
                    }
                    BadLiteral::NotANumber => {
                        self.error(span, Code::BadNumber, format!("`{text}` is no number"), None);
                    }
                }
                literal::leading(&text[..text.bytes().take_while(u8::is_ascii_digit).count()])
                    .unwrap_or(Value::Int(0))
            }
        };
        self.take();
        match value {
            Value::Int(small) if u32::try_from(small).is_ok() => self.node(Tag::Int, 0, start, small as u32),
            value => {
                let at = self.tree.wide.len() as u32;
                self.tree.wide.push(value);
                self.node(Tag::Wide, 0, start, at)
            }
        }
    }

    /// A string token.
    pub fn text(&mut self) -> Node {
        let start = self.offset();
        let text = self.word();
        let closed = text.len() >= 2 && text.ends_with('"');
        if !closed {
            self.error(
                self.here(),
                Code::UnclosedString,
                "this string is never closed".into(),
                Some("end it with `\"` on the same line".into()),
            );
        }
        let inside = text.len() as u32 - 1 - u32::from(closed);
        self.take();
        if !closed {
            // What follows was swallowed or not: nothing that can be said about it helps.
            self.hush();
        }
        self.node(Tag::Text, 0, start, inside)
    }

    /// `name(…)`
    fn call(&mut self) -> Parsed {
        let start = self.offset();
        let name = self.word();
        let (tag, data) = match Word::find(name) {
            Some(Word::Command(command)) => (Tag::CallCommand, command as u32),
            Some(Word::Function(function)) => (Tag::CallFunction, function as u32),
            _ => (Tag::CallNamed, self.intern(name).0),
        };
        let head = Node { tag: Tag::Count, small: 0, length: name.len().min(65535) as u16, start, data };
        self.take();
        let base = self.scratch.len();
        let depth =
            if self.is_sign(b'(') { self.items(b'(', b')', MAX_ARGUMENTS, "the arguments") } else { 0 };
        let count = self.scratch.len() - base;
        let first = self.push_nodes(&[head]);
        self.push_scratch(base);
        Parsed { node: self.node(tag, count as u8, start, first), depth: depth + 1 }
    }

    /// Items between brackets, which are left on `scratch`; how deep the deepest is.
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
                Code::LeadingComma,
                self.here(),
                "no argument stands before this comma",
            ));
            self.take();
        }
        while !self.is_sign(close) && self.token.kind != TokenKind::End {
            let at = self.token.start;
            let item = self.ternary();
            depth = depth.max(item.depth);
            if self.scratch.len() - base == most && !std::mem::replace(&mut surplus, true) {
                let help = Some("a list holds more: `[a, b, …]`".into());
                self.error(self.here(), Code::TooManyArguments, format!("more than {most} arguments"), help);
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

    /// Items without brackets up to the end of the statement, left on `scratch`.
    pub fn bare_items(&mut self) {
        let base = self.scratch.len();
        loop {
            let item = self.expression();
            if self.scratch.len() - base == MAX_ARGUMENTS {
                self.error(
                    self.here(),
                    Code::TooManyArguments,
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

    /// Items in brackets or bare, left on `scratch`; were they in brackets?
    pub fn arguments(&mut self) -> bool {
        if self.is_sign(b'(') {
            let mark = self.mark();
            self.items(b'(', b')', MAX_ARGUMENTS, "the arguments");
            // `print (1 + 2) * 3;` is one argument that begins with a bracket.
            if self.operator().is_none() && !self.is_sign(b',') && !self.is_sign(b'?') {
                return true;
            }
            self.reset(mark);
        }
        if !self.is_sign(b';') && !self.is_sign(b'}') && self.token.kind != TokenKind::End {
            self.bare_items();
        }
        false
    }
}
