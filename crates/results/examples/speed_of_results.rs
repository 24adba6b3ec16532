//! Measures results: nanoseconds of processor time and bytes of memory a sample.
//!
//! ```text
//! cargo run --release -p lastrank-results --example speed_of_results [SAMPLES] [RANKS]
//! ```
//!
//! Samples are made in pieces of a row group, as a reader of run files gives them, so that the memory is that of the
//! results alone. The targets: 40 bytes and 100 ns a sample.

use samples::{Facts, Sample, Site};

/// Samples of a piece.
const PIECE: u64 = 1 << 18;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let n = arguments.next().unwrap_or(10_000_000);
    let ranks = arguments.next().unwrap_or(4).max(1);
    let sites: Vec<Site> = ["fread", "fwrite"]
        .into_iter()
        .map(|operation| Site { operation: operation.into(), line: 1, ..Site::default() })
        .collect();
    let facts = Facts { ranks: ranks as u32, complete: true, ..Facts::default() };
    let begin = (processor_time(), peak());
    let mut columns = results::Columns::default();
    let (mut made, mut making) = (0, 0.0);
    let mut piece = Vec::with_capacity(PIECE as usize);
    let mut state = 1_u64;
    while made < n {
        let before = processor_time();
        piece.clear();
        piece.extend((made..n.min(made + PIECE)).map(|at| sample(at, n, ranks, &mut state)));
        making += processor_time() - before;
        columns.push(&piece);
        made += piece.len() as u64;
    }
    drop(piece);
    let rows = results::of_columns(columns, &facts, &sites);
    let took = processor_time() - begin.0 - making;
    let bytes = peak().saturating_sub(begin.1) as f64 / n as f64;
    for row in &rows {
        let p99 = row.quantiles_seconds.as_ref().and_then(|found| found.p99).unwrap_or(f64::NAN);
        println!("{}: {} operations, p99 {:.1} µs", row.name(), row.timings, 1e6 * p99);
    }
    println!("{n} samples of {ranks} ranks: {:.1} ns and {bytes:.1} bytes a sample", 1e9 * took / n as f64);
}

/// One sample: ranks one after the other, two operations in turns, log-normal times.
fn sample(at: u64, n: u64, ranks: u64, state: &mut u64) -> Sample {
    let each = n.div_ceil(ranks);
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let uniform = ((*state >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let duration = 5e-5 / (1.0 - uniform).powf(0.2);
    Sample {
        start_ns: at % each * 200_000,
        duration_ps: (1e12 * duration) as u64,
        bytes: 4096,
        site: (at % 2) as u32,
        rank: (at / each) as u32,
        batch: 1,
        ..Sample::default()
    }
}

/// Seconds of processor time of this process so far.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("/proc/self/schedstat");
    let spent: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number");
    1e-9 * spent
}

/// The largest amount of memory that it had, in bytes.
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    1024 * line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("kB")
}
