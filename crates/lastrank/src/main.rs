//! Measure every operation, program the load, explain the tail.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod diagnostics;
mod exit;
mod experiments;
mod output;
mod program;
mod values;

use clap::Parser;

fn main() -> std::process::ExitCode {
    exit::report(commands::dispatch(cli::Cli::parse()))
}
