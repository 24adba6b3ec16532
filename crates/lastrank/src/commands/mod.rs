//! The subcommands, one module each, and their dispatch.

mod ab;
mod asks;
mod check;
mod compare;
mod completions;
#[cfg(target_os = "linux")]
mod echo;
mod experiments;
mod explain;
mod export;
mod fidelity;
mod fit;
mod fmt;
mod import;
#[cfg(target_os = "linux")]
mod io;
#[cfg(target_os = "linux")]
mod io500;
#[cfg(target_os = "linux")]
mod ior;
mod ledger;
#[cfg(target_os = "linux")]
mod like;
#[cfg(target_os = "linux")]
mod line;
#[cfg(not(target_os = "linux"))]
mod linux_only;
mod ls;
mod lsp;
#[cfg(target_os = "linux")]
mod machine;
mod man;
#[cfg(target_os = "linux")]
mod mem;
#[cfg(target_os = "linux")]
mod meta;
mod parameters;
mod plan_runs;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod recover;
mod redact;
#[cfg(target_os = "linux")]
mod replay;
mod report;
#[cfg(target_os = "linux")]
mod run;
mod scale;
#[cfg(target_os = "linux")]
mod tour;
mod watch;
mod way_on;

#[cfg(not(target_os = "linux"))]
use linux_only::{echo, io, ior, machine, mem, meta, record, recover, replay, run, tour};

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
        Command::Io500(args) => io500::run(*args),
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
