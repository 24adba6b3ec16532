//! Runs a program of the language: `program FILE [RANKS] [name=value …]`, also under `mpirun`.

use std::path::Path;
use std::process::ExitCode;

use engine::mpi::MpiChoice;
use engine::mpi::{Surroundings, surroundings};
use engine::run::{self, JobSeat, JobShare, Options, Program, RunOutcome, options_of};
use ppl::Source;
use ppl::plan::Settings;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(file) = arguments.first() else {
        eprintln!("program FILE [RANKS] [name=value …]");
        return ExitCode::from(2);
    };
    let around = match surroundings(&MpiChoice::Auto) {
        Ok(around) => around,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let ranks = match &around {
        Surroundings::Job(job) => job.ranks(),
        Surroundings::Alone => arguments.get(1).and_then(|text| text.parse().ok()),
    };
    let given = |text: &String| text.split_once('=').map(|(name, value)| (name.into(), value.into()));
    let parameters = arguments.iter().filter_map(given).collect();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::from(2);
        }
    };
    let mut source = Source::new(file, &text);
    let settings = Settings { ranks, parameters, seed: 1, ..Settings::default() };
    let plan = match ppl::compile(&mut source, &settings, false, None) {
        Ok((plan, _)) => plan,
        Err(found) => {
            found.iter().for_each(|one| eprintln!("{file}: {}", one.message));
            return ExitCode::from(2);
        }
    };
    let options = Options::new(1);
    let mut status = 0;
    let result = match around {
        Surroundings::Alone => engine::run(&plan, &options, |_| ()).map(|outcome| status = show(&outcome)),
        Surroundings::Job(job) => {
            let save = |share: JobShare| {
                if let JobShare::Whole(outcome) | JobShare::Part(outcome) = share {
                    status = show(&outcome);
                }
            };
            let program = Program::new(&plan);
            let options = options_of(&plan, &options);
            let seat = JobSeat { job: &job, directory: Path::new("."), refuses: false };
            run::job(&program, &options, seat, save, |_| ()).map(drop)
        }
    };
    if let Err(error) = result {
        eprintln!("{error}");
        status = 3;
    }
    ExitCode::from(status)
}

fn show(outcome: &RunOutcome) -> u8 {
    print!("{}", outcome.printed);
    let facts = &outcome.run.facts;
    println!("{} ranks, {}, complete {}", facts.ranks, facts.communicator, facts.complete);
    for (number, site) in (0..).zip(&outcome.run.sites) {
        let mut durations = outcome.run.durations(number);
        durations.sort_by(f64::total_cmp);
        let median = durations.get(durations.len() / 2).copied().unwrap_or(0.0);
        let longest = durations.last().copied().unwrap_or(0.0);
        let time = samples::units::duration;
        println!(
            "{:>8} {:30} median {:10} max {}",
            durations.len(),
            site.name(),
            time(median),
            time(longest)
        );
    }
    facts.failures.iter().for_each(|line| println!("{line}"));
    facts.warnings.iter().for_each(|warning| println!("note: {}", warning.text));
    outcome.failures().iter().flat_map(|failure| &failure.examples).for_each(|line| println!("{line}"));
    outcome.exit_status()
}
