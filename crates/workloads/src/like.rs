//! Results in the lines of IOR and mdtest, for scripts that read those.

use std::fmt::Write;

/// One execution of a phase by all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseOnce {
    /// Bytes that all ranks moved.
    pub bytes: u64,
    /// Transfers, or of mdtest items, of all ranks.
    pub operations: u64,
    /// Seconds of the slowest rank, from its first call to its last.
    pub seconds: f64,
    /// Seconds of the slowest opening, closing,
    pub open: f64,
    /// of a rank's transfers,
    pub transfers: f64,
    /// and of closing.
    pub close: f64,
    /// Seconds of a transfer, the mean.
    pub latency: f64,
}

/// A phase with each of its executions.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseRuns {
    /// Its label: `write`, `file creation`.
    pub name: String,
    /// In their order.
    pub times: Vec<PhaseOnce>,
}

/// What else IOR's lines tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IorShape {
    /// Ranks,
    pub tasks: u64,
    /// and those of a node.
    pub tasks_of_node: u64,
    /// `-b`, `-t` and `-s`.
    pub block: u64,
    /// Bytes of a transfer.
    pub transfer: u64,
    /// Segments.
    pub segments: u64,
    /// `-i`.
    pub repetitions: u64,
    /// `-F`.
    pub own_files: bool,
    /// `-C`.
    pub reorders: bool,
    /// What makes the transfers: `POSIX` or `MPIIO`.
    pub api: &'static str,
}

const MIB: f64 = 1_048_576.0;

/// The results of IOR: a line each time, the largest rates, and the summary.
pub fn ior(phases: &[PhaseRuns], shape: &IorShape) -> String {
    let mut out = String::from("\nResults: \n\n");
    out += "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n";
    out += "------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----\n";
    let known: Vec<&PhaseRuns> =
        phases.iter().filter(|phase| matches!(&*phase.name, "write" | "read")).collect();
    let most = known.iter().map(|phase| phase.times.len()).max().unwrap_or(0);
    for iteration in 0..most {
        for phase in &known {
            let Some(one) = phase.times.get(iteration) else { continue };
            let (block, transfer) = (shape.block as f64 / 1024.0, shape.transfer as f64 / 1024.0);
            _ = writeln!(
                out,
                "{:<10}{:<11.2}{:<11.2}{:<12.6}{block:<11.2}{transfer:<11.2}{:<11.6}{:<11.6}{:<11.6}{:<11.6}{iteration:<4}",
                phase.name,
                one.bytes as f64 / MIB / one.seconds,
                one.operations as f64 / one.transfers,
                one.latency,
                one.open,
                one.transfers,
                one.close,
                one.seconds,
            );
        }
    }
    out += "\n";
    for phase in &known {
        let most = rates(phase, |one| one.bytes as f64).most;
        let name = if phase.name == "write" { "Write:" } else { "Read: " };
        _ = writeln!(out, "Max {name} {:.2} MiB/sec ({:.2} MB/sec)", most / MIB, most / 1e6);
    }
    out += "\nSummary of all tests:\n";
    out += "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) \
            Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize aggs(MiB)   API RefNum\n";
    for phase in &known {
        let (bytes, operations) =
            (rates(phase, |one| one.bytes as f64 / MIB), rates(phase, |one| one.operations as f64));
        let seconds =
            phase.times.iter().map(|one| one.seconds).sum::<f64>() / phase.times.len().max(1) as f64;
        let moved = phase.times.first().map_or(0.0, |one| one.bytes as f64 / MIB);
        _ = write!(out, "{:<9}", phase.name);
        for rates in [bytes, operations] {
            let Rates { most, least, mean, deviation } = rates;
            _ = write!(out, " {most:>10.2} {least:>10.2} {mean:>10.2} {deviation:>10.2}");
        }
        _ = writeln!(
            out,
            " {seconds:>10.5} {:>12} {:>14} {:>5} {:>6} {:>3} {:>4} {:>3} {:>5} {:>8} {:>9} {:>4} {:>6} {:>8} {:>8} {moved:>9.1} {:>5} {:>6}",
            "NA",
            "NA",
            0,
            shape.tasks,
            shape.tasks_of_node,
            shape.repetitions,
            u8::from(shape.own_files),
            u8::from(shape.reorders),
            1,
            0,
            0,
            shape.segments,
            shape.block,
            shape.transfer,
            shape.api,
            0,
        );
    }
    out
}

