//! Which kernel runs here, under what hypervisor and limits, and how busy is it?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{chosen, field, number, place, size, text};

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

const SETTINGS: [&str; 11] = [
    "kernel/perf_event_paranoid",
    "kernel/sched_rt_runtime_us",
    "kernel/numa_balancing",
    "kernel/randomize_va_space",
    "vm/swappiness",
    "vm/dirty_ratio",
    "vm/dirty_background_ratio",
    "vm/dirty_bytes",
    "vm/dirty_expire_centisecs",
    "vm/overcommit_memory",
    "vm/zone_reclaim_mode",
];

/// The kernel.
pub fn kernel() -> Kernel {
    let huge = "/sys/kernel/mm/transparent_hugepage";
    let setting = |name: &&str| Some(((*name).to_owned(), text(format!("/proc/sys/{name}"))?));
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Kernel {
        name: text("/proc/sys/kernel/ostype"),
        release: text("/proc/sys/kernel/osrelease"),
        version: text("/proc/sys/kernel/version"),
        command_line: text("/proc/cmdline"),
        huge_pages: text(format!("{huge}/enabled")).and_then(|line| chosen(&line)),
        huge_pages_defrag: text(format!("{huge}/defrag")).and_then(|line| chosen(&line)),
        huge_pages_reserved: number("/proc/sys/vm/nr_hugepages"),
        huge_pages_free: field(&text("/proc/meminfo").unwrap_or_default(), "HugePages_Free")
            .and_then(|n| n.parse().ok()),
        preemption: preemption(
            text("/sys/kernel/debug/sched/preempt").as_deref(),
            &text("/proc/sys/kernel/version").unwrap_or_default(),
            &text("/proc/cmdline").unwrap_or_default(),
        ),
        timer_hertz: timer_hertz(),
        security: text("/sys/kernel/security/lsm"),
        page_size: u64::try_from(page).ok(),
        settings: SETTINGS.iter().filter_map(setting).collect(),
    }
}

/// The preemption model: what the scheduler shows to root, else what the command line asks for, else
/// what the kernel was built with. A kernel that can change it while it runs says only that it can.
fn preemption(shown: Option<&str>, version: &str, command_line: &str) -> Option<String> {
    if let Some(line) = shown {
        // `none (voluntary) full lazy`
        let begin = line.find('(')? + 1;
        return Some(line[begin..begin + line[begin..].find(')')?].to_owned());
    }
    if let Some(asked) = command_line.split(' ').find_map(|word| word.strip_prefix("preempt=")) {
        return Some(asked.to_owned());
    }
    let word = version.split(' ').find(|word| word.starts_with("PREEMPT"))?;
    Some(
        match word {
            "PREEMPT_RT" => "real time",
            "PREEMPT_DYNAMIC" => "dynamic",
            "PREEMPT_LAZY" => "lazy",
            _ => "full",
        }
        .to_owned(),
    )
}

/// The coarse clock advances with the timer, so its resolution is the timer's period.
fn timer_hertz() -> Option<u32> {
    let mut period = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `period` is a valid place to write to.
    let result = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut period) };
    (result == 0 && period.tv_sec == 0 && period.tv_nsec > 0)
        .then(|| (1e9 / period.tv_nsec as f64).round() as u32)
}

/// Hypervisor and container.
pub fn virtualisation(guest: bool) -> Virtualisation {
    let dmi = |name: &str| text(format!("/sys/class/dmi/id/{name}"));
    let product = match (dmi("sys_vendor"), dmi("product_name")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.or(product),
    };
    let named = hypervisor_leaf().or_else(|| text("/sys/hypervisor/type"));
    let hypervisor = named.or_else(|| guest.then(|| "unknown".into()));
    let groups = text("/proc/1/cgroup").unwrap_or_default() + &text("/proc/self/cgroup").unwrap_or_default();
    Virtualisation { hypervisor, product, container: container(&groups) }
}

