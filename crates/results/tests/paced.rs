//! The rate of a paced load is the rate that it kept: whatever the number of operations, of passes, workers and ranks.

use proptest::prelude::*;
use samples::{Facts, Run, Sample, Site, SiteKind};

/// How a load is paced.
#[derive(Clone, Copy, Debug)]
struct PacedLoad {
    /// In one pass of one worker.
    operations: u64,
    passes: u64,
    workers: u64,
    ranks: u32,
    per_second: u64,
    /// Whether a labelled block is around each pass.
    has_block: bool,
}

impl PacedLoad {
    fn run(&self) -> Run {
        let labels = if self.has_block { vec!["w".to_owned()] } else { Vec::new() };
        let site = |operation: &str, kind| Site {
            operation: operation.into(),
            kind,
            labels: labels.clone(),
            ..Site::default()
        };
        let sites = vec![site("fwrite", SiteKind::Operation), site("time", SiteKind::Time)];
        let apart = 1_000_000_000 / self.per_second;
        let mut samples = Vec::new();
        for rank in 0..self.ranks {
            let mut now = 1_000_000 + u64::from(rank) * 1_700;
            for pass in 0..self.passes {
                let begin = now;
                for worker in 0..self.workers {
                    for n in 0..self.operations {
                        let due = begin + 2_300 * worker * (worker + 1) + n * apart;
                        let late_ns = 1 + (7_919 * n + 104_729 * (worker + pass)) % 4_000;
                        let (start_ns, duration_ps) = (due + late_ns, 5_000_000);
                        let sample =
                            Sample { start_ns, duration_ps, late_ns, rank, bytes: 4096, ..Sample::default() };
                        samples.push(Sample { batch: 1, ..sample });
                        now = now.max(start_ns + 5_000);
                    }
                }
                if self.has_block {
                    let duration_ps = (now - begin) * 1_000;
                    samples.push(Sample {
                        site: 1,
                        start_ns: begin,
                        duration_ps,
                        rank,
                        batch: 1,
                        ..Sample::default()
                    });
                }
                now += 2_000;
            }
        }
        Run { facts: Facts::default(), sites, samples }
    }

    fn row(&self) -> results::ResultRow {
        results::of_run(&self.run()).into_iter().find(|row| row.operation == "fwrite").expect("writes")
    }
}

fn near(found: f64, wanted: f64) -> bool {
    (found / wanted - 1.0).abs() < 0.01
}

proptest! {
    #[test]
    fn a_load_that_keeps_its_rate_has_that_rate(
        (operations, passes, workers) in (2_u64..60, 1_u64..5, 1_u64..5), ranks in 1_u32..4, per_second in 5_u64..80,
    ) {
        let load = PacedLoad { operations, passes, workers, ranks, per_second, has_block: true };
        let row = load.row();
        let wanted = (per_second * workers * u64::from(ranks)) as f64;
        let rate = row.rate.expect("a rate");
        prop_assert!(near(rate.asked_per_second, wanted), "asked {} of {wanted}", rate.asked_per_second);
        prop_assert!(near(rate.achieved_per_second, wanted), "achieved {} of {wanted}", rate.achieved_per_second);
        let found = row.operations_per_second.expect("a rate");
        prop_assert!(near(found, wanted), "{found}/s of {wanted}");
        prop_assert!(rate.keeps_up);
        prop_assert!(near(row.bytes_per_second.expect("bytes"), 4096.0 * wanted));
        for rank in &row.per_rank {
            prop_assert!(near(rank.operations_per_second, wanted / f64::from(ranks)));
        }
        if let Some(passes) = &row.iterations {
            prop_assert!(near(passes.operations_per_second.max, wanted), "{}", passes.operations_per_second.max);
        }
        for found in [row.at_wall.map(|at| at.operations_per_second), row.together.map(|at| at.operations_per_second)] {
            prop_assert!(found.is_none_or(|found| found < 1.01 * wanted), "{found:?} of {wanted}");
        }
    }
}

#[test]
fn loads_without_a_block_have_their_rate_too() {
    for operations in [5, 9, 10, 11, 20] {
        let load =
            PacedLoad { operations, passes: 1, workers: 1, ranks: 1, per_second: 10, has_block: false };
        for load in [
            load,
            PacedLoad { workers: 3, ..load },
            PacedLoad { ranks: 2, ..load },
            PacedLoad { passes: 4, ..load },
        ] {
            let wanted = (10 * load.workers * u64::from(load.ranks)) as f64;
            let row = load.row();
            let found = row.operations_per_second.expect("a rate");
            assert!(near(found, wanted), "{found}/s of {wanted}: {load:?}");
            assert!(near(row.rate.expect("a rate").asked_per_second, wanted), "{load:?}");
        }
    }
}

#[test]
fn an_operation_behind_another_in_the_body_has_the_rate_of_the_body() {
    // The operation before it takes 1 to 9 ms.
    let load = PacedLoad { operations: 12, passes: 1, workers: 1, ranks: 1, per_second: 10, has_block: true };
    let mut run = load.run();
    for (sample, n) in run.samples.iter_mut().zip(0_u64..12) {
        sample.start_ns += [1, 2, 9, 1, 2, 2, 3, 1, 2, 2, 1, 9][n as usize] * 100_000;
    }
    let row = results::of_run(&run).into_iter().find(|row| row.operation == "fwrite").expect("writes");
    assert!(near(row.rate.expect("a rate").asked_per_second, 10.0), "{:?}", row.rate);
}
