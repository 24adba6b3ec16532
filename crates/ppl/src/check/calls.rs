//! Checks the arguments of commands.

use crate::code::{Expr, SiteId};
use crate::commands::{ArgumentSpec, Command, Default, Kind, mode};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, find_word, nearest};
use crate::syntax::{ExprId, ExprKind, Exprs, template};
use samples::SiteKind;

use super::checker::Checker;
use super::expressions::LiteralKind;

impl Checker<'_> {
    /// Compiles the arguments of a command and returns the first expression, their number and the site.
    /// Omitted arguments get their fixed default.
    pub(super) fn command_call(
        &mut self,
        command: Command,
        arguments: Exprs,
        span: Span,
    ) -> (u32, u32, SiteId) {
        let spec = command.spec();
        let missing = spec.required().saturating_sub(arguments.len());
        if missing > 0 {
            let names: Vec<&str> = spec.arguments[arguments.len()..spec.required()]
                .iter()
                .map(|argument| argument.name)
                .collect();
            self.push(
                Diagnostic::error(
                    DiagnosticCode::MissingArgument,
                    span,
                    format!(
                        "`{}` lacks its {} `{}`",
                        spec.name,
                        if missing > 1 { "arguments" } else { "argument" },
                        names.join("`, `")
                    ),
                )
                .help(format!("the form is `{}`", spec.form())),
            );
        }
        let group = self.explicit_group(command, arguments);
        if command.is_collective() {
            self.meeting(span, &format!("`{}`", command.name()));
        }
        let base = self.pending_exprs.len();
        let classic = self.tree.classic;
        let is_known = |argument: &&ArgumentSpec| !classic || spec.is_in_original(argument);
        let mut given = 0;
        for (index, id) in arguments.iter().enumerate() {
            let Some(argument) = spec.argument(index).filter(is_known) else {
                let last = self.tree.span(id);
                let most = spec.arguments.iter().filter(is_known).count() as u32;
                self.push(
                    Diagnostic::warning(
                        DiagnosticCode::SurplusArgument,
                        last,
                        format!(
                            "`{}` takes {}; this one is ignored",
                            spec.name,
                            super::expressions::count_text(most, most)
                        ),
                    )
                    .help(format!("the form is `{}`", spec.form())),
                );
                break;
            };
            let expr = self.argument(command, argument, id);
            self.pending_exprs.push(expr);
            given = index + 1;
        }
        for argument in spec.arguments.iter().skip(given) {
            match argument.default {
                Default::Int(value) => {
                    let expr = self.constant(crate::value::Value::Int(value));
                    self.pending_exprs.push(expr);
                }
                // The group of patterns and MPI-IO files is known here.
                Default::Absent(_) if argument.kind == Kind::Group => {
                    self.pending_exprs.push(Expr::Int(group as i32))
                }
                _ => break,
            }
        }
        let count = (self.pending_exprs.len() - base) as u32;
        let first = self.push_pending_exprs(base);
        if command.awaits_signal() && count > 0 {
            self.awaited.push((span, first));
        } else if command.gives_signal() && count > 0 {
            self.signalled.push(first);
        }
        let site = self.site(span, Some(command), SiteKind::Operation);
        let of_open_file = spec.files().next().is_some();
        if command.is_collective() || of_open_file && self.survey.collective {
            self.place_of_meeting(site, span);
        }
        (first, count, site)
    }

    /// The group of a command: the named one, the pattern's, or the enclosing one.
    fn explicit_group(&self, command: Command, arguments: Exprs) -> u32 {
        let spec = command.spec();
        let named = spec
            .position(Kind::Group)
            .and_then(|index| arguments.get(index))
            .map(|id| self.tree.raw_text(id, self.text).0.trim())
            .and_then(|name| self.survey.groups.get(name));
        if let Some(group) = named {
            return *group;
        }
        let pattern = spec
            .position(Kind::Pattern)
            .and_then(|index| arguments.get(index))
            .and_then(|id| self.pattern_of(id));
        pattern
            .and_then(|number| self.definitions.patterns.get(number as usize))
            .and_then(|pattern| pattern.group)
            .unwrap_or(u32::from(self.group))
    }

    /// The number of the pattern that a plain string names.
    fn pattern_of(&self, id: ExprId) -> Option<u32> {
        self.survey.patterns.get(self.tree.raw_text(id, self.text).0.trim()).copied()
    }

    fn wrong_kind(&mut self, command: Command, argument: &ArgumentSpec, found: LiteralKind, span: Span) {
        let (name, wanted) = (argument.name, argument.kind.name());
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        // `"4k"` in place of a size.
        let is_number = wanted.starts_with("a number")
            && text.starts_with("\"")
            && text[1..].starts_with(|c: char| c.is_ascii_digit());
        self.push(
            Diagnostic::error(
                DiagnosticCode::WrongKind,
                span,
                format!("`{name}` of `{}` must be {wanted}, not {}", command.name(), found.name()),
            )
            .help(match of_posix(command) {
                Some(help) => help.to_owned(),
                None if is_number => format!("leave the double quotes out: `{}`", text.trim_matches('"')),
                None => format!("the form is `{}`", command.spec().form()),
            }),
        );
    }

    /// Warns of a number without a unit: microseconds are rarely intended.
    fn bare_time(&mut self, kind: LiteralKind, span: Span) {
        // Published programs count so.
        let is_bare = kind == LiteralKind::Float
            || (kind == LiteralKind::Int && !self.tree.classic && self.is_bare_and_above_zero(span));
        if !is_bare {
            return;
        }
        let number = self.text.get(span.start as usize..span.end as usize).unwrap_or("it");
        self.push(
            Diagnostic::warning(DiagnosticCode::BareTime, span, format!("{number} counts microseconds"))
                .help(format!("name the unit: `{number}s`, `{number}ms` or `{number}us`")),
        );
    }

    fn is_bare_and_above_zero(&self, span: Span) -> bool {
        let digits = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.bytes().any(|byte| byte != b'0')
    }

    fn argument(&mut self, command: Command, argument: &ArgumentSpec, id: ExprId) -> Expr {
        let kind = argument.kind;
        let span = self.tree.span(id);
        let literal = self.literal_kind(id);
        let plain = self.is_literal_text(id) && template::is_plain(self.tree.raw_text(id, self.text).0);
        match kind {
            Kind::Path | Kind::PathOrFile
                if literal == Some(LiteralKind::Text)
                    && self.tree.raw_text(id, self.text).0.contains('\0') =>
            {
                let message = format!("`{}` of `{}` holds a NUL byte", argument.name, command.name());
                self.push(
                    Diagnostic::error(DiagnosticCode::NulInName, span, message)
                        .help("write the name without it: no file name can hold a NUL byte"),
                );
                return Expr::Text(self.add_text(""));
            }
            Kind::Pattern if plain => {
                let raw = self.tree.raw_text(id, self.text).0.to_owned();
                let wanted = self.trimmed(&raw, span);
                if let Some(number) = self.survey.patterns.get(&wanted) {
                    return Expr::Int(*number as i32);
                }
                let mut known: Vec<&str> = self.survey.patterns.keys().map(String::as_str).collect();
                known.sort_unstable();
                let near = nearest(&wanted, known.iter().copied());
                let message = format!("unknown pattern \"{wanted}\"");
                let error = Diagnostic::error(DiagnosticCode::UnknownPattern, span, message);
                let place = find_word(self.text, span, &wanted);
                let error = match near {
                    Some(near) => error.did_you_mean_name(near, place),
                    None => {
                        let define = "define it: `define pattern {\"name\", iterations, element, level};`";
                        error.help(of_posix(command).filter(|_| known.is_empty()).unwrap_or(define))
                    }
                };
                self.push(error);
                return Expr::Int(0);
            }
            Kind::Group => return Expr::Int(self.group_number(id).unwrap_or(0) as i32),
            Kind::Mode if plain => self.mode(command, id, span),
            Kind::Whence if plain || matches!(self.tree.expr_kind(id), ExprKind::Word(_)) => {
                let text = match self.tree.expr_kind(id) {
                    ExprKind::Word(symbol) => self.name(symbol).to_owned(),
                    _ => self.tree.raw_text(id, self.text).0.to_ascii_uppercase(),
                };
                if !matches!(text.as_str(), "SEEK_SET" | "SEEK_CUR" | "SEEK_END") {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::BadMode,
                            span,
                            format!("`{text}` is not a position"),
                        )
                        .help("positions are SEEK_SET, SEEK_CUR and SEEK_END"),
                    );
                }
                return Expr::Text(self.add_text(&text));
            }
            Kind::Bytes
            | Kind::Distance
            | Kind::Count
            | Kind::Integer
            | Kind::Permissions
            | Kind::BytesOrBuffer => {
                if let Some(
                    found @ (LiteralKind::Text
                    | LiteralKind::List
                    | LiteralKind::Share
                    | LiteralKind::Duration),
                ) = literal
                {
                    self.wrong_kind(command, argument, found, span);
                }
            }
            Kind::Microseconds => match literal {
                Some(found @ (LiteralKind::Text | LiteralKind::List | LiteralKind::Share)) => {
                    self.wrong_kind(command, argument, found, span);
                }
                Some(found) => self.bare_time(found, span),
                None => {}
            },
            Kind::File | Kind::Buffer => {
                if let Some(found) = literal {
                    self.wrong_kind(command, argument, found, span);
                }
            }
            Kind::Path | Kind::PathOrFile | Kind::Text | Kind::Mode | Kind::Whence => {
                if let Some(found @ LiteralKind::List) = literal {
                    self.wrong_kind(command, argument, found, span);
                }
            }
            // A variable may hold the name of a pattern, and a number is none.
            Kind::Pattern => {
                if let Some(found) = literal.filter(|found| *found != LiteralKind::Text) {
                    self.wrong_kind(command, argument, found, span);
                }
            }
            Kind::Any => {}
        }
        self.expression(id)
    }

    fn mode(&mut self, command: Command, id: ExprId, span: Span) {
        let text = self.tree.raw_text(id, self.text).0;
        if command.is_collective() {
            if text.is_empty() || !text.chars().all(|letter| "crw".contains(letter)) {
                let message = format!("`{text}` is not a mode of `{}`", command.name());
                self.push(
                    Diagnostic::error(DiagnosticCode::BadMode, span, message)
                        .help("use any of the letters c, r and w"),
                );
            }
            return;
        }
        if let Err(part) = mode::flags(text) {
            let modes = ["r", "w", "a", "r+", "w+", "a+"];
            let error =
                Diagnostic::error(DiagnosticCode::BadMode, span, format!("`{part}` is not an open mode"));
            self.push(match nearest(&part, mode::FLAGS.iter().copied()) {
                Some(near) => error.did_you_mean(near, find_word(self.text, span, &part)),
                None => {
                    error.help(format!("modes are {}, or names such as O_WRONLY|O_CREAT", modes.join(" ")))
                }
            });
        }
    }
}

/// What does the work of a POSIX call of this name here, where the command is another one.
fn of_posix(command: Command) -> Option<&'static str> {
    match command.name() {
        "pwrite" => {
            Some("`pwrite` writes a pattern through MPI-IO; at an offset write `fwrite($file, size, offset)`")
        }
        "pread" => {
            Some("`pread` reads a pattern through MPI-IO; at an offset write `fread($file, size, offset)`")
        }
        _ => None,
    }
}
