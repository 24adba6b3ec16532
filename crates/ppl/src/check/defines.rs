//! Checks the definitions of a program.

use crate::code::{Builtin, Expr, ExprIndex};
use crate::commands::FunctionKind;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::syntax::{Callee, Define, ExprId, ExprKind, Exprs, Range, template};
use crate::value::Value;

use super::checker::Checker;
use super::definitions::{GroupDefinition, GroupTag, Parameter, PatternDefinition, classic_suffix};

/// Sites store the number of their group in 16 bits, and ranks keep a communicator for each group.
const MAX_GROUPS: usize = 4096;

impl Checker<'_> {
    /// Checks a definition and stores it.
    pub(super) fn define(&mut self, define: Define, span: Span) {
        match define {
            Define::Param { name, variable, default, place, range } => {
                self.parameter((name, variable, default), place, range);
            }
            Define::Groups(items) => self.groups(items),
            Define::Pattern(items) => self.pattern(items, span),
            Define::Report(items) => {
                for at in (0..items.len()).step_by(2) {
                    let (Some(key), Some(value)) = (items.get(at), items.get(at + 1)) else { break };
                    let Some(key) = self.plain_text(key, "the key of a report hint") else { continue };
                    if matches!(key.as_str(), "gate" | "samples") {
                        self.ask_for(value);
                    }
                    let value = self.constant_expression(value);
                    self.definitions.report.push((key, value));
                }
            }
            Define::Hints(items) => {
                for at in (0..items.len()).step_by(2) {
                    let (Some(key), Some(value)) = (items.get(at), items.get(at + 1)) else { break };
                    self.hint(key, value);
                }
            }
            Define::Ranks(count) => {
                self.definitions.ranks =
                    Some(self.once(count, self.definitions.ranks, "the number of ranks"));
            }
            Define::Content(kind) => {
                self.definitions.content = Some(self.once(kind, self.definitions.content, "the content"));
            }
            Define::Space { directory, bytes } => {
                let span = self.tree.span(bytes);
                let directory = directory.map(|directory| self.constant_expression(directory));
                let bytes = self.constant_expression(bytes);
                self.definitions.space.push((directory, bytes, span));
            }
        }
    }

    fn hint(&mut self, key: ExprId, value: ExprId) {
        let span = self.tree.span(key);
        let Some(key) = self.plain_text(key, "the key of a hint") else { return };
        let value = self.constant_expression(value);
        if let Some((.., first)) = self.definitions.hints.iter().find(|known| known.0 == key) {
            let first = *first;
            self.duplicate(span, first, &format!("the hint \"{key}\""));
            return;
        }
        self.definitions.hints.push((key, value, span));
    }

    /// What a program may define once; `known` was defined before.
    fn once(&mut self, value: ExprId, known: Option<(ExprIndex, Span)>, what: &str) -> (ExprIndex, Span) {
        let span = self.tree.span(value);
        let value = self.constant_expression(value);
        if let Some((_, first)) = known {
            self.duplicate(span, first, what);
        }
        (value, span)
    }

    fn duplicate(&mut self, span: Span, first: Span, what: &str) {
        self.push(
            Diagnostic::error(DiagnosticCode::Duplicate, span, format!("{what} is defined twice"))
                .label(first, "first defined here"),
        );
    }

    fn parameter(&mut self, (name, variable, default): (ExprId, ExprId, ExprId), place: bool, range: Range) {
        let span = self.tree.span(name);
        let Some(name) = self.plain_text(name, "the name of a parameter") else { return };
        let ExprKind::Variable(symbol) = self.tree.expr_kind(variable) else { return };
        let slot = self.global(symbol);
        if let Some(first) =
            self.definitions.parameters.iter().find(|known| known.name == name || known.slot == slot)
        {
            let first = first.span;
            self.duplicate(span, first, &format!("the parameter `{name}`"));
            return;
        }
        let text = matches!(self.tree.expr_kind(default), ExprKind::Text);
        let default_span = self.tree.span(default);
        let value = if text {
            // Variables in a default are not substituted.
            let text = template::plain(self.tree.raw_text(default, self.text).0, self.tree.classic);
            if let Some(digits) = classic_suffix(&text) {
                self.push(
                    Diagnostic::warning(
                        DiagnosticCode::TextUnit,
                        default_span,
                        format!("as a number, \"{text}\" is {digits}: its unit is ignored"),
                    )
                    .help(format!("omit the quotes to write {text} as a number with a unit")),
                );
            }
            let text = self.add_text(&text);
            self.push_expr(Expr::Text(text))
        } else {
            self.constant_expression(default)
        };
        let range = [range.from, range.to, range.choices]
            .map(|bound| bound.map(|bound| self.constant_expression(bound)));
        self.definitions.parameters.push(Parameter {
            name,
            slot,
            default: value,
            numeric: !text,
            range,
            place,
            span,
        });
    }

    fn groups(&mut self, items: Exprs) {
        for at in (0..items.len()).step_by(3) {
            let (Some(id), Some(tag), Some(sub)) = (items.get(at), items.get(at + 1), items.get(at + 2))
            else {
                break;
            };
            let span = self.tree.span(id);
            if self.definitions.groups.len() == MAX_GROUPS {
                self.push(
                    Diagnostic::error(DiagnosticCode::BadDefine, span, "a program has at most 4,096 groups")
                        .help("put ranks that do the same into one group; `$$grank` is their number in it"),
                );
                return;
            }
            let Some(name) = self.plain_text(id, "the name of a group") else { continue };
            let name = self.trimmed(&name, span);
            if name == "world" || name.is_empty() {
                let message =
                    if name.is_empty() { "a group needs a name" } else { "the group `world` exists already" };
                self.push(Diagnostic::error(DiagnosticCode::BadDefine, span, message));
                continue;
            }
            if let Some(first) = self.definitions.groups.iter().find(|known| known.name == name) {
                let first = first.span;
                self.duplicate(span, first, &format!("the group \"{name}\""));
                continue;
            }
            let word = |id| match self.tree.expr_kind(id) {
                ExprKind::Word(symbol) => self.name(symbol).to_owned(),
                _ => String::new(),
            };
            let (letter, own) = (word(tag), word(sub));
            let sub = (!matches!(self.tree.expr_kind(sub), ExprKind::Error | ExprKind::Word(_)))
                .then(|| self.constant_expression(sub));
            let tag_span = self.tree.span(tag);
            let tag = match letter.as_str() {
                "" => GroupTag::Free,
                "S" | "s" => GroupTag::Exclusive,
                "D" | "d" => GroupTag::Disjoint(own),
                other => {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::BadDefine,
                            tag_span,
                            format!("`{other}` is not a group tag"),
                        )
                        .help(
                            "`S`: exclusive ranks; `D` or `D/1`: disjoint from groups with the same tag; none: may overlap",
                        ),
                    );
                    GroupTag::Free
                }
            };
            self.definitions.groups.push(GroupDefinition { name, tag, sub, span });
        }
    }

    fn pattern(&mut self, items: Exprs, span: Span) {
        let texts: Vec<ExprId> = items.iter().collect();
        let Some((&name_id, mut rest)) = texts.split_first() else {
            self.push(Diagnostic::error(DiagnosticCode::BadDefine, span, "a pattern needs a name"));
            return;
        };
        let name_span = self.tree.span(name_id);
        let Some(name) = self.plain_text(name_id, "the name of a pattern") else { return };
        let name = self.trimmed(&name, name_span);
        if let Some(first) = self.definitions.patterns.iter().find(|known| known.name == name) {
            let first = first.span;
            self.duplicate(name_span, first, &format!("the pattern \"{name}\""));
            return;
        }
        let mut group = None;
        if let Some((&last, others)) = rest.split_last()
            && !others.is_empty()
            && matches!(self.tree.expr_kind(last), ExprKind::Text)
        {
            group = self.group_number(last);
            rest = others;
        }
        let (numbers, shape) = self.pattern_numbers((&name, name_span), rest, span);
        self.definitions.patterns.push(PatternDefinition { name, numbers, shape, group, span: name_span });
    }

    /// Compiles an expression of a definition, which must be constant.
    pub(super) fn constant_expression(&mut self, id: ExprId) -> ExprIndex {
        self.constant_but(id, &[])
    }

    /// As [`Checker::constant_expression`], of an expression that may name these values of a rank.
    pub(super) fn constant_but(&mut self, id: ExprId, allowed: &[Builtin]) -> ExprIndex {
        if let Some((span, what)) = self.not_constant(id, allowed) {
            self.push(
                Diagnostic::error(DiagnosticCode::NotConstant, span, format!("{what} is not constant"))
                    .help("a definition may use numbers, strings, parameters and operators"),
            );
            let zero = self.constant(Value::Int(0));
            return self.push_expr(zero);
        }
        let expr = self.expression(id);
        self.push_expr(expr)
    }

    /// The first part of an expression that is not constant.
    fn not_constant(&self, id: ExprId, allowed: &[Builtin]) -> Option<(Span, String)> {
        self.tree.exprs_in(id).find_map(|(id, kind)| {
            let what = match kind {
                ExprKind::Variable(symbol) if !self.survey.parameters.contains(&symbol) => {
                    format!("the variable `${}`", self.name(symbol))
                }
                ExprKind::Builtin(symbol) => match Builtin::find(self.name(symbol)) {
                    Some(known) if known == Builtin::Size || allowed.contains(&known) => return None,
                    _ => format!("`$${}`", self.name(symbol)),
                },
                ExprKind::Call(Callee::Function(function), _)
                    if function.spec().kind == FunctionKind::Pure =>
                {
                    return None;
                }
                ExprKind::Call(..) => "a call".into(),
                ExprKind::Error
                | ExprKind::Number(_)
                | ExprKind::Text
                | ExprKind::Variable(_)
                | ExprKind::Environment(_)
                | ExprKind::Word(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Choice(..)
                | ExprKind::List(_)
                | ExprKind::Index(..)
                | ExprKind::Estimate(..)
                | ExprKind::Unit(..)
                | ExprKind::Parens(_) => return None,
            };
            Some((self.tree.span(id), what))
        })
    }
}