/// The summary of mdtest: the rate of each phase.
pub fn mdtest(phases: &[PhaseRuns]) -> String {
    let times = phases.iter().map(|phase| phase.times.len()).max().unwrap_or(0);
    let mut out = format!("\nSUMMARY rate (in ops/sec): (of {times} iterations)\n");
    out += "   Operation                     Max            Min           Mean        Std Dev\n";
    out += "   ---------                     ---            ---           ----        -------\n";
    for phase in phases.iter().filter(|phase| phase.times.iter().any(|one| one.operations > 0)) {
        let Rates { most, least, mean, deviation } = rates(phase, |one| one.operations as f64);
        // That of a sample, where IOR takes that of all.
        let count = phase.times.len() as f64;
        let deviation = if count > 1.0 { deviation * (count / (count - 1.0)).sqrt() } else { 0.0 };
        let (first, rest) = phase.name.split_at(phase.name.chars().next().map_or(0, char::len_utf8));
        let name = format!("{}{rest}", first.to_uppercase());
        _ = writeln!(out, "   {name:<22} {most:>14.3} {least:>14.3} {mean:>14.3} {deviation:>14.3}");
    }
    out
}

/// Amounts a second over the executions of a phase.
struct Rates {
    most: f64,
    least: f64,
    mean: f64,
    deviation: f64,
}

fn rates(phase: &PhaseRuns, amount: impl Fn(&PhaseOnce) -> f64) -> Rates {
    let all: Vec<f64> = phase.times.iter().map(|one| amount(one) / one.seconds).collect();
    let count = all.len().max(1) as f64;
    let mean = all.iter().sum::<f64>() / count;
    let squares = all.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    Rates {
        most: all.iter().copied().fold(0.0, f64::max),
        least: all.iter().copied().fold(f64::INFINITY, f64::min),
        mean,
        deviation: (squares / count).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, seconds: &[f64]) -> PhaseRuns {
        let one = |seconds: &f64| PhaseOnce {
            bytes: 2 << 20,
            operations: 32,
            seconds: *seconds,
            transfers: *seconds / 2.0,
            ..PhaseOnce::default()
        };
        PhaseRuns { name: name.into(), times: seconds.iter().map(one).collect() }
    }

    #[test]
    fn the_lines_have_the_columns_of_ior() {
        let shape = IorShape {
            tasks: 4,
            tasks_of_node: 2,
            block: 1 << 20,
            transfer: 65_536,
            segments: 1,
            repetitions: 2,
            own_files: false,
            reorders: true,
            api: "POSIX",
        };
        let text =
            ior(&[phase("write", &[1.0, 0.5]), phase("write check", &[1.0]), phase("read", &[0.25])], &shape);
        let words = |begin: &str| -> Vec<Vec<String>> {
            let lines = text.lines().filter(|line| line.starts_with(begin));
            lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
        };
        assert!(
            text.contains("Max Write: 4.00 MiB/sec (4.19 MB/sec)\nMax Read:  8.00 MiB/sec (8.39 MB/sec)\n"),
            "{text}"
        );
        let [first, second, summary] = &words("write ")[..] else { panic!("{text}") };
        assert_eq!(first.len(), words("access")[0].len());
        assert_eq!((&*first[1], &*second[1], &*second[2], &*second[10]), ("2.00", "4.00", "128.00", "1"));
        assert_eq!(summary.len(), words("Operation")[0].len());
        assert_eq!(summary[1..5], ["4.00", "2.00", "3.00", "1.00"]);
        assert_eq!(
            summary[9..],
            [
                "0.75000", "NA", "NA", "0", "4", "2", "2", "0", "1", "1", "0", "0", "1", "1048576", "65536",
                "2.0", "POSIX", "0"
            ]
        );
    }

    #[test]
    fn the_lines_have_the_columns_of_mdtest() {
        let text = mdtest(&[phase("file creation", &[1.0, 0.5])]);
        let line = text.lines().last().expect("a line");
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>(),
            ["File", "creation", "64.000", "32.000", "48.000", "22.627"]
        );
        assert!(text.contains("(of 2 iterations)"));
    }
}
