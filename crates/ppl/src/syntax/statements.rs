//! How are statements read?

use crate::diagnostic::{Code, Diagnostic};

use super::lexer::TokenKind;
use super::parser::Parser;
use super::tree::{Form, Row, Statements, Tag};
use super::words::{Keyword, Word, statement_words};

impl Parser<'_, '_> {
    /// A statement; `top`: at the top level, where definitions may stand.
    pub fn statement(&mut self, top: bool) -> Row {
        let start = self.offset();
        if !self.deeper() {
            if self.token.kind != TokenKind::End && !self.is_sign(b'}') {
                self.take();
            }
            return self.row(Form::Error, start, 0, 0);
        }
        let before = self.token;
        let row = match self.token.kind {
            TokenKind::Sign(b';') => {
                self.take();
                self.row(Form::Empty, start, 0, 0)
            }
            TokenKind::Sign(b'{') => self.block(),
            TokenKind::Variable => self.assignment(Form::Assign, start),
            TokenKind::Word => self.worded(top),
            _ => {
                let found = self.found();
                self.error(
                    self.here(),
                    Code::ExpectedToken,
                    format!("expected a statement, found {found}"),
                    None,
                );
                self.recover();
                self.row(Form::Error, start, 0, 0)
            }
        };
        if self.token == before && self.token.kind != TokenKind::End && !self.is_sign(b'}') {
            // Nothing was taken: go on anyway, or we would stand here for ever.
            self.take();
        }
        self.shallower();
        row
    }

    /// `{ … }`
    pub fn block(&mut self) -> Row {
        let start = self.offset();
        let open = self.here();
        self.take();
        let base = self.pending.len();
        while !self.is_sign(b'}') {
            if self.token.kind == TokenKind::End {
                self.error(
                    open,
                    Code::ExpectedToken,
                    "this `{` is never closed".into(),
                    Some("end the block with `}`".into()),
                );
                break;
            }
            let row = self.statement(false);
            self.pending.push(row);
        }
        self.accept(b'}');
        let Statements { first, count } = self.push_pending(base);
        self.row(Form::Block, start, first, count)
    }

    /// A statement that belongs to another one; its number.
    fn body(&mut self) -> u32 {
        let row = if matches!(self.token.kind, TokenKind::End | TokenKind::Sign(b'}')) {
            let found = self.found();
            self.error(
                self.here(),
                Code::ExpectedToken,
                format!("expected a statement or a block, found {found}"),
                None,
            );
            self.row(Form::Error, self.offset(), 0, 0)
        } else {
            self.inner()
        };
        self.push_row(row)
    }

    /// A statement inside another one; its braces are no level of their own.
    fn inner(&mut self) -> Row {
        if self.is_sign(b'{') { self.block() } else { self.statement(false) }
    }

    /// The semicolon at the end of a simple statement.
    pub fn end(&mut self, what: &str) {
        if !self.expect(b';', what) {
            self.recover();
        }
    }

    fn assignment(&mut self, form: Form, start: u32) -> Row {
        if self.token.kind != TokenKind::Variable {
            let found = self.found();
            self.error(self.here(), Code::ExpectedToken, format!("expected a variable, found {found}"), None);
            self.recover();
            return self.row(Form::Error, start, 0, 0);
        }
        let variable = self.variable();
        let item = (form == Form::Assign && self.is_sign(b'[')).then(|| {
            self.take();
            let index = self.expression();
            self.expect(b']', "the index");
            index
        });
        if !self.accept(b'=') {
            let found = self.found();
            let help =
                (self.token.kind == TokenKind::Equal).then(|| "one `=` assigns, two compare".to_owned());
            self.error(
                self.here(),
                Code::ExpectedToken,
                format!("expected `=` after the variable, found {found}"),
                help,
            );
            self.recover();
            return self.row(Form::Error, start, 0, 0);
        }
        let value = self.expression();
        let (form, row) = match item {
            Some(index) => (Form::AssignItem, (self.push_nodes(&[variable, index, value]), 0)),
            None if form == Form::Assign => (form, (self.push_nodes(&[value]), variable.data)),
            None => (form, (self.push_nodes(&[variable, value]), 0)),
        };
        self.end("the value");
        self.row(form, start, row.0, row.1)
    }

