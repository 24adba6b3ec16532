//! Asks the binary itself for a sample of the screens: they are those of the library, or have no other words.

use std::path::Path;
use std::process::Command;

use tail::assess::AssessOptions;

use crate::{Asked, Base, Cell, Distribution, Screen, ask, claims, study};

/// The seed of what commands draw.
const SEED_OF_ARMS: u64 = 20_261_126;

/// Values of a file or a run.
const N: usize = 120;

/// Compares what `binary` prints in an empty folder with what is counted.
///
/// # Errors
/// Where a screen differs, or has words that are not registered.
pub fn check(binary: &Path, folder: &Path) -> Result<(), String> {
    let distribution = Distribution::of(Base::Gev(0.1));
    for distribution in [distribution, distribution.ar(0.6)] {
        for at in 0..3 {
            of_file(binary, folder, (&Cell::of(Screen::Fit, distribution, N, (1, 0)), at))?;
        }
    }
    for seed in 1..4 {
        of_run(binary, folder, (&Cell::of(Screen::Run, distribution, N, (1, 0)), seed))?;
    }
    Ok(())
}

/// A screen of `lastrank fit` is the one that the library gives.
fn of_file(binary: &Path, folder: &Path, (cell, at): (&Cell, u64)) -> Result<(), String> {
    let (values, _) = study::draw(cell, at);
    let file = folder.join("values.txt");
    let lines: String = values.iter().map(|value| format!("{value:e}\n")).collect();
    std::fs::write(&file, lines).map_err(|error| error.to_string())?;
    let printed = printed(binary, folder, &["fit", "values.txt", "--unit", "s"])?;
    let expected = ask::fit(&values, &AssessOptions::default())?;
    // It breaks long lines.
    let below_title = |text: &str| {
        let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
        let words = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        // The binary names the file in what it advises.
        words.replace("`lastrank fit values.txt --unit=s", "`lastrank fit FILE")
    };
    match below_title(&printed) == below_title(&expected) {
        true => Ok(()),
        false => {
            Err(format!("{}: the binary prints\n{printed}where the library gives\n{expected}", cell.name()))
        }
    }
}

/// A screen of `lastrank run` has only words that are registered.
fn of_run(binary: &Path, folder: &Path, (cell, seed): (&Cell, u64)) -> Result<(), String> {
    let program = format!("define ranks 1;\n$f = fopen(\"z\", \"w\");\nrepeat {N} {{ fwrite($f, 8k); }}\n");
    std::fs::write(folder.join("the-run.ppl"), program).map_err(|error| error.to_string())?;
    let (file, seed) = (format!("run-{seed}.parquet"), seed.to_string());
    let words =
        ["run", "the-run.ppl", "--backend", "simulate:gev(10ms,1ms,0.1)", "--seed", &seed, "-o", &file];
    let printed = printed(binary, folder, &words)?.replace(&file, "run.parquet");
    let screen = unbroken(&printed);
    let said = claims::of(Screen::Run).read(&screen, &Asked { cell, values: &[] })?;
    match said.iter().any(|one| one.name == "typical") {
        true => Ok(()),
        false => Err(format!("no screen of a run:\n{printed}")),
    }
}

/// How often `compare --fail-if` trips on pairs of runs of one distribution, of which 2.5% may: its interval holds 95%, and only the
/// end towards slower counts.
///
/// # Errors
/// Where it trips more often than chance explains in one of 1,000 trials, or a command fails.
pub fn check_limits(binary: &Path, folder: &Path, pairs: u64) -> Result<String, String> {
    const STATED: f64 = 0.025;
    const CHANCE: f64 = 0.998;
    let program = "define ranks 1;\n$f = fopen(\"z\", \"w\");\nrepeat 100 { fwrite($f, 8k); }\n";
    std::fs::write(folder.join("a-pair.ppl"), program).map_err(|error| error.to_string())?;
    let mut tripped = 0;
    for pair in 0..pairs {
        for (file, seed) in [("quiet.parquet", 2 * pair + 1), ("new.parquet", 2 * pair + 2)] {
            let seed = seed.to_string();
            let run = ["run", "a-pair.ppl", "--backend", "simulate:gev(10ms,1ms,0.1)", "--seed", &seed];
            printed(binary, folder, &[&run[..], &["-o", file, "--report", "none", "--quiet"]].concat())?;
        }
        let words = ["compare", "quiet.parquet", "new.parquet", "--fail-if", "factor > 1"];
        tripped += u64::from(match status(binary, folder, &words)? {
            0 => false,
            1 => true,
            other => return Err(format!("{words:?} ended with {other} for pair {pair}")),
        });
    }
    let told = format!("{tripped} of {pairs} pairs of one distribution trip `--fail-if 'factor > 1'`");
    match tail::special::clopper_pearson(tripped, pairs, CHANCE).0 <= STATED {
        true => Ok(told),
        false => Err(format!("{told}: more than the stated {:.1}%", 100.0 * STATED)),
    }
}

