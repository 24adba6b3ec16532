//! Divides a command line between another tool's options and those of `lastrank run`.

use std::path::Path;

use clap::{CommandFactory, Parser};
use workloads::like::PhaseRuns;

use crate::cli::RunOptions;
use crate::commands::like::LinesOf;
use crate::commands::run;
use crate::exit::Status;
use crate::output;

/// The long options that stand among the tool's own.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct OwnOptions {
    /// Print the program instead of running it
    #[arg(long)]
    print_program: bool,
    /// Print the results once more in the lines of this tool, for scripts that read them
    #[arg(long, value_name = "TOOL")]
    like: Option<String>,
    #[command(flatten)]
    run: RunOptions,
}

/// Takes the long options of `lastrank run` out of `words`; the rest is the tool's.
pub fn divide(words: &[String]) -> (OwnOptions, Vec<String>) {
    let command = OwnOptions::command();
    let takes_value = |name: &str| {
        let option = command.get_arguments().find(|option| option.get_long() == Some(name))?;
        Some(option.get_action().takes_values())
    };
    let (mut own, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").map(|word| word.split('=').next().unwrap_or(word));
        match name.and_then(takes_value) {
            None => rest.push(word.clone()),
            Some(value) => {
                own.push(word.clone());
                if value && !word.contains('=') {
                    own.extend(words.next().cloned());
                }
            }
        }
    }
    (OwnOptions::try_parse_from(own).unwrap_or_else(|error| error.exit()), rest)
}

/// What was refused, with the long name of an option of `lastrank run` where a letter means one there: among the tool's own
/// options only long ones are ours.
pub fn with_long_names(refused: &workloads::Refusal) -> anyhow::Error {
    let command = OwnOptions::command();
    let named = |option: &str| {
        let letter = option.strip_prefix('-').filter(|rest| rest.chars().count() == 1)?.chars().next();
        let known = command
            .get_arguments()
            .find(|known| known.get_short().is_some() && known.get_short() == letter)?;
        Some(format!("{option} of `lastrank run` is --{} here", known.get_long()?))
    };
    let hints: Vec<String> = refused.options().into_iter().filter_map(named).collect();
    match hints.is_empty() {
        true => anyhow::anyhow!("{refused}"),
        false => anyhow::anyhow!("{refused}\n{}", hints.join("\n")),
    }
}

/// A program that a command line of another tool became.
pub struct ToolLine<'a> {
    /// The command of lastrank,
    pub name: &'a str,
    /// and the tool, which `--like` names.
    pub tool: &'a str,
    /// What the command line became.
    pub program: String,
    /// Whether its files stay.
    pub keeps: bool,
}

/// Prints the program, or runs it, and tells its results by `lines` where `--like` asks for that. What it makes is removed.
pub fn run(
    line: ToolLine<'_>,
    mut own: OwnOptions,
    lines: impl FnOnce(&[PhaseRuns], u64) -> String,
) -> anyhow::Result<Status> {
    let ToolLine { name, tool, program: text, keeps } = line;
    if own.print_program {
        output::print_whole(&text)?;
        return Ok(Status::Ok);
    }
    own.run.clean |= !keeps;
    let told = match own.like.as_deref() {
        None => None,
        Some(like) if like == tool => Some(LinesOf::of(name, &mut own.run)?),
        Some(like) => anyhow::bail!("--like {like}: these are options of {tool}: --like {tool}"),
    };
    let status = run::run_made(name, text, own.run)?;
    if let Some(told) = told {
        told.print(lines)?;
    }
    Ok(status)
}

/// A command line as it can be typed again.
pub fn typed(name: &str, words: &[String]) -> String {
    let quoted = words.iter().map(|word| match word.contains(|c: char| c.is_whitespace() || c == '\'') {
        true => format!("'{}'", word.replace('\'', "'\\''")),
        false => word.clone(),
    });
    std::iter::once(format!("lastrank {name}")).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// The user named this directory, so the program may make files there; what others made there stays theirs.
pub fn may_make_files_in(run: &mut RunOptions, directory: &str) {
    if directory != "." {
        run.set.insert(0, format!("dir={directory}"));
    }
}

impl OwnOptions {
    /// The user named this path, which may be missing, so the program may write in the directory around it.
    pub fn may_write_beside(&mut self, path: &Path) {
        let around = path.parent().filter(|around| !around.as_os_str().is_empty());
        self.run.allow.extend(around.map(Path::to_path_buf));
    }

    /// The user named this path, so the program may make files in the directory around it.
    pub fn may_make_beside(&mut self, path: &str) {
        let around = Path::new(path).parent().and_then(Path::to_str).filter(|around| !around.is_empty());
        may_make_files_in(&mut self.run, around.unwrap_or("."));
    }
}
