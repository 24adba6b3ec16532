//! How long does a barrier between forked ranks take?
//!
//! `cargo bench -p engine --bench barrier` prints median and 99th percentile of single barriers.

use std::time::Instant;

use engine::comm::Comm;
use engine::launch::{Launch, print, processes};

fn main() {
    for ranks in [2, 4, 16] {
        let rounds = 200_000 / ranks as usize;
        let outcome = processes(
            &Launch::new(ranks),
            |comm| {
                let mut durations = Vec::with_capacity(rounds);
                for _ in 0..rounds {
                    let start = Instant::now();
                    comm.barrier(0).map_err(|error| error.to_string())?;
                    durations.push(start.elapsed().as_nanos());
                }
                durations.sort_unstable();
                if comm.rank() == 0 {
                    let (median, late) = (durations[rounds / 2], durations[rounds * 99 / 100]);
                    let line = format!(
                        "{ranks:>3} ranks: median {median} ns, p99 {late} ns, {}\n",
                        comm.description()
                    );
                    print(line.as_bytes()).map_err(|error| error.to_string())?;
                }
                Ok(())
            },
            |_| (),
        );
        match outcome {
            Ok(outcome) => outcome.failures().iter().for_each(|failure| println!("{failure}")),
            Err(error) => println!("{error}"),
        }
    }
}
