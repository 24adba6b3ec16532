//! Renders findings about a program: as annotated source for a terminal, as records for JSON.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use ppl::{Diagnostic, Severity, Source, Span};
use samples::visible;
use serde::Serialize;

use crate::output;

/// Bytes of lines that are drawn in all. Drawing takes a microsecond a byte and more, of the whole line however little of it is
/// shown: beyond, findings are told by their place alone.
const MOST_DRAWN: usize = 256 << 10;

/// Draw all findings, each with its lines of the program, of which so much is shown as fits into `columns`.
pub fn render(source: &Source, diagnostics: &[Diagnostic], columns: Option<usize>, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = match columns {
        Some(columns) => renderer.term_width(columns),
        None => renderer,
    };
    let mut out = String::new();
    let mut left = MOST_DRAWN;
    for diagnostic in diagnostics {
        let file = SourceFile::of(source, diagnostic.span);
        match left.checked_sub(file.bytes_of_lines(diagnostic)) {
            Some(rest) => left = rest,
            None => {
                out += &told(source, diagnostic);
                continue;
            }
        }
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let code = diagnostic.code.to_string();
        // What the program holds may command a terminal; of source lines the renderer takes care.
        let (message, path) = (visible(&diagnostic.message), visible(file.name));
        let labels: Vec<_> = diagnostic.labels.iter().map(|label| visible(&label.text)).collect();
        let mut snippet = Snippet::source(file.text)
            .path(path.as_ref())
            .annotation(AnnotationKind::Primary.span(file.range(diagnostic.span)));
        for (label, text) in diagnostic.labels.iter().zip(&labels).filter(|(label, _)| file.holds(label.span))
        {
            snippet =
                snippet.annotation(AnnotationKind::Context.span(file.range(label.span)).label(text.as_ref()));
        }
        let mut group = level.primary_title(message.as_ref()).id(code).element(snippet);
        let help = diagnostic.help.as_deref().map(visible);
        if let Some(help) = &help {
            group = group.element(Level::HELP.message(help.as_ref()));
        }
        out += &renderer.render(&[group]).to_string();
        out.push_str("\n\n");
    }
    out
}

/// A finding without its line.
fn told(source: &Source, diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let at = source.position(diagnostic.span.start);
    let help =
        diagnostic.help.as_deref().map_or_else(String::new, |help| format!("\n  = help: {}", visible(help)));
    format!(
        "{severity}[{}]: {}\n --> {}:{}:{}{help}\n\n",
        diagnostic.code,
        visible(&diagnostic.message),
        visible(&at.file),
        at.line,
        at.column
    )
}

/// Draw findings on standard error.
pub fn show(source: &Source, diagnostics: &[Diagnostic]) {
    if !diagnostics.is_empty() {
        let color = output::may_colour(output::is_watched(output::Stream::Error));
        output::say_in_colour(&render(source, diagnostics, output::error_columns(), color));
    }
}

/// One finding for an editor or a script (schema `lastrank.check/1`).
#[derive(Debug, Serialize)]
pub struct Finding<'a> {
    code: String,
    severity: Severity,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replacement: Option<Edit<'a>>,
    #[serde(flatten)]
    range: TextRange,
}

/// The text that a finding proposes, and the part of the program in whose place it belongs.
#[derive(Debug, Serialize)]
struct Edit<'a> {
    text: &'a str,
    #[serde(flatten)]
    range: TextRange,
}

/// A part of one file.
#[derive(Debug, Serialize)]
struct TextRange {
    file: String,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

impl TextRange {
    fn of(source: &Source, span: Span) -> Self {
        let (start, end) = (source.position(span.start), source.position(span.end));
        Self {
            file: start.file,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

/// All findings with their places.
pub fn findings<'a>(source: &Source, diagnostics: &'a [Diagnostic]) -> Vec<Finding<'a>> {
    diagnostics
        .iter()
        .map(|diagnostic| Finding {
            code: diagnostic.code.to_string(),
            severity: diagnostic.severity,
            message: &diagnostic.message,
            help: diagnostic.help.as_deref(),
            replacement: diagnostic.replacement.as_ref().map(|replacement| Edit {
                text: &replacement.text,
                range: TextRange::of(source, replacement.span),
            }),
            range: TextRange::of(source, diagnostic.span),
        })
        .collect()
}

struct SourceFile<'a> {
    name: &'a str,
    text: &'a str,
    start: usize,
}

impl<'a> SourceFile<'a> {
    fn of(source: &'a Source, span: Span) -> Self {
        let files = source.files();
        let index = files.iter().rposition(|file| file.start <= span.start).unwrap_or(0);
        let start = files.get(index).map_or(0, |file| file.start as usize);
        let end = files.get(index + 1).map_or(source.text().len(), |next| next.start as usize - 1);
        Self {
            name: files.get(index).map_or("", |file| file.name.as_str()),
            text: source.text().get(start..end).unwrap_or_default(),
            start,
        }
    }

    fn holds(&self, span: Span) -> bool {
        (span.start as usize) >= self.start && (span.end as usize) <= self.start + self.text.len()
    }

    /// Of the lines in which the finding and its labels lie.
    fn bytes_of_lines(&self, diagnostic: &Diagnostic) -> usize {
        let labels = diagnostic.labels.iter().map(|label| label.span).filter(|span| self.holds(*span));
        let line = |span: Span| {
            let range = self.range(span);
            let (before, after) =
                (self.text.as_bytes().get(..range.start), self.text.as_bytes().get(range.end..));
            let is_end = |byte: &u8| *byte == b'\n';
            let before =
                before.and_then(|before| before.iter().rev().position(is_end)).unwrap_or(range.start);
            let rest = self.text.len() - range.end;
            before + range.len() + after.and_then(|after| after.iter().position(is_end)).unwrap_or(rest)
        };
        std::iter::once(diagnostic.span).chain(labels).map(line).sum()
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let last = self.text.len();
        let start = (span.start as usize).saturating_sub(self.start).min(last);
        let end = (span.end as usize).saturating_sub(self.start).clamp(start, last);
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_on_a_line_without_end_are_told_and_not_all_drawn() {
        let text = format!("print({}1);", "1 . ".repeat(50_000));
        let mut source = Source::new("long.ppl", &text);
        let found = ppl::syntax::parse_with(&mut source, false, None).diagnostics;
        assert!(found.len() > 50, "{}", found.len());
        let drawn = render(&source, &found, Some(80), false);
        // The line would be looked at a hundred times: it is shown once, and each finding has its place.
        assert_eq!(drawn.matches("1 | ").count(), 1);
        assert_eq!(drawn.matches("--> long.ppl:1:").count(), found.len());
        let mut short = Source::new("short.ppl", "print(1 . 2);\nprint(3 . 4);");
        let found = ppl::syntax::parse_with(&mut short, false, None).diagnostics;
        assert_eq!(render(&short, &found, Some(80), false).matches(" | print").count(), found.len());
    }
}
