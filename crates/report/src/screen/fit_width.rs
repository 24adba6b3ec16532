//! Fits text to the width of a terminal.

use unicode_width::UnicodeWidthChar;

use crate::table::width;
use crate::wrap::{LEAST_COLUMNS, is_unit};

/// The text with lines of at most so many columns (40 at least): longer ones go on in the next, indented. Blanks inside a
/// line stay as they are, so that columns of a table keep their places. Colours (`ESC [ … m`) take no columns.
pub fn fit_width(text: &str, columns: usize) -> String {
    let columns = columns.max(LEAST_COLUMNS);
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if shown_width(line) <= columns {
            out.push_str(line);
        } else {
            out.push_str(&broken(line, columns).join("\n"));
        }
        out.push_str(end);
    }
    out
}

/// Columns that a text with colours takes.
fn shown_width(text: &str) -> usize {
    if !text.contains('\u{1b}') {
        return width(text);
    }
    let mut parts = text.split('\u{1b}');
    let first = parts.next().map_or(0, width);
    first + parts.map(|part| width(part.split_once('m').map_or(part, |(_, shown)| shown))).sum::<usize>()
}

/// One line as several.
pub(super) fn broken(line: &str, columns: usize) -> Vec<String> {
    const DEEPEST: usize = 20;
    let leading = line.len() - line.trim_start_matches(' ').len();
    // A cell that stands alone in a wide table has no room left behind its blanks.
    let (line, leading) =
        if leading + DEEPEST > columns { (&line[leading - DEEPEST..], DEEPEST) } else { (line, leading) };
    let indent = " ".repeat((leading + 2).min(DEEPEST));
    let (mut lines, mut rest, mut first) = (Vec::new(), line, true);
    loop {
        let room = if first { columns } else { columns - indent.len() };
        let before = if first { "" } else { indent.as_str() };
        // Blanks before the first word are no place to break at.
        let from = if first { leading } else { 0 };
        if farthest(rest, room) == rest.len() {
            lines.push(format!("{before}{rest}"));
            return lines;
        }
        let at = place_to_break(rest, from, room);
        lines.push(format!("{before}{}", rest[..at].trim_end()));
        rest = rest[at..].trim_start();
        first = false;
    }
}

/// The end of the longest beginning of a line that has room; a line may be a name of any length, which is gone through once.
fn farthest(line: &str, room: usize) -> usize {
    let (mut taken, mut end, mut in_colour) = (0, 0, false);
    for (at, letter) in line.char_indices() {
        match (in_colour, letter) {
            (false, '\u{1b}') => in_colour = true,
            (true, 'm') => in_colour = false,
            (true, _) => {}
            (false, _) => taken += UnicodeWidthChar::width(letter).unwrap_or(0),
        }
        if taken > room {
            break;
        }
        if !in_colour {
            end = at + letter.len_utf8();
        }
    }
    end
}

/// Where a line that is too wide is broken: between words behind `from`; inside a word only where it is as wide as
/// the line, behind a comma or a slash if it has one.
fn place_to_break(line: &str, from: usize, room: usize) -> usize {
    let farthest = farthest(line, room);
    let fits = |at: &usize| *at > from && *at <= farthest;
    let reach = if line[farthest..].starts_with(' ') { farthest + 1 } else { farthest };
    let blanks = || line[..reach].char_indices().filter(|(_, letter)| *letter == ' ').map(|(at, _)| at).rev();
    // A number stays with the word before it, as in `shape 0.026`, and with its unit; what is pasted stays whole.
    let before_word = |at: &usize| {
        let (before, after) = (&line[..*at], &line[at + 1..]);
        let in_command = before.matches('`').count() % 2 == 1 && after.contains('`');
        let has_unit = before.ends_with(|last: char| last.is_ascii_digit())
            && after.split(' ').next().is_some_and(is_unit);
        !after.starts_with(|next: char| next.is_ascii_digit()) && !has_unit && !in_command
    };
    let whole = blanks().find(|at| fits(at) && before_word(at));
    if let Some(at) = whole.or_else(|| blanks().find(fits)) {
        return at;
    }
    let ends = |wanted: fn(char) -> bool| {
        let letters = line[..farthest].char_indices().rev();
        letters.filter(|(_, letter)| wanted(*letter)).map(|(at, letter)| at + letter.len_utf8()).find(fits)
    };
    let first_letter = line[from..].chars().next().map_or(line.len(), |letter| from + letter.len_utf8());
    ends(|letter| matches!(letter, ',' | ';' | '/')).or_else(|| ends(|_| true)).unwrap_or(first_letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_lines_go_on_indented_and_short_ones_stay() {
        let text = format!("short\n  label  {}end\n", "word ".repeat(14));
        let found = fit_width(&text, 60);
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!((lines.len(), lines[0]), (3, "short"));
        assert!(lines[1].starts_with("  label  word") && lines[2].starts_with("    word"), "{found}");
        let measured = format!("{}took 6.454 ms, more", "word ".repeat(10));
        assert_eq!(fit_width(&measured, 60).lines().nth(1), Some("  took 6.454 ms, more"));
        let long = format!("{}\n", "x".repeat(90));
        assert_eq!(fit_width(&long, 60), format!("{}\n  {}\n", "x".repeat(60), "x".repeat(30)));
        let cell = format!("{}cell of a table\n", " ".repeat(70));
        assert_eq!(fit_width(&cell, 60), format!("{}cell of a table\n", " ".repeat(20)));
        let path = format!("cannot read {}f.txt", "/folder".repeat(9));
        assert!(fit_width(&path, 60).contains("/\n  folder"), "{}", fit_width(&path, 60));
    }

    #[test]
    fn what_is_pasted_stays_whole() {
        let text = format!("{}`lastrank experiments NAME > my.ppl`.", "word ".repeat(8));
        assert_eq!(fit_width(&text, 60).lines().nth(1), Some("  `lastrank experiments NAME > my.ppl`."));
    }

    #[test]
    fn colours_take_no_columns() {
        let line = format!("{}\u{1b}[31m✖\u{1b}[0m {}", "word ".repeat(8), "end ".repeat(4));
        assert_eq!(fit_width(&line, 60), line);
        let long = format!("\u{1b}[1m{}\u{1b}[0m", "word ".repeat(20));
        assert!(fit_width(&long, 60).lines().all(|line| shown_width(line) <= 60));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
        #[test]
        fn no_word_is_lost_and_no_line_is_too_wide(text in "([a-zµ]{1,9} {1,3}){0,40}\n?", columns in 20usize..130) {
            let found = fit_width(&text, columns);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&found), words(&text));
            prop_assert!(found.lines().all(|line| width(line.trim_end()) <= columns.max(LEAST_COLUMNS)));
        }

        #[test]
        fn long_words_are_broken_without_loss(text in "([a-z大/,]{1,200} ){0,4}", columns in 40usize..100) {
            let found = fit_width(&text, columns);
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(letters(&found), letters(&text));
            prop_assert!(found.lines().all(|line| width(line.trim_end()) <= columns));
        }
    }
}
