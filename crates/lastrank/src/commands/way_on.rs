//! The last line of what a command says: one command that a reader pastes.

use report::shell::{command_lines, file_argument};

use crate::{output, terminal};

/// On standard error: `Next:  lastrank WORDS`, in lines of its width that are pasted together.
pub fn tell(words: &[&str]) {
    let mut all = vec!["lastrank".to_owned()];
    all.extend(words.iter().map(|word| (*word).to_owned()));
    // A name as an argument; the word in front is the command, and those that begin with `-` by intention are options.
    if let Some(file) = all.get_mut(2) {
        *file = file_argument(file);
    }
    let columns = terminal::error_columns().unwrap_or(usize::MAX);
    for line in command_lines("Next: ", &all, columns) {
        output::say_whole(&format!("{line}\n"));
    }
}
