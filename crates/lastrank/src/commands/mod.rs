//! Which function answers which subcommand?

mod experiments;
mod machine;

use crate::cli::{Cli, Command};
use crate::exit::Status;

/// Do what the command line asks for.
pub fn dispatch(cli: Cli) -> anyhow::Result<Status> {
    match cli.command {
        Command::Experiments(args) => experiments::run(&args),
        Command::Machine(args) => machine::run(&args),
        _ => anyhow::bail!("not yet"),
    }
}
