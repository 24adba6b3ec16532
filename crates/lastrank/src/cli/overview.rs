//! What `lastrank --help` prints: the commands by what a reader wants to do.

use crate::terminal;

/// Columns for the names of commands.
const NAMES: usize = 15;

/// Commands of one purpose, each line with the names and what they do.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

const GROUPS: [Group; 5] = [
    (
        "Measure",
        &[
            ("io", "read and write files, with fio's options"),
            ("ior, meta", "bandwidth and metadata, with IOR's and mdtest's options"),
            ("io500", "the twelve phases of IO500, with its scores"),
            ("mem", "memory latency and bandwidth"),
            ("try", "a tour of this machine, from L1 to fsync"),
            ("run", "run a program or a shipped experiment"),
            ("machine", "is this machine fit to measure?"),
        ],
    ),
    (
        "Understand a result",
        &[
            ("ls", "list the runs in a directory"),
            ("report", "rebuild the report of a run"),
            ("fit", "is the tail natural, and how slow will rare cases be?"),
            ("compare", "is this run slower than that one?"),
            ("ab", "is B slower than A? runs them in turns until that is decided"),
            ("scale", "predict the slowest of many more ranks"),
            ("plan-runs", "how many runs give the precision I want?"),
            ("watch", "alarm when a system becomes slow"),
            ("export", "CSV, text, XML"),
        ],
    ),
    (
        "Reproduce an application",
        &[
            ("record", "record the file calls of a program"),
            ("import", "turn a recording, a trace or a fio job into a program"),
            ("replay", "run it again, here or elsewhere"),
            ("fidelity", "how closely does a replay match?"),
        ],
    ),
    (
        "Write programs (PPL)",
        &[
            ("experiments", "list the shipped programs, print one to change it"),
            ("check, explain", "find mistakes; tell what a program will do"),
            ("fmt, lsp", "format a program; serve an editor"),
        ],
    ),
    (
        "Help and repair",
        &[
            ("recover", "save the samples of killed runs"),
            ("echo", "the other end of `net_pingpong`"),
            ("completions", "for your shell"),
            ("man", "manual pages"),
            ("help", "explain a command: lastrank help io"),
        ],
    ),
];

const HEAD: &str = "lastrank measures every operation (memory, file, system call, parallel write), keeps each \
                    one, and explains why some are slow.";

const FIRST: [(&str, &str); 2] = [
    ("lastrank try", "this machine in a minute"),
    ("lastrank run parallel_write", "the main experiment: is my tail natural?"),
];

const FOOT: &str = "Usage: lastrank COMMAND; of each: lastrank COMMAND --help. Options: -h, --help; -V, --version. Exit \
                    status: 0 ok, 1 the answer is no, 2 usage or program error, 3 incomplete or failed operations.";

/// The text, in lines as wide as the terminal.
pub(super) fn text() -> String {
    of_width(terminal::screen_options().width)
}

fn of_width(columns: usize) -> String {
    let mut lines = wrapped(HEAD, columns, 0);
    lines.push(String::new());
    lines.extend(FIRST.iter().flat_map(|(name, what)| row(name, what, columns, 29)));
    for (title, commands) in &GROUPS {
        lines.extend([String::new(), (*title).to_owned()]);
        lines.extend(commands.iter().flat_map(|(name, what)| row(name, what, columns, NAMES)));
    }
    lines.push(String::new());
    lines.extend(wrapped(FOOT, columns, 0));
    lines.join("\n")
}

/// A name and what it is; a long name leaves less room in its line.
fn row(name: &str, what: &str, columns: usize, names: usize) -> Vec<String> {
    let head = format!("  {name:<names$}");
    let mut lines = wrapped(&format!("{}{what}", "_".repeat(head.chars().count())), columns, names + 2);
    if let Some(first) = lines.first_mut() {
        let rest: String = first.chars().skip(head.chars().count()).collect();
        *first = format!("{}{}{rest}", head, if name.chars().count() >= names { " " } else { "" });
    }
    lines
}

/// Words in lines of at most so many columns, the further ones indented.
fn wrapped(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn each_command_is_listed_once() {
        let rows = GROUPS.iter().flat_map(|(_, commands)| commands.iter());
        let mut listed: Vec<&str> = rows.flat_map(|(names, _)| names.split(", ")).collect();
        let command = super::super::Cli::command();
        let mut all: Vec<&str> =
            command.get_subcommands().map(clap::Command::get_name).chain(["help"]).collect();
        listed.sort_unstable();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn it_is_one_screen_and_fits() {
        assert!(of_width(80).lines().count() <= 48);
        for columns in [60, 80, 120] {
            let text = of_width(columns);
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            assert!(text.contains("  io             read and write files"), "{text}");
        }
    }
}
