//! Do the samples of all ranks reach the run file? `mpirun -n 4 measure run.parquet 1000 [die RANK]`.
//!
//! Every rank opens the same file, moves its position so many times, and meets the others now and then.
//! `measure [-n N] [--mpi PATH|none] RUN SAMPLES [die RANK]`; the tests in `tests/mpi` drive it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use engine::execute::{Backend, Call, Session, Stop};
use engine::launch::{Surroundings, print, surroundings};
use engine::record::Place;
use engine::run::{Body, Kept, Options, Outcome};
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
    places: Vec<Place>,
    samples: u64,
    dies: Option<u32>,
    ended: Ended,
}

/// When rank 0 was done with its last operation, in shared memory: the parent asks how long the rest took.
struct Ended(engine::launch::Delivery);

impl Body for Seeks {
    fn places(&self) -> &[Place] {
        &self.places
    }

    fn run<B: Backend>(&self, session: &mut Session<'_, B>) -> Result<(), Stop> {
        let open = Call::Open { path: c"/dev/zero", flags: libc::O_RDONLY, mode: 0 };
        let file = session.operation(0, open)?.value as u32;
        for index in 0..self.samples {
            session.operation(1, Call::Seek { file, offset: index as i64, whence: libc::SEEK_SET })?;
            if index % 10_000 == 0 {
                session.barrier(2, None)?;
            }
            if index == self.samples / 2 && self.dies == Some(session.rank()) {
                // SAFETY: ends this very process.
                unsafe { libc::raise(libc::SIGKILL) };
            }
        }
        session.barrier(2, None)?;
        if session.rank() == 0 {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            self.ended.0.put(&now.as_nanos().to_ne_bytes())?;
        }
        Ok(())
    }
}

fn run() -> Result<i32, String> {
    let (mut ranks, mut mpi, mut rest) = (1, "auto".to_string(), Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "-n" => ranks = value()?.parse().map_err(|_| "-n needs a number")?,
            "--mpi" => mpi = value()?,
            _ => rest.push(word),
        }
    }
    let [path, samples, more @ ..] = &rest[..] else { return Err("measure RUN SAMPLES [die RANK]".into()) };
    let path = PathBuf::from(path);
    let place =
        |operation: &str, kind| Place { line: 1, operation: operation.into(), kind, ..Place::default() };
    let body = Seeks {
        places: vec![
            place("fopen", SiteKind::Operation),
            place("fseek", SiteKind::Operation),
            place("barrier", SiteKind::Barrier),
        ],
        samples: samples.parse().map_err(|_| "SAMPLES is a number")?,
        dies: more.get(1).and_then(|rank| rank.parse().ok()),
        ended: Ended(engine::launch::Delivery::new().map_err(|error| error.to_string())?),
    };
    let mut options = Options::new(ranks);
    options.launch.grace = std::time::Duration::from_secs(3);
    options.expected_samples = body.samples;
    let outcome = match surroundings(&mpi.parse().unwrap_or_default()) {
        Surroundings::Alone => {
            let outcome = engine::run::ranks(&body, &options, |_| ()).map_err(|error| error.to_string())?;
            save(&body, &path, &outcome, Kept::Whole);
            outcome
        }
        Surroundings::Job(job) => {
            let directory = path.parent().unwrap_or(Path::new("."));
            let keep = |outcome: &Outcome, kept| save(&body, &path, outcome, kept);
            let ended = engine::run::job(&body, &options, &job, directory, keep, |_| ());
            match ended {
                Err(_) if job.rank() != 0 => return Ok(2),
                ended => ended.map_err(|error| error.to_string())?,
            }
        }
    };
    Ok(i32::from(outcome.exit_status()))
}

fn save(body: &Seeks, path: &Path, outcome: &Outcome, kept: Kept) {
    let start = Instant::now();
    outcome.run.facts.failures.iter().for_each(|failure| say(failure));
    let done = match kept {
        Kept::Whole => store::write(path, &outcome.run),
        Kept::Part(rank) => store::write_part(path, rank, &outcome.run),
        Kept::Elsewhere => return,
    };
    if let Err(error) = done {
        say(&format!("error: {error}"));
    }
    let ended = body.ended.0.take().unwrap_or_default();
    let since = <[u8; 16]>::try_from(&ended[..]).map(u128::from_ne_bytes).unwrap_or_default();
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let after = if since > 0 {
        format!(", {:.2} s after the last operation", (now - since) as f64 * 1e-9)
    } else {
        String::new()
    };
    say(&format!(
        "{kept:?}: {} samples, written in {:.2} s{after}; offsets {:?}; {}",
        outcome.run.samples.len(),
        start.elapsed().as_secs_f64(),
        outcome.run.facts.clock_offsets_ns,
        outcome.run.facts.communicator,
    ));
}
