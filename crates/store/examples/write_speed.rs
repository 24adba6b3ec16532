//! Measures how long writing samples as Parquet takes: `write_speed OUT.parquet [RANKS SAMPLES]`.
//!
//! Prints wall and processor time for RANKS x SAMPLES samples of an endless loop of one operation with a
//! barrier now and then, as the ranks of `tests/mpi` take them.

use std::time::Instant;

use samples::{Run, Sample, Site, SiteKind};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "write_speed.parquet".into());
    let mut number =
        |otherwise: u32| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (ranks, each) = (number(4), number(1_000_000));
    let run = run(ranks, each);
    let (start, before) = (Instant::now(), processor_s());
    if let Err(error) = store::write(path.as_ref(), &run) {
        eprintln!("{error}");
        std::process::exit(3);
    }
    let (wall, busy) = (start.elapsed().as_secs_f64(), processor_s() - before);
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    println!(
        "{} samples: {wall:.2} s wall, {busy:.2} s processor, {:.2} bytes a sample",
        run.samples.len(),
        bytes as f64 / run.samples.len() as f64
    );
}

fn run(ranks: u32, each: u32) -> Run {
    let site = |operation: &str, kind| Site { operation: operation.into(), kind, line: 1, ..Site::default() };
    let sites = vec![site("fseek", SiteKind::Operation), site("barrier", SiteKind::Barrier)];
    let mut random = 1_u64;
    let mut samples = Vec::with_capacity(ranks as usize * each as usize);
    for rank in 0..ranks {
        let mut now = 0_u64;
        for index in 0..each {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Mostly around 200 ns, now and then much longer.
            let noise = random >> 40;
            let ns = 180 + noise % 64 + if noise.is_multiple_of(1000) { noise % 50_000 } else { 0 };
            samples.push(Sample {
                start_ns: now,
                duration_ps: ns * 1000 + noise % 1000,
                site: u32::from(index % 10_000 == 9_999),
                rank,
                batch: 1,
                cpu: (rank % 2) as u16,
                causes: u16::from(noise.is_multiple_of(500)),
                ..Sample::default()
            });
            now += ns + 90 + noise % 7;
        }
    }
    Run { sites, samples, ..Run::default() }
}

/// User and system time of this process.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    // Fields 14 and 15 of the line, in hundredths of a second.
    (ticks(11) + ticks(12)) / 100.0
}
