//! Checks what stands behind the name in `define pattern {…}`.

use crate::code::{Builtin, Expr, ExprIndex};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, find_word, nearest};
use crate::syntax::{ExprId, ExprKind};

use super::checker::Checker;
use super::definitions::{ShapeForm, ShapeWord};

/// What the parts of a shape may depend on, beside parameters and the number of ranks.
const OF_A_RANK: [Builtin; 2] = [Builtin::Rank, Builtin::GroupRank];

impl Checker<'_> {
    /// Type, iterations, element and level, and the shape where there is one.
    pub(super) fn pattern_numbers(
        &mut self,
        (name, name_span): (&str, Span),
        items: &[ExprId],
        span: Span,
    ) -> ([ExprIndex; 4], Option<ShapeForm>) {
        let shape = match items {
            [first, ..] if matches!(self.tree.expr_kind(*first), ExprKind::Text) => {
                match self.shape_word(*first, name) {
                    Ok(shape) => shape,
                    Err(error) => {
                        self.push(*error);
                        return (self.no_numbers(), None);
                    }
                }
            }
            _ => None,
        };
        if let Some(word) = shape {
            return self.shaped((name, name_span), word, (&items[1..], span));
        }
        let numbers: Vec<ExprIndex> = match items.len() {
            3 => {
                let kind = self.push_expr(Expr::Int(2));
                std::iter::once(kind).chain(items.iter().map(|id| self.constant_expression(*id))).collect()
            }
            4 => items.iter().map(|id| self.constant_expression(*id)).collect(),
            other => {
                self.push(
                    Diagnostic::error(
                        DiagnosticCode::BadDefine,
                        span,
                        format!("the pattern \"{name}\" has {other} numbers instead of 3 or 4"),
                    )
                    .help("the form is `define pattern {\"name\", type, iterations, element, level[, \"group\"]}`, where the type may be left out"),
                );
                return (self.no_numbers(), None);
            }
        };
        ([numbers[0], numbers[1], numbers[2], numbers[3]], None)
    }

    fn no_numbers(&mut self) -> [ExprIndex; 4] {
        [self.push_expr(Expr::Int(0)); 4]
    }

    /// The shape that a text names; `None` for a number in quotes, which the original took.
    fn shape_word(&self, id: ExprId, name: &str) -> Result<Option<ShapeWord>, Box<Diagnostic>> {
        let word = self.tree.raw_text(id, self.text).0.trim();
        let known = ShapeWord::find(word);
        if known.is_some() || !word.starts_with(|first: char| first.is_alphabetic()) {
            return Ok(known);
        }
        let span = self.tree.span(id);
        let error = |message: String| Diagnostic::error(DiagnosticCode::BadDefine, span, message);
        if word.eq_ignore_ascii_case("shared") {
            let message =
                format!("the pattern \"{name}\" asks for a shared file pointer, which there is not");
            return Err(Box::new(error(message).help(
                "for records in the order of ranks write `{\"p\", iterations, element, 1}`, in the order of arrival `append(name, size)`",
            )));
        }
        let unknown = error(format!("the pattern \"{name}\" has the unknown shape \"{word}\""));
        let words = ShapeWord::ALL.map(|(_, word)| word);
        Err(Box::new(match nearest(word, words) {
            Some(near) => unknown.did_you_mean(near, find_word(self.text, span, word)),
            None => unknown.help(format!("the shapes are {}", words.join(", "))),
        }))
    }

    fn shaped(
        &mut self,
        (name, name_span): (&str, Span),
        word: ShapeWord,
        (items, span): (&[ExprId], Span),
    ) -> ([ExprIndex; 4], Option<ShapeForm>) {
        let parts = word.parts();
        let behind = if word == ShapeWord::List { 1 } else { 2 };
        if items.len() != parts.len() + behind {
            let message = format!(
                "the {} pattern \"{name}\" has {} parts behind its shape instead of {}",
                word.word(),
                items.len(),
                parts.len() + behind
            );
            let error = Diagnostic::error(DiagnosticCode::BadDefine, span, message);
            self.push(error.help(format!("the form is `define pattern {}`", word.form())));
            return (self.no_numbers(), None);
        }
        let (shape, rest) = items.split_at(parts.len());
        let parts = shape.iter().map(|id| self.constant_but(*id, &OF_A_RANK)).collect();
        let (kind, none) = (self.push_expr(Expr::Int(2)), self.push_expr(Expr::Int(0)));
        let element = match rest {
            [element, _] => self.constant_expression(*element),
            _ => self.push_expr(Expr::Int(1)),
        };
        let level = rest.last().map_or(none, |id| self.constant_expression(*id));
        ([kind, none, element, level], Some(ShapeForm { word, parts, span: name_span }))
    }
}
