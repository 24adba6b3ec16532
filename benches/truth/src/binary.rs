//! Asks the binary itself for a sample of the screens: they are those of the library, or have no other words.

use std::path::Path;
use std::process::Command;

use tail::assess::AssessOptions;

use crate::{Asked, Base, Cell, Law, Screen, ask, claims, study};

/// Values of a file or a run.
const N: usize = 120;

/// Compares what `binary` prints in an empty folder with what is counted.
///
/// # Errors
/// Where a screen differs, or has words that are not registered.
pub fn check(binary: &Path, folder: &Path) -> Result<(), String> {
    let law = Law::of(Base::Gev(0.1));
    for law in [law, law.ar(0.6)] {
        for at in 0..3 {
            of_file(binary, folder, (&Cell::of(Screen::Fit, law, N, (1, 0)), at))?;
        }
    }
    for seed in 1..4 {
        of_run(binary, folder, (&Cell::of(Screen::Run, law, N, (1, 0)), seed))?;
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
        rest.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
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

/// Without the name of the page, and with the lines that were broken, which are longer than all others.
fn unbroken(printed: &str) -> String {
    const LONG: usize = 120;
    let mut lines: Vec<String> = Vec::new();
    for line in printed.lines().filter(|line| !line.starts_with("Report:")) {
        match lines.last_mut().filter(|last| last.chars().count() > LONG && !last.contains(" · ")) {
            Some(last) => *last = format!("{last} {}", line.trim_start()),
            None => lines.push(line.to_owned()),
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
