//! Reads memory use and load.

use samples::{Load, Memory};

use crate::files::{field, size, text};

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
        io_pressure: pressure("io"),
        memory_pressure: pressure("memory"),
        stolen_ms: text("/proc/stat").and_then(|stat| stolen(&stat)),
        uptime_s: uptime,
        network: crate::network::interfaces(),
    }
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

/// The eighth number of the `cpu` line of `/proc/stat`, in hundredths of a second.
fn stolen(stat: &str) -> Option<u64> {
    let hundredths: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(hundredths * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_and_load_are_read() {
        let text = "some avg10=15.52 avg60=49.16 avg300=41.65 total=299463019\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(pressure(text), Some(15.52));
        assert_eq!(averages("3.05 2.60 1.59 5/104 31842"), Some([3.05, 2.60, 1.59]));
        assert_eq!(stolen("cpu  1 2 3 4 5 6 7 89 0 0\ncpu0 …"), Some(890));
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
