//! Makes up a realistic run, for tests and documentation.

use crate::{
    BlockDevice, Cause, Causes, ClockFacts, ClockKind, FACTS_SCHEMA, Facts, MACHINE_SCHEMA, MachineFacts,
    Memory, Mount, OsKernel, Overhead, PathFacts, Processor, Run, Sample, Site, SiteKind, Warning,
};

/// A made-up run of the paper's experiment, the same for the same arguments: `ranks` targets and `steps`
/// steps, each of which allocates, opens, writes, closes and frees, with a `time` block around the write.
///
/// A write takes about 11 ms: a part common to all ranks of a step, a part of the target (rank `ranks - 3` is
/// 1% slower), and noise with an exponential tail. A few per cent of the samples have a cause.
pub fn parallel_write(ranks: u32, steps: u64, seed: u64) -> Run {
    let mut random = SplitMix(seed);
    let shared: Vec<f64> = (0..steps).map(|_| 0.03 * random.gumbel()).collect();
    let mut samples = Vec::with_capacity((u64::from(ranks) * steps * 6) as usize);
    for rank in 0..ranks {
        let target = if rank + 3 == ranks { 0.11 } else { 0.04 * random.uniform() };
        for (step, shared) in (0u64..).zip(&shared) {
            let begin = step * 30_000_000;
            let preempted = random.uniform() < 0.03;
            let wait = if preempted { 0.12 } else { 0.0 };
            let durations_ms = [
                1.9 + 0.04 * random.gumbel(),
                0.062 + 0.004 * random.gumbel().max(-2.0),
                10.9 + shared + target + 0.07 * random.gumbel() + wait,
                0.0,
                0.021 + 0.0015 * random.gumbel().max(-2.0),
                0.31 + 0.008 * random.gumbel(),
            ];
            let mut now = begin;
            let mut now_of_write = begin;
            for (site, duration) in (0..).zip(durations_ms) {
                let (start, duration_ms) = match site {
                    3 => (now_of_write - 400, durations_ms[2] + 0.0009),
                    _ => (now, duration),
                };
                let duration_ps = (duration_ms * 1e6).round() as u64 * 1000;
                let blocked = Causes::default().with(Cause::Blocked);
                let causes = match (site, preempted) {
                    (2, true) => blocked.with(Cause::Preempted),
                    (2, false) => blocked,
                    _ => Causes::default(),
                };
                if site == 2 {
                    now_of_write = start;
                }
                samples.push(Sample {
                    start_ns: start,
                    duration_ps,
                    bytes: if site == 2 { 1 << 20 } else { 0 },
                    queue_ns: if site == 2 && preempted { 118_000 } else { 0 },
                    site,
                    rank,
                    batch: 1,
                    cpu: ((u64::from(rank) + step / 97) % 8) as u16,
                    causes: causes.0,
                    ..Sample::default()
                });
                now = start + duration_ps / 1000 + 150;
            }
        }
    }
    Run { facts: facts(ranks, steps, seed), sites: sites(), samples }
}

fn sites() -> Vec<Site> {
    let site = |line, column, label: &[&str], operation: &str, kind| Site {
        line,
        column,
        labels: label.iter().map(ToString::to_string).collect(),
        operation: operation.into(),
        kind,
        ..Site::default()
    };
    vec![
        site(10, 13, &[], "alloc", SiteKind::Operation),
        site(11, 10, &[], "fopen", SiteKind::Operation),
        site(13, 19, &["write"], "fwrite", SiteKind::Operation),
        site(13, 5, &["write"], "time", SiteKind::Time),
        site(15, 5, &[], "fclose", SiteKind::Operation),
        site(16, 5, &[], "free", SiteKind::Operation),
    ]
}

const PROGRAM: &str = r#"# A step lasts as long as its slowest storage target.
define param "size"   $size   16MiB
define param "repeat" $repeat 400
define report {"gate": "write"}

$file = "target-$$rank";
$bytes = $size / $$size;

repeat $step $repeat {
    $data = alloc($bytes);
    $f = fopen($file, "O_WRONLY|O_CREAT|O_TRUNC|O_SYNC");
    barrier;
    time["write"] fwrite($f, $data);
    barrier;
    fclose($f);
    free($data);
}
"#;

fn facts(ranks: u32, steps: u64, seed: u64) -> Facts {
    let text = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Facts {
        schema: FACTS_SCHEMA.into(),
        name: "parallel_write".into(),
        program: PROGRAM.into(),
        parameters: text(&[("size", "16MiB"), ("repeat", &steps.to_string())]),
        seed,
        ranks,
        backend: "posix".into(),
        communicator: "processes".into(),
        started: "2026-03-02T09:30:00Z".into(),
        elapsed_s: 12.3,
        command_line: ["lastrank", "run", "parallel_write"].map(Into::into).into(),
        machine: Some(machine()),
        clock: Some(ClockFacts {
            kind: ClockKind::Monotonic,
            quantum_ps: 1000,
            overhead: Overhead { mean_ps: 21_400, p50_ps: 21_000, p99_ps: 29_000 },
            fence: "none".into(),
            reason: "the kernel's clock source is not the time-stamp counter".into(),
            ..ClockFacts::default()
        }),
        file_systems: vec![data_directory()],
        versions: text(&[("lastrank", "0.1.0"), ("rust", "rustc 1.88.0")]),
        complete: true,
        failures: Vec::new(),
        warnings: vec![Warning {
            code: "governor".into(),
            text: "the processor's frequency governor is `powersave`".into(),
            advice: "set it to `performance` for the time of the measurement".into(),
        }],
        report: text(&[("gate", "write")]),
        ..Facts::default()
    }
}

fn machine() -> MachineFacts {
    MachineFacts {
        schema: MACHINE_SCHEMA.into(),
        summary: "Example CPU, 8 CPUs, 16 GiB, Linux 6.12.0".into(),
        host: Some("node17".into()),
        processor: Processor {
            model: Some("Example CPU".into()),
            online: Some(8),
            governor: Some("powersave".into()),
            ..Processor::default()
        },
        memory: Memory { total: Some(16 << 30), swap: Some(0), ..Memory::default() },
        kernel: OsKernel {
            name: Some("Linux".into()),
            release: Some("6.12.0".into()),
            ..OsKernel::default()
        },
        ..MachineFacts::default()
    }
}

fn data_directory() -> PathFacts {
    PathFacts {
        path: "/data".into(),
        file_system: Some("ext4".into()),
        mount: Some(Mount {
            mount_point: "/data".into(),
            source: "/dev/nvme0n1".into(),
            options: ["rw", "relatime"].map(Into::into).into(),
            ..Mount::default()
        }),
        free: Some(75_781_238_784),
        device: Some(BlockDevice {
            name: "nvme0n1".into(),
            kind: "NVMe".into(),
            scheduler: Some("none".into()),
            ..BlockDevice::default()
        }),
        ..PathFacts::default()
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct SplitMix(u64);

impl SplitMix {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }

    fn gumbel(&mut self) -> f64 {
        -(-self.uniform().ln()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_the_same_every_time_and_contains_its_writes() {
        let run = parallel_write(4, 10, 1);
        assert_eq!(run.samples, parallel_write(4, 10, 1).samples);
        assert_eq!(run.samples.len(), 4 * 10 * 6);
        let mut inside = run.durations(2).into_iter().zip(run.durations(3));
        assert!(inside.all(|(write, block)| write < block));
    }
}