/// How often `ab --fail-if-slower` trips on pairs of commands of one distribution, of which 2.5% may: its looks share 5% for both
/// sides. The commands are this program, which sleeps as long as it draws; one that sleeps much longer is found.
///
/// # Errors
/// Where it trips more often than chance explains in one of 1,000 trials, misses the slower command, or a command fails.
pub fn check_arms(binary: &Path, folder: &Path, pairs: u64) -> Result<String, String> {
    const STATED: f64 = 0.025;
    const CHANCE: f64 = 0.998;
    const APART: u64 = 2;
    // So much that starting a command on a busy machine does not hide it.
    const SLOWER: f64 = 20.0;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let tripped = |pair: u64, factor: f64| -> Result<bool, String> {
        let drawn = folder.join("drawn.txt");
        std::fs::write(&drawn, (pair << 32).to_string()).map_err(|error| error.to_string())?;
        let arm = |factor: f64| format!("'{}' --arm '{}' {factor}", own.display(), drawn.display());
        let (a, b, seed) = (arm(1.0), arm(factor), pair.to_string());
        let words = ["ab", &a, &b, "--seed", &seed, "--warmup", "0", "--quiet", "--fail-if-slower"];
        match status(binary, folder, &words)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("{words:?} ended with {other}")),
        }
    };
    let count = |pairs: std::ops::Range<u64>, factor: f64| -> Result<u64, String> {
        pairs.map(|pair| tripped(pair, factor).map(u64::from)).sum()
    };
    let equal = count(0..pairs, 1.0)?;
    let told = format!("{equal} of {pairs} pairs of commands of one distribution trip `ab --fail-if-slower`");
    let apart = count(pairs..pairs + APART, SLOWER)?;
    if apart < APART {
        return Err(format!(
            "{apart} of {APART} pairs of which one is much slower trip `ab --fail-if-slower`"
        ));
    }
    match tail::special::clopper_pearson(equal, pairs, CHANCE).0 <= STATED {
        true => Ok(told),
        false => Err(format!("{told}: more than the stated {:.1}%", 100.0 * STATED)),
    }
}

/// A command of known distribution, one arm of [`check_arms`]: sleeps about 1 ms times `factor`, log-normal with a standard deviation of
/// 0.1. `drawn` holds which draw is next.
///
/// # Errors
/// Where the file has no number or cannot be written.
pub fn arm(drawn: &Path, factor: f64) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", drawn.display());
    let text = std::fs::read_to_string(drawn).map_err(|error| told(&error))?;
    let at: u64 = text.trim().parse().map_err(|error: std::num::ParseIntError| told(&error))?;
    std::fs::write(drawn, (at + 1).to_string()).map_err(|error| told(&error))?;
    let seconds = 1e-3 * factor * (0.1 * tail::Xoshiro::stream(SEED_OF_ARMS, at).normal()).exp();
    std::thread::sleep(std::time::Duration::from_secs_f64(seconds));
    Ok(())
}

fn status(binary: &Path, folder: &Path, words: &[&str]) -> Result<i32, String> {
    let mut command = Command::new(binary);
    let done = command.args(words).current_dir(folder).output();
    let done = done.map_err(|error| format!("{}: {error}", binary.display()))?;
    done.status.code().ok_or_else(|| format!("{words:?} was ended by a signal"))
}

/// What 100,000 values of a distribution that is none of maxima get to hear is true, and says that it is none.
///
/// # Errors
/// Where the screen is not true of them, or has words that are not registered.
pub fn check_many(binary: &Path, folder: &Path) -> Result<(), String> {
    let distribution = Distribution::of(Base::Exponential);
    let cell = Cell::of(Screen::Fit, distribution, 100_000, (1, 0));
    let values = distribution.draw(cell.n, &mut tail::Xoshiro::new(1));
    let lines: String = values.iter().map(|value| format!("{value:e}\n")).collect();
    std::fs::write(folder.join("many.txt"), lines).map_err(|error| error.to_string())?;
    let shown = printed(binary, folder, &["fit", "many.txt", "--unit", "s"])?;
    let shown = shown.split_once('\n').map_or("", |(_, rest)| rest);
    let shown = shown.replace("`lastrank fit many.txt --unit=s", "`lastrank fit FILE");
    let told = format!("the values\n{shown}");
    let said = claims::of(Screen::Fit).read(&told, &Asked { cell: &cell, values: &values })?;
    let is_false = |one: &&crate::Said| one.judged == crate::Judged::Sentence(false);
    if let Some(one) = said.iter().find(is_false) {
        return Err(format!("{}: {} is false", cell.name(), one.text));
    }
    match said.iter().any(|one| one.name == "no distribution of maxima" || one.name == "another distribution")
    {
        true => Ok(()),
        false => Err(format!("{} is taken for a distribution of maxima:\n{shown}", cell.name())),
    }
}

/// Without the name of the page, and with the lines that were broken, which are longer than all others.
fn unbroken(printed: &str) -> String {
    const LONG: usize = 120;
    let mut lines: Vec<String> = Vec::new();
    for line in printed.lines() {
        let line = line.split_once(".parquet, ").map_or(line.to_owned(), |(run, _)| format!("{run}.parquet"));
        // The first line is as wide as the terminal, and ends with how long it took.
        let is_title = lines.len() == 1;
        match lines.last_mut().filter(|last| !is_title && last.chars().count() > LONG) {
            Some(last) => *last = format!("{last} {}", line.trim_start()),
            None => lines.push(line),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn printed(binary: &Path, folder: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(binary);
    command.args(words).current_dir(folder).env("COLUMNS", "4000").env("NO_COLOR", "1");
    let done = command.output().map_err(|error| format!("{}: {error}", binary.display()))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(format!("{words:?}: {}", String::from_utf8_lossy(&done.stderr))),
    }
}
