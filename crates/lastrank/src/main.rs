//! Measure every operation, program the load, explain the tail.
#![forbid(unsafe_code)]
// What only the commands that measure use.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

// The standard macros panic when standard error is a closed pipe or on a full disk. That must not end a run whose
// samples are not stored yet.
macro_rules! eprintln {
    ($($words:tt)*) => { $crate::output::say(format_args!("{}\n", format_args!($($words)*))) };
}

mod asked;
mod built;
mod circumstances;
mod cli;
mod commands;
mod conditions;
mod diagnostics;
mod exit;
mod experiments;
mod json_text;
mod kept_answer;
mod live;
mod output;
mod program;
mod screen;
mod soundness;
mod statistic;
mod system;
mod terminal;
mod values;
mod working;
mod written;

fn main() -> std::process::ExitCode {
    system::ignore_file_size_signal();
    exit::report_bugs();
    if let Err(bytes) = system::provide_stack() {
        eprintln!(
            "error: the stack is limited to {}, and lastrank needs 1 MiB; raise `ulimit -s`",
            samples::units::bytes(bytes)
        );
        return exit::Status::Usage.into();
    }
    if let Err(error) = system::random_numbers() {
        eprintln!(
            "error: this system gives no random numbers (getrandom: {error}); see its filters of system calls"
        );
        return exit::Status::Usage.into();
    }
    output::wrap_at_terminal();
    match cli::parse() {
        Ok(cli) => exit::report(commands::dispatch(cli)),
        Err(told) => told,
    }
}
