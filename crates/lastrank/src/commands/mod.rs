//! The subcommands, one module each, and their dispatch.

mod ab;
mod asks;
mod check;
mod compare;
mod completions;
mod echo;
mod experiments;
mod explain;
mod export;
mod fidelity;
mod fit;
mod fmt;
mod import;
mod io;
mod ior;
mod line;
mod ls;
mod lsp;
mod machine;
mod man;
mod mem;
mod meta;
mod plan_runs;
mod record;
mod recover;
mod redact;
mod replay;
mod report;
mod run;
mod scale;
mod tour;
mod watch;

use crate::cli::{Cli, Command};
use crate::exit::Status;

/// Runs the subcommand of the command line.
pub fn dispatch(cli: Cli) -> anyhow::Result<Status> {
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Experiments(args) => experiments::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Lsp => lsp::run(),
        Command::Fmt(args) => fmt::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::PlanRuns(args) => plan_runs::run(&args),
        Command::Try(args) => tour::run(&args),
        Command::Recover(args) => recover::run(&args),
        Command::Io(args) => io::run(*args),
        Command::Meta(args) => meta::run(args),
        Command::Ior(args) => ior::run(args),
        Command::Mem(args) => mem::run(args),
        Command::Ab(args) => ab::run(&args),
        Command::Ls(args) => ls::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Fidelity(args) => fidelity::run(&args),
        Command::Machine(args) => machine::run(&args),
        Command::Echo(args) => echo::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
