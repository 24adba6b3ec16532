//! How much of what a run read the page cache served.

use std::collections::BTreeSet;

use samples::{Facts, PathFacts, SiteKind};

use crate::choice::{READS, WRITES};
use crate::row::ResultRow;

/// File systems whose reads reach a block device in the name of the process that reads, so that the kernel accounts them to it.
const ACCOUNTED: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];

/// No disk and no server answers in less time: the fastest NVMe drives take 5 µs and more until the process goes on. Memory that
/// is dressed up as a device does.
const FASTEST_DEVICE: f64 = 4e-6;

/// Names of block devices that are memory.
const IN_MEMORY: [&str; 5] = ["ram", "pmem", "zram", "nullb", "dcssblk"];

/// The command that reads a file by touching each page of it.
const BY_TOUCH: &str = "mmap";

/// Whether an operation reads the content of a file.
pub fn is_read(operation: &str) -> bool {
    READS.contains(&operation) || is_read_by_touch(operation)
}

/// Whether it reads a file by touching its pages in a map, which has no way past the page cache.
pub fn is_read_by_touch(operation: &str) -> bool {
    operation == BY_TOUCH
}

/// Whether an operation writes the content of a file.
pub fn is_write(operation: &str) -> bool {
    WRITES.contains(&operation)
}

/// Reads of a run, and what of them the kernel says that no device did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FromMemory {
    /// The share of their bytes that no device read for the run. It is never too large: what the kernel reads ahead, or to
    /// change a part of a block, counts as read from the device.
    pub bytes: f64,
    /// Of the calls, where that is known too.
    pub calls: Option<CallsFromMemory>,
}

/// Calls that read, beside what devices were asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallsFromMemory {
    /// Calls that read.
    pub reads: u64,
    /// Reads that the devices of the run's files were asked for meanwhile, by whomever.
    pub of_device: u64,
}

impl CallsFromMemory {
    /// The share of the calls for which no device was asked; never too large.
    pub fn share(&self) -> f64 {
        (1.0 - self.of_device as f64 / self.reads as f64).max(0.0)
    }
}

/// Commands whose writes go through the page cache, unless the file was opened otherwise.
const PLAIN_WRITES: [&str; 4] = ["fwrite", "write", "append", "pwrite"];

/// What a program says that takes its writes past the page cache, or has them wait until they are on the device. A `fsync`
/// is not among them: whatever it makes safe, before or behind a write, is in its own time.
const SAFE_WORDS: [&str; 6] = ["o_direct", "odirect", "o_sync", "o_dsync", "o_rsync", "mmap"];

/// Whether writes ended in the page cache: a load says how it works; of other programs there is nothing in the text that takes
/// any write to the device.
pub fn writes_end_in_memory(rows: &[ResultRow], facts: &Facts) -> bool {
    let said = crate::settings(facts);
    let is_said = |word: &str| said.iter().any(|one| one.starts_with(word));
    if ["direct", "O_", "fsync", "fdatasync"].into_iter().any(is_said) {
        return false;
    }
    is_said("buffered") || are_writes_plain(rows, facts)
}

fn are_writes_plain(rows: &[ResultRow], facts: &Facts) -> bool {
    let mut text = facts.program.to_lowercase();
    facts.parameters.values().for_each(|value| text += &value.to_lowercase());
    let mut writes = rows
        .iter()
        .filter(|row| row.kind == SiteKind::Operation && is_write(&row.operation) && row.timings > 0);
    !facts.program.is_empty()
        && facts.backend == "posix"
        && writes.all(|row| PLAIN_WRITES.contains(&row.operation.as_str()))
        && !SAFE_WORDS.iter().any(|word| text.contains(word))
}

/// The median of the reads that most bytes were read by, where it is shorter than any device answers: at least half of them
/// came from memory, whatever the kernel accounts. `None` of others, and where the device is memory itself.
pub fn median_of_memory(rows: &[ResultRow], facts: &Facts) -> Option<f64> {
    median_below_devices(rows, facts, is_read)
}

/// The same of plain writes: whatever is said of them and whatever makes them safe later, they ended in the page cache.
pub fn median_of_memory_writes(rows: &[ResultRow], facts: &Facts) -> Option<f64> {
    median_below_devices(rows, facts, |operation| PLAIN_WRITES.contains(&operation))
}

