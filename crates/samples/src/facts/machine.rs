//! Facts of the machine that a run took place on: processor, memory, kernel, limits, load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::clock::ClockFacts;
use super::other::{OtherFacts, is_default};
use super::path::PathFacts;

/// The schema of [`MachineFacts`] as JSON.
pub const MACHINE_SCHEMA: &str = "lastrank.machine/1";

/// A machine as one process sees it: the section `machine` of the facts.
///
/// Every field is optional, since containers, guests and unprivileged users see only part of `/proc` and
/// `/sys`. Empty sections are left out of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineFacts {
    /// `lastrank.machine/1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub schema: String,
    /// The machine in one line; the only field of a simulated machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Host name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The distribution, from `/etc/os-release`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// Processor, caches, memory nodes.
    #[serde(skip_serializing_if = "is_default")]
    pub processor: Processor,
    /// Memory.
    #[serde(skip_serializing_if = "is_default")]
    pub memory: Memory,
    /// The OS kernel and its settings.
    #[serde(skip_serializing_if = "is_default")]
    pub kernel: OsKernel,
    /// Hypervisor and container.
    #[serde(skip_serializing_if = "is_default")]
    pub virtualisation: Virtualisation,
    /// Limits of this process.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// Load before the run.
    #[serde(skip_serializing_if = "is_default")]
    pub load: Load,
    /// Load after the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_after: Option<Load>,
    /// The clock, if the caller has measured it; the facts of a run hold it outside of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockFacts>,
    /// The storage of the requested paths, in their order; the facts of a run hold them as `file_systems`.
    #[serde(rename = "places", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathFacts>,
    /// Keys that another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// The processor: model, topology, caches, power policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processor {
    /// `AuthenticAMD`, `GenuineIntel`, `ARM` …
    pub vendor: Option<String>,
    /// Marketing name of the model.
    pub model: Option<String>,
    /// Family, model and stepping (x86) or variant and part (ARM), as the kernel writes them.
    pub identity: Option<String>,
    /// `x86_64`, `aarch64` …
    pub architecture: String,
    /// Logical processors that are online.
    pub online: Option<u32>,
    /// Number of processors that this process may run on.
    pub allowed: Option<u32>,
    /// The processors that this process may run on, as the kernel lists them: `0-3,8`.
    pub allowed_list: Option<String>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Cores, over all sockets.
    pub cores: Option<u32>,
    /// Hardware threads a core.
    pub threads_per_core: Option<u32>,
    /// Caches of the first processor, innermost first.
    pub caches: Vec<Cache>,
    /// Memory nodes.
    pub nodes: Vec<MemoryNode>,
    /// Nominal or current clock rate as the kernel shows it, in MHz.
    pub megahertz: Option<f64>,
    /// Measured frequency of the current processor, in cycles per ns. In most guests it is the only source of
    /// the frequency.
    pub gigahertz_measured: Option<f64>,
    /// Number of thermal throttling events since the machine started, summed over all cores.
    pub hot: Option<u64>,
    /// The frequency governor: `performance`, `powersave`, `schedutil` …; `None` in most guests.
    pub governor: Option<String>,
    /// The frequency driver.
    pub frequency_driver: Option<String>,
    /// Whether it may run above its nominal frequency.
    pub boost: Option<bool>,
    /// The idle driver: `intel_idle`, `haltpoll` …
    pub idle_driver: Option<String>,
    /// Processors isolated from the scheduler.
    pub isolated: Option<String>,
    /// Processors without a periodic timer interrupt while one task runs.
    pub tickless: Option<String>,
    /// Processors that serve new device interrupts, as a mask in hexadecimal.
    pub interrupts: Option<String>,
    /// The CPU features that affect timing or the speed of memory copies.
    pub features: Vec<String>,
    /// The clock source of the kernel.
    pub clock_source: Option<String>,
    /// Active mitigations, by hardware vulnerability.
    pub mitigations: BTreeMap<String, String>,
    /// Whether the processor has the `hypervisor` flag.
    pub guest: bool,
}

/// One cache as the first processor sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cache {
    /// 1, 2, 3 …
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Bytes.
    pub bytes: u64,
    /// Bytes in a line.
    pub line: Option<u32>,
    /// Ways of associativity.
    pub ways: Option<u32>,
    /// Number of logical processors that share it.
    pub shared_by: Option<u32>,
}

