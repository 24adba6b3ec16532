//! Commands that a reader pastes into a shell.

use crate::wrap::width;

/// A word as bash, zsh, ksh and busybox read it; with line feeds and whatever commands a terminal as `$'\012'`.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.chars().any(is_odd) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let escaped = |c: char| match c {
        '\\' | '\'' => format!("\\{c}"),
        c if is_odd(c) => c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03o}")).collect(),
        c => c.to_string(),
    };
    format!("$'{}'", word.chars().map(escaped).collect::<String>())
}

/// Words as a line that a shell takes apart again.
pub fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn is_odd(c: char) -> bool {
    c.is_control() || samples::commands_a_terminal(c)
}

/// The file as an argument: one whose name begins with `-` is no option.
pub fn file_argument(path: &str) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path.to_owned() }
}

/// The command behind a label, in lines of at most so many columns. It is one line where there is room; else each line
/// but the last ends with a backslash, so that all of them together are pasted as one command.
pub fn command_lines(label: &str, words: &[String], columns: usize) -> Vec<String> {
    let mut lines = vec![label.to_owned()];
    for (at, word) in words.iter().enumerate() {
        let shown = quoted(word);
        // Behind all but the last word there is room for ` \`.
        let after = if at + 1 == words.len() { 0 } else { 2 };
        let fits = |before: &str| width(before) + 1 + width(&shown) + after <= columns;
        let is_first = at == 0;
        if let Some(line) = lines.last_mut().filter(|line| is_first || fits(line)) {
            *line += &format!(" {shown}");
            continue;
        }
        if let Some(line) = lines.last_mut() {
            *line += " \\";
        }
        if fits(" ") {
            lines.push(format!("  {shown}"));
        } else {
            lines.extend(pieces(word, columns.saturating_sub(3)));
        }
    }
    lines
}

/// A word that is wider than a line, as lines that a shell joins.
fn pieces(word: &str, columns: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut piece = String::new();
    for letter in word.chars() {
        let longer = format!("{piece}{letter}");
        if !piece.is_empty() && width(&quoted(&longer)) > columns {
            found.push(quoted(&piece) + "\\");
            piece = letter.to_string();
        } else {
            piece = longer;
        }
    }
    found.push(quoted(&piece));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a shell makes of the words of a command.
    fn read_by_bash(command: &str) -> Vec<String> {
        let program = format!("lastrank() {{ for word; do printf '%s\\0' \"$word\"; done; }}\n{command}");
        let done = std::process::Command::new("bash").args(["-c", &program]).output();
        let text = String::from_utf8(done.unwrap().stdout).unwrap();
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    fn pasted(label: &str, words: &[String], columns: usize) -> Vec<String> {
        let lines = command_lines(label, words, columns);
        assert!(lines.iter().all(|line| width(line) <= columns), "{lines:?}");
        read_by_bash(lines.join("\n").strip_prefix(label).unwrap())
    }

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        let long = "long/folder/".repeat(20);
        let words = [
            "a b",
            "plain-1.parquet",
            "it's",
            "",
            "simulate:gev(10ms,1ms,0.1)",
            "$HOME",
            "ü/x",
            "two\nlines",
            "\u{1b}[2J\t",
            "back\\slash\n'",
            "\u{202e}!!",
            "~",
            &long,
        ];
        let words: Vec<String> = ["lastrank"].iter().chain(&words).map(|word| (*word).to_owned()).collect();
        for columns in [40, 60, 80, 1000] {
            assert_eq!(pasted("Next:  ", &words, columns), words[1..], "{columns}");
        }
        let short = ["lastrank", "fit", "a.parquet"].map(str::to_owned);
        assert_eq!(command_lines("Next:  ", &short, 40), ["Next:   lastrank fit a.parquet"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
        #[test]
        fn whatever_is_named_is_pasted_whole(words in proptest::collection::vec("[^\0]{0,60}", 0..6), columns in 40usize..90) {
            let words: Vec<String> = std::iter::once("lastrank".to_owned()).chain(words).collect();
            prop_assert_eq!(&pasted("Next:  ", &words, columns), &words[1..]);
        }
    }
}