    fn worded(&mut self, top: bool) -> Row {
        let start = self.offset();
        let word = self.word();
        match Word::find(word) {
            Some(Word::Keyword(keyword)) => self.keyword(keyword, top),
            Some(Word::Command(command)) => {
                self.take();
                let base = self.scratch.len();
                let parentheses = self.arguments();
                let (first, count) = self.push_scratch(base);
                // The words are only put together where they are said.
                if !self.accept(b';') {
                    self.end(&format!("`{}`", command.name()));
                }
                let mut row = self.row(Form::Command, start, first, count);
                row.count = command as u16;
                row.flag = u8::from(parentheses);
                row
            }
            Some(Word::Function(_)) | None if self.peek().kind == TokenKind::Sign(b'(') && !self.classic => {
                let call = self.expression_pushed();
                self.end("the call");
                self.row(Form::Call, start, call, 0)
            }
            _ if self.classic => {
                self.push(Diagnostic::warning(
                    Code::ClassicIgnored,
                    self.here(),
                    format!("`{word}` is ignored"),
                ));
                self.take();
                self.row(Form::Empty, start, 0, 0)
            }
            _ => {
                let help = self.meant(word, statement_words());
                self.error(self.here(), Code::UnknownWord, format!("unknown word `{word}`"), help);
                self.take();
                // `foo print(1);` goes on with print; anything else is skipped with its arguments.
                if !(self.token.kind == TokenKind::Word && Word::find(self.word()).is_some()) {
                    self.recover();
                }
                self.row(Form::Error, start, 0, 0)
            }
        }
    }

    fn misplaced(&mut self, what: &str) {
        self.error(
            self.here(),
            Code::Misplaced,
            format!("`{what}` stands at the top level only"),
            Some("move it out of the block".into()),
        );
    }

