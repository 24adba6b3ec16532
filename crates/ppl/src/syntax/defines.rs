//! How are definitions read?

use crate::diagnostic::Code;

use super::lexer::TokenKind;
use super::parser::Parser;
use super::tree::{Form, Row, Tag};

impl Parser<'_, '_> {
    /// `define …`, whose first word was taken.
    pub fn define(&mut self, start: u32) -> Row {
        let word = self.word().to_ascii_lowercase();
        let what = if self.token.kind == TokenKind::Word { word.as_str() } else { "" };
        match what {
            "param" => {
                self.take();
                let name = self.expression();
                let variable = if self.token.kind == TokenKind::Variable {
                    self.variable()
                } else {
                    let found = self.found();
                    self.error(
                        self.here(),
                        Code::ExpectedToken,
                        format!("expected a variable, found {found}"),
                        Some("the form is `define param \"name\" $variable \"default\"`".into()),
                    );
                    self.absent()
                };
                let default = self.expression();
                let mut nodes = vec![name, variable, default];
                let mut flag = 0;
                for (bit, word) in ["from", "to", "in"].into_iter().enumerate() {
                    if self.accept_word(word) {
                        nodes.push(self.expression());
                        flag |= 1 << bit;
                    }
                }
                let first = self.push_nodes(&nodes);
                self.accept(b';');
                let mut row = self.row(Form::DefineParam, start, first, 0);
                row.flag = flag;
                row
            }
            "groups" => {
                self.take();
                self.braced(start, Form::DefineGroups, Parser::group_item)
            }
            "pattern" => {
                self.take();
                self.braced(start, Form::DefinePattern, |parser| {
                    let item = parser.expression();
                    parser.scratch.push(item);
                })
            }
            "report" => {
                self.take();
                self.braced(start, Form::DefineReport, Parser::pair)
            }
            "hints" => {
                self.take();
                self.braced(start, Form::DefineHints, Parser::pair)
            }
            "ranks" => {
                self.take();
                let value = self.expression_pushed();
                self.accept(b';');
                self.row(Form::DefineRanks, start, value, 0)
            }
            "space" => {
                self.take();
                let directory =
                    if self.token.kind == TokenKind::Text && self.peek().kind != TokenKind::Sign(b';') {
                        Some(self.text())
                    } else {
                        None
                    };
                let bytes = self.expression_pushed();
                if let Some(directory) = directory {
                    self.push_nodes(&[directory]);
                }
                self.accept(b';');
                let mut row = self.row(Form::DefineSpace, start, bytes, 0);
                row.flag = u8::from(directory.is_some());
                row
            }
            _ => {
                let found = self.found();
                let kinds = ["param", "groups", "pattern", "hints", "report", "ranks", "space"];
                let help = self.meant(what, kinds).or_else(|| {
                    Some(
                        "`define` is followed by param, groups, pattern, hints, report, ranks or space"
                            .into(),
                    )
                });
                self.error(
                    self.here(),
                    Code::ExpectedToken,
                    format!("expected what to define, found {found}"),
                    help,
                );
                self.recover();
                self.row(Form::Error, start, 0, 0)
            }
        }
    }

    /// `{ item, item };`
    fn braced(&mut self, start: u32, form: Form, item: impl Fn(&mut Self)) -> Row {
        let base = self.scratch.len();
        if self.expect(b'{', "what is defined") {
            while !self.is_sign(b'}') && self.token.kind != TokenKind::End {
                item(self);
                if !self.accept(b',') {
                    break;
                }
            }
            if !self.expect(b'}', "the definition") {
                self.recover();
            }
        } else {
            self.recover();
        }
        let (first, count) = self.push_scratch(base);
        self.accept(b';');
        self.row(form, start, first, count)
    }

    /// `"key": value`
    fn pair(&mut self) {
        let key = self.expression();
        self.expect(b':', "the key");
        let value = self.expression();
        self.scratch.extend([key, value]);
    }

    /// `"name":S`, `"name":D/1`, `"name"`
    fn group_item(&mut self) {
        let name = self.expression();
        let mut tag = self.absent();
        let mut sub = self.absent();
        if self.accept(b':') {
            tag = self.group_word();
            if self.accept(b'/') {
                sub = self.group_word();
            }
        }
        self.scratch.extend([name, tag, sub]);
    }

    fn group_word(&mut self) -> super::tree::Node {
        let start = self.offset();
        if !matches!(self.token.kind, TokenKind::Word | TokenKind::Number) {
            let found = self.found();
            self.error(
                self.here(),
                Code::ExpectedToken,
                format!("expected a tag such as `S`, `D` or `D/1`, found {found}"),
                None,
            );
            return self.absent();
        }
        let word = self.word();
        let symbol = self.intern(word);
        self.take();
        self.node(Tag::Word, 0, start, symbol.0)
    }
}
