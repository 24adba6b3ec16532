//! Prints statements on lines and indentation levels.

use crate::syntax::{Define, StatementId, StatementKind, Statements, TokenKind, Tree};

use super::lines::{Line, columns, join};
use super::marks::Marks;
use super::spacing::{Spacing, SpacingRules};
use super::tokens::{Comment, Item, scan};
use super::{INDENT, WIDTH};

/// The formatted text of a program without syntax errors.
pub(super) fn print(text: &str, tree: &Tree) -> String {
    let (items, comments) = scan(text, tree.classic);
    let mut printer = Printer {
        text,
        tree,
        items,
        comments,
        marks: Marks::of(tree),
        at: 0,
        lines: Vec::new(),
        line: Line::default(),
        broken: false,
        hanging: Vec::new(),
        columns: Vec::new(),
    };
    let none = printer.statements(tree.top(), 0, true);
    printer.lead(0, none);
    printer.finish();
    join(&printer.lines)
}

pub(super) struct Printer<'a> {
    pub text: &'a str,
    pub tree: &'a Tree,
    pub items: Vec<Item>,
    pub comments: Vec<Comment>,
    pub marks: Marks,
    /// The next token.
    pub at: usize,
    pub lines: Vec<Line>,
    /// The current line.
    pub line: Line,
    /// The next token begins a new line.
    pub broken: bool,
    /// For each open bracket, whether a line ended after it.
    pub hanging: Vec<bool>,
    /// Columns of tokens of `define param`, by token offset.
    pub columns: Vec<(u32, usize)>,
}

