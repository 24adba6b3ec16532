//! Parses definitions: `define …`, functions and `include`.

use crate::number::Number;

use crate::diagnostic::nearest;

use super::ast::{Define, ExprKind, ExprNode, Exprs, Range, Statement, StatementKind};
use super::lexer::TokenKind;
use super::parser::{Include, Parser};
use super::template;
use super::tree::unquoted;
use super::words::Word;

impl Parser<'_, '_> {
    /// `define …`, whose first word is already consumed.
    pub fn define(&mut self, start: u32) -> Statement {
        const KINDS: [&str; 9] =
            ["param", "place", "groups", "pattern", "hints", "report", "ranks", "content", "space"];
        let word = self.word().to_ascii_lowercase();
        let what = if self.token.kind == TokenKind::Word { word.as_str() } else { "" };
        if !KINDS.contains(&what) {
            let error = self.expectation("what to define");
            let error = match (nearest(what, KINDS), KINDS.split_last()) {
                (Some(near), _) => error.did_you_mean(near, Some(self.here())),
                // `define f { … }`, as functions are elsewhere.
                (None, _) if matches!(self.peek().kind, TokenKind::Sign(b'{' | b'(')) => {
                    error.help("a function is defined with `def name($a, $b = 4k) { … }`")
                }
                (None, Some((last, others))) => {
                    error.help(format!("`define` is followed by {} or {last}", others.join(", ")))
                }
                (None, None) => error,
            };
            self.error_here(error);
            return self.failed(start);
        }
        self.take();
        if self.is_sign(b'=') {
            self.expected("a value", Some(format!("leave `=` out: `define {what} …`")));
            self.take();
        }
        let define = match what {
            "param" => self.parameter(false),
            "place" => self.parameter(true),
            "groups" => Define::Groups(self.braced(Parser::group_item)),
            "pattern" => Define::Pattern(self.braced(|parser| {
                let item = parser.expression();
                parser.scratch.push(item);
            })),
            "report" => Define::Report(self.braced(Parser::pair)),
            "hints" => Define::Hints(self.braced(Parser::pair)),
            "ranks" => Define::Ranks(self.expression_pushed()),
            "content" => Define::Content(self.expression_pushed()),
            _ => self.space(),
        };
        self.accept(b';');
        self.done(start, StatementKind::Define(define))
    }

    /// `"name" $v default [from a] [to b] [in [list]]`
    fn parameter(&mut self, place: bool) -> Define {
        let default = if place { "\"file\"" } else { "400" };
        let what = if place { "place" } else { "param" };
        let form = format!("the form is `define {what} \"name\" $variable {default}`");
        if self.token.kind == TokenKind::Word {
            self.expected("the name in double quotes", Some(form.clone()));
        }
        let name = self.expression_pushed();
        let variable = if self.token.kind == TokenKind::Variable {
            self.variable()
        } else {
            self.expected("a variable", Some(form));
            self.absent()
        };
        let variable = self.push_expr(variable);
        let default = self.expression_pushed();
        let [from, to, choices] =
            ["from", "to", "in"].map(|word| self.accept_word(word).then(|| self.expression_pushed()));
        Define::Param { name, variable, default, place, range: Range { from, to, choices } }
    }

    /// `["dir"] e`
    fn space(&mut self) -> Define {
        let named = self.token.kind == TokenKind::Text && self.peek().kind != TokenKind::Sign(b';');
        let directory = named.then(|| {
            let text = self.text();
            self.push_expr(text)
        });
        Define::Space { directory, bytes: self.expression_pushed() }
    }

    /// `{ item, item }`
    fn braced(&mut self, item: impl Fn(&mut Self)) -> Exprs {
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
        self.push_scratch(base)
    }

    /// `"key": value`
    fn pair(&mut self) {
        let key = self.expression();
        self.expect(b':', "the key");
        let value = self.expression();
        self.scratch.extend([key, value]);
    }

    /// `"name":S`, `"name":D/1`, `"name":D 1`, `"name":D1`, `"name"/1`, `"name"`; the sub-tag may be an expression.
    fn group_item(&mut self) {
        let name = self.tight_expression();
        let mut tag = self.absent();
        let mut sub = self.absent();
        // Words are group tags here.
        self.keeps_words = true;
        if self.accept(b':') {
            (tag, sub) = self.group_tag();
        }
        let divided = self.accept(b'/');
        if divided && self.token.kind == TokenKind::Word {
            sub = self.group_word(self.word());
        } else if divided || matches!(self.token.kind, TokenKind::Number | TokenKind::Sign(b'(')) {
            sub = self.expression();
        }
        self.keeps_words = false;
        self.scratch.extend([name, tag, sub]);
    }

    /// `S` or `D`; also the sub-tag of `D1`.
    fn group_tag(&mut self) -> (ExprNode, ExprNode) {
        if self.token.kind != TokenKind::Word {
            let is_size = self.token.kind == TokenKind::Number;
            let help = "sizes are given when the program runs: `-g NAME:SIZE`";
            self.expected("a tag such as `S`, `D` or `D/1`", is_size.then(|| help.to_owned()));
            if is_size {
                self.take();
            }
            return (self.absent(), self.absent());
        }
        let word = self.word();
        let (letter, digits) = word.split_at(1);
        let number = digits.parse::<i64>().ok().filter(|_| "SsDd".contains(letter));
        let tag = self.group_word(if number.is_some() { letter } else { word });
        let sub = number.map_or(self.absent(), |number| ExprNode {
            kind: ExprKind::Number(Number::Int(number).into()),
            span: tag.span,
        });
        (tag, sub)
    }

    /// The current token as the word `text`.
    fn group_word(&mut self, text: &str) -> ExprNode {
        let start = self.offset();
        let symbol = self.intern(text);
        self.take();
        self.node(start, ExprKind::Word(symbol))
    }

    /// `def name($a, $b = 4k) S`, whose first word is already consumed.
    pub fn function(&mut self) -> StatementKind {
        let start = self.offset();
        let name = self.word();
        if self.token.kind != TokenKind::Word || Word::find(name).is_some() {
            let taken = self.token.kind == TokenKind::Word;
            let help = taken.then(|| "this name is taken by the language".to_owned());
            self.expected("a name for the function", help);
        }
        let symbol = self.intern(name);
        self.take();
        let name = self.node(start, ExprKind::Word(symbol));
        let name = self.push_expr(name);
        let base = self.scratch.len();
        if self.expect(b'(', "the name of the function") {
            while self.token.kind == TokenKind::Variable {
                let variable = self.variable();
                let default = if self.accept(b'=') { self.expression() } else { self.absent() };
                self.scratch.extend([variable, default]);
                if !self.accept(b',') {
                    break;
                }
            }
            self.expect(b')', "the parameters");
        }
        let parameters = self.push_scratch(base);
        StatementKind::Def { name, parameters, body: self.body() }
    }

    /// `include "file";`, whose first word is already consumed.
    pub fn included(&mut self, start: u32) -> StatementKind {
        if self.token.kind == TokenKind::Word {
            self.expected("a path in double quotes", Some("the form is `include \"file.ppl\";`".into()));
            self.recover();
            return StatementKind::Error;
        }
        let node = self.expression();
        let path = self.push_expr(node);
        self.end("the path");
        if node.kind == ExprKind::Text && self.loads {
            let path = template::plain(unquoted(self.slice(node.span)), self.classic).into_owned();
            self.includes.push(Include { path, span: node.span, statement: start });
        }
        StatementKind::Include { path, statements: Default::default() }
    }
}
