//! Prints how often what first screens say is true.
//!
//! `truth` prints the whole table, `--quick` that of the test, `--all` counts as failures what is known too, `--only WORDS`
//! takes the cells with these words, `--show WORDS` prints screens of them, `--share 0.1` takes a tenth of the draws.

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| words.iter().any(|word| word == name);
    let value = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    let mut cells = if has("--quick") { truth::quick() } else { truth::full() };
    if let Some(only) = value("--only").or_else(|| value("--show")) {
        cells.retain(|cell| cell.name().contains(only.as_str()));
    }
    if let Some(share) = value("--share").and_then(|share| share.parse::<f64>().ok()) {
        cells.iter_mut().for_each(|cell| cell.draws = ((cell.draws as f64 * share).ceil() as usize).max(1));
    }
    if has("--show") {
        for cell in &cells {
            for at in 0..3 {
                let (_, text) = truth::draw(cell, at);
                println!("# {}\n{}", cell.name(), text.unwrap_or_else(|why| why));
            }
        }
        return ExitCode::SUCCESS;
    }
    let mut studies = Vec::new();
    let begin = Instant::now();
    for cell in &cells {
        match truth::run(cell) {
            Ok(study) => {
                eprintln!("{:>6.0} s  {}", begin.elapsed().as_secs_f64(), cell.name());
                studies.push(study);
            }
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::FAILURE;
            }
        }
    }
    print!("{}", truth::markdown(&studies));
    // What is known is of the draws of the test.
    let known = if has("--quick") && !has("--all") { truth::KNOWN } else { &[] };
    let failures = truth::failures(&studies, known);
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