impl Printer<'_> {
    fn item(&self) -> Item {
        self.items[self.at.min(self.items.len() - 1)]
    }

    pub(super) fn slice(&self, start: u32, end: u32) -> &str {
        &self.text[start as usize..end as usize]
    }

    fn comment(&self, comment: &Comment) -> String {
        self.slice(comment.start, comment.end).replace("\r\n", "\n").trim_end().to_owned()
    }

    // --- lines ---

    fn is_open(&self) -> bool {
        !self.line.text.is_empty()
    }

    /// Ends the current line, if any.
    fn finish(&mut self) {
        self.broken = false;
        if self.is_open() || self.line.comment.is_some() {
            self.lines.push(std::mem::take(&mut self.line));
        }
    }

    /// Width of the current line.
    fn column(&self) -> usize {
        let inside = if self.line.text.contains('\n') { 0 } else { self.line.indent };
        inside + columns(&self.line.text)
    }

    fn push(&mut self, text: &str, level: usize, joined: bool) {
        if !self.is_open() {
            self.line.indent = level * INDENT;
        } else if !joined {
            self.line.text.push(' ');
        }
        self.line.text.push_str(text);
    }

    /// A comment at the end of the line.
    fn trail(&mut self, comment: &Comment) {
        let text = self.comment(comment);
        if text.contains('\n') {
            self.push(&text, 0, false);
            return;
        }
        self.line.comment = Some(match self.line.comment.take() {
            Some(other) => format!("{other} {text}"),
            None => text,
        });
    }

    // --- between statements ---

    /// Prints comments and empty lines before the next token, which begins a statement or ends a list;
    /// `first`: it is the first in its list.
    fn lead(&mut self, level: usize, mut first: bool) {
        let item = self.item();
        let comments: Vec<Comment> =
            self.comments[item.comments.0 as usize..item.comments.1 as usize].to_vec();
        let mut beside = false;
        for (index, comment) in comments.iter().enumerate() {
            if comment.lines_before == 0 && self.is_open() && !beside {
                self.trail(comment);
                continue;
            }
            if !beside {
                self.finish();
                if comment.lines_before > 1 && !first {
                    self.lines.push(Line::default());
                }
            }
            first = false;
            let text = self.comment(comment);
            self.push(&text, level, false);
            // `/* … */ statement` stays one line.
            let next = comments.get(index + 1).map_or(item.lines_before, |next| next.lines_before);
            beside = !comment.to_line_end && next == 0 && !text.contains('\n');
            if !beside {
                self.finish();
            }
        }
        self.items[self.at].comments.0 = item.comments.1;
        let closes = item.is_sign(b'}') || item.kind == TokenKind::End;
        if !beside || closes {
            self.finish();
            if item.lines_before > 1 && !first && !closes {
                self.lines.push(Line::default());
            }
        }
    }

    /// Prints the statements of a list and returns whether it is still empty.
    fn statements(&mut self, list: Statements, level: usize, mut first: bool) -> bool {
        let mut aligned = 0;
        for (index, id) in list.iter().enumerate() {
            let statement = self.tree.statement(id);
            let empty = statement.kind == StatementKind::Empty;
            if empty && !first && !self.item().has_comments() && self.is_open() && self.line.comment.is_none()
            {
                self.push(";", level, true);
                self.at += 1;
                continue;
            }
            if index >= aligned && matches!(statement.kind, StatementKind::Define(Define::Param { .. })) {
                aligned = index + self.align_parameters(list, index);
            }
            self.lead(level, first);
            first = false;
            self.statement(id, level);
        }
        first
    }

    // --- statements ---

    fn statement(&mut self, id: StatementId, level: usize) {
        use StatementKind as Kind;
        let statement = self.tree.statement(id);
        match statement.kind {
            Kind::Block(list) => self.block(list, statement.span.end, level),
            Kind::If { then, otherwise, .. } => self.condition(id, then, otherwise, level),
            Kind::Choose { bodies, .. } => {
                self.token(level, false);
                self.token(level, false);
                for (nth, body) in bodies.iter().enumerate() {
                    self.lead(level + 1, nth == 0);
                    let start = self.tree.statement_span(body).start;
                    self.header(start, level + 1, SpacingRules::Other);
                    self.body(body, level + 1);
                }
                self.lead(level + 1, bodies.is_empty());
                self.token(level, true);
            }
            kind => match kind.children().statements().next() {
                Some(body) if !matches!(kind, Kind::Include { .. }) => {
                    self.header(self.tree.statement_span(body).start, level, around(kind));
                    self.body(body, level);
                }
                _ => self.header(statement.span.end, level, around(kind)),
            },
        }
    }

    /// Prints `{ … }`, up to the offset `end`.
    fn block(&mut self, list: Statements, end: u32, level: usize) {
        if let Some(flat) = self.one_line(list, end)
            && self.column() + flat < WIDTH
        {
            self.token(level, false);
            if let Some(id) = list.iter().next() {
                self.statement(id, level);
                self.token(level, false);
            } else {
                self.token(level, true);
            }
            return;
        }
        self.token(level, false);
        let none = self.statements(list, level + 1, true);
        self.lead(level + 1, none);
        self.token(level, true);
    }

    /// The width of a block if it may be on one line.
    fn one_line(&self, list: Statements, end: u32) -> Option<usize> {
        if list.len() > 1 {
            return None;
        }
        let open = self.at;
        let close = open + self.items[open..].iter().take(WIDTH).position(|item| item.end >= end)?;
        let inside = self.items.get(open + 1..=close)?;
        let written_so =
            inside.iter().all(|item| !item.has_comments() && !item.is_sign(b'{') && item.lines_before == 0);
        // An empty block has nothing that needs its own line.
        let empty = list.is_empty() && inside.iter().all(|item| !item.has_comments());
        if !empty && !written_so {
            return None;
        }
        self.measure(open, close + 1, Spacing::new(SpacingRules::Other), WIDTH)
    }

    /// `if c S else S`
    fn condition(
        &mut self,
        id: StatementId,
        then: StatementId,
        otherwise: Option<StatementId>,
        level: usize,
    ) {
        let span = self.tree.statement_span(id);
        let inner = self.tree.statement_span(then);
        if inner.start <= span.start {
            // The body is missing, which is permitted at the end of a block.
            self.header(span.end, level, SpacingRules::Other);
            return;
        }
        let whole = self.fits(span.end);
        self.header(inner.start, level, SpacingRules::Other);
        self.body(then, level);
        let Some(otherwise) = otherwise else { return };
        let block = matches!(self.tree.statement(then).kind, StatementKind::Block(_));
        if !block && !whole {
            self.set_apart(level);
        }
        let start = self.tree.statement_span(otherwise).start;
        self.header(start, level, SpacingRules::Other);
        self.body(otherwise, level);
    }

    /// Whether the tokens up to the offset `end`, which contain no block, fit on the line.
    fn fits(&self, end: u32) -> bool {
        let room = WIDTH.saturating_sub(self.column());
        let mut close = self.at;
        while self.items[close].start < end && self.items[close].kind != TokenKind::End {
            if close - self.at > WIDTH || self.items[close].is_sign(b'{') {
                return false;
            }
            close += 1;
        }
        self.measure(self.at, close, Spacing::new(SpacingRules::Other), room).is_some()
    }

    /// Prints the body of a statement after its head.
    fn body(&mut self, id: StatementId, level: usize) {
        let statement = self.tree.statement(id);
        if let StatementKind::Block(list) = statement.kind {
            self.block(list, statement.span.end, level);
            return;
        }
        if statement.kind == StatementKind::Empty && !self.item().has_comments() {
            self.token(level, true);
            return;
        }
        // Up to its first block: `repeat 3 time["x"] {`.
        let mut close = self.at;
        while self.items[close].start < statement.span.end && !self.items[close].is_sign(b'{') {
            close += 1;
            if close - self.at > WIDTH {
                break;
            }
        }
        let brace = if self.items[close].is_sign(b'{') { 2 } else { 0 };
        let room = WIDTH.saturating_sub(self.column() + 1 + brace);
        let around = around(statement.kind);
        if self.measure(self.at, close, Spacing::new(around), room).is_none() {
            self.set_apart(level + 1);
            self.statement(id, level + 1);
        } else {
            self.statement(id, level);
        }
    }

    /// Ends the line with the comments before the next token, which begins a new line.
    fn set_apart(&mut self, level: usize) {
        let (first, last) = std::mem::take(&mut self.items[self.at].comments);
        for index in first..last {
            let comment = self.comments[index as usize];
            if comment.lines_before == 0 && self.is_open() {
                self.trail(&comment);
            } else {
                self.finish();
                let text = self.comment(&comment);
                self.push(&text, level, false);
            }
            if comment.to_line_end {
                self.finish();
            }
        }
        self.finish();
    }

    // --- inside a statement ---

    /// Prints the tokens up to the offset `end`.
    fn header(&mut self, end: u32, level: usize, around: SpacingRules) {
        let mut spacing = Spacing::new(around);
        let mut first = true;
        while self.item().start < end && self.item().kind != TokenKind::End {
            let item = self.item();
            let before = spacing.before();
            let state = spacing;
            let joined = spacing.joins(&item, &self.marks, self.text) && !first;
            let (from, to) = item.comments;
            // A line comment ends the line anyway.
            let commented = self.comments[from as usize..to as usize].iter().any(|c| c.to_line_end);
            if let Some(place) = before.and_then(|before| place_after(&before, around))
                && !joined
                && !commented
            {
                self.break_if_long(end, state, place, around);
            }
            if let Some(at) = self.columns.iter().position(|(start, _)| *start == item.start) {
                let (_, column) = self.columns.swap_remove(at);
                let missing = column.saturating_sub(self.column() + 1);
                self.line.text.extend(std::iter::repeat_n(' ', missing));
            }
            let environment = state.is_environment_name(self.text);
            self.write(level, joined, first, environment);
            first = false;
        }
    }

    /// Prints a token without statement-specific spacing.
    fn token(&mut self, level: usize, joined: bool) {
        let first = !self.is_open();
        self.write(level, joined, first, false);
    }

    /// Prints the next token and the comments before it.
    fn write(&mut self, level: usize, joined: bool, first: bool, environment: bool) {
        let item = self.item();
        let inner = level + 2;
        let mut joined = joined;
        let (from, to) = item.comments;
        for index in from..to {
            let comment = self.comments[index as usize];
            if self.broken {
                self.finish();
            }
            let text = self.comment(&comment);
            if comment.to_line_end && self.is_open() {
                self.trail(&comment);
                self.broken = true;
            } else {
                self.push(&text, inner, false);
                self.broken = comment.to_line_end;
            }
            let clings = matches!(item.kind, TokenKind::Sign(b',' | b';' | b')' | b']'));
            joined = clings && !comment.to_line_end;
        }
        // If a bracket ends its line, its closing bracket begins a line.
        match item.kind {
            TokenKind::Sign(b')' | b']') => self.broken |= self.hanging.pop().unwrap_or(false),
            _ if self.broken && self.is_behind_bracket() => {
                if let Some(hanging) = self.hanging.last_mut() {
                    *hanging = true;
                }
            }
            _ => {}
        }
        if matches!(item.kind, TokenKind::Sign(b'(' | b'[')) {
            self.hanging.push(false);
        }
        let closes = matches!(item.kind, TokenKind::Sign(b')' | b']' | b'}' | b'{'));
        if self.broken {
            self.finish();
        }
        let text = self.slice(item.start, item.end);
        let lower = item.kind == TokenKind::Word && !environment && !self.marks.is_kept(item.start);
        let text = if lower { text.to_ascii_lowercase() } else { text.to_owned() };
        let first_of_line = first || closes;
        self.push(&text, if first_of_line { level } else { inner }, joined);
        self.at += 1;
    }

    /// Whether the previous token is an opening bracket.
    fn is_behind_bracket(&self) -> bool {
        self.at > 0 && matches!(self.items[self.at - 1].kind, TokenKind::Sign(b'(' | b'['))
    }

    /// Begins a new line if the tokens up to the next place that is at least as good as `place` do not fit.
    fn break_if_long(&mut self, end: u32, state: Spacing, place: BreakPlace, around: SpacingRules) {
        let mut close = self.at + 1;
        while self.items[close].start < end
            && self.items[close].kind != TokenKind::End
            && place_after(&self.items[close - 1], around).is_none_or(|next| next < place)
            && close - self.at <= WIDTH
        {
            close += 1;
        }
        let brace = if self.items[close].is_sign(b'{') { 2 } else { 0 };
        let room = WIDTH.saturating_sub(self.column() + 1 + brace);
        if self.measure(self.at, close, state, room).is_none() {
            self.broken = true;
        }
    }

    /// The width of tokens on one line; `None` if it exceeds `most` or a comment requires a line break.
    pub(super) fn measure(&self, from: usize, to: usize, mut state: Spacing, most: usize) -> Option<usize> {
        let mut total = 0;
        for (index, item) in self.items[from..to].iter().enumerate() {
            for comment in &self.comments[item.comments.0 as usize..item.comments.1 as usize] {
                let text = self.slice(comment.start, comment.end);
                if comment.to_line_end || text.contains('\n') {
                    return None;
                }
                total += text.chars().count() + 1;
            }
            let joined = state.joins(item, &self.marks, self.text);
            total += columns(self.slice(item.start, item.end)) + usize::from(!joined && index > 0);
            if total > most {
                return None;
            }
        }
        Some(total)
    }
}

