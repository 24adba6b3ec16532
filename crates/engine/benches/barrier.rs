//! Times a barrier between forked ranks.
//!
//! `cargo bench -p lastrank-engine --bench barrier` prints a Markdown table: median and 99th percentile of single
//! barriers, the median with the range of the medians of several turns.

use std::time::Instant;

use ranks::Comm;
use ranks::{Launch, print, processes};

const TURNS: usize = 7;
const AIM_NS: u128 = 2000;

fn main() {
    println!("| ranks | median of {TURNS} turns, ns | their range, ns | p99, ns | aim |");
    println!("|---|---|---|---|---|");
    for ranks in [2, 4, 16] {
        let outcome = processes(&Launch::new(ranks), |comm| measure(&comm), |_| ());
        match outcome {
            Ok(outcome) => outcome.failures().iter().for_each(|failure| println!("{failure}")),
            Err(error) => println!("{error}"),
        }
    }
}

fn measure(comm: &dyn Comm) -> Result<(), String> {
    let ranks = comm.size() as usize;
    let rounds = 100_000 / ranks;
    let (mut medians, mut late) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let mut durations = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let start = Instant::now();
            comm.barrier(0).map_err(|error| error.to_string())?;
            durations.push(start.elapsed().as_nanos());
        }
        durations.sort_unstable();
        medians.push(durations[rounds / 2]);
        late.push(durations[rounds * 99 / 100]);
    }
    if comm.rank() > 0 {
        return Ok(());
    }
    medians.sort_unstable();
    late.sort_unstable();
    let median = medians[TURNS / 2];
    let aim = match (ranks, median <= AIM_NS) {
        (2, true) => "met: at most 2 µs on 2 processors",
        (2, false) => "missed: at most 2 µs on 2 processors",
        _ => "–",
    };
    let range = format!("{} – {}", medians[0], medians[TURNS - 1]);
    let line = format!("| {ranks} | {median} | {range} | {} | {aim} |\n", late[TURNS / 2]);
    print(line.as_bytes()).map_err(|error| error.to_string())
}
