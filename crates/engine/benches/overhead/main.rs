//! What the engine adds to an operation: the statement, two clock reads, the stored sample.
//!
//! `cargo bench -p lastrank-engine --bench overhead` runs the same calls on a file in /dev/shm three ways, in
//! turns: a loop of raw calls, the engine, and a program of the language. It prints nanoseconds an operation
//! and what each adds to the raw loop. Every number is the median over blocks of 500 operations (some 0.5 ms)
//! and then the median over the rounds: what other processes and the hypervisor took is in few blocks. fio, where
//! it is installed, stands beside them with processor time an operation, by its own account.
//!
//! The raw loop writes and reads as the engine does: block after block of content that repeats after 1 MiB
//! (one block again and again, as fio writes it, is faster only since it stays in the nearest cache), from
//! and to memory that begins on a page. `engine` is a loop in Rust around the engine's operation, `program` a loop
//! in the language: what a user gets. Its time is that from the start of one operation to that of the next, as
//! the samples say; memory for them is made ready before the program begins.

mod fio;
mod program;
mod raw;

use std::ffi::CString;
use std::path::Path;

use engine::execute::{Call, Session, Stop};
use engine::run::{Body, Options, ranks};
use record::StaticSite;
use samples::SiteKind;

/// Operations in one round.
const OPERATIONS: u64 = 200_000;
const ROUNDS: usize = 15;
/// Operations in a block.
const BLOCK_OF: u64 = 500;
/// Bytes of the file.
const FILE: u64 = 16 << 20;
const BLOCK: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimedCall {
    Write,
    Read,
    Stat,
}

impl TimedCall {
    fn name(self) -> &'static str {
        match self {
            TimedCall::Write => "pwrite 4 KiB",
            TimedCall::Read => "pread 4 KiB",
            TimedCall::Stat => "stat",
        }
    }
}

fn main() {
    let directory = std::env::args().nth(1).filter(|arg| !arg.starts_with('-')).unwrap_or("/dev/shm".into());
    let path = Path::new(&directory).join(format!("lastrank-overhead-{}", std::process::id()));
    std::fs::write(&path, vec![0x5A; FILE as usize]).expect("room for the file");
    println!("{OPERATIONS} operations a round, median of {ROUNDS} rounds, ns an operation, in {directory}");
    println!(
        "{:14}{:>9}{:>9}{:>7}{:>7}{:>9}{:>7}{:>9}{:>10}",
        "", "raw", "engine", "adds", "ratio", "program", "adds", "fio", "fio adds"
    );
    for kind in [TimedCall::Write, TimedCall::Read, TimedCall::Stat] {
        let (mut own, mut plain, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            plain.push(raw::ns(kind, &path, OPERATIONS));
            own.push(engine_ns(kind, &path));
            whole.push(program::ns(kind, &path));
        }
        let peer: Option<Vec<f64>> = (0..3).map(|_| fio::ns(kind, &path)).collect();
        let (plain, own, whole) = (median(plain), median(own), median(whole));
        print!("{:14}{plain:>9.0}{own:>9.0}{:>7.0}{:>7.2}", kind.name(), own - plain, own / plain);
        print!("{whole:>9.0}{:>7.0}", whole - plain);
        match peer.map(median) {
            Some(peer) => println!("{peer:>9.0}{:>10.0}", peer - plain),
            None => println!("{:>9}{:>10}", "-", "-"),
        }
    }
    std::fs::remove_file(&path).expect("our file");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The loop a program would run, without the language: its own cost is measured by the language's
/// benchmark.
struct Loop {
    kind: TimedCall,
    path: CString,
    places: [StaticSite; 3],
}

impl Body for Loop {
    fn places(&self) -> &[StaticSite] {
        &self.places
    }

    fn run(&self, session: &mut Session<'_>) -> Result<(), Stop> {
        let opened = session.operation(0, Call::Open { path: &self.path, flags: libc::O_RDWR, mode: 0 })?;
        let file = opened.value as u32;
        let turn = |session: &mut Session<'_>, n: u64| {
            let offset = Some(n * BLOCK % FILE);
            let call = match self.kind {
                TimedCall::Write => Call::Write { file, length: BLOCK, offset, buffer: None },
                TimedCall::Read => Call::Read { file, length: Some(BLOCK), offset },
                TimedCall::Stat => Call::Stat { path: &self.path },
            };
            session.operation(1, call)
        };
        for n in 0..1000 {
            turn(session, n)?;
        }
        let mut result = Ok(());
        let ns = raw::by_blocks(OPERATIONS, |n| {
            if result.is_ok() {
                result = turn(session, n).map(|_| ());
            }
        });
        result?;
        session.print(format!("{ns}\n").as_bytes())
    }
}

/// Nanoseconds an operation in the engine, with everything it does for each.
fn engine_ns(kind: TimedCall, path: &Path) -> f64 {
    let place = |operation: &str| StaticSite {
        operation: operation.into(),
        kind: SiteKind::Operation,
        ..StaticSite::default()
    };
    let places = [place("fopen"), place(kind.name()), place("fclose")];
    let program = Loop { kind, path: raw::c_path(path), places };
    let options = Options {
        allow: path.parent().map(Path::to_owned).into_iter().collect(),
        expected_samples: OPERATIONS + 2000,
        ..Options::new(1)
    };
    let text = raw::stdout_of(|| {
        ranks(&program, &options, |_| ()).expect("a run");
    });
    text.trim().parse().expect("a number")
}
