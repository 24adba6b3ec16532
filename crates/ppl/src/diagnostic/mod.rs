//! Defines diagnostics: what is wrong with a program, where, and how to fix it.

mod codes;

pub use codes::{CODES, CodeExplanation, DiagnosticCode, explain};

use serde::{Deserialize, Serialize};

/// A range of the program text: byte offsets, `start` inclusive, `end` exclusive.
///
/// Offsets refer to [`crate::Source::text`], in which included files follow the main one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From `start` to `end`, in bytes.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end: end.max(start) }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Span) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information; no action needed.
    Note,
    /// The program runs, perhaps not as intended.
    Warning,
    /// The program does not run.
    Error,
}

/// A secondary span of a diagnostic, with a short text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Position in the source.
    pub span: Span,
    /// The text at the span.
    pub text: String,
}

/// A proposed replacement of a part of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The span to replace.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// A finding about a program. The binary renders it on a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable code, documented in [`CODES`].
    pub code: DiagnosticCode,
    /// Its severity.
    pub severity: Severity,
    /// The primary span.
    pub span: Span,
    /// One sentence that names the object.
    pub message: String,
    /// The remedy, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The edit that the help proposes, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Suggestion>,
    /// The words of the command line that it is about; it has no place in the program then.
    #[serde(skip)]
    pub given: Option<String>,
    /// Secondary spans that explain it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
}

impl Diagnostic {
    /// An error: the program does not run.
    pub fn error(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            span,
            message: message.into(),
            help: None,
            replacement: None,
            given: None,
            labels: Vec::new(),
        }
    }

    /// A warning: the program runs.
    pub fn warning(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }

    /// A note: how something was interpreted.
    pub fn note(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::error(code, span, message) }
    }

    /// Says that it is about words of the command line.
    #[must_use]
    pub fn about(mut self, given: impl Into<String>) -> Self {
        self.given = Some(given.into());
        self
    }

    /// Adds a line of advice.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds advice, if any.
    #[must_use]
    pub fn help_maybe(mut self, text: Option<String>) -> Self {
        self.help = text.or(self.help);
        self
    }

    /// Suggests a word; `place` is the span of the wrong word, if known.
    #[must_use]
    pub(crate) fn did_you_mean(self, word: &str, place: Option<Span>) -> Self {
        self.propose(format!("did you mean `{word}`?"), word, place)
    }

    /// As [`Self::did_you_mean`], for a name in a string.
    #[must_use]
    pub(crate) fn did_you_mean_name(self, name: &str, place: Option<Span>) -> Self {
        self.propose(format!("did you mean \"{name}\"?"), name, place)
    }

    fn propose(mut self, help: String, text: &str, place: Option<Span>) -> Self {
        self.help = Some(help);
        self.replacement = place.map(|span| Suggestion { span, text: text.to_owned() });
        self
    }

    /// Adds a secondary span.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Whether it prevents the program from running.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Whether any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// The span of `word` within `span`, not as a part of a longer word.
pub(crate) fn find_word(text: &str, span: Span, word: &str) -> Option<Span> {
    let slice = text.get(span.start as usize..span.end as usize)?;
    let continues = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    let (at, _) = slice.match_indices(word).find(|(at, found)| {
        !continues(slice[..*at].chars().next_back()) && !continues(slice[at + found.len()..].chars().next())
    })?;
    let start = span.start + at as u32;
    Some(Span::new(start, start + word.len() as u32))
}

/// The candidate most similar to `word`, if one is similar enough.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let allowed = match word.chars().count() {
        0 => return None,
        1..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 64)
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count().max(2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_name_is_offered_only_if_it_is_similar_enough() {
        assert_eq!(nearest("fiel", ["file", "size"]), Some("file"));
        assert_eq!(nearest("completely", ["file", "size"]), None);
    }

    #[test]
    fn a_word_is_found_only_as_a_whole_word() {
        let text = "x \"$fields $fiel\"";
        let whole = Span::new(2, text.len() as u32);
        assert_eq!(find_word(text, whole, "$fiel"), Some(Span::new(11, 16)));
        assert_eq!(find_word(text, Span::new(2, 10), "$fiel"), None);
        assert_eq!(find_word(text, whole, "x"), None);
    }
}