    fn keyword(&mut self, keyword: Keyword, top: bool) -> Row {
        let start = self.offset();
        let inner_define = matches!(keyword, Keyword::Define | Keyword::Def | Keyword::Include) && !top;
        if inner_define {
            let word = self.word();
            self.misplaced(word);
        }
        if keyword != Keyword::Else && keyword != Keyword::Stonewall {
            self.take();
        }
        match keyword {
            Keyword::Define => self.define(start),
            Keyword::Repeat => self.repeat(start),
            Keyword::Time | Keyword::Ctime => self.time(start, keyword == Keyword::Ctime),
            Keyword::Group => {
                let parentheses = self.accept(b'(');
                let name = self.expression_pushed();
                if parentheses {
                    self.expect(b')', "the name of the group");
                }
                let body = self.body();
                self.row(Form::Group, start, name, body)
            }
            Keyword::Master => {
                let body = self.body();
                self.row(Form::Master, start, 0, body)
            }
            Keyword::Verify => {
                let body = self.body();
                self.row(Form::Verify, start, 0, body)
            }
            Keyword::Barrier => {
                let base = self.scratch.len();
                self.arguments();
                let (first, count) = self.push_scratch(base);
                self.end("`barrier`");
                let mut row = self.row(Form::Barrier, start, first, 0);
                row.flag = u8::from(count > 0);
                row
            }
            Keyword::If => {
                let condition = self.expression_pushed();
                let then = if matches!(self.token.kind, TokenKind::End | TokenKind::Sign(b'}')) {
                    self.row(Form::Empty, start, 0, 0)
                } else {
                    self.inner()
                };
                let otherwise = self.accept_word("else").then(|| self.inner());
                let body = self.push_row(then);
                if let Some(otherwise) = otherwise {
                    self.push_row(otherwise);
                }
                let mut row = self.row(Form::If, start, condition, body);
                row.flag = u8::from(otherwise.is_some());
                row
            }
            Keyword::While => {
                let condition = self.expression_pushed();
                let body = self.body();
                self.row(Form::While, start, condition, body)
            }
            Keyword::For => self.for_loop(start),
            Keyword::Break | Keyword::Continue => {
                self.end("the statement");
                self.row(if keyword == Keyword::Break { Form::Break } else { Form::Continue }, start, 0, 0)
            }
            Keyword::Return => {
                let some = !self.is_sign(b';');
                let value = if some { self.expression_pushed() } else { 0 };
                self.end("`return`");
                let mut row = self.row(Form::Return, start, value, 0);
                row.flag = u8::from(some);
                row
            }
            Keyword::Let => self.assignment(Form::Let, start),
            Keyword::Def => self.function(start),
            Keyword::Include => {
                let node = self.expression();
                let inside = (node.start + 1, node.start + 1 + node.data);
                let span = crate::diagnostic::Span::new(node.start, self.last());
                let path = self.push_nodes(&[node]);
                self.end("the path");
                if node.tag == Tag::Text && self.loads {
                    let text = self.slice(inside.0, inside.1).to_owned();
                    self.include(text, span, start);
                }
                self.row(Form::Include, start, path, 0)
            }
            Keyword::Rate => {
                let rate = self.tight_expression();
                let rate = self.push_nodes(&[rate]);
                if self.accept(b'/') && !self.accept_word("s") {
                    let found = self.found();
                    self.error(
                        self.here(),
                        Code::ExpectedToken,
                        format!("expected `s` after `/`, found {found}"),
                        Some("a rate is per second: `rate 1000/s`".into()),
                    );
                }
                let poisson = self.accept_word("poisson");
                let body = self.body();
                let mut row = self.row(Form::Rate, start, rate, body);
                row.flag = u8::from(poisson);
                row
            }
            Keyword::At | Keyword::Parallel => {
                let value = self.expression_pushed();
                let body = self.body();
                self.row(if keyword == Keyword::At { Form::At } else { Form::Parallel }, start, value, body)
            }
            Keyword::Async => {
                if self.accept_word("depth") {
                    self.expect(b'=', "`depth`");
                }
                let depth = self.expression_pushed();
                let body = self.body();
                self.row(Form::Async, start, depth, body)
            }
            Keyword::Phase => {
                let name = self.expression();
                let stonewall = self.accept_word("stonewall");
                // What begins no statement is the time.
                let limited = stonewall
                    && match self.token.kind {
                        TokenKind::Number | TokenKind::Sign(b'(') => true,
                        TokenKind::Variable => self.peek().kind != TokenKind::Sign(b'='),
                        _ => false,
                    };
                let first = if limited {
                    let limit = self.expression();
                    self.push_nodes(&[name, limit])
                } else {
                    self.push_nodes(&[name])
                };
                let body = self.body();
                let mut row = self.row(Form::Phase, start, first, body);
                row.flag = u8::from(stonewall) | u8::from(limited) << 1;
                row
            }
            Keyword::Think => {
                let value = self.expression_pushed();
                self.end("the value");
                self.row(Form::Think, start, value, 0)
            }
            Keyword::Assert => {
                let each = self.accept_word("each");
                let value = self.expression_pushed();
                self.end("the condition");
                let mut row = self.row(Form::Assert, start, value, 0);
                row.flag = u8::from(each);
                row
            }
            Keyword::Choose => self.choose(start),
            Keyword::Expect => {
                if !self.accept_word("errno") {
                    let found = self.found();
                    self.error(
                        self.here(),
                        Code::ExpectedToken,
                        format!("expected `errno == …` after `expect`, found {found}"),
                        None,
                    );
                } else if self.token.kind == TokenKind::Equal {
                    self.take();
                } else {
                    self.expect(b'=', "`errno`");
                }
                let errno = self.expression_pushed();
                let body = self.body();
                self.row(Form::Expect, start, errno, body)
            }
            Keyword::OnError => {
                let stop = self.is_word("stop");
                if stop || self.is_word("continue") {
                    self.take();
                } else {
                    let found = self.found();
                    self.error(
                        self.here(),
                        Code::ExpectedToken,
                        format!("expected `stop` or `continue`, found {found}"),
                        None,
                    );
                }
                self.end("`on_error`");
                let mut row = self.row(Form::OnError, start, 0, 0);
                row.flag = u8::from(stop);
                row
            }
            Keyword::Else | Keyword::Stonewall => {
                let word = self.word();
                self.error(
                    self.here(),
                    Code::ExpectedToken,
                    format!("`{word}` belongs to nothing here"),
                    None,
                );
                self.take();
                self.row(Form::Error, start, 0, 0)
            }
        }
    }

    fn time(&mut self, start: u32, inside_calls: bool) -> Row {
        let brackets = self.accept(b'[');
        let label = (brackets || self.token.kind == TokenKind::Text).then(|| self.expression_pushed());
        if brackets {
            self.expect(b']', "the label");
        }
        let body = self.body();
        let mut row = self.row(Form::Time, start, label.unwrap_or(0), body);
        row.flag = u8::from(inside_calls) | (u8::from(label.is_some()) << 1);
        row
    }

