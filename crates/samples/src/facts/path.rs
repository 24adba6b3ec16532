//! What lies under a path that a program uses: mount, device, NFS counters, layout over storage targets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::other::OtherFacts;

/// A path that a program uses, and what it stands on: an entry of the facts' `file_systems`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathFacts {
    /// As the program names it.
    #[serde(alias = "directory")]
    pub path: String,
    /// The path and what it stands on in one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Without symbolic links; of the nearest folder that exists.
    pub real_path: Option<String>,
    /// `ext4`, `xfs`, `nfs4`, `lustre`, `tmpfs` …
    #[serde(alias = "type")]
    pub file_system: Option<String>,
    /// Over a network, or in other processes of this machine (`fuse`)?
    pub remote: bool,
    /// In memory?
    pub in_memory: bool,
    /// Where it is mounted, from what, with which options.
    pub mount: Option<Mount>,
    /// Bytes of the file system.
    pub total: Option<u64>,
    /// Bytes that this user may still write.
    pub free: Option<u64>,
    /// Files that may still be made.
    pub free_files: Option<u64>,
    /// Bytes of a block of the file system.
    pub block_size: Option<u64>,
    /// May this user write here?
    pub writable: Option<bool>,
    /// Alignment that `O_DIRECT` asks of buffers, in bytes; 0 where it is not possible.
    pub direct_memory_align: Option<u32>,
    /// Alignment that `O_DIRECT` asks of offsets and lengths, in bytes.
    pub direct_offset_align: Option<u32>,
    /// The block device below it.
    pub device: Option<BlockDevice>,
    /// Counters of an NFS mount.
    pub nfs: Option<NfsMount>,
    /// What its inode asks for: `compressed`, `no copy on write`, `append only`, `synchronous` …
    pub flags: Vec<String>,
    /// How files here are laid over storage targets.
    pub layout: FileLayout,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// One line of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mount {
    /// `major:minor` of the device.
    pub device: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// `ext4`, `nfs4`, `fuse.glusterfs` …
    pub file_system: String,
    /// What is mounted: a device, `server:/export`, or a name without meaning.
    pub source: String,
    /// Options of the mount and of the file system.
    pub options: Vec<String>,
}

/// A block device as `/sys/block` describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockDevice {
    /// `nvme0n1p2`, `vda`, `dm-0`: what the file system lies on.
    pub name: String,
    /// The whole disk a partition is part of.
    pub disk: String,
    /// In words: `NVMe SSD`, `SATA SSD`, `hard disk`, `virtio disk`, `loop device`, `mapped device` …
    pub kind: String,
    /// Maker's name of the model.
    pub model: Option<String>,
    /// Bytes of the whole disk.
    pub bytes: Option<u64>,
    /// Does it turn?
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests that may queue.
    pub queue_depth: Option<u32>,
    /// `write back` (the device acknowledges before data are safe) or `write through`.
    pub write_cache: Option<String>,
    /// Longest single request, in KiB.
    pub max_request_kib: Option<u32>,
    /// Bytes of the smallest addressable unit.
    pub logical_block: Option<u32>,
    /// Bytes of the unit the medium itself uses.
    pub physical_block: Option<u32>,
    /// Read-ahead, in KiB.
    pub read_ahead_kib: Option<u32>,
    /// Target latency of the write-back throttle, in µs.
    pub writeback_throttle_us: Option<i64>,
    /// Devices it is put together from (RAID, LVM, encryption).
    pub below: Vec<String>,
}

/// One NFS mount in `/proc/self/mountstats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NfsMount {
    /// Where it is mounted.
    pub mount_point: String,
    /// `server:/export`.
    pub source: String,
    /// Options at work: `vers=4.2`, `rsize=1048576`, `nconnect=4` …
    pub options: Vec<String>,
    /// Counters by operation (`READ`, `WRITE`, `COMMIT` …) that has occurred.
    pub operations: BTreeMap<String, NfsOperation>,
}

/// Counters of one kind of operation since the mount was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NfsOperation {
    /// Operations.
    pub count: u64,
    /// Transmissions: more than `count` where some had to be repeated.
    pub transmissions: u64,
    /// Major timeouts.
    pub timeouts: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Time in this client's queue, in ms.
    pub queue_ms: u64,
    /// Time from sending to the answer, in ms: network and server.
    pub round_trip_ms: u64,
    /// All time, in ms.
    pub total_ms: u64,
}

/// The layout of a file, or the one a folder gives to new files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FileLayout {
    /// Not a parallel file system, or it did not say.
    #[default]
    Unknown,
    /// Pieces of `stripe_size` bytes over `stripe_count` targets.
    Striped {
        /// Bytes in a piece; none where the file system's default holds.
        stripe_size: Option<u64>,
        /// Targets; none means all of them.
        stripe_count: Option<u32>,
        /// Which targets, where that is known.
        targets: Vec<u32>,
        /// Pool or pattern, in words.
        note: Option<String>,
    },
    /// What the file system says of itself, where it is not a plain striping.
    Described {
        /// Its own words.
        text: String,
    },
}

impl NfsMount {
    /// The option that begins with `key=`.
    pub fn option(&self, key: &str) -> Option<&str> {
        let wanted = |option: &&String| option.strip_prefix(key).is_some_and(|rest| rest.starts_with('='));
        self.options.iter().find(wanted).map(String::as_str)
    }
}