fn container(groups: &str) -> Option<String> {
    let exists = |path: &str| place(path).exists();
    let variable = std::env::var("container").ok().filter(|name| !name.is_empty());
    if exists("/run/.containerenv") {
        return Some("podman".into());
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() || groups.contains("kubepods") {
        return Some("kubernetes".into());
    }
    // The marker file alone may come from an image that was unpacked into a virtual machine.
    let layered = || {
        let mounts = super::mounts::parse(&text("/proc/self/mountinfo").unwrap_or_default());
        let root = super::mounts::of_path(&mounts, Path::new("/"));
        root.is_some_and(|mount| mount.device.starts_with("0:"))
    };
    if groups.contains("/docker") || exists("/.dockerenv") && layered() {
        return Some("docker".into());
    }
    if groups.contains("/lxc") {
        return Some("lxc".into());
    }
    if groups.contains("/machine.slice/libpod") {
        return Some("podman".into());
    }
    variable.or_else(|| std::env::var_os("APPTAINER_CONTAINER").map(|_| "apptainer".into()))
}

/// The hypervisor's own name, from CPUID leaf 40000000.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "`__cpuid` has become a safe function in newer compilers")]
fn hypervisor_leaf() -> Option<String> {
    // SAFETY: CPUID exists on every x86-64 processor and has no effect but on its four registers.
    let guest = unsafe { std::arch::x86_64::__cpuid(1) }.ecx & (1 << 31) != 0;
    // SAFETY: as above; the leaf is defined where the hypervisor bit is set.
    let found = guest.then(|| unsafe { std::arch::x86_64::__cpuid(0x4000_0000) })?;
    let bytes = [found.ebx, found.ecx, found.edx].map(u32::to_le_bytes).concat();
    Some(hypervisor_name(&String::from_utf8_lossy(&bytes)))
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_leaf() -> Option<String> {
    let compatible = text("/proc/device-tree/hypervisor/compatible")?;
    Some(hypervisor_name(&compatible))
}

fn hypervisor_name(signature: &str) -> String {
    match signature.trim_end_matches('\0').trim() {
        "KVMKVMKVM" | "Linux KVM Hv" | "linux,kvm" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" | "xen,xen" => "Xen",
        "TCGTCGTCGTCG" => "QEMU (emulated)",
        "bhyve bhyve" => "bhyve",
        other if !other.is_empty() => return other.to_owned(),
        _ => "unknown",
    }
    .into()
}

/// Limits of this process and its control group.
pub fn limits() -> Limits {
    let groups = groups(&text("/proc/self/cgroup").unwrap_or_default());
    let mut found = Limits::default();
    if let Some(path) = &groups.unified {
        let places = up_to_root(Path::new("/sys/fs/cgroup"), path);
        if places.iter().any(|at| place(at.join("cgroup.controllers")).exists()) {
            found.cgroup_version = Some(2);
            version_2(&places, &mut found);
        }
    }
    if found.cgroup_version.is_none() && !groups.controllers.is_empty() {
        found.cgroup_version = Some(1);
        version_1(&groups, &mut found);
    }
    let status = text("/proc/self/status").unwrap_or_default();
    found.capabilities = field(&status, "CapEff").map(str::to_owned);
    found.filtered = field(&status, "Seccomp").is_some_and(|mode| mode != "0");
    // SAFETY: takes nothing and returns a number.
    found.root = unsafe { libc::geteuid() } == 0;
    for (name, which) in [
        ("open files", libc::RLIMIT_NOFILE),
        ("locked memory", libc::RLIMIT_MEMLOCK),
        ("file size", libc::RLIMIT_FSIZE),
        ("stack", libc::RLIMIT_STACK),
    ] {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place to write to.
        if unsafe { libc::getrlimit(which, &mut limit) } == 0 {
            let soft = (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur);
            found.resources.insert(name.into(), soft);
        }
    }
    found
}

/// Where this process stands in the control groups.
#[derive(Debug, Default, PartialEq, Eq)]
struct Groups {
    /// Path in the version 2 tree.
    unified: Option<String>,
    /// Path by controller in version 1 trees.
    controllers: BTreeMap<String, String>,
}

fn groups(text: &str) -> Groups {
    let mut found = Groups::default();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if names.is_empty() {
            found.unified = Some(path.into());
        }
        for name in names.split(',').filter(|name| !name.is_empty() && !name.starts_with("name=")) {
            found.controllers.insert(name.into(), path.into());
        }
    }
    found
}

/// The group's folder and all above it: the tightest limit of them binds. In a container the path may
/// not exist, and the root of the mount is the group itself.
fn up_to_root(root: &Path, path: &str) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let mut at = PathBuf::from(path.trim_start_matches('/'));
    loop {
        let folder = root.join(&at);
        if place(&folder).exists() {
            places.push(folder);
        }
        if !at.pop() {
            return places;
        }
    }
}