    fn repeat(&mut self, start: u32) -> Row {
        let (next, after) = self.peek_two();
        let mut flag = 0;
        let mut nodes = [self.absent(); 2];
        if self.is_sign(b'(') && next.kind == TokenKind::Variable && after.kind == TokenKind::Sign(b',') {
            self.take();
            nodes[1] = self.variable();
            self.take();
            nodes[0] = self.expression();
            self.expect(b')', "the number of repetitions");
            flag = 3;
        } else if self.token.kind == TokenKind::Variable && self.counts(next.kind, after.kind) {
            nodes[1] = self.variable();
            nodes[0] = self.expression();
            flag = 1;
        } else {
            nodes[0] = self.expression();
        }
        let count = if flag == 0 { 1 } else { 2 };
        let first = self.push_nodes(&nodes[..count]);
        let body = self.body();
        let mut row = self.row(Form::Repeat, start, first, body);
        row.flag = flag;
        row
    }

    /// Is the variable behind `repeat` a counter? It is where another value follows it.
    fn counts(&self, next: TokenKind, after: TokenKind) -> bool {
        match next {
            TokenKind::Number | TokenKind::Text | TokenKind::Builtin | TokenKind::Sign(b'(') => true,
            // `repeat $n $x = 1;` counts with nothing, and assigns.
            TokenKind::Variable => after != TokenKind::Sign(b'='),
            TokenKind::Word => {
                let (word, _) = self.peek_two();
                matches!(Word::find(self.text_of(word)), Some(Word::Function(_)))
            }
            _ => false,
        }
    }

    fn for_loop(&mut self, start: u32) -> Row {
        let (next, _) = self.peek_two();
        let is_in = next.kind == TokenKind::Word && self.text_of(next).eq_ignore_ascii_case("in");
        if self.token.kind != TokenKind::Variable || !is_in {
            let duration = self.expression_pushed();
            let body = self.body();
            return self.row(Form::ForTime, start, duration, body);
        }
        let variable = self.variable();
        self.take();
        let from = self.expression();
        if self.token.kind == TokenKind::Range {
            self.take();
            let to = self.expression();
            let step = self.accept_word("step").then(|| self.expression());
            let first = self.push_nodes(&[variable, from, to]);
            if let Some(step) = step {
                self.push_nodes(&[step]);
            }
            let body = self.body();
            let mut row = self.row(Form::ForRange, start, first, body);
            row.flag = u8::from(step.is_some());
            return row;
        }
        let first = self.push_nodes(&[variable, from]);
        let body = self.body();
        self.row(Form::ForEach, start, first, body)
    }

    fn function(&mut self, start: u32) -> Row {
        let at = self.offset();
        let name = self.word();
        if self.token.kind != TokenKind::Word || Word::find(name).is_some() {
            let found = self.found();
            let help =
                (self.token.kind == TokenKind::Word).then(|| "this name is taken by the language".to_owned());
            self.error(
                self.here(),
                Code::ExpectedToken,
                format!("expected a name for the function, found {found}"),
                help,
            );
        }
        let symbol = self.intern(name);
        self.take();
        let base = self.scratch.len();
        let head = self.node(Tag::Word, 0, at, symbol.0);
        self.scratch.push(head);
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
        let (first, count) = self.push_scratch(base);
        let body = self.body();
        let mut row = self.row(Form::Def, start, first, body);
        row.count = (count - 1).min(u32::from(u16::MAX)) as u16;
        row
    }

    fn choose(&mut self, start: u32) -> Row {
        let base = self.scratch.len();
        let rows = self.pending.len();
        let open = self.here();
        if self.expect(b'{', "`choose`") {
            while !self.is_sign(b'}') {
                if self.token.kind == TokenKind::End {
                    self.error(open, Code::ExpectedToken, "this `{` is never closed".into(), None);
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
                let row = self.statement(false);
                self.scratch.push(weight);
                self.pending.push(row);
            }
            self.accept(b'}');
        }
        let count = (self.scratch.len() - base).min(usize::from(u16::MAX));
        let (first, _) = self.push_scratch(base);
        let bodies = self.push_pending(rows);
        let mut row = self.row(Form::Choose, start, first, bodies.first);
        row.count = count as u16;
        row
    }
}
