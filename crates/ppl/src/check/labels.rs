//! Finds labels that the program refers to and that no samples can have.

use std::collections::BTreeSet;

use samples::SiteKind;

use crate::code::{Code, Expr, ExprIndex, Piece, RawSite, Step};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, nearest};

/// The labels of a program: text pieces, and `None` for parts known only at run time.
struct KnownLabels {
    labels: Vec<Vec<Option<String>>>,
    operations: Vec<&'static str>,
}

impl KnownLabels {
    fn of(code: &Code) -> Self {
        let labels = code.steps.iter().filter_map(|step| match *step {
            Step::Time { label, .. } | Step::Phase { label, .. } => Some(pieces(code, label)),
            _ => None,
        });
        let named =
            code.sites.iter().filter(|site| matches!(site.kind, SiteKind::Operation | SiteKind::Barrier));
        let mut operations: Vec<&str> = named.map(RawSite::operation).collect();
        operations.sort_unstable();
        operations.dedup();
        let mut labels: Vec<_> = labels.collect();
        labels.sort_unstable();
        labels.dedup();
        Self { labels, operations }
    }

    /// Whether samples can have this label, operation, or `label/operation`.
    fn holds(&self, wanted: &str) -> bool {
        let label = |name: &str| self.labels.iter().any(|label| fits(label, name));
        self.operations.contains(&wanted)
            || label(wanted)
            || wanted.rsplit_once('/').is_some_and(|(name, operation)| {
                self.operations.contains(&operation.trim()) && (name.trim().is_empty() || label(name.trim()))
            })
    }

    /// Adds the most similar label, or all of them, to the warning.
    fn advise(&self, warning: Diagnostic, wanted: &str) -> Diagnostic {
        let plain = |label: &Vec<Option<String>>| match label.as_slice() {
            [Some(text)] if !text.is_empty() => Some(text.clone()),
            _ => None,
        };
        let labels: Vec<String> = self.labels.iter().filter_map(plain).collect();
        let all: BTreeSet<&str> =
            labels.iter().map(String::as_str).chain(self.operations.iter().copied()).collect();
        match nearest(wanted, all.iter().copied()) {
            Some(near) => {
                let span = warning.span;
                let is_quoted = (span.end - span.start) as usize != wanted.len();
                let quote = u32::from(is_quoted);
                let inside = Span::new(span.start + quote, span.end - quote);
                warning.did_you_mean_name(near, Some(inside))
            }
            None => {
                let some: Vec<&str> = all.into_iter().take(20).collect();
                warning.help(format!("there are: {}", some.join(", ")))
            }
        }
    }
}

/// The pieces of a label; `None` for a part known only at run time.
fn pieces(code: &Code, label: ExprIndex) -> Vec<Option<String>> {
    match code.exprs[label as usize] {
        Expr::Text(at) => vec![Some(code.text(at).to_owned())],
        Expr::Template(at) => {
            let template = code.templates[at as usize];
            let pieces = &code.pieces[template.first as usize..][..template.count as usize];
            pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(at) => Some(code.text(*at).to_owned()),
                    Piece::Slot(_) | Piece::Builtin(_) | Piece::Environment(_) => None,
                })
                .collect()
        }
        _ => vec![None],
    }
}

/// Whether a label with these pieces can be this text.
fn fits(label: &[Option<String>], text: &str) -> bool {
    match label {
        [] => text.is_empty(),
        [Some(only)] => only == text,
        [Some(first), rest @ ..] => text.strip_prefix(first.as_str()).is_some_and(|text| fits(rest, text)),
        [None] => true,
        [None, Some(next), rest @ ..] => {
            text.match_indices(next.as_str()).any(|(at, _)| fits(rest, &text[at + next.len()..]))
        }
        [None, rest @ ..] => fits(rest, text),
    }
}

/// Warns of each of `asked` (label and span) that no samples can have.
pub(super) fn unknown_labels(code: &Code, asked: &[(Span, String)]) -> Vec<Diagnostic> {
    if asked.is_empty() {
        return Vec::new();
    }
    let known = KnownLabels::of(code);
    let unknown = asked.iter().filter(|(_, name)| !known.holds(name));
    unknown
        .map(|(span, name)| {
            let message =
                format!("no samples have the label \"{name}\", and no such operation is in the program");
            known.advise(Diagnostic::warning(DiagnosticCode::UnknownLabel, *span, message), name)
        })
        .collect()
}

/// Warns of each `await` of a signal that no `signal` of the program can give: it waits without end.
pub(super) fn never_given(
    code: &Code,
    awaited: &[(Span, ExprIndex)],
    signalled: &[ExprIndex],
) -> Vec<Diagnostic> {
    let given: Vec<Vec<Option<String>>> = signalled.iter().map(|name| pieces(code, *name)).collect();
    let plain = |span: &Span, name: ExprIndex| match pieces(code, name).as_slice() {
        [Some(name)] => Some((*span, name.clone())),
        _ => None,
    };
    let named = awaited.iter().filter_map(|(span, name)| plain(span, *name));
    let missing = named.filter(|(_, name)| !given.iter().any(|given| fits(given, name)));
    missing
        .map(|(span, name)| {
            let message =
                format!("nothing in the program gives the signal \"{name}\": this waits without end");
            let warning = Diagnostic::warning(DiagnosticCode::NoSignal, span, message);
            let others = given.iter().filter_map(|given| match given.as_slice() {
                [Some(text)] => Some(text.as_str()),
                _ => None,
            });
            match nearest(&name, others) {
                Some(near) => warning.help(format!("there is a `signal(\"{near}\")`")),
                None => warning.help(format!("write `signal(\"{name}\");` where it is to go on")),
            }
        })
        .collect()
}
