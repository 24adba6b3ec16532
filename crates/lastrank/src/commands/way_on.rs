//! The last line of what a command says: one command that a reader pastes.

use report::shell::{command_lines, file_argument};

use crate::{output, terminal};

/// `Next:  lastrank COMMAND FILE MORE`, for standard output, in lines of its width that are pasted together.
pub fn text(command: &str, file: &str, more: &[&str]) -> String {
    lines(command, file, more, terminal::columns())
}

/// As [`text`], on standard error.
pub fn tell(command: &str, file: &str, more: &[&str]) {
    output::say_whole(&lines(command, file, more, terminal::error_columns()));
}

fn lines(command: &str, file: &str, more: &[&str], columns: Option<usize>) -> String {
    let mut words = vec!["lastrank".to_owned(), command.to_owned(), file_argument(file)];
    words.extend(more.iter().map(|word| (*word).to_owned()));
    let lines = command_lines("Next: ", &words, columns.unwrap_or(usize::MAX));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_broken_where_a_shell_joins_it() {
        assert_eq!(lines("report", "-v.parquet", &[], None), "Next:  lastrank report ./-v.parquet\n");
        let long = "x".repeat(60);
        let shown = lines("import", &long, &["-o", "a b"], Some(40));
        assert!(shown.lines().count() > 2 && shown.ends_with(" -o 'a b'\n"), "{shown}");
        assert_eq!(shown.replace("\\\n", "").matches(&long).count(), 1, "{shown}");
    }
}
