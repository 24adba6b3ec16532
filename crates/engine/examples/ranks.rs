//! Do ranks meet? Run it under any launcher, or with `-n N` for forked ranks: `mpirun -n 4 ranks comm`.
//!
//! `ranks [-n N] [--mpi PATH|none] [--timeout SECONDS] SCENE`. The tests in `tests/mpi` drive it.

use std::time::{Duration, Instant};

use engine::comm::mpi::MpiChoice;
use engine::comm::{Comm, CommError};
use engine::launch::{Launch, Outcome, Surroundings, print, processes, surroundings};

fn main() {
    std::process::exit(run());
}

struct Wanted {
    ranks: u32,
    mpi: MpiChoice,
    timeout: Duration,
    scene: Vec<String>,
}

fn wanted() -> Option<Wanted> {
    let mut wanted =
        Wanted { ranks: 1, mpi: MpiChoice::Auto, timeout: Duration::from_secs(60), scene: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-n" => wanted.ranks = words.next()?.parse().ok()?,
            "--mpi" => wanted.mpi = words.next()?.parse().ok()?,
            "--timeout" => wanted.timeout = Duration::from_secs_f64(words.next()?.parse().ok()?),
            _ => wanted.scene.push(word),
        }
    }
    (!wanted.scene.is_empty()).then_some(wanted)
}

fn run() -> i32 {
    let Some(wanted) = wanted() else {
        eprintln!("ranks [-n N] [--mpi PATH|none] [--timeout SECONDS] comm|fail|die|late|speed");
        return 2;
    };
    let launch =
        Launch { timeout: Some(wanted.timeout), grace: Duration::from_secs(3), ..Launch::new(wanted.ranks) };
    let (first, result) = match surroundings(&wanted.mpi) {
        Surroundings::Alone => {
            let result = processes(&launch, |comm| scene(&wanted.scene, &comm), |_| ());
            let told = result.inspect(|outcome| outcome.failures().iter().for_each(|failure| say(failure)));
            (true, told)
        }
        Surroundings::Job(job) => {
            let here = std::env::temp_dir();
            let saved = |outcome: &Outcome| {
                outcome.failures().iter().for_each(|failure| say(failure));
                if !outcome.complete() {
                    say(&format!("saved rank {}", outcome.first));
                }
            };
            (job.rank() == 0, job.run(&launch, &here, |comm| scene(&wanted.scene, comm), saved, |_| ()))
        }
    };
    match result {
        Err(error) => {
            if first {
                eprintln!("error: {error}");
            }
            2
        }
        Ok(outcome) if outcome.complete() => 0,
        Ok(_) => 3,
    }
}

fn say(line: &str) {
    let _ = print(format!("{line}\n").as_bytes());
}

fn text(error: CommError) -> String {
    error.to_string()
}

fn scene(words: &[String], comm: &dyn Comm) -> Result<(), String> {
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u32>().ok());
    let victim = number(1).unwrap_or(0);
    comm.standing().set_line(1);
    match words[0].as_str() {
        "comm" => meet(comm),
        "speed" => speed(comm),
        "fail" if comm.rank() == victim => Err("write of /x: Input/output error".into()),
        "die" if comm.rank() == victim => {
            std::thread::sleep(Duration::from_millis(300));
            // SAFETY: a process may send itself a signal.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            Ok(())
        }
        "late" if comm.rank() == victim => {
            comm.standing().set_line(7);
            std::thread::sleep(Duration::from_secs(3600));
            Ok(())
        }
        "fail" | "die" | "late" => comm.barrier(0).map(drop).map_err(text),
        other => Err(format!("no scene {other}")),
    }
}

/// Everything a communicator can do, checked against what it must give.
fn meet(comm: &dyn Comm) -> Result<(), String> {
    let (me, size) = (comm.rank(), comm.size());
    if me == 0 {
        say(&format!("{size} ranks: {}", comm.description()));
    }
    let same =
        |what: &str, good: bool| if good { Ok(()) } else { Err(format!("rank {me}: {what} is wrong")) };
    for round in 0..200_u64 {
        let largest = comm.barrier(round * 1000 + u64::from((me + round as u32) % size)).map_err(text)?;
        same("the largest value", largest == round * 1000 + u64::from(size) - 1)?;
    }
    for length in [0_usize, 1, 70_000, 1 << 20] {
        let root = length as u32 % size;
        let letter: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
        let mut heard = if me == root { letter.clone() } else { vec![1; 3] };
        comm.broadcast(root, &mut heard).map_err(text)?;
        same("a broadcast", heard == letter)?;
        let all = comm.gather(root, &vec![me as u8; length * me as usize]).map_err(text)?;
        let wanted = (me == root)
            .then(|| (0..size).map(|rank| vec![rank as u8; length * rank as usize]).collect::<Vec<_>>());
        same("a gather", all == wanted)?;
    }
    let group = comm.split((me % 3 != 2).then_some(me % 3), size - me).map_err(text)?;
    if let Some(group) = &group {
        let wanted = (0..size).filter(|rank| rank % 3 == me % 3).count() as u32;
        same("the size of a group", group.size() == wanted)?;
        let largest = group.barrier(u64::from(me)).map_err(text)?;
        same("the largest of a group", largest as u32 == (wanted - 1) * 3 + me % 3)?;
        same("the rank in a group", group.rank() == wanted - 1 - me / 3)?;
    }
    same("being in a group", group.is_some() == (me % 3 != 2))?;
    let start = Instant::now();
    let epoch = u64::from(me) * 1_000_000_000;
    let offsets = comm.clock_offsets(&mut || epoch + start.elapsed().as_nanos() as u64).map_err(text)?;
    if comm.name() == "mpi" && me == 0 {
        // Each rank's clock was set a second ahead of the one before; starting them took less.
        let good = offsets
            .iter()
            .enumerate()
            .all(|(r, offset)| (offset - r as i64 * 1_000_000_000).abs() < 500_000_000);
        same("a clock offset", good && offsets.len() == size as usize)?;
    }
    comm.barrier(0).map_err(text)?;
    if me == 0 {
        say("all good");
    }
    Ok(())
}

/// How long does a barrier take?
fn speed(comm: &dyn Comm) -> Result<(), String> {
    let rounds = 20_000;
    let mut durations = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        comm.barrier(0).map_err(text)?;
        durations.push(start.elapsed().as_nanos());
    }
    durations.sort_unstable();
    if comm.rank() == 0 {
        say(&format!(
            "barrier: median {} ns, p99 {} ns",
            durations[rounds / 2],
            durations[rounds * 99 / 100]
        ));
    }
    Ok(())
}
