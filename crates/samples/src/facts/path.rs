//! Facts of the storage of a path: mount, device, NFS counters, layout over storage targets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::other::OtherFacts;

/// A path that a program uses, and its storage: an entry of `file_systems` in the facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathFacts {
    /// Path in the program.
    #[serde(alias = "directory")]
    pub path: String,
    /// The path and its storage in one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The resolved path of it or of its nearest existing parent.
    pub real_path: Option<String>,
    /// `ext4`, `xfs`, `nfs4`, `lustre`, `tmpfs` …
    #[serde(alias = "type")]
    pub file_system: Option<String>,
    /// Whether it is reached over a network or through another process of this machine (`fuse`).
    pub remote: bool,
    /// Whether it is in memory (tmpfs).
    pub in_memory: bool,
    /// Mount point, source and options.
    pub mount: Option<Mount>,
    /// Size of the file system in bytes.
    pub total: Option<u64>,
    /// Bytes that this user may still write.
    pub free: Option<u64>,
    /// Number of files that can still be created.
    pub free_files: Option<u64>,
    /// Block size of the file system in bytes.
    pub block_size: Option<u64>,
    /// Whether this user may write here.
    pub writable: Option<bool>,
    /// Alignment that `O_DIRECT` requires of buffers, in bytes; 0 if `O_DIRECT` is not supported.
    pub direct_memory_align: Option<u32>,
    /// Alignment that `O_DIRECT` requires of offsets and lengths, in bytes.
    pub direct_offset_align: Option<u32>,
    /// The block device below it.
    pub device: Option<BlockDevice>,
    /// Counters of an NFS mount.
    pub nfs: Option<NfsMount>,
    /// Flags of its inode: `compressed`, `no copy on write`, `append only`, `synchronous` …
    pub flags: Vec<String>,
    /// Striping of files in this directory over storage targets.
    pub layout: FileLayout,
    /// Keys that another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// One line of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mount {
    /// `major:minor` of the device.
    pub device: String,
    /// Mount point.
    pub mount_point: String,
    /// `ext4`, `nfs4`, `fuse.glusterfs` …
    pub file_system: String,
    /// Mount source: a device, `server:/export`, or an arbitrary name.
    pub source: String,
    /// Options of the mount and of the file system.
    pub options: Vec<String>,
}

/// A block device as `/sys/block` describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockDevice {
    /// The device of the file system: `nvme0n1p2`, `vda`, `dm-0`.
    pub name: String,
    /// The whole disk a partition is part of.
    pub disk: String,
    /// In words: `NVMe SSD`, `SATA SSD`, `hard disk`, `virtio disk`, `loop device`, `mapped device` …
    pub kind: String,
    /// Model name.
    pub model: Option<String>,
    /// Bytes of the whole disk.
    pub bytes: Option<u64>,
    /// Whether it is a rotating disk.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Number of requests that may be queued.
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
    /// Underlying devices (RAID, LVM, encryption).
    pub below: Vec<String>,
}

/// One NFS mount in `/proc/self/mountstats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NfsMount {
    /// Mount point.
    pub mount_point: String,
    /// `server:/export`.
    pub source: String,
    /// Effective options: `vers=4.2`, `rsize=1048576`, `nconnect=4` …
    pub options: Vec<String>,
    /// Counters of each operation that occurred (`READ`, `WRITE`, `COMMIT` …).
    pub operations: BTreeMap<String, NfsOperation>,
}

/// Counters of one kind of operation since the file system was mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NfsOperation {
    /// Operations.
    pub count: u64,
    /// Transmissions; more than `count` if some were repeated.
    pub transmissions: u64,
    /// Major timeouts.
    pub timeouts: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Time in this client's queue, in ms.
    pub queue_ms: u64,
    /// Time from request to reply, in ms: network and server.
    pub round_trip_ms: u64,
    /// Total time, in ms.
    pub total_ms: u64,
}

/// The layout of a file, or the one that a directory gives to new files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FileLayout {
    /// Not a parallel file system, or it did not say.
    #[default]
    Unknown,
    /// Pieces of `stripe_size` bytes over `stripe_count` targets.
    Striped {
        /// Bytes in a piece; `None` is the file system's default.
        stripe_size: Option<u64>,
        /// Number of targets; `None` means all.
        stripe_count: Option<u32>,
        /// The targets, if known.
        targets: Vec<u32>,
        /// Pool or pattern, in words.
        note: Option<String>,
    },
    /// A layout that is not plain striping, as the file system describes it.
    Described {
        /// The description.
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
