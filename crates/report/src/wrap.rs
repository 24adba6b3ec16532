//! Wraps text without parting numbers from their units.

use std::sync::atomic::{AtomicUsize, Ordering};

use unicode_width::UnicodeWidthStr;

/// Columns of the terminal.
static COLUMNS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Fewest columns that lines are laid out for.
pub const LEAST_COLUMNS: usize = 40;

/// From now on sentences wrap at so many columns, at least 40, where they are narrower than the text would be. For a
/// program that knows its terminal, once and before it writes.
pub fn set_text_width(columns: usize) {
    COLUMNS.store(columns.max(LEAST_COLUMNS), Ordering::Relaxed);
}

/// Columns for text that takes so many at most.
pub(crate) fn columns_for(widest: usize) -> usize {
    COLUMNS.load(Ordering::Relaxed).min(widest)
}

/// Stands for a blank at which no line breaks: of the width of one, and in no text of ours.
const GLUE: char = '\u{e000}';

/// A text as lines of at most so many columns; numbers and their units are kept together.
pub(crate) fn wrapped_with_units(text: &str, columns: usize) -> Vec<String> {
    wrapped(&glued(text), columns).iter().map(|line| line.replace(GLUE, " ")).collect()
}

/// Whether a word is a unit, perhaps at the end of a sentence.
pub(crate) fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 14] =
        ["%", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "KiB/s", "MiB/s", "GiB/s"];
    UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']))
}

/// The text with numbers and their units kept together.
fn glued(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        let after_number = out.ends_with(|last: char| last.is_ascii_digit());
        let begins = word.trim_start_matches('(');
        let group = begins.len() >= 3 && begins.bytes().take(3).all(|byte| byte.is_ascii_digit());
        if !out.is_empty() {
            // `p < 0.001` is one thing.
            let compares = word == "<" || out.ends_with('<');
            let joined = compares || after_number && (is_unit(word) || (group && word == begins));
            out.push(if joined { GLUE } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

/// Columns of a terminal that the text takes: wide characters take two, combining ones none.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Columns of a terminal that a text takes: wide characters take two, combining ones none.
pub fn text_width(text: &str) -> usize {
    width(text)
}

/// Lines of at most so many columns, broken between words; at least one.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line =
            lines.last_mut().filter(|line| line.is_empty() || width(line) + 1 + width(word) <= columns);
        match line {
            Some(line) => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            None => lines.push(word.into()),
        }
    }
    lines
}