/// A place where a line may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BreakPlace {
    /// Only where what stands between two better places is longer than a line.
    Inner,
    /// Between arguments, terms and conditions.
    Outer,
}

/// The place after this token, if a line may be broken there.
fn place_after(item: &Item, around: SpacingRules) -> Option<BreakPlace> {
    use TokenKind::{And, AtLeast, AtMost, Equal, NotEqual, Or, Sign};
    let of_statement = match around {
        SpacingRules::Groups => matches!(item.kind, Sign(b':' | b'/')),
        SpacingRules::Define => item.kind == Sign(b':'),
        SpacingRules::Rate => item.kind == Sign(b'/'),
        _ => false,
    };
    match item.kind {
        Sign(b',' | b'+') | And | Or => Some(BreakPlace::Outer),
        _ if of_statement => None,
        Sign(b'?' | b':' | b'<' | b'>' | b'-' | b'*' | b'/' | b'%' | b'^')
        | Equal
        | NotEqual
        | AtMost
        | AtLeast => Some(BreakPlace::Inner),
        _ => None,
    }
}

/// The spacing rules that a statement follows.
fn around(kind: StatementKind) -> SpacingRules {
    match kind {
        StatementKind::Define(Define::Groups(_)) => SpacingRules::Groups,
        StatementKind::Define(Define::Param { .. }) => SpacingRules::Param,
        StatementKind::Define(_) => SpacingRules::Define,
        StatementKind::Rate { .. } => SpacingRules::Rate,
        StatementKind::Async { .. } => SpacingRules::Async,
        StatementKind::Time { .. } => SpacingRules::Time,
        _ => SpacingRules::Other,
    }
}
