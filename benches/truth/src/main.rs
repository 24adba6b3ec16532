//! Prints how often what first screens say is true.
//!
//! `truth` prints the whole table, `--quick` that of the test, `--all` counts as failures what is known too, `--only WORDS`
//! takes the cells with these words, `--show WORDS` prints screens of them, `--share 0.1` takes a tenth of the draws.
//! `--binary LASTRANK --folder EMPTY` compares screens of the binary with those that are counted, and counts how often
//! `--fail-if` trips on 200 pairs of runs of one distribution (`--pairs N`: on so many), and `ab --fail-if-slower` on 200 pairs of
//! commands of one distribution (`--arms N`), each of which is this program with `--arm`. `--seed N` draws others: what was tuned on the
//! draws of the table is tried on them.
//! `--save FILE` keeps the counts, `--before FILE` puts those of an earlier state beside, `--write PAGE` writes the
//! rows of these cells into the calibration page as they come and leaves the others, `--missing` takes only the cells that the
//! page has not with all their draws.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| words.iter().any(|word| word == name);
    let value = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    if let Some(at) = words.iter().position(|word| word == "--arm") {
        let factor = words.get(at + 2).and_then(|factor| factor.parse().ok()).unwrap_or(1.0);
        return ended(truth::binary::arm(words.get(at + 1).map_or("", |file| file).as_ref(), factor));
    }
    if let (Some(binary), Some(folder)) = (value("--binary"), value("--folder")) {
        let many = |name: &str| value(name).and_then(|pairs| pairs.parse().ok()).unwrap_or(200);
        let told = of_binary(binary.as_ref(), folder.as_ref(), [many("--pairs"), many("--arms")]);
        return ended(told.map(|told| println!("{told}")));
    }
    let mut cells = if has("--quick") { truth::quick() } else { truth::full() };
    if let Some(only) = value("--only").or_else(|| value("--show")) {
        cells.retain(|cell| cell.name().contains(only.as_str()));
    }
    if let Some(share) = value("--share").and_then(|share| share.parse::<f64>().ok()) {
        cells.iter_mut().for_each(|cell| cell.draws = ((cell.draws as f64 * share).ceil() as usize).max(1));
    }
    if let Some(page) = value("--write").filter(|_| has("--missing")) {
        let text = std::fs::read_to_string(page).unwrap_or_default();
        match cells.iter().map(|cell| truth::has(&text, cell)).collect::<Result<Vec<bool>, String>>() {
            Ok(has) => {
                cells = cells.into_iter().zip(has).filter(|(_, has)| !has).map(|(cell, _)| cell).collect()
            }
            Err(why) => {
                eprintln!("{page}: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    let seed = value("--seed").and_then(|seed| seed.parse().ok());
    if let Some(seed) = seed {
        cells.iter_mut().for_each(|cell| cell.seed = seed);
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
    print!("{}", truth::HEAD);
    for cell in &cells {
        match truth::run(cell) {
            Ok(study) => {
                eprintln!("{:>6.0} s  {}", begin.elapsed().as_secs_f64(), cell.name());
                print!("{}", truth::rows(&study));
                studies.push(study);
                if let Err(why) = written(&studies, [value("--save"), value("--before"), value("--write")]) {
                    eprintln!("{why}");
                    return ExitCode::FAILURE;
                }
            }
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::FAILURE;
            }
        }
    }
    // What is known is of the draws of the test.
    let known = if has("--quick") && !has("--all") { truth::KNOWN } else { &[] };
    let failures = truth::failures(&studies, known);
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ended(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn of_binary(binary: &Path, folder: &Path, [pairs, arms]: [u64; 2]) -> Result<String, String> {
    truth::binary::check(binary, folder)?;
    truth::binary::check_many(binary, folder)?;
    let limits = truth::binary::check_limits(binary, folder, pairs)?;
    Ok(format!("{limits}\n{}", truth::binary::check_arms(binary, folder, arms)?))
}

fn written(studies: &[truth::Study], [save, before, page]: [Option<&String>; 3]) -> Result<(), String> {
    let told = |file: &str, error: std::io::Error| format!("{file}: {error}");
    if let Some(file) = save {
        std::fs::write(file, truth::counts(studies)).map_err(|error| told(file, error))?;
    }
    let Some(page) = page else { return Ok(()) };
    let before = before
        .map_or(Ok(String::new()), |file| std::fs::read_to_string(file).map_err(|error| told(file, error)))?;
    let text = std::fs::read_to_string(page).map_err(|error| told(page, error))?;
    let text = truth::with_table(&text, studies, &before)?;
    std::fs::write(page, text).map_err(|error| told(page, error))
}
