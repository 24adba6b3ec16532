//! Writes the report of a made-up run, the same every time: `sample_report OUT.html [RANKS STEPS]`.
//! With 16 ranks a step is 96 samples: `16 20500` shows what a page of two million samples costs.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u64| words.get(at).map_or(Some(usual), |word| word.parse().ok());
    let (Some(path), Some(ranks), Some(steps)) = (words.first(), number(1, 16), number(2, 400)) else {
        eprintln!("usage: sample_report OUT.html [RANKS STEPS]");
        return ExitCode::from(2);
    };
    let run = samples::example::parallel_write(ranks.min(4096) as u32, steps, 7);
    let begin = std::time::Instant::now();
    let report = report::build(&run, &report::ReportOptions::default());
    let html = report.html();
    print!("{}", report.terminal_text());
    eprintln!("{} samples, {:.1} s, {} bytes", run.samples.len(), begin.elapsed().as_secs_f64(), html.len());
    match std::fs::write(path, html) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("cannot write {path}: {cause}");
            ExitCode::from(3)
        }
    }
}
