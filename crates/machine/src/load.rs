//! Reads memory use and load.

use std::time::Duration;

use samples::{Load, Memory};

use crate::files::{field, size, text};
use crate::judge::{BUSY_DEVICE, BUSY_PROCESSOR};

/// Memory as `/proc/meminfo` shows it.
pub fn memory() -> Memory {
    parse_memory(&text("/proc/meminfo").unwrap_or_default())
}

fn parse_memory(meminfo: &str) -> Memory {
    let get = |key| field(meminfo, key).and_then(size);
    let swap = get("SwapTotal");
    Memory {
        total: get("MemTotal"),
        available: get("MemAvailable"),
        swap,
        swap_used: swap.zip(get("SwapFree")).map(|(all, free)| all.saturating_sub(free)),
        dirty: get("Dirty"),
        writeback: get("Writeback"),
    }
}

/// Reads the current load.
pub fn load() -> Load {
    let pressure = |name: &str| pressure(&text(format!("/proc/pressure/{name}"))?);
    let uptime = text("/proc/uptime").and_then(|line| line.split(' ').next()?.parse().ok());
    Load {
        average: text("/proc/loadavg").and_then(|line| averages(&line)),
        running: text("/proc/loadavg").and_then(|line| running(&line)),
        processor_pressure: pressure("cpu"),
        processor_pressure_now: None,
        io_pressure: pressure("io"),
        io_pressure_now: None,
        memory_pressure: pressure("memory"),
        stolen_ms: text("/proc/stat").and_then(|stat| stolen(&stat)),
        uptime_s: uptime,
        network: crate::network::interfaces(),
    }
}

/// Looks at the moment after what `load` found, where tasks waited in the last 10 s: averages over the past count what
/// ran before as well, such as an earlier run of the same user. `wait` lets the moment pass, without work, and says how
/// long it was.
pub fn look_now(load: &mut Load, wait: impl FnOnce() -> Duration) {
    let had = |share: Option<f64>, from: f64| share.is_some_and(|share| share >= from);
    if !had(load.processor_pressure, BUSY_PROCESSOR) && !had(load.io_pressure, BUSY_DEVICE) {
        return;
    }
    let totals = || ["cpu", "io"].map(|name| waited(&text(format!("/proc/pressure/{name}"))?));
    let before = totals();
    let elapsed_us = wait().as_secs_f64() * 1e6;
    let after = totals();
    let share = |of: usize| {
        let waited = after[of]?.saturating_sub(before[of]?) as f64;
        (elapsed_us > 0.0).then(|| (100.0 * waited / elapsed_us).min(100.0))
    };
    (load.processor_pressure_now, load.io_pressure_now) = (share(0), share(1));
}

fn averages(line: &str) -> Option<[f64; 3]> {
    let numbers: Vec<f64> = line.split(' ').take(3).filter_map(|n| n.parse().ok()).collect();
    numbers.try_into().ok()
}

/// The number of running tasks: the first number of `3/104`, the fourth field.
fn running(line: &str) -> Option<u32> {
    line.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

/// The share of the last 10 s in `some avg10=15.52 avg60=…`.
fn pressure(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split(' ').find_map(|word| word.strip_prefix("avg10="))?.parse().ok()
}

/// The time in µs in which some task waited, since the machine started: `some … total=299463019`.
fn waited(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// The eighth number of the `cpu` line of `/proc/stat`, in hundredths of a second.
fn stolen(stat: &str) -> Option<u64> {
    let hundredths: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(hundredths * 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::KernelFiles;

    #[test]
    fn pressure_and_load_are_read() {
        let text = "some avg10=15.52 avg60=49.16 avg300=41.65 total=299463019\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(pressure(text), Some(15.52));
        assert_eq!(averages("3.05 2.60 1.59 5/104 31842"), Some([3.05, 2.60, 1.59]));
        assert_eq!(stolen("cpu  1 2 3 4 5 6 7 89 0 0\ncpu0 …"), Some(890));
    }

    #[test]
    fn a_moment_is_looked_at_where_tasks_waited_and_counts_nothing_of_before() {
        let line =
            |avg10: f64, total: u64| format!("some avg10={avg10:.2} avg60=0.00 avg300=0.00 total={total}\n");
        let other = KernelFiles::new(&[
            ("/proc/pressure/cpu", &line(39.0, 8_000_000)),
            ("/proc/pressure/io", &line(27.0, 5_000_000)),
        ]);
        let mut found = load();
        look_now(&mut found, || {
            other.write("/proc/pressure/io", &line(27.0, 5_150_000));
            Duration::from_millis(200)
        });
        assert_eq!((found.processor_pressure_now, found.io_pressure_now), (Some(0.0), Some(75.0)));
        other.write("/proc/pressure/cpu", &line(1.0, 0));
        other.write("/proc/pressure/io", &line(2.0, 0));
        let mut quiet = load();
        look_now(&mut quiet, || panic!("a quiet machine needs no second look"));
        assert_eq!(quiet.processor_pressure_now, None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let found = parse_memory(
            "MemTotal: 24684092 kB\nMemAvailable: 1000 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n",
        );
        assert_eq!((found.total, found.swap_used), (Some(24_684_092 << 10), Some(40 << 10)));
        assert_eq!(parse_memory(""), Memory::default());
    }
}
