//! Fits text to the width of a terminal.

use crate::table::width;
use crate::wrap::is_unit;

/// The text with lines of at most so many columns (60 at least): longer ones go on in the next, indented. Blanks inside a
/// line stay as they are, so that columns of a table keep their places.
pub fn fit_width(text: &str, columns: usize) -> String {
    let columns = columns.max(60);
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if width(line) <= columns {
            out.push_str(line);
        } else {
            out.push_str(&broken(line, columns));
        }
        out.push_str(end);
    }
    out
}

/// One line as several.
fn broken(line: &str, columns: usize) -> String {
    let leading = line.len() - line.trim_start_matches(' ').len();
    let indent = " ".repeat((leading + 2).min(20));
    let (mut lines, mut rest, mut first) = (Vec::new(), line, true);
    loop {
        let room = if first { columns } else { columns - indent.len() };
        let before = if first { "" } else { indent.as_str() };
        // Blanks before the first word are no place to break at.
        let from = if first { leading } else { 0 };
        if width(rest) <= room {
            lines.push(format!("{before}{rest}"));
            return lines.join("\n");
        }
        let fits = |at: &usize| *at > from && width(&rest[..*at]) <= room;
        let blanks = || rest.char_indices().filter(|(_, letter)| *letter == ' ').map(|(at, _)| at).rev();
        // A number stays with the word before it, as in `shape 0.026`, and with its unit.
        let before_word = |at: &usize| {
            let (before, after) = (&rest[..*at], &rest[at + 1..]);
            let has_unit = before.ends_with(|last: char| last.is_ascii_digit())
                && after.split(' ').next().is_some_and(is_unit);
            !after.starts_with(|next: char| next.is_ascii_digit()) && !has_unit
        };
        let whole = blanks().find(|at| fits(at) && before_word(at));
        let Some(at) = whole.or_else(|| blanks().find(fits)) else {
            // A word that is wider than the terminal is the terminal's to break.
            lines.push(format!("{before}{rest}"));
            return lines.join("\n");
        };
        lines.push(format!("{before}{}", rest[..at].trim_end()));
        rest = rest[at..].trim_start();
        first = false;
    }
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
        let long = "x".repeat(90);
        assert_eq!(fit_width(&long, 60), long);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
        #[test]
        fn no_word_is_lost_and_no_line_is_too_wide(text in "([a-zµ]{1,9} {1,3}){0,40}\n?", columns in 20usize..130) {
            let found = fit_width(&text, columns);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&found), words(&text));
            prop_assert!(found.lines().all(|line| width(line.trim_end()) <= columns.max(60)));
        }
    }
}