fn median_below_devices(rows: &[ResultRow], facts: &Facts, is_one: impl Fn(&str) -> bool) -> Option<f64> {
    let is_slow = |on: &PathFacts| {
        let name = on.device.as_ref().map(|device| device.name.as_str());
        let is_disk = name.is_some_and(|name| !IN_MEMORY.iter().any(|memory| name.starts_with(memory)));
        !on.in_memory && (on.remote || is_disk)
    };
    if facts.file_systems.is_empty() || !facts.file_systems.iter().all(is_slow) {
        return None;
    }
    let ones = rows.iter().filter(|row| row.kind == SiteKind::Operation && is_one(&row.operation));
    let most = ones
        // Of a run that counts, only the bytes of all are known.
        .filter(|row| row.bytes_per_operation.map_or(row.bytes > 0, |[least, _]| least > 0))
        .max_by_key(|row| row.bytes)?;
    most.quantiles_seconds.as_ref().map(|of| of.p50).filter(|median| *median < FASTEST_DEVICE)
}

/// What of all reads no device did. `None` where the run read nothing, and where the kernel did not account it: other file
/// systems, several hosts, runs of earlier versions.
pub fn from_memory(rows: &[ResultRow], facts: &Facts) -> Option<FromMemory> {
    let is_accounted = |on: &PathFacts| {
        let kind = on.file_system.as_deref().unwrap_or_default();
        on.in_memory || on.device.is_some() && ACCOUNTED.contains(&kind)
    };
    let of_device = facts.device_read_bytes?;
    let of_reads = || rows.iter().filter(|row| row.kind == SiteKind::Operation && is_read(&row.operation));
    let bytes: u64 = of_reads().map(|row| row.bytes).sum();
    if facts.file_systems.is_empty() || !facts.file_systems.iter().all(is_accounted) || bytes == 0 {
        return None;
    }
    // A call that moved nothing, at the end of a file, asked no device and was served by nothing.
    let reads = of_reads().filter(|row| row.bytes_per_operation.is_none_or(|[least, _]| least > 0));
    let reads: u64 = reads.map(|row| row.operations.unwrap_or(row.timings)).sum();
    let asked = facts.device_reads.as_ref().and_then(|of| {
        let names: BTreeSet<&str> = facts
            .file_systems
            .iter()
            .filter_map(|on| on.device.as_ref())
            .map(|device| device.name.as_str())
            .collect();
        names.into_iter().map(|name| of.get(name).copied()).sum::<Option<u64>>()
    });
    let calls = asked.filter(|_| reads > 0).map(|of_device| CallsFromMemory { reads, of_device });
    Some(FromMemory { bytes: (1.0 - of_device as f64 / bytes as f64).max(0.0), calls })
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::BlockDevice;

    #[test]
    fn the_share_is_what_no_device_read() {
        let row = |operation: &str, bytes| ResultRow {
            operation: operation.into(),
            kind: SiteKind::Operation,
            bytes,
            ..ResultRow::default()
        };
        let on = |kind: &str, device: bool| PathFacts {
            file_system: Some(kind.into()),
            device: device.then(BlockDevice::default),
            in_memory: kind == "tmpfs",
            ..PathFacts::default()
        };
        let facts = |read, on: &[PathFacts]| Facts {
            device_read_bytes: read,
            file_systems: on.to_vec(),
            ..Facts::default()
        };
        let rows = [row("fread", 600), row("read", 400), row("fwrite", 5_000)];
        let ext4 = on("ext4", true);
        let share = |read, on: &[PathFacts]| from_memory(&rows, &facts(read, on)).map(|found| found.bytes);
        assert_eq!(share(Some(250), std::slice::from_ref(&ext4)), Some(0.75));
        // Read ahead: more than was asked for.
        assert_eq!(share(Some(2_000), std::slice::from_ref(&ext4)), Some(0.0));
        assert_eq!(share(Some(0), &[ext4.clone(), on("tmpfs", false)]), Some(1.0));
        // What is not accounted is not known.
        assert_eq!(share(None, std::slice::from_ref(&ext4)), None);
        assert_eq!(share(Some(0), &[ext4.clone(), on("nfs4", false)]), None);
        assert_eq!(share(Some(0), &[on("ext4", false)]), None);
        assert_eq!(share(Some(0), &[]), None);
        assert_eq!(from_memory(&rows[2..], &facts(Some(0), &[ext4])), None);
    }

    #[test]
    fn pages_of_a_mapped_file_are_read_as_others_are() {
        let row = ResultRow {
            operation: "mmap".into(),
            kind: SiteKind::Operation,
            bytes: 1 << 20,
            ..ResultRow::default()
        };
        let on = PathFacts {
            file_system: Some("ext4".into()),
            device: Some(BlockDevice::default()),
            ..PathFacts::default()
        };
        let facts = |read| Facts {
            device_read_bytes: Some(read),
            file_systems: vec![on.clone()],
            ..Facts::default()
        };
        let share = |read| from_memory(std::slice::from_ref(&row), &facts(read)).map(|found| found.bytes);
        assert_eq!((share(0), share(1 << 20)), (Some(1.0), Some(0.0)));
    }

    #[test]
    fn a_median_that_no_device_has_is_that_of_memory() {
        let row = |median: f64| ResultRow {
            operation: "fread".into(),
            kind: SiteKind::Operation,
            bytes: 4096,
            bytes_per_operation: Some([4096; 2]),
            quantiles_seconds: crate::summary::of_values(&[median; 3]).0,
            ..ResultRow::default()
        };
        let on = |name: &str, in_memory, remote| PathFacts {
            device: (!name.is_empty()).then(|| BlockDevice { name: name.into(), ..BlockDevice::default() }),
            in_memory,
            remote,
            ..PathFacts::default()
        };
        let median = |median: f64, on: &[PathFacts]| {
            median_of_memory(&[row(median)], &Facts { file_systems: on.to_vec(), ..Facts::default() })
        };
        assert_eq!(median(2.18e-6, &[on("vda", false, false)]), Some(2.18e-6));
        assert_eq!(median(2.18e-6, &[on("", false, true)]), Some(2.18e-6));
        assert_eq!(median(9e-6, &[on("vda", false, false)]), None);
        assert_eq!(median(2.18e-6, &[on("pmem0", false, false)]), None);
        assert_eq!(median(2.18e-6, &[on("vda", false, false), on("", true, false)]), None);
        assert_eq!(median(2.18e-6, &[]), None);
    }

    #[test]
    fn calls_beyond_the_reads_of_the_device_asked_it_for_nothing() {
        let row = |operation: &str, operations, sizes: [u64; 2]| ResultRow {
            operation: operation.into(),
            kind: SiteKind::Operation,
            timings: operations,
            operations: Some(operations),
            bytes: 4096 * operations,
            bytes_per_operation: Some(sizes),
            ..ResultRow::default()
        };
        let rows = [row("fread", 20_000, [4096; 2]), row("read", 7, [0, 4096]), row("fwrite", 9, [1; 2])];
        let on = |name: &str| PathFacts {
            file_system: Some("xfs".into()),
            device: Some(BlockDevice { name: name.into(), ..BlockDevice::default() }),
            ..PathFacts::default()
        };
        let calls = |asked: &[(&str, u64)], on: &[PathFacts]| {
            let facts = Facts {
                device_read_bytes: Some(64 << 20),
                device_reads: Some(asked.iter().map(|(name, reads)| ((*name).to_owned(), *reads)).collect()),
                file_systems: on.to_vec(),
                ..Facts::default()
            };
            from_memory(&rows, &facts).unwrap().calls
        };
        let found = calls(&[("vda1", 400), ("vdb", 99)], &[on("vda1"), on("vda1")]).unwrap();
        assert_eq!((found.reads, found.of_device, found.share()), (20_000, 400, 0.98));
        assert_eq!(calls(&[("vda1", 400), ("vdb", 99)], &[on("vda1"), on("vdb")]).unwrap().of_device, 499);
        assert_eq!(calls(&[("vda1", 90_000)], &[on("vda1")]).unwrap().share(), 0.0);
        // A device whose reads nobody counted.
        assert_eq!(calls(&[("vda1", 400)], &[on("vda1"), on("vdb")]), None);
    }
}
