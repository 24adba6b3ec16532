//! Parses what only the condition of an `assert` has: quantities without parentheses, and bounds in per cent and a second.

use crate::condition;

use super::ast::{BoundUnit, ExprKind, ExprNode};
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};

impl Parser<'_, '_> {
    /// `p99`, `iops of read`; `None` where the word is no quantity or this is no condition.
    pub(super) fn estimate(&mut self) -> Option<Parsed> {
        if !self.in_condition || !condition::is_quantity(&self.word().to_ascii_lowercase()) {
            return None;
        }
        let start = self.offset();
        let word = self.word().to_ascii_lowercase();
        let symbol = self.intern(&word);
        self.take();
        let name = self.accept_word("of").then(|| self.name_of_samples());
        let name = name.map(|node| self.push_expr(node));
        let depth = 1 + u32::from(name.is_some());
        Some(Parsed { node: self.node(start, ExprKind::Estimate(symbol, name)), depth })
    }

    /// What stands behind `of`: a label or an operation, with or without quotes.
    fn name_of_samples(&mut self) -> ExprNode {
        let start = self.offset();
        match self.token.kind {
            TokenKind::Text => self.text(),
            TokenKind::Variable => self.variable(),
            TokenKind::Word => {
                let symbol = self.intern(self.word());
                self.take();
                self.node(start, ExprKind::Word(symbol))
            }
            _ => {
                let help = "a label or an operation: `p99 of read`, `p99 of \"my label\"`";
                self.expected("whose samples count", Some(help.into()));
                self.absent()
            }
        }
    }

    /// A number, in a condition also `5%` and `1000/s`.
    pub(super) fn number_of_condition(&mut self) -> Parsed {
        let start = self.offset();
        let number = self.number();
        let Some(unit) = self.bound_unit() else { return Parsed { node: number, depth: 1 } };
        self.take();
        if unit == BoundUnit::PerSecond {
            self.take();
        }
        let number = self.push_expr(number);
        Parsed { node: self.node(start, ExprKind::Unit(unit, number)), depth: 2 }
    }

    /// What stands behind a number, unless that is an operator with its right side.
    fn bound_unit(&self) -> Option<BoundUnit> {
        if !self.in_condition {
            return None;
        }
        let next = self.peek();
        match self.token.kind {
            TokenKind::Sign(b'/') => {
                let is_second = next.kind == TokenKind::Word && self.text_of(next).eq_ignore_ascii_case("s");
                is_second.then_some(BoundUnit::PerSecond)
            }
            TokenKind::Sign(b'%') => {
                let ends = matches!(
                    next.kind,
                    TokenKind::Sign(b';' | b')' | b'}' | b']' | b',' | b'?' | b':' | b'<' | b'>' | b'=')
                        | TokenKind::AtMost
                        | TokenKind::AtLeast
                        | TokenKind::Equal
                        | TokenKind::NotEqual
                        | TokenKind::And
                        | TokenKind::Or
                        | TokenKind::End
                );
                ends.then_some(BoundUnit::Percent)
            }
            _ => None,
        }
    }
}
