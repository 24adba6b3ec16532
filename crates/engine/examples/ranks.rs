//! Lets ranks meet under any launcher, or with `-n N` as forked ranks: `mpirun -n 4 ranks comm`.
//!
//! `ranks [-n N] [--mpi PATH|none] [--timeout SECONDS] SCENE`. The tests in `tests/mpi` drive it.

mod endings;

use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use engine::collective::{self, Blocks, Direction, Layout, ParallelMode, Preparations, ViewKind};
use engine::driver::Posix;
use engine::mpi::MpiChoice;
use engine::mpi::{Surroundings, surroundings};
use ranks::{Comm, CommError};
use ranks::{Launch, RankEnds, print, processes};
use samples::{CommonClock, Facts};

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
        eprintln!(
            "ranks [-n N] [--mpi PATH|none] [--timeout SECONDS] comm|fail RANK|die RANK|crash RANK|abort RANK|late RANK|speed|pattern DIR write|read|both|\
             io DIR LEVEL ELEMENT BLOCKS ROUNDS"
        );
        return 2;
    };
    let launch =
        Launch { timeout: Some(wanted.timeout), grace: Duration::from_secs(3), ..Launch::new(wanted.ranks) };
    let around = match surroundings(&wanted.mpi) {
        Ok(around) => around,
        Err(error) => {
            eprintln!("error: {error}");
            return 2;
        }
    };
    let (first, result) = match around {
        Surroundings::Alone => {
            let result = processes(&launch, |comm| scene(&wanted.scene, &comm), |_| ());
            let told = result.inspect(|outcome| outcome.failures().iter().for_each(|failure| say(failure)));
            (true, told)
        }
        Surroundings::Job(job) => {
            let (here, launch) = (std::env::temp_dir(), Launch { ranks: 0, ..launch });
            let saved = |outcome: &RankEnds| {
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
    comm.status().set_line(1);
    match words[0].as_str() {
        "comm" => meet(comm),
        "speed" => speed(comm),
        "pattern" => patterns(comm, words),
        "io" => io(comm, words),
        "fail" if comm.rank() == victim => Err("write of /x: Input/output error".into()),
        "die" if comm.rank() == victim => {
            std::thread::sleep(Duration::from_millis(300));
            // SAFETY: a process may send itself a signal.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            Ok(())
        }
        "crash" if comm.rank() == victim => {
            std::thread::sleep(Duration::from_millis(300));
            // SAFETY: none: this is what a defect of somebody's library looks like.
            unsafe { std::ptr::null_mut::<u8>().write_volatile(1) };
            Ok(())
        }
        "abort" if comm.rank() == victim => {
            std::thread::sleep(Duration::from_millis(300));
            endings::abort(&comm.description())
        }
        "orphan" if comm.rank() == victim => {
            std::thread::sleep(Duration::from_millis(300));
            endings::kill_launched()?;
            comm.barrier(0).map(drop).map_err(text)
        }
        "late" if comm.rank() == victim => {
            comm.status().set_line(7);
            std::thread::sleep(Duration::from_secs(3600));
            Ok(())
        }
        "fail" | "die" | "crash" | "abort" | "orphan" | "late" => comm.barrier(0).map(drop).map_err(text),
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
    compare_clocks(comm)?;
    comm.barrier(0).map_err(text)?;
    if me == 0 {
        say("all good");
    }
    Ok(())
}

/// Gives each rank a clock that is wrong in a known way: both comparisons must find it, and the common
/// clock must take it off.
fn compare_clocks(comm: &dyn Comm) -> Result<(), String> {
    let me = comm.rank();
    let start = comm.barrier(monotonic_ns()).map_err(text)?;
    // A second ahead of the rank before, and gaining a thousandth more.
    let wrong = |rank: u32, ns: u64| {
        let since = ns.saturating_sub(start);
        since + u64::from(rank) * (1_000_000_000 + since / 1000)
    };
    let compare = || comm.clock_offsets(&mut || wrong(me, monotonic_ns())).map_err(text);
    let first = compare()?;
    std::thread::sleep(Duration::from_millis(50));
    let clock_offsets = vec![first, compare()?];
    if comm.name() != "mpi" || me > 0 {
        return Ok(());
    }
    // The clock of rank 0 is the right one, counted from the start. A rank's is known between the moments when it was compared;
    // on a busy machine those of others are far from them.
    let at = |rank: u32| clock_offsets.iter().map(|found| found[rank as usize].at_ns).sum::<u64>() / 2;
    let middles: Vec<u64> = (0..comm.size()).map(|rank| start + at(rank)).collect();
    let clock = CommonClock::of(&Facts { clock_offsets, ..Facts::default() });
    for (rank, middle) in (0..).zip(middles) {
        let off = clock.common_ns(rank, wrong(rank, middle)) - wrong(0, middle) as i64;
        let (drift, unsure) = (clock.drift(rank), clock.uncertainty_ns(rank));
        // A microsecond for what the clock gains during an exchange.
        let allowed = 2 * unsure + 1000;
        let good = off.unsigned_abs() <= allowed
            && (drift - f64::from(rank) * 1e-3).abs() <= allowed as f64 / 40e6
            && (rank == 0 || unsure > 0);
        if !good {
            return Err(format!(
                "clock of rank {rank}: {off} ns off, drift {drift}, uncertain by {unsure} ns"
            ));
        }
    }
    Ok(())
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid to write.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The byte that rank `rank` of a group writes at position `at` of its block `block`.
fn owned(rank: u32, block: u64, at: u64, level: u8) -> u8 {
    (u64::from(rank) * 37 + block * 11 + at * 3 + u64::from(level) * 5 + 1) as u8
}

/// Every level and kind of pattern, in the world and in groups: each byte must be its owner's.
fn patterns(comm: &dyn Comm, words: &[String]) -> Result<(), String> {
    let (Some(directory), Some(what)) = (words.get(1), words.get(2)) else {
        return Err("pattern DIR write|read|both".into());
    };
    // Every third rank is in no group; the others are in two.
    let color = (comm.rank() % 3 != 2).then_some(comm.rank() % 3);
    let group = comm.split(color, comm.rank()).map_err(text)?;
    for (kind, level) in
        [ViewKind::Row, ViewKind::Table].into_iter().flat_map(|kind| (0..4).map(move |l| (kind, l)))
    {
        let layout = Layout::in_turn(kind, (5, 1000 + u64::from(level) * 97), level);
        let path = format!("{directory}/world-{kind:?}-{level}");
        one_pattern(comm, &layout, &path, what)?;
        if let (Some(group), Some(color)) = (&group, color) {
            one_pattern(&**group, &layout, &format!("{directory}/group{color}-{kind:?}-{level}"), what)?;
        }
        comm.barrier(0).map_err(text)?;
    }
    if comm.rank() == 0 {
        say(&format!("patterns {what}: all good, {} ranks, {}", comm.size(), comm.description()));
    }
    Ok(())
}

fn one_pattern(comm: &dyn Comm, layout: &Layout, path: &str, what: &str) -> Result<(), String> {
    let name = std::ffi::CString::new(path).map_err(|error| error.to_string())?;
    let failed = |call: &str, errno: i32| {
        let words = collective::take_error().unwrap_or_default();
        Err(format!("{call} {path}: errno {errno} {words}"))
    };
    let (me, ranks) = (comm.rank(), comm.size());
    let mine: Vec<u8> = (0..layout.blocks)
        .flat_map(|block| (0..layout.element).map(move |at| owned(me, block, at, layout.level)))
        .collect();
    let mut heard = vec![0_u8; mine.len()];
    let hints = [("cb_nodes".to_string(), "1".to_string())];
    if what != "read" {
        let mut memory = mine.clone();
        transfer(comm, (layout, Direction::Write), &name, &mut memory, &hints)
            .or_else(|(c, e)| failed(c, e))?;
        if me == 0 {
            let found = std::fs::read(path).map_err(|error| error.to_string())?;
            let row = layout.element * u64::from(ranks);
            let wanted: Vec<u8> = (0..layout.blocks * row)
                .map(|x| owned((x % row / layout.element) as u32, x / row, x % layout.element, layout.level))
                .collect();
            if found != wanted {
                let at = found.iter().zip(&wanted).position(|(a, b)| a != b);
                return Err(format!("{path}: {} of {} bytes, wrong from {at:?}", found.len(), wanted.len()));
            }
        }
        comm.barrier(0).map_err(text)?;
    }
    if what != "write" {
        transfer(comm, (layout, Direction::Read), &name, &mut heard, &[]).or_else(|(c, e)| failed(c, e))?;
        if heard != mine {
            return Err(format!("{path}: rank {me} read what is not its own"));
        }
    }
    if what == "both" {
        let gone = collective::delete(&mut Posix::default(), comm, &name);
        if !gone.ok() || std::path::Path::new(path).exists() {
            return failed("delete", gone.errno);
        }
    }
    Ok(())
}

fn transfer(
    comm: &dyn Comm,
    (layout, direction): (&Layout, Direction),
    path: &std::ffi::CStr,
    memory: &mut [u8],
    hints: &collective::Hints,
) -> Result<(), (&'static str, i32)> {
    let mode = if direction == Direction::Write { ParallelMode::WRITE } else { ParallelMode::READ };
    let mut driver = Posix::default();
    let mut preparations = Preparations::default();
    let prepared =
        preparations.of(&driver, comm, hints, Some(layout)).map_err(|outcome| ("prepare", outcome.errno))?;
    let mut file = collective::open(&mut driver, comm, (path, mode), &prepared, None)
        .map_err(|outcome| ("open", outcome.errno))?;
    // SAFETY: the memory holds every block, one behind the other, and lives beyond the transfer.
    let blocks = unsafe { Blocks::new(memory.as_mut_ptr(), memory.len(), false) };
    let moved = file.transfer(&mut driver, comm, (layout, direction), (&blocks, &prepared));
    if !moved.ok() || moved.value != memory.len() as u64 {
        return Err(("transfer", moved.errno));
    }
    let closed = file.close(&mut driver, comm);
    if !closed.ok() {
        return Err(("close", closed.errno));
    }
    if direction == Direction::Write {
        comm.barrier(0).map_err(|_| ("barrier", libc::ECANCELED))?;
        let name = std::path::Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
        let size = std::fs::metadata(name).map_or(0, |found| found.len());
        if size != layout.bytes() * u64::from(comm.size()) {
            return Err(("size", libc::EIO));
        }
        // Nobody reads or writes before all have looked.
        comm.barrier(0).map_err(|_| ("barrier", libc::ECANCELED))?;
    }
    Ok(())
}

/// How long does a transfer take? Beside the same calls in C: `benches/mpi`.
fn io(comm: &dyn Comm, words: &[String]) -> Result<(), String> {
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let (Some(directory), Some(level), Some(element), Some(blocks), Some(rounds)) =
        (words.get(1), number(2), number(3), number(4), number(5))
    else {
        return Err("io DIR LEVEL ELEMENT BLOCKS ROUNDS".into());
    };
    let layout = Layout::in_turn(ViewKind::Table, (blocks, element), level as u8);
    let path =
        std::ffi::CString::new(format!("{directory}/pattern-ours")).map_err(|error| error.to_string())?;
    let errno = |errno: i32| format!("errno {errno} {}", collective::take_error().unwrap_or_default());
    let mut memory = vec![comm.rank() as u8 + 1; layout.bytes() as usize];
    // SAFETY: the memory holds every block, one behind the other, and lives beyond the transfers.
    let blocks = unsafe { Blocks::new(memory.as_mut_ptr(), memory.len(), false) };
    let mut driver = Posix::default();
    let mut preparations = Preparations::default();
    let prepared =
        preparations.of(&driver, comm, &[], Some(&layout)).map_err(|outcome| errno(outcome.errno))?;
    let mut file = collective::open(&mut driver, comm, (&path, ParallelMode::WRITE), &prepared, None)
        .map_err(|outcome| errno(outcome.errno))?;
    let mut durations = Vec::with_capacity(rounds as usize);
    // The first round makes the file.
    for round in 0..=rounds {
        comm.barrier(0).map_err(text)?;
        let start = Instant::now();
        let moved = file.transfer(&mut driver, comm, (&layout, Direction::Write), (&blocks, &prepared));
        let took = start.elapsed().as_nanos() as u64;
        if !moved.ok() || moved.value != layout.bytes() {
            return Err(format!("{} of {} bytes, {}", moved.value, layout.bytes(), errno(moved.errno)));
        }
        let slowest = comm.barrier(took).map_err(text)?;
        if round > 0 {
            durations.push(slowest);
        }
    }
    file.close(&mut driver, comm);
    durations.sort_unstable();
    collective::delete(&mut driver, comm, &path);
    if comm.rank() == 0 {
        say(&format!("median {} ns, least {} ns", durations[durations.len() / 2], durations[0]));
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
