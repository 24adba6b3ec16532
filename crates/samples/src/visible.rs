//! Escapes characters that control a terminal or change the order of text.

use std::borrow::Cow;

/// Whether the character controls a terminal or the order of text instead of being displayed. Line feeds and
/// tabs do not count.
pub fn commands_a_terminal(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Bidirectional marks, embeddings, overrides and isolates (Unicode 16, annex 9).
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Line and paragraph separators, and zero-width characters.
        '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{feff}' => true,
        other => other.is_control(),
    }
}

/// `text` for a terminal: control characters are escaped, as `\u{1b}`.
///
/// ```
/// assert_eq!(samples::visible("plain\n"), "plain\n");
/// assert_eq!(samples::visible("\x1b]52;c;bHM=\x07"), "\\u{1b}]52;c;bHM=\\u{7}");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |character| character.escape_unicode().to_string())
}

/// JSON for a terminal: the same characters are written as JSON escapes; they occur only in its strings.
///
/// ```
/// assert_eq!(samples::visible_json("\"\u{9b}31m\""), r#""\u009b31m""#);
/// ```
pub fn visible_json(json: &str) -> Cow<'_, str> {
    replaced(json, |character| format!("\\u{:04x}", u32::from(character)))
}

/// As [`visible`], for text with colours (`ESC [ … m`), which are kept.
///
/// ```
/// assert_eq!(samples::visible_in_colour("\x1b[1;31mred\x1b[0m\x1b[2J"), "\x1b[1;31mred\x1b[0m\\u{1b}[2J");
/// ```
pub fn visible_in_colour(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut shown = visible(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let code = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        let is_colour = code.is_some_and(|(code, _)| code.chars().all(|c| c.is_ascii_digit() || c == ';'));
        shown += if is_colour { "\u{1b}" } else { "\\u{1b}" };
        shown += &visible(part);
    }
    shown
}

/// `text` as a field of a table of text: it commands no terminal, and no spreadsheet takes it for a formula. One that begins
/// like a formula gets a quote in front, as OWASP's "CSV injection" advises.
///
/// ```
/// assert_eq!(samples::field("=1+1"), "'=1+1");
/// assert_eq!(samples::field("a=1"), "a=1");
/// ```
pub fn field(text: &str) -> Cow<'_, str> {
    let shown = visible(text);
    match text.trim_start().starts_with(['=', '+', '-', '@']) || text.starts_with(['\t', '\r', '\n']) {
        true => Cow::Owned(format!("'{shown}")),
        false => shown,
    }
}

fn replaced(text: &str, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.chars().any(commands_a_terminal) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        // The line ending of other systems.
        let ends_a_line = character == '\r' && characters.peek() == Some(&'\n');
        if commands_a_terminal(character) && !ends_a_line {
            shown += &escape(character);
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_commands_a_terminal_is_left() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        for shown in [visible(&all), visible_json(&all)] {
            assert!(!shown.chars().any(commands_a_terminal));
        }
        assert_eq!(visible("a\r\nb\rc"), "a\r\nb\\u{d}c");
    }

    #[test]
    fn letters_of_all_scripts_are_left_alone() {
        let text = "Größe, размер, 大小, גודל, حجم, 😀 µs\n\tx";
        assert!(matches!(visible(text), Cow::Borrowed(_)));
    }
}
