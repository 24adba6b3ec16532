//! `lastrank completions`: prints the completions of a shell.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::Status;
use crate::output;

/// Prints them.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<Status> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lastrank", &mut bytes);
    output::print_whole(&String::from_utf8_lossy(&bytes))?;
    Ok(Status::Ok)
}
