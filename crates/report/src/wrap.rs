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
    UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')', '?']))
}

/// The text with what stands between backticks kept together, which is to be pasted, unless it is wider than any line.
fn with_whole_commands(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let is_command = |at: usize| at % 2 == 1 && at + 1 < parts.len() && width(parts[at]) + 2 < LEAST_COLUMNS;
    let shown = |(at, part): (usize, &&str)| match is_command(at) {
        true => part.replace(' ', &GLUE.to_string()),
        false => (*part).to_owned(),
    };
    parts.iter().enumerate().map(shown).collect::<Vec<_>>().join("`")
}

/// The text with numbers and their units kept together, and commands whole.
fn glued(text: &str) -> String {
    let text = with_whole_commands(text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pasted_and_a_number_in_doubt_stay_whole() {
        let text = format!("{} `lastrank fit a.parquet` p99 6.47 ms?, more", "x".repeat(30));
        assert_eq!(
            wrapped_with_units(&text, 50),
            ["x".repeat(30).as_str(), "`lastrank fit a.parquet` p99 6.47 ms?, more"]
        );
        assert_eq!(wrapped_with_units("p99 is about 6.47 ms?, more", 17), ["p99 is about", "6.47 ms?, more"]);
        let odd = format!("{} it`s a b", "x".repeat(40));
        assert_eq!(wrapped_with_units(&odd, 46).len(), 2);
    }
}
