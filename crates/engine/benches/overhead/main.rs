//! What the engine adds to an operation: the statement, two clock reads, the stored sample.
//!
//! `cargo bench -p lastrank-engine --bench overhead` runs the same calls on a file in /dev/shm three ways, in
//! turns: a loop of raw calls, the engine, and a program of the language. It prints nanoseconds an operation
//! and what each adds to the raw loop. Every number is the median over blocks of 500 operations (some 0.5 ms)
//! and then the median over the rounds: what other processes and the hypervisor took is in few blocks. `quiet` is the
//! mean of the quickest quarter of the blocks instead. Where the machine shows them, instructions and cycles an operation
//! follow, in user space and in the kernel apart. fio, where it is installed, stands beside the medians with processor
//! time an operation, by its own account.
//!
//! Arguments: a directory in place of /dev/shm, `--only pread`, `--rounds 3`, `--operations 2000`.
//!
//! The raw loop writes and reads as the engine does: block after block of content that repeats after 1 MiB
//! (one block again and again, as fio writes it, is faster only since it stays in the nearest cache), from
//! and to memory that begins on a page. `pwrite memory` writes one block of memory again and again, raw and by the engine:
//! what `pwrite` costs without the making of content that says what it is. `engine` is a loop in Rust around the engine's operation, `program` a loop
//! in the language: what a user gets. Its time is that from the start of one operation to that of the next, as
//! the samples say; memory for them is made ready before the program begins.

mod cost;
mod counters;
mod fio;
mod layer;
mod program;
mod raw;

use std::path::{Path, PathBuf};

use cost::Cost;
use counters::{COUNTED, Counters};

/// Operations in a block.
const BLOCK_OF: u64 = 500;
/// Bytes of the file.
const FILE: u64 = 16 << 20;
const BLOCK: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimedCall {
    /// Of new content.
    Write,
    /// Of memory of the program: nothing is made for it.
    WriteMemory,
    Read,
    Stat,
    Open,
}

impl TimedCall {
    const ALL: [Self; 5] = [Self::Write, Self::WriteMemory, Self::Read, Self::Stat, Self::Open];

    fn name(self) -> &'static str {
        match self {
            TimedCall::Write => "pwrite 4 KiB",
            TimedCall::WriteMemory => "pwrite memory",
            TimedCall::Read => "pread 4 KiB",
            TimedCall::Stat => "stat",
            TimedCall::Open => "fopen+fclose",
        }
    }
}

/// What to measure.
struct Settings {
    directory: PathBuf,
    kinds: Vec<TimedCall>,
    /// Operations in one round.
    operations: u64,
    rounds: usize,
}

impl Settings {
    fn of_arguments() -> Self {
        let mut settings = Self {
            directory: "/dev/shm".into(),
            kinds: TimedCall::ALL.to_vec(),
            operations: 200_000,
            rounds: 15,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
            let number = |text: String| text.parse::<u64>().unwrap_or_else(|_| panic!("{text} is no number"));
            match argument.as_str() {
                "--only" => {
                    let name = value();
                    settings.kinds.retain(|kind| kind.name().starts_with(&name));
                }
                "--rounds" => settings.rounds = number(value()) as usize,
                // Room for a few blocks.
                "--operations" => settings.operations = number(value()).max(4 * BLOCK_OF),
                // Given by cargo.
                "--bench" => {}
                directory => settings.directory = directory.into(),
            }
        }
        settings
    }
}

/// The costs of one call: raw, in the engine, in a program.
fn costs(kind: TimedCall, path: &Path, settings: &Settings) -> [Cost; 3] {
    let measure: [fn(TimedCall, &Path, u64) -> Cost; 3] = [raw::cost, layer::cost, program::cost];
    let mut rounds = [const { Vec::new() }; 3];
    for _ in 0..settings.rounds {
        for (measure, rounds) in measure.iter().zip(&mut rounds) {
            rounds.push(measure(kind, path, settings.operations));
        }
    }
    rounds.map(|rounds| Cost::of_rounds(&rounds))
}

fn main() {
    let settings = Settings::of_arguments();
    let path = settings.directory.join(format!("lastrank-overhead-{}", std::process::id()));
    std::fs::write(&path, vec![0x5A; FILE as usize]).expect("room for the file");
    println!(
        "{} operations a round, median of {} rounds, ns an operation, in {}",
        settings.operations,
        settings.rounds,
        settings.directory.display()
    );
    if let Err(error) = Counters::open() {
        println!("no instructions and cycles: this machine counts none for us ({error})");
    }
    println!(
        "{:14}{:22}{:>9}{:>9}{:>7}{:>9}{:>7}{:>9}{:>10}",
        "", "", "raw", "engine", "adds", "program", "adds", "fio", "fio adds"
    );
    for &kind in &settings.kinds {
        let costs = costs(kind, &path, &settings);
        let peer: Option<Vec<f64>> = (0..3).map(|_| fio::ns(kind, &path, settings.operations)).collect();
        print!("{}", row((kind.name(), "median"), costs.map(|cost| cost.median_ns)));
        match peer.map(median) {
            Some(peer) => println!("{peer:>9.0}{:>10.0}", peer - costs[0].median_ns),
            None => println!("{:>9}{:>10}", "-", "-"),
        }
        println!("{}", row(("", "quiet"), costs.map(|cost| cost.quiet_ns)));
        if let [Some(raw), Some(engine), Some(program)] = costs.map(|cost| cost.counts) {
            for (at, what) in COUNTED.iter().enumerate() {
                println!("{}", row(("", what), [raw[at], engine[at], program[at]]));
            }
        }
    }
    std::fs::remove_file(&path).expect("our file");
}

/// A line of the table: three numbers, and what the second and third add to the first.
fn row((call, what): (&str, &str), [raw, engine, program]: [f64; 3]) -> String {
    let adds = [engine - raw, program - raw];
    format!("{call:14}{what:22}{raw:>9.0}{engine:>9.0}{:>7.0}{program:>9.0}{:>7.0}", adds[0], adds[1])
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
