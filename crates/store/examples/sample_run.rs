//! Writes a made-up run, the same every time: `sample_run OUT.parquet [RANKS STEPS]`.
//!
//! For tests that open run files with other tools, and for trying out queries.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: sample_run OUT.parquet [RANKS STEPS]");
        return ExitCode::from(2);
    };
    let ranks = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(16);
    let steps = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(400);
    match store::write(path.as_ref(), &samples::example::parallel_write(ranks, steps, 7)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}
