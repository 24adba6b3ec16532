//! How much of what a run read the page cache served.

use samples::{Facts, PathFacts, SiteKind};

use crate::choice::{READS, WRITES};
use crate::row::ResultRow;

/// File systems whose reads reach a block device in the name of the process that reads, so that the kernel accounts them to it.
const ACCOUNTED: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];

/// Whether an operation reads the content of a file.
pub fn is_read(operation: &str) -> bool {
    READS.contains(&operation)
}

/// Whether an operation writes the content of a file.
pub fn is_write(operation: &str) -> bool {
    WRITES.contains(&operation)
}

/// The share of the bytes of all reads that no device read: the page cache had them. `None` where the run read nothing, and
/// where the kernel did not account it: other file systems, several hosts, runs of earlier versions.
///
/// It is never too large: what the kernel reads ahead, or to change a part of a block, counts as read from the device.
pub fn page_cache_share(rows: &[ResultRow], facts: &Facts) -> Option<f64> {
    let is_accounted = |on: &PathFacts| {
        let kind = on.file_system.as_deref().unwrap_or_default();
        on.in_memory || on.device.is_some() && ACCOUNTED.contains(&kind)
    };
    let of_device = facts.device_read_bytes?;
    let reads = rows.iter().filter(|row| row.kind == SiteKind::Operation && is_read(&row.operation));
    let bytes: u64 = reads.map(|row| row.bytes).sum();
    let is_known = !facts.file_systems.is_empty() && facts.file_systems.iter().all(is_accounted);
    (is_known && bytes > 0).then(|| (1.0 - of_device as f64 / bytes as f64).max(0.0))
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
        let share = |read, on: &[PathFacts]| page_cache_share(&rows, &facts(read, on));
        assert_eq!(share(Some(250), std::slice::from_ref(&ext4)), Some(0.75));
        // Read ahead: more than was asked for.
        assert_eq!(share(Some(2_000), std::slice::from_ref(&ext4)), Some(0.0));
        assert_eq!(share(Some(0), &[ext4.clone(), on("tmpfs", false)]), Some(1.0));
        // What is not accounted is not known.
        assert_eq!(share(None, std::slice::from_ref(&ext4)), None);
        assert_eq!(share(Some(0), &[ext4.clone(), on("nfs4", false)]), None);
        assert_eq!(share(Some(0), &[on("ext4", false)]), None);
        assert_eq!(share(Some(0), &[]), None);
        assert_eq!(page_cache_share(&rows[2..], &facts(Some(0), &[ext4])), None);
    }
}
