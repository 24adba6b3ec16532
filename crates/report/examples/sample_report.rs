//! Writes the report of a made-up run, the same every time: `sample_report OUT.html`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: sample_report OUT.html");
        return ExitCode::from(2);
    };
    let run = samples::example::parallel_write(16, 400, 7);
    let report = report::build(&run, &report::Options::default());
    print!("{}", report.terminal_text());
    match std::fs::write(&path, report.html()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("cannot write {path}: {cause}");
            ExitCode::from(3)
        }
    }
}