/// One memory node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryNode {
    /// Its number.
    pub number: u32,
    /// Its processors, as the kernel lists them.
    pub processors: String,
    /// Its memory, in bytes.
    pub bytes: Option<u64>,
    /// Distances to all nodes; the local distance is 10.
    pub distances: Vec<u32>,
}

/// Memory, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Total memory.
    pub total: Option<u64>,
    /// Memory available without swapping.
    pub available: Option<u64>,
    /// Swap space.
    pub swap: Option<u64>,
    /// Swap in use.
    pub swap_used: Option<u64>,
    /// Dirty pages, to be written back.
    pub dirty: Option<u64>,
    /// Pages that are being written back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writeback: Option<u64>,
}

/// The operating system's kernel and those of its settings that affect latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OsKernel {
    /// `Linux`.
    pub name: Option<String>,
    /// `6.18.4` …
    pub release: Option<String>,
    /// Build and preemption model.
    pub version: Option<String>,
    /// Its command line.
    pub command_line: Option<String>,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub huge_pages: Option<String>,
    /// Effort of an allocation to get a huge page.
    pub huge_pages_defrag: Option<String>,
    /// Reserved huge pages.
    pub huge_pages_reserved: Option<u64>,
    /// Reserved huge pages that are free.
    pub huge_pages_free: Option<u64>,
    /// Preemption model of the OS kernel: `none`, `voluntary`, `full`, `lazy`.
    pub preemption: Option<String>,
    /// Timer interrupts a second of a busy processor.
    pub timer_hertz: Option<u32>,
    /// Active security modules.
    pub security: Option<String>,
    /// Bytes in a page.
    pub page_size: Option<u64>,
    /// Settings under `/proc/sys`, by name.
    pub settings: BTreeMap<String, String>,
}

/// The hypervisor below the kernel and the container around this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Virtualisation {
    /// `KVM`, `Hyper-V`, `VMware`, `Xen` …; `None` on bare metal.
    pub hypervisor: Option<String>,
    /// Maker and product as the firmware states them.
    pub product: Option<String>,
    /// `docker`, `podman`, `kubernetes`, `lxc` …; `None` outside of a container.
    pub container: Option<String>,
}

/// Limits of this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// 1 or 2; `None` if no control group was found.
    pub cgroup_version: Option<u8>,
    /// The control group's quota, as a number of processors; `None` without a limit.
    pub processors: Option<f64>,
    /// Number of times that the group has been throttled.
    pub throttled: Option<u64>,
    /// Total time for which its processes were stopped by throttling, in ms.
    pub throttled_ms: Option<f64>,
    /// The control group's memory limit, in bytes.
    pub memory: Option<u64>,
    /// Processors that the group may use, as the kernel lists them.
    pub cpuset: Option<String>,
    /// Whether system calls are filtered (`seccomp`).
    pub filtered: bool,
    /// Limits on devices (`io.max`, `blkio.throttle.*`), one a line.
    pub devices: Vec<String>,
    /// Soft resource limits: open files, locked memory, file size, stack; `None` is unlimited.
    pub resources: BTreeMap<String, Option<u64>>,
    /// Whether the effective user is root.
    pub root: bool,
    /// Effective capabilities, in hexadecimal.
    pub capabilities: Option<String>,
}

/// The load of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Load averages over 1, 5 and 15 minutes.
    pub average: Option<[f64; 3]>,
    /// Percentage of the last 10 s in which some task waited for a processor (pressure stall).
    pub processor_pressure: Option<f64>,
    /// Percentage of a moment just before a run in which some task waited for a processor. Looked at only where the last
    /// 10 s had such waits: they tell of what ran before as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_pressure_now: Option<f64>,
    /// Runnable tasks, including this one.
    pub running: Option<u32>,
    /// The same for devices (I/O).
    pub io_pressure: Option<f64>,
    /// The same of that moment for devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure_now: Option<f64>,
    /// The same for memory.
    pub memory_pressure: Option<f64>,
    /// Total time stolen by the hypervisor so far, in ms.
    pub stolen_ms: Option<u64>,
    /// Time since the machine started, in s.
    pub uptime_s: Option<f64>,
    /// The network interfaces with the most traffic, by name, without the loopback.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Interface>,
}

/// A network interface and what it has moved so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    /// `eth0`, `ib0` …
    pub name: String,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
    /// The rate of its link in Mbit/s; `None` where the kernel does not know it, as of most virtual ones.
    pub megabits: Option<u64>,
}
