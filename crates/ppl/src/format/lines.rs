//! Joins lines to a text and aligns their trailing comments.

/// A line whose trailing comment is not aligned yet.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Columns before the first character.
    pub indent: usize,
    pub text: String,
    /// A comment at its end.
    pub comment: Option<String>,
}

/// The width of a text, or of its last line.
pub(super) fn columns(text: &str) -> usize {
    text.rsplit('\n').next().unwrap_or("").chars().count()
}

/// The text of all lines. Trailing comments of successive lines of one level are aligned.
pub(super) fn join(lines: &[Line]) -> String {
    let mut out = String::with_capacity(lines.iter().map(|line| line.indent + line.text.len() + 1).sum());
    let mut at = 0;
    while at < lines.len() {
        let run = lines[at..]
            .iter()
            .take_while(|line| line.comment.is_some() && line.indent == lines[at].indent)
            .count();
        let widest = lines[at..at + run].iter().map(|line| columns(&line.text)).max().unwrap_or(0);
        for line in &lines[at..at + run.max(1)] {
            if !line.text.is_empty() {
                blanks(&mut out, line.indent);
                out.push_str(&line.text);
            }
            if let Some(comment) = &line.comment {
                blanks(&mut out, widest - columns(&line.text) + 2);
                out.push_str(comment);
            }
            out.push('\n');
        }
        at += run.max(1);
    }
    out
}

fn blanks(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}
