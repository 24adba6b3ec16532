//! Resolves the variables in strings.

use crate::code::{Builtin, Expr, Piece, Slot, Template};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, find_word, nearest};
use crate::syntax::template::{TextPart, parts};
use crate::syntax::{ExprId, ExprKind, Symbol, template};

use super::checker::Checker;

impl Checker<'_> {
    /// Compiles a string and resolves its variables.
    pub(super) fn string(&mut self, id: ExprId) -> Expr {
        let (raw, offset) = self.tree.raw_text(id, self.text);
        if raw.contains('\0') {
            let message = "the string holds a NUL byte, which no file name may hold";
            self.push(
                Diagnostic::warning(DiagnosticCode::NulInText, self.tree.span(id), message)
                    .help("write it without the NUL byte if it is a name"),
            );
        }
        if template::is_plain(raw) {
            return Expr::Text(self.add_text(raw));
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut open = String::new();
        for part in parts(raw, self.tree.classic) {
            match part {
                TextPart::Literal(text) => open.push_str(text),
                TextPart::Variable(run, at) => {
                    let at = offset + at;
                    if let Some((slot, used)) = self.longest(run) {
                        self.flush(&mut open, &mut pieces);
                        pieces.push(Piece::Slot(slot));
                        self.shorter(run, used, Span::new(at, at + 1 + run.len() as u32));
                        open.push_str(&run[used..]);
                    } else {
                        self.unknown_in_string(run, Span::new(at, at + 1 + run.len() as u32));
                    }
                }
                TextPart::Braced(name, at) => {
                    let at = offset + at;
                    let span = Span::new(at, at + name.len() as u32 + 3);
                    self.flush(&mut open, &mut pieces);
                    if let Some(builtin) = name.strip_prefix("$$") {
                        if let Some(piece) = self.builtin_piece(builtin, span) {
                            pieces.push(piece);
                        }
                        continue;
                    }
                    match self.tree.names().find(name).and_then(|symbol| self.variable(symbol)) {
                        Some(slot) => pieces.push(Piece::Slot(slot)),
                        None => self.unknown_in_string(name, span),
                    }
                }
                TextPart::Builtin(run, at) => {
                    let at = offset + at;
                    self.flush(&mut open, &mut pieces);
                    if let Some(piece) = self.builtin_piece(run, Span::new(at, at + 2 + run.len() as u32)) {
                        pieces.push(piece);
                    }
                }
                TextPart::Environment(name, at) => {
                    let at = offset + at;
                    self.flush(&mut open, &mut pieces);
                    let index =
                        self.environment(name.trim_matches('"'), Span::new(at, at + name.len() as u32 + 7));
                    pieces.push(Piece::Environment(index));
                }
            }
        }
        if pieces.is_empty() {
            return Expr::Text(self.add_text(&open));
        }
        self.flush(&mut open, &mut pieces);
        let first = self.code.pieces.len() as u32;
        self.code.pieces.extend_from_slice(&pieces);
        self.code.templates.push(Template { first, count: pieces.len() as u32 });
        Expr::Template(self.code.templates.len() as u32 - 1)
    }

    fn flush(&mut self, open: &mut String, pieces: &mut Vec<Piece>) {
        if !open.is_empty() {
            let text = self.add_text(open);
            pieces.push(Piece::Text(text));
            open.clear();
        }
    }

    /// The longest prefix of a name that is a defined variable, and its length in bytes.
    fn longest(&mut self, run: &str) -> Option<(Slot, usize)> {
        // `$` alone is a name in the original.
        let least = usize::from(!run.is_empty());
        (least..=run.len().min(self.longest_name)).rev().find_map(|used| {
            let symbol = self.tree.names().find(&run[..used])?;
            self.variable(symbol).map(|slot| (slot, used))
        })
    }

    /// Warns, once for each name, where a string names a variable that does not exist and begins like one that does.
    fn shorter(&mut self, run: &str, used: usize, span: Span) {
        let (name, rest) = run.split_at(used);
        // Published programs write `$ia` for the counter `$i` and a letter.
        let is_as_published = run.len() == 2;
        if rest.is_empty() || name.is_empty() || is_as_published || self.tree.classic {
            return;
        }
        if !self.shorter.insert(run.to_owned()) {
            return;
        }
        let message = format!("there is no `${run}`: this is `${name}` followed by `{rest}`");
        let warning = Diagnostic::warning(DiagnosticCode::ShorterName, span, message);
        let braced = format!("write `${{{name}}}{rest}` if that is meant");
        let near = self.meant(run).filter(|near| *near != name).map(str::to_owned);
        self.push(match near {
            Some(near) => warning.help(format!("{braced}, or `${near}`")),
            None => warning.help(braced),
        });
    }

    fn unknown_in_string(&mut self, name: &str, span: Span) {
        let message = if name.is_empty() {
            "`$` without a name in a string".to_owned()
        } else {
            format!("unknown variable `${name}` in a string")
        };
        let error = Diagnostic::error(DiagnosticCode::UnknownVariable, span, message);
        let error = match self.meant(name).filter(|_| !name.is_empty()) {
            Some(near) => match find_word(self.text, span, &format!("${{{name}}}")) {
                Some(place) => error.did_you_mean(&format!("${{{near}}}"), Some(place)),
                None => {
                    let place = find_word(self.text, span, &format!("${name}"));
                    error.did_you_mean(&format!("${near}"), place)
                }
            },
            None => error.help("a dollar sign in a string is written `\\$`"),
        };
        self.push(error);
    }

    /// A built-in in a string. As in the original, its name extends over all letters and digits that follow.
    fn builtin_piece(&mut self, run: &str, span: Span) -> Option<Piece> {
        if let Some(builtin) = Builtin::find(run) {
            return Some(Piece::Builtin(builtin));
        }
        let known = (1..run.len()).rev().find_map(|used| Some((Builtin::find(run.get(..used)?)?, used)));
        let Some((builtin, used)) = known.filter(|_| !run.starts_with("env")) else {
            self.unknown_builtin(run, span);
            return None;
        };
        let (name, lost) = run.split_at(used);
        self.push(
            Diagnostic::warning(
                DiagnosticCode::LostText,
                span,
                format!("`{lost}` after `$${name}` is dropped"),
            )
            .help(format!("write `${{$${name}}}{lost}` to keep it")),
        );
        Some(Piece::Builtin(builtin))
    }

    pub(super) fn unknown_builtin(&mut self, name: &str, span: Span) {
        let names = Builtin::ALL.iter().map(|(_, name, _)| *name).chain(["env"]);
        let message = format!("unknown built-in `$${name}`");
        let error = Diagnostic::error(DiagnosticCode::UnknownBuiltin, span, message);
        self.push(if name.eq_ignore_ascii_case("env") {
            error.help("the form is `$$env(NAME)`")
        } else if let Some(near) = nearest(name, names) {
            error.did_you_mean(&format!("$${near}"), find_word(self.text, span, &format!("$${name}")))
        } else {
            error
        });
    }

    /// The number of an environment variable.
    pub(super) fn environment(&mut self, name: &str, span: Span) -> u32 {
        if let Some(at) = self.code.environment.iter().position(|(known, _)| known == name) {
            return at as u32;
        }
        self.code.environment.push((name.to_owned(), span));
        self.code.environment.len() as u32 - 1
    }

    /// A string without variables; reports an error for anything else.
    pub(super) fn plain_text(&mut self, id: ExprId, what: &str) -> Option<String> {
        let span = self.tree.span(id);
        match self.tree.expr_kind(id) {
            ExprKind::Error => None,
            ExprKind::Parens(inner) => self.plain_text(inner, what),
            ExprKind::Text => {
                let raw = self.tree.raw_text(id, self.text).0;
                let raw = template::plain(raw, self.tree.classic);
                if raw.replace("\\$", "").contains('$') {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::NotConstant,
                            span,
                            format!("{what} must not contain variables"),
                        )
                        .help("it must be known before the program starts"),
                    );
                    return None;
                }
                Some(raw.replace("\\$", "$"))
            }
            _ => {
                let message = format!("{what} must be a string");
                self.push(
                    Diagnostic::error(DiagnosticCode::WrongKind, span, message)
                        .help("a string is text in double quotes: \"…\""),
                );
                None
            }
        }
    }

    /// A name without blanks at its ends; warns if there were any.
    pub(super) fn trimmed(&mut self, name: &str, span: Span) -> String {
        let trimmed = name.trim();
        if trimmed.len() != name.len() {
            self.push(
                Diagnostic::warning(
                    DiagnosticCode::Trimmed,
                    span,
                    format!("blanks around the name \"{trimmed}\" are ignored"),
                )
                .help(format!("write \"{trimmed}\"")),
            );
        }
        trimmed.to_owned()
    }

    /// The number of the group that a string names.
    pub(super) fn group_number(&mut self, id: ExprId) -> Option<u32> {
        let span = self.tree.span(id);
        let name = self.plain_text(id, "the name of a group")?;
        let name = self.trimmed(&name, span);
        if let Some(number) = self.survey.groups.get(&name) {
            return Some(*number);
        }
        let mut known: Vec<&str> = self.survey.groups.keys().map(String::as_str).collect();
        known.sort_unstable();
        let error =
            Diagnostic::error(DiagnosticCode::UnknownGroup, span, format!("unknown group \"{name}\""));
        let error = match nearest(&name, known.iter().copied()) {
            Some(near) => error.did_you_mean_name(near, find_word(self.text, span, &name)),
            None if known.len() == 1 => error.help(format!("define it: `define groups {{\"{name}\"}};`")),
            None => error.help(format!("defined are: {}", known.join(", "))),
        };
        self.push(error);
        None
    }

    /// The symbol of a variable expression.
    pub(super) fn symbol(&self, id: ExprId) -> Option<Symbol> {
        match self.tree.expr_kind(id) {
            ExprKind::Variable(symbol) => Some(symbol),
            _ => None,
        }
    }
}