fn version_2(places: &[PathBuf], found: &mut Limits) {
    found.cpuset = places.iter().find_map(|place| text(place.join("cpuset.cpus.effective")));
    for place in places {
        if let Some(share) = text(place.join("cpu.max")).and_then(|line| share(&line)) {
            found.processors = Some(found.processors.map_or(share, |least| least.min(share)));
        }
        if let Some(bytes) = number::<u64>(place.join("memory.max")) {
            found.memory = Some(found.memory.map_or(bytes, |least| least.min(bytes)));
        }
        let limits = text(place.join("io.max")).unwrap_or_default();
        found.devices.extend(limits.lines().map(str::to_owned));
        let statistics = text(place.join("cpu.stat")).unwrap_or_default();
        throttling(&statistics, "throttled_usec", 1e-3, found);
    }
}

/// Adds what a `cpu.stat` says; a group above that throttles holds this one up too.
fn throttling(statistics: &str, key: &str, ms: f64, found: &mut Limits) {
    let get = |key| field(statistics, key).and_then(|n| n.parse::<u64>().ok());
    if let Some(times) = get("nr_throttled") {
        found.throttled = Some(found.throttled.unwrap_or(0) + times);
    }
    if let Some(time) = get(key) {
        found.throttled_ms = Some(found.throttled_ms.unwrap_or(0.0) + time as f64 * ms);
    }
}

/// `max 100000` or `50000 100000`: quota and period in µs, as a number of processors.
fn share(line: &str) -> Option<f64> {
    let (quota, period) = line.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then_some(quota / period)
}

fn version_1(groups: &Groups, found: &mut Limits) {
    let places = |controller: &str| {
        let path = groups.controllers.get(controller).map_or("/", String::as_str);
        up_to_root(&Path::new("/sys/fs/cgroup").join(controller), path)
    };
    for place in places("cpu") {
        let quota: Option<f64> = number(place.join("cpu.cfs_quota_us"));
        let period: Option<f64> = number(place.join("cpu.cfs_period_us"));
        if let (Some(quota), Some(period)) = (quota.filter(|q| *q > 0.0), period.filter(|p| *p > 0.0)) {
            let share = quota / period;
            found.processors = Some(found.processors.map_or(share, |least| least.min(share)));
        }
        let statistics = text(place.join("cpu.stat")).unwrap_or_default();
        throttling(&statistics, "throttled_time", 1e-6, found);
    }
    found.cpuset = places("cpuset").iter().find_map(|place| {
        text(place.join("cpuset.effective_cpus")).or_else(|| text(place.join("cpuset.cpus")))
    });
    for place in places("memory") {
        // "No limit" is the greatest multiple of a page below 2⁶³.
        let limit = number::<u64>(place.join("memory.limit_in_bytes")).filter(|bytes| *bytes < 1 << 62);
        if let Some(bytes) = limit {
            found.memory = Some(found.memory.map_or(bytes, |least| least.min(bytes)));
        }
    }
    for place in places("blkio") {
        for name in ["read_bps", "write_bps", "read_iops", "write_iops"] {
            let lines = text(place.join(format!("blkio.throttle.{name}_device"))).unwrap_or_default();
            found.devices.extend(lines.lines().map(|line| format!("{line} {name}")));
        }
    }
}

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

/// The load now.
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
    }
}

fn averages(line: &str) -> Option<[f64; 3]> {
    let numbers: Vec<f64> = line.split(' ').take(3).filter_map(|n| n.parse().ok()).collect();
    numbers.try_into().ok()
}

/// The first number of `3/104` in the fourth place.
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
    fn a_quota_is_shown_as_processors() {
        assert_eq!(share("150000 100000"), Some(1.5));
        assert_eq!(share("max 100000"), None);
    }

    #[test]
    fn both_kinds_of_control_groups_are_understood() {
        let found = groups("9:name=systemd:/init\n4:memory:/jobs/a\n2:cpu,cpuacct:/jobs\n0::/slice\n");
        assert_eq!(found.unified.as_deref(), Some("/slice"));
        assert_eq!(found.controllers["cpuacct"], "/jobs");
        assert_eq!(found.controllers["memory"], "/jobs/a");
        assert_eq!(found.controllers.len(), 3);
    }

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

    #[test]
    fn hypervisors_have_readable_names() {
        assert_eq!(hypervisor_name("KVMKVMKVM\0\0\0"), "KVM");
        assert_eq!(hypervisor_name("Microsoft Hv"), "Hyper-V");
    }

    #[test]
    fn a_group_is_searched_up_to_the_root() {
        let folder = std::env::temp_dir().join(format!("lastrank-groups-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a/b")).expect("a folder in the temporary folder");
        let places = up_to_root(&folder, "/a/b/missing");
        std::fs::remove_dir_all(&folder).expect("what was just made");
        assert_eq!(places, [folder.join("a/b"), folder.join("a"), folder.join("")]);
    }
}
