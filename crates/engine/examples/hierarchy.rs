//! Times what the measuring core itself takes. Driven by `benches/hierarchy/compare.py`.
//!
//! ```text
//! hierarchy chase BYTES huge|small SECONDS   one dependent load, in ns: median of blocks of 1 ms
//! hierarchy call NAME DIRECTORY SECONDS      one call, in ns: the same
//! hierarchy stream read|write|copy BYTES SECONDS   GB/s of passes over memory on huge pages: the same
//! hierarchy check BYTES                      single loads and amortised ones, in ns, and what they may differ by
//! hierarchy clock                            cost of a read and of a pair, step, in ns
//! hierarchy record                           what keeping a timing adds, in ns: as a number, in a histogram, as a sample
//! ```

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use clock::Clock;
use perf::Watch;
use probes::{Instruments, Kernel, MeasureSettings, Pass, Request, build, measure};
use record::{Recorder, SampleRegion};
use samples::histogram::{BUCKETS, bucket};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["chase", bytes, pages, seconds] => {
            let request = Request::Chase { bytes: bytes.parse()?, huge: pages == "huge", seed: 12_345 };
            headline(&request, seconds.parse()?)
        }
        ["call", name, directory, seconds] => {
            let directory = PathBuf::from(directory);
            let request = match name {
                "getpid" => Request::Getpid,
                "getppid" => Request::Getppid,
                "read_null" => Request::ReadNull,
                "write_null" => Request::WriteNull,
                "stat" => Request::Stat { directory },
                "fstat" => Request::Fstat { directory },
                "open_close" => Request::OpenClose { directory },
                _ => return Err(format!("no call is named {name}").into()),
            };
            headline(&request, seconds.parse()?)
        }
        ["stream", what, bytes, seconds] => {
            let (bytes, huge) = (bytes.parse()?, true);
            let request = match what {
                "read" => Request::Stream { pass: Pass::Read, bytes, huge },
                "write" => Request::Stream { pass: Pass::Write, bytes, huge },
                "copy" => Request::Stream { pass: Pass::Copy, bytes, huge },
                _ => return Err(format!("no stream is named {what}").into()),
            };
            let ns = headline_ns(&request, seconds.parse()?)?;
            println!("{:.4}", bytes as f64 / ns);
            Ok(())
        }
        ["check", bytes] => check(bytes.parse()?),
        ["clock"] => clock(),
        ["record"] => record(),
        _ => Err("hierarchy chase|call|stream|check|clock|record …".into()),
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

fn headline(request: &Request, seconds: f64) -> Done {
    println!("{:.4}", headline_ns(request, seconds)?);
    Ok(())
}

fn headline_ns(request: &Request, seconds: f64) -> Result<f64, Box<dyn std::error::Error>> {
    let (clock, facts) = Clock::choose();
    let mut kernel = build(request)?;
    let settings = MeasureSettings {
        budget: Duration::from_secs_f64(seconds),
        observations: 0,
        blocks: 1 << 16,
        ..MeasureSettings::default()
    };
    let found = measure(
        kernel.as_mut(),
        &mut Instruments { clock, facts: &facts, watch: &mut Watch::of_this_thread() },
        &settings,
    );
    Ok(found.headline_ps / 1000.0)
}

fn check(bytes: u64) -> Done {
    let (clock, facts) = Clock::choose();
    let mut kernel = build(&Request::Chase { bytes, huge: bytes >= 2 << 20, seed: 1 })?;
    let settings =
        MeasureSettings { budget: Duration::from_secs(2), observations: 1000, ..MeasureSettings::default() };
    let found = measure(
        kernel.as_mut(),
        &mut Instruments { clock, facts: &facts, watch: &mut Watch::of_this_thread() },
        &settings,
    );
    let check = found.check.ok_or("too little could be measured")?;
    let [single, amortised, allowed] =
        [check.single_ps, check.amortised_ps, check.tolerance_ps].map(|ps| ps / 1000.0);
    println!("{single:.4} {amortised:.4} {allowed:.4}");
    Ok(())
}

fn clock() -> Done {
    let (clock, facts) = Clock::choose();
    // A pair as it stands around an operation: both reads, the next pair after the one before.
    const PAIRS: u32 = 1000;
    let mut pair = f64::INFINITY;
    for _ in 0..2000 {
        let begin = clock.now();
        for _ in 0..PAIRS {
            black_box(clock.now().wrapping_sub(clock.now()));
        }
        pair = pair.min(clock.picoseconds(begin, clock.now()) as f64 / 1000.0 / f64::from(PAIRS));
    }
    let in_ns = |ps: u64| ps as f64 / 1000.0;
    println!(
        "{:.2} {:.2} {:.2} {pair:.2}",
        in_ns(facts.overhead.mean_ps),
        in_ns(facts.overhead.p50_ps),
        in_ns(facts.quantum_ps)
    );
    Ok(())
}

/// The time of a loop of single loads from L1 that are timed and thrown away, against loops that also
/// keep what was timed: as a number, in a histogram, as a sample that outlives its rank.
fn record() -> Done {
    // So few that a round is seldom interrupted.
    const COUNT: usize = 1 << 12;
    const ROUNDS: usize = 201;
    let (clock, _) = Clock::choose();
    let mut kernel = build(&Request::Chase { bytes: 16 << 10, huge: false, seed: 1 })?;
    let folder = std::env::temp_dir();
    let region = SampleRegion::new(0, ROUNDS * COUNT + 1, &folder)?;
    let mut recorder = Recorder::new(std::sync::Arc::new(region))?;
    recorder.reserve(ROUNDS * COUNT + 1)?;
    let mut all = vec![0u32; ROUNDS * COUNT];
    all.fill(1);
    let mut counts = vec![0u64; BUCKETS];
    let mut rounds = [const { Vec::new() }; 3];
    for kept in all.chunks_exact_mut(COUNT) {
        // Neighbours in time, so that all of them meet the same machine.
        let bare = looped(clock, kernel.as_mut(), COUNT, |_, ticks| {
            black_box(ticks);
        });
        let raw = looped(clock, kernel.as_mut(), COUNT, |index, ticks| kept[index] = ticks as u32);
        black_box(&mut *kept);
        let counted = looped(clock, kernel.as_mut(), COUNT, |_, ticks| counts[bucket(ticks)] += 1);
        black_box(&mut counts);
        let mut failed = Ok(());
        let sample = looped(clock, kernel.as_mut(), COUNT, |_, ticks| {
            let sample = samples::Sample { duration_ps: clock.ticks_to_ps(ticks), ..Default::default() };
            failed = recorder.push(sample);
        });
        failed?;
        for (all, one) in rounds.iter_mut().zip([raw, counted, sample]) {
            all.push(one - bare);
        }
    }
    let [raw, counted, sample] = rounds.map(|mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    });
    println!("{raw:.2} {counted:.2} {sample:.2}");
    Ok(())
}

/// ns a round of a loop that times single loads and hands each timing to `keep`.
fn looped(clock: Clock, kernel: &mut dyn Kernel, count: usize, mut keep: impl FnMut(usize, u64)) -> f64 {
    let begin = clock.now();
    for index in 0..count {
        let timed = kernel.time(clock, 1);
        keep(index, timed.end.wrapping_sub(timed.begin));
    }
    clock.picoseconds(begin, clock.now()) as f64 / 1000.0 / count as f64
}
