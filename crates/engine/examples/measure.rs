//! Brings the samples of all ranks to the run file: `mpirun -n 4 measure run.parquet 1000 [die RANK]`.
//!
//! Every rank opens the same file, moves its position so many times, and meets the others now and then.
//! `measure [-n N] [--mpi PATH|none] [--memory BYTES] RUN SAMPLES [die|abort|orphan RANK]`; the tests in `tests/mpi` drive it.

mod endings;

use std::path::{Path, PathBuf};
use std::time::Instant;

use engine::execute::{Call, Session, Stop};
use engine::mpi::{Surroundings, surroundings};
use engine::run::{Body, JobSeat, JobShare, Options, RunOutcome};
use ranks::print;
use record::StaticSite;
use samples::SiteKind;

fn main() {
    std::process::exit(match run() {
        Ok(status) => status,
        Err(why) => {
            eprintln!("error: {why}");
            2
        }
    });
}

fn say(line: &str) {
    let _ = print(format!("{line}\n").as_bytes());
}

struct Seeks {
    places: Vec<StaticSite>,
    samples: u64,
    /// How one rank ends half-way, and which.
    ending: Option<(String, u32)>,
    /// The library's path, where one was named.
    mpi: String,
}

impl Body for Seeks {
    fn places(&self) -> &[StaticSite] {
        &self.places
    }

    fn run(&self, session: &mut Session<'_>) -> Result<(), Stop> {
        let open = Call::Open { path: c"/dev/zero", flags: libc::O_RDONLY, mode: 0 };
        let file = session.operation(0, open)?.value as u32;
        for index in 0..self.samples {
            session.operation(1, Call::Seek { file, offset: index as i64, whence: libc::SEEK_SET })?;
            if index % 10_000 == 0 {
                session.barrier(2, None)?;
            }
            if index == self.samples / 2
                && let Some((how, _)) = self.ending.as_ref().filter(|(_, rank)| *rank == session.rank())
            {
                self.end_early(how);
            }
        }
        session.barrier(2, None)?;
        Ok(())
    }
}

impl Seeks {
    fn end_early(&self, how: &str) {
        match how {
            "abort" => drop(endings::abort(&self.mpi)),
            "orphan" => {
                drop(endings::kill_launched());
                // The others wait for this rank at the next barrier, and its keeper tells it to stop.
                // SAFETY: waits for a signal.
                unsafe { libc::pause() };
            }
            // SAFETY: ends this very process.
            _ => drop(unsafe { libc::raise(libc::SIGKILL) }),
        }
    }
}

fn run() -> Result<i32, String> {
    let mut memory = None;
    let (mut ranks, mut mpi, mut rest) = (1, "auto".to_string(), Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "-n" => ranks = value()?.parse().map_err(|_| "-n needs a number")?,
            "--mpi" => mpi = value()?,
            "--memory" => memory = Some(value()?.parse().map_err(|_| "--memory needs a number")?),
            _ => rest.push(word),
        }
    }
    let [path, samples, more @ ..] = &rest[..] else { return Err("measure RUN SAMPLES [die RANK]".into()) };
    let path = PathBuf::from(path);
    let place = |operation: &str, kind| StaticSite {
        line: 1,
        operation: operation.into(),
        kind,
        ..StaticSite::default()
    };
    let body = Seeks {
        places: vec![
            place("fopen", SiteKind::Operation),
            place("fseek", SiteKind::Operation),
            place("barrier", SiteKind::Barrier),
        ],
        samples: samples.parse().map_err(|_| "SAMPLES is a number")?,
        ending: more.first().cloned().zip(more.get(1).and_then(|rank| rank.parse().ok())),
        mpi: mpi.clone(),
    };
    let mut options = Options::new(ranks);
    options.launch.grace = std::time::Duration::from_secs(3);
    options.expected_samples = body.samples;
    options.memory = memory;
    match surroundings(&mpi.parse().unwrap_or_default()).map_err(|error| error.to_string())? {
        Surroundings::Alone => {
            let outcome = engine::run::ranks(&body, &options, |_| ()).map_err(|error| error.to_string())?;
            save(&outcome, "whole", |run| store::write(&path, run));
            Ok(i32::from(outcome.exit_status()))
        }
        Surroundings::Job(job) => {
            options.launch.ranks = 0;
            let directory = path.parent().unwrap_or(Path::new("."));
            let mut status = 0;
            let keep = |share: JobShare| {
                status = match share {
                    JobShare::Whole(outcome) => save(&outcome, "whole", |run| store::write(&path, run)),
                    JobShare::Part(outcome) => {
                        save(&outcome, "part", |run| store::write_part(&path, job.rank(), run))
                    }
                    JobShare::AtRankZero | JobShare::Refused => 0,
                };
            };
            let seat = JobSeat { job: &job, directory, refuses: false };
            match engine::run::job(&body, &options, seat, keep, |_| ()) {
                Err(_) if job.rank() != 0 => Ok(2),
                Err(error) => Err(error.to_string()),
                Ok(_) => Ok(status),
            }
        }
    }
}

fn save(
    outcome: &RunOutcome,
    what: &str,
    write: impl FnOnce(&samples::Run) -> Result<(), store::Error>,
) -> i32 {
    let start = Instant::now();
    outcome.run.facts.failures.iter().for_each(|failure| say(failure));
    if let Err(error) = write(&outcome.run) {
        say(&format!("error: {error}"));
    }
    say(&format!(
        "{what}: {} samples, written in {:.2} s; offsets {:?}; {}",
        outcome.run.samples.len(),
        start.elapsed().as_secs_f64(),
        outcome.run.facts.clock_offsets,
        outcome.run.facts.communicator,
    ));
    i32::from(outcome.exit_status())
}
