//! Reads which block device holds a file system, and the settings of its request queue.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};
use samples::BlockDevice;

use crate::files::{chosen, number, text};

/// The device with the given `major:minor` (from the mount table). If no device has that number (btrfs,
/// overlay), the device of `source`, or the one that holds the path.
pub fn describe(number: &str, source: &str, path: &Path) -> Option<BlockDevice> {
    let by_number = |number: &str| fs::canonicalize(format!("/sys/dev/block/{number}")).ok();
    let by_source = || {
        let device = fs::canonicalize(source).ok().filter(|path| path.starts_with("/dev"))?;
        by_number(&split(fs::metadata(device).ok()?.rdev()))
    };
    let by_path = || by_number(&split(fs::metadata(path).ok()?.dev()));
    let folder = by_number(number).or_else(by_source).or_else(by_path)?;
    Some(of_folder(&folder))
}

fn split(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

fn of_folder(folder: &Path) -> BlockDevice {
    let name = last(folder);
    // A partition's folder lies inside that of its disk.
    let disk_folder: PathBuf = match folder.parent() {
        Some(parent) if folder.join("partition").exists() => parent.into(),
        _ => folder.into(),
    };
    let disk = last(&disk_folder);
    let queue = disk_folder.join("queue");
    let rotational = number::<u8>(queue.join("rotational")).map(|turns| turns == 1);
    let below = fs::read_dir(disk_folder.join("slaves")).map(|folder| {
        folder.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    });
    BlockDevice {
        kind: kind(&disk, rotational).into(),
        model: text(disk_folder.join("device/model")).or_else(|| text(disk_folder.join("dm/name"))),
        bytes: number::<u64>(disk_folder.join("size")).map(|sectors| sectors * 512),
        rotational,
        scheduler: text(queue.join("scheduler")).map(|line| chosen(&line).unwrap_or(line)),
        queue_depth: number(queue.join("nr_requests")),
        write_cache: text(queue.join("write_cache")),
        max_request_kib: number(queue.join("max_sectors_kb")),
        logical_block: number(queue.join("logical_block_size")),
        physical_block: number(queue.join("physical_block_size")),
        read_ahead_kib: number(queue.join("read_ahead_kb")),
        writeback_throttle_us: number(queue.join("wbt_lat_usec")),
        below: below.unwrap_or_default(),
        name,
        disk,
    }
}

fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn kind(disk: &str, rotational: Option<bool>) -> &'static str {
    let begins = |prefix: &str| disk.starts_with(prefix);
    match rotational {
        _ if begins("nvme") => "NVMe SSD",
        _ if begins("vd") => "virtio disk",
        _ if begins("xvd") => "Xen disk",
        _ if begins("dm-") => "mapped device",
        _ if begins("md") => "software RAID",
        _ if begins("loop") => "loop device",
        _ if begins("zram") => "compressed memory",
        _ if begins("ram") || begins("pmem") => "memory device",
        _ if begins("mmcblk") => "SD card or eMMC",
        _ if begins("nbd") || begins("rbd") => "network block device",
        Some(true) => "hard disk",
        Some(false) => "SSD",
        None => "block device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_described_by_its_disk() {
        let root = std::env::temp_dir().join(format!("lastrank-device-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder above")).expect("temporary folder");
            fs::write(path, text).expect("temporary file");
        };
        write("sda/queue/rotational", "1\n");
        write("sda/queue/scheduler", "none [mq-deadline] kyber\n");
        write("sda/queue/write_cache", "write back\n");
        write("sda/device/model", "SPINNER 2000\n");
        write("sda/size", "2048\n");
        write("sda/sda2/partition", "2\n");
        let found = of_folder(&root.join("sda/sda2"));
        fs::remove_dir_all(&root).expect("what was just made");
        assert_eq!(
            (found.name.as_str(), found.disk.as_str(), found.kind.as_str()),
            ("sda2", "sda", "hard disk")
        );
        assert_eq!(found.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(found.write_cache.as_deref(), Some("write back"));
        assert_eq!((found.bytes, found.model.as_deref()), (Some(1 << 20), Some("SPINNER 2000")));
    }

    #[test]
    fn devices_have_readable_kinds() {
        assert_eq!(kind("nvme0n1", Some(false)), "NVMe SSD");
        assert_eq!(kind("sdb", Some(false)), "SSD");
        assert_eq!(kind("vda", Some(true)), "virtio disk");
    }
}
