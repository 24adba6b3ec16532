//! What is known of the machine that a run took place on: processor, memory, kernel, limits, load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::clock::ClockFacts;
use super::other::{OtherFacts, is_default};
use super::path::PathFacts;

/// The schema of [`Machine`] as JSON.
pub const MACHINE_SCHEMA: &str = "lastrank.machine/1";

/// A machine as one process sees it: the facts' `machine` section.
///
/// Every field is optional: containers, guests and ordinary users see only part of `/proc` and `/sys`. A section
/// that nobody filled in is left out of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// `lastrank.machine/1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub schema: String,
    /// The machine in one line; all there is of a simulated one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Its name.
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
    /// Kernel and its settings.
    #[serde(skip_serializing_if = "is_default")]
    pub kernel: Kernel,
    /// Hypervisor and container.
    #[serde(skip_serializing_if = "is_default")]
    pub virtualisation: Virtualisation,
    /// Limits of this process.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// How busy it was, before the run.
    #[serde(skip_serializing_if = "is_default")]
    pub load: Load,
    /// How busy it was after the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_after: Option<Load>,
    /// The clock, where the caller has measured it; the facts of a run hold it beside the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockFacts>,
    /// What lies under the paths asked for, in their order; the facts of a run hold them as `file_systems`.
    #[serde(rename = "places", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathFacts>,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// The processor: model, topology, caches, power policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processor {
    /// `AuthenticAMD`, `GenuineIntel`, `ARM` …
    pub vendor: Option<String>,
    /// The model's name as a reader knows it.
    pub model: Option<String>,
    /// Family, model and stepping (x86) or variant and part (ARM), as the kernel writes them.
    pub identity: Option<String>,
    /// `x86_64`, `aarch64` …
    pub architecture: String,
    /// Logical processors that are online.
    pub online: Option<u32>,
    /// Those this process may run on.
    pub allowed: Option<u32>,
    /// Which those are, as the kernel lists them: `0-3,8`.
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
    /// Nominal or present clock rate as the kernel shows it, in MHz.
    pub megahertz: Option<f64>,
    /// Cycles in a nanosecond while it computes, measured on the processor this was called on: where
    /// there is no other sight of the frequency, as in most guests, this is it.
    pub gigahertz_measured: Option<f64>,
    /// How often a core was slowed down for being too hot, over all cores, since the machine started.
    pub hot: Option<u64>,
    /// The frequency governor: `performance`, `powersave`, `schedutil` …; none in most guests.
    pub governor: Option<String>,
    /// The frequency driver.
    pub frequency_driver: Option<String>,
    /// May it clock higher than nominal?
    pub boost: Option<bool>,
    /// The idle driver: `intel_idle`, `haltpoll` …
    pub idle_driver: Option<String>,
    /// Processors kept from ordinary scheduling.
    pub isolated: Option<String>,
    /// Processors without a periodic timer interrupt while one task runs.
    pub tickless: Option<String>,
    /// Processors that serve new device interrupts, as a mask in hexadecimal.
    pub interrupts: Option<String>,
    /// Of the features those that change how it can be timed or how fast memory is copied.
    pub features: Vec<String>,
    /// The clock source of the kernel.
    pub clock_source: Option<String>,
    /// Mitigations of processor faults that are at work, by fault.
    pub mitigations: BTreeMap<String, String>,
    /// Is there a `hypervisor` flag?
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
    /// How many logical processors share it.
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
    /// Distances to all nodes, 10 being its own.
    pub distances: Vec<u32>,
}

/// Memory, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// All of it.
    pub total: Option<u64>,
    /// What can be had without swapping.
    pub available: Option<u64>,
    /// Swap space.
    pub swap: Option<u64>,
    /// Swap in use.
    pub swap_used: Option<u64>,
    /// Waiting to be written.
    pub dirty: Option<u64>,
}

/// The kernel and those of its settings that move latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
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
    /// What an allocation does to get one.
    pub huge_pages_defrag: Option<String>,
    /// Reserved huge pages.
    pub huge_pages_reserved: Option<u64>,
    /// Of those the ones that nobody uses.
    pub huge_pages_free: Option<u64>,
    /// `none`, `voluntary`, `full`, `lazy`: when may a task lose the processor inside the kernel?
    pub preemption: Option<String>,
    /// Timer interrupts a second of a busy processor.
    pub timer_hertz: Option<u32>,
    /// Security modules that are asked at every access.
    pub security: Option<String>,
    /// Bytes in a page.
    pub page_size: Option<u64>,
    /// Settings under `/proc/sys`, by name.
    pub settings: BTreeMap<String, String>,
}

/// What stands between the kernel and the machine, and around this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Virtualisation {
    /// `KVM`, `Hyper-V`, `VMware`, `Xen` …; none on bare metal.
    pub hypervisor: Option<String>,
    /// Maker and product as the firmware states them.
    pub product: Option<String>,
    /// `docker`, `podman`, `kubernetes`, `lxc` …; none outside a container.
    pub container: Option<String>,
}

/// What this process may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// 1 or 2, where a control group was found.
    pub cgroup_version: Option<u8>,
    /// Processors' worth of time a control group grants; none without a limit.
    pub processors: Option<f64>,
    /// How often the group has been throttled so far.
    pub throttled: Option<u64>,
    /// For how long its processes stood still for that in all, in ms.
    pub throttled_ms: Option<f64>,
    /// Memory a control group grants, in bytes.
    pub memory: Option<u64>,
    /// Processors that the group may use, as the kernel lists them.
    pub cpuset: Option<String>,
    /// Is a filter on system calls at work (`seccomp`)?
    pub filtered: bool,
    /// Limits on devices (`io.max`, `blkio.throttle.*`), one a line.
    pub devices: Vec<String>,
    /// Soft resource limits: open files, locked memory, file size, stack; none is unlimited.
    pub resources: BTreeMap<String, Option<u64>>,
    /// Effective user 0?
    pub root: bool,
    /// Effective capabilities, in hexadecimal.
    pub capabilities: Option<String>,
}

/// How busy the machine is: numbers that differ from minute to minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Tasks that ran or waited, averaged over 1, 5 and 15 minutes.
    pub average: Option<[f64; 3]>,
    /// Percentage of the last 10 s in which some task waited for a processor (pressure stall).
    pub processor_pressure: Option<f64>,
    /// Tasks that run or are ready to, this one among them.
    pub running: Option<u32>,
    /// The same as for processors, for the devices.
    pub io_pressure: Option<f64>,
    /// The same for memory.
    pub memory_pressure: Option<f64>,
    /// All time so far that the hypervisor gave to others, in ms.
    pub stolen_ms: Option<u64>,
    /// Time since the machine started, in s.
    pub uptime_s: Option<f64>,
}
