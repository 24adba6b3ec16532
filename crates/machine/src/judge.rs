//! Judges whether a machine is fit to measure, and what to fix first.

use std::fmt;

use samples::units::{bytes, duration};
use samples::{ClockKind, MachineFacts, PathFacts, Warning};
use serde::{Deserialize, Serialize};

use crate::settings::{NUMA_BALANCING, PERF_EVENT_PARANOID};

/// Percentage of time in which some task waits for a processor, from which on a machine is called busy.
pub(crate) const BUSY_PROCESSOR: f64 = 10.0;
/// The same for a device.
pub(crate) const BUSY_DEVICE: f64 = 20.0;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Useful when reading results.
    Note,
    /// Results will be worse than they could be.
    Warning,
    /// Results are unreliable until this is fixed.
    Problem,
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.pad(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        })
    }
}

/// A property of the machine that impairs measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A short stable name: `processor-busy`, `clock-coarse` …
    pub code: String,
    /// Severity.
    pub severity: Severity,
    /// The fact that was found.
    pub text: String,
    /// What to do about it, or how to read results that it affects.
    pub advice: String,
}

impl From<Finding> for Warning {
    fn from(finding: Finding) -> Self {
        Self { code: finding.code, text: finding.text, advice: finding.advice }
    }
}

/// Lists everything that impairs measurements on this machine now, the worst first; empty if nothing does.
pub fn judge(machine: &MachineFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    judge_clock(machine, &mut found);
    judge_processor(machine, &mut found);
    judge_kernel(machine, &mut found);
    judge_memory(machine, &mut found);
    judge_load(machine, &mut found);
    for path in &machine.paths {
        judge_path(path, &mut found);
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// The verdict in one line.
pub fn verdict(findings: &[Finding]) -> &'static str {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Problem) => "Not fit to measure yet: mend what is marked first.",
        Some(Severity::Warning) => "Fit to measure with care.",
        _ => "Fit to measure.",
    }
}

fn finding(code: &str, severity: Severity, text: String, advice: &str) -> Finding {
    Finding { code: code.into(), severity, text, advice: advice.into() }
}

fn judge_clock(machine: &MachineFacts, found: &mut Vec<Finding>) {
    if let Some(clock) = &machine.clock {
        if clock.quantum_ps >= 1_000_000 {
            found.push(finding(
                "clock-coarse",
                Severity::Problem,
                format!("the clock moves in steps of {}", duration(clock.quantum_ps as f64 * 1e-12)),
                "single operations shorter than a few steps cannot be distinguished; time them in batches",
            ));
        }
        if clock.kind == ClockKind::Monotonic && clock.overhead.mean_ps > 200_000 {
            found.push(finding(
                "clock-slow",
                Severity::Warning,
                format!(
                    "reading the clock costs {}: it is a system call instead of the vDSO",
                    duration(clock.overhead.mean_ps as f64 * 1e-12)
                ),
                "choose a clock source that user space can read: tsc on x86",
            ));
        }
    }
    let source = machine.processor.clock_source.as_deref();
    if let Some(source) =
        source.filter(|source| matches!(*source, "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies"))
    {
        found.push(finding(
            "clock-source",
            Severity::Warning,
            format!("the kernel's clock source is {source}"),
            "the kernel has found the time-stamp counter unreliable; see its log, and expect a resolution of 1 µs or worse",
        ));
    }
}

fn judge_processor(machine: &MachineFacts, found: &mut Vec<Finding>) {
    let online = machine.processor.online.unwrap_or(1).max(1);
    judge_competition(machine, online, found);
    if let Some(governor) = machine
        .processor
        .governor
        .as_deref()
        .filter(|name| matches!(*name, "powersave" | "ondemand" | "conservative"))
    {
        found.push(finding(
            "governor",
            Severity::Warning,
            format!("the frequency governor is {governor}: the processor slows down between operations"),
            "during the measurement: cpupower frequency-set -g performance",
        ));
    }
    if let Some(share) = machine.limits.processors.filter(|share| *share < f64::from(online)) {
        let throttled = machine.limits.throttled.unwrap_or(0);
        found.push(finding(
            "cgroup-processor",
            if share < 1.0 { Severity::Problem } else { Severity::Warning },
            format!("a control group grants {share:.2} processors and has throttled {throttled} times so far"),
            "raise the quota (cpu.max), or keep the total load of the ranks below it: a throttled rank is stopped for tens of ms",
        ));
    }
    if let Some(times) = machine.processor.hot.filter(|times| *times > 0) {
        found.push(finding(
            "heat",
            Severity::Warning,
            format!("cores were throttled for heat {times} times since the machine started"),
            "improve the cooling, or use fewer cores; a run reports whether it happened meanwhile",
        ));
    }
}

/// Whether others want the processors. What the last 10 s and the last minute had counts only where it still goes on: it
/// may have been an earlier run.
fn judge_competition(machine: &MachineFacts, online: u32, found: &mut Vec<Finding>) {
    let load = machine.load.average.map_or(0.0, |average| average[0]);
    let crowded = |running: u32| running > online && load > 1.5 * f64::from(online);
    let Some(before) = machine.load.processor_pressure else {
        // A kernel without pressure stalls: more tasks run now than there are processors, and did before.
        if machine.load.running.is_some_and(crowded) {
            found.push(finding(
                "processor-busy",
                Severity::Warning,
                format!("busy machine: more tasks run than the {online} CPUs hold, load {load:.1}"),
                COMPETED,
            ));
        }
        return;
    };
    let share = machine.load.processor_pressure_now.unwrap_or(before);
    if before >= BUSY_PROCESSOR && share >= BUSY_PROCESSOR {
        let severity = if share >= 40.0 { Severity::Problem } else { Severity::Warning };
        let when = match machine.load.processor_pressure_now {
            Some(_) => format!("for {share:.0}% of the moment before the start"),
            None => format!("for {share:.0}% of the last 10 s"),
        };
        let text = format!("busy machine: some task waited for one of {online} CPUs {when}, load {load:.1}");
        found.push(finding("processor-busy", severity, text, COMPETED));
    } else if before >= BUSY_PROCESSOR {
        found.push(finding(
            "processor-was-busy",
            Severity::Note,
            format!("some task waited for a processor during {before:.0}% of the last 10 s, but no longer"),
            "what ran before has ended",
        ));
    }
}

const COMPETED: &str =
    "wait until they finish, or use results corrected for the time that tasks waited for a processor";

fn judge_kernel(machine: &MachineFacts, found: &mut Vec<Finding>) {
    let balancing = NUMA_BALANCING.of(&machine.kernel).is_some_and(|mode| mode != 0);
    if balancing && machine.processor.nodes.len() > 1 {
        found.push(finding(
            "numa-balancing",
            Severity::Warning,
            format!(
                "the kernel moves memory between the {} memory nodes while programs use it",
                machine.processor.nodes.len()
            ),
            "during the measurement: sysctl kernel.numa_balancing=0, and bind ranks with numactl",
        ));
    }
    if let Some(threads) = machine.processor.threads_per_core.filter(|threads| *threads > 1) {
        found.push(finding(
            "shared-cores",
            Severity::Note,
            format!("{threads} hardware threads share a core: each is slower while another is busy"),
            "start no more ranks than cores if processor time matters",
        ));
    }
    let paranoid = PERF_EVENT_PARANOID.of(&machine.kernel);
    if paranoid.is_some_and(|level| level > 2) && !machine.limits.root {
        found.push(finding(
            "causes-unseen",
            Severity::Note,
            "kernel.perf_event_paranoid denies this user perf events".into(),
            "causes are observed only for operations of 20 µs and more; sysctl kernel.perf_event_paranoid=2 shows more",
        ));
    }
    if let Some(hypervisor) = &machine.virtualisation.hypervisor {
        found.push(finding(
            "guest",
            Severity::Note,
            format!("this is a guest of {hypervisor}"),
            "time that the host takes away cannot be seen from inside, and a disk write may end in the host's memory",
        ));
    }
}

fn judge_memory(machine: &MachineFacts, found: &mut Vec<Finding>) {
    let total = machine.limits.memory.into_iter().chain(machine.memory.total).min();
    if let (Some(total), Some(available)) = (total, machine.memory.available)
        && (available < total / 10 || available < 512 << 20)
    {
        found.push(finding(
            "memory-short",
            Severity::Warning,
            format!("only {} of {} of memory is available", bytes(available), bytes(total)),
            "stop what is not needed: reclaiming memory shows as a tail in every operation",
        ));
    }
    if let Some(used) = machine.memory.swap_used.filter(|used| *used >= 64 << 20) {
        found.push(finding(
            "swap-used",
            Severity::Note,
            format!("{} of memory is in swap space", bytes(used)),
            "reading it back shows as page faults that read a device",
        ));
    }
}

fn judge_load(machine: &MachineFacts, found: &mut Vec<Finding>) {
    if machine.load.memory_pressure.unwrap_or(0.0) >= 1.0 {
        found.push(finding(
            "memory-pressure",
            Severity::Problem,
            "tasks wait for memory to be reclaimed".into(),
            "stop processes that use much memory before measuring",
        ));
    }
    let Some(before) = machine.load.io_pressure.filter(|before| *before >= BUSY_DEVICE) else { return };
    let share = machine.load.io_pressure_now.unwrap_or(before);
    let unwritten = machine.memory.dirty.unwrap_or(0) + machine.memory.writeback.unwrap_or(0);
    let when = match machine.load.io_pressure_now {
        Some(_) => format!("some task waited for them during {share:.0}% of the moment before the start"),
        None => format!("some task waited for them during {share:.0}% of the last 10 s"),
    };
    if share < BUSY_DEVICE {
        found.push(finding(
            "devices-were-busy",
            Severity::Note,
            format!("some task waited for a device during {before:.0}% of the last 10 s, but no longer"),
            "what ran before has ended",
        ));
    } else if unwritten >= MUCH_UNWRITTEN {
        found.push(finding(
            "io-busy",
            Severity::Warning,
            format!(
                "the devices are still busy: {when}, and {} that was written before is not on them yet",
                bytes(unwritten)
            ),
            "wait until it is written (`sync`), unless you want to measure next to it",
        ));
    } else {
        found.push(finding(
            "io-busy",
            Severity::Warning,
            format!("other processes use the devices: {when}"),
            "wait until they finish, unless you want to measure next to them",
        ));
    }
}

/// Bytes that wait to be written back, from which on they are told as the reason why devices are busy.
const MUCH_UNWRITTEN: u64 = 32 << 20;

fn judge_path(on: &PathFacts, found: &mut Vec<Finding>) {
    let path = &on.path;
    if on.writable == Some(false) {
        found.push(finding(
            "not-writable",
            Severity::Problem,
            format!("{path} is not writable by this user"),
            "choose another directory: --set dir=PATH",
        ));
    }
    if on.in_memory {
        found.push(finding(
            "in-memory",
            Severity::Warning,
            format!("{path} is in memory ({})", on.file_system.as_deref().unwrap_or("tmpfs")),
            "data written there never reaches a disk; choose a directory on one: --set dir=PATH",
        ));
    }
    let short = |free: u64, total: u64| free < 1 << 30 || free < total / 20;
    if let (Some(free), Some(total)) = (on.free, on.total)
        && total > 0
        && short(free, total)
        && !on.in_memory
    {
        found.push(finding(
            "disk-short",
            Severity::Warning,
            format!("{path} has {} free, of {} in all", bytes(free), bytes(total)),
            "nearly full and very small file systems allocate slowly; free space or choose another directory",
        ));
    }
    let has = |option: &str| on.mount.iter().flat_map(|mount| &mount.options).any(|one| one == option);
    if has("nobarrier") || has("barrier=0") {
        found.push(finding(
            "no-barrier",
            Severity::Warning,
            format!("{path} is mounted without barriers: an fsync does not reach the medium"),
            "durable writes look faster than they are; mount it with barriers",
        ));
    }
    if on.file_system.as_deref() == Some("overlay") {
        found.push(finding(
            "overlay",
            Severity::Note,
            format!("{path} is in a container's image layers"),
            "the first write to a file of the image copies the whole file; a volume shows the disk itself",
        ));
    }
    if on.remote {
        found.push(finding(
            "network",
            Severity::Note,
            format!("{path} is on {}, reached through a network or another process", on.file_system.as_deref().unwrap_or("?")),
            "its tail includes that of the network and the server; other clients of the server cannot be seen from here",
        ));
    }
    if let Some(cache) =
        on.device.as_ref().and_then(|device| device.write_cache.as_deref()).filter(|c| *c == "write back")
    {
        found.push(finding(
            "write-cache",
            Severity::Note,
            format!("the device under {path} has a {cache} cache"),
            "a write is acknowledged before it is durable unless it is synchronous: use O_SYNC, O_DSYNC or fsync",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Limits, Load, Memory, Mount, Processor};

    fn codes(machine: &MachineFacts) -> Vec<String> {
        judge(machine).into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_machine_without_findings_is_fit() {
        assert_eq!(judge(&MachineFacts::default()), []);
        assert_eq!(verdict(&[]), "Fit to measure.");
    }

    #[test]
    fn a_loaded_processor_comes_before_a_powersaving_one() {
        let machine = MachineFacts {
            processor: Processor {
                governor: Some("powersave".into()),
                online: Some(2),
                ..Processor::default()
            },
            load: Load { processor_pressure: Some(55.0), average: Some([3.0; 3]), ..Load::default() },
            ..MachineFacts::default()
        };
        assert_eq!(codes(&machine), ["processor-busy", "governor"]);
        assert_eq!(verdict(&judge(&machine)), "Not fit to measure yet: mend what is marked first.");
    }

    #[test]
    fn what_ran_before_the_start_is_not_told_as_other_processes() {
        let of = |load: Load, dirty: u64| {
            let memory = Memory { dirty: Some(dirty), ..Memory::default() };
            let found = judge(&MachineFacts { load, memory, ..MachineFacts::default() });
            found.into_iter().map(|one| (one.code, one.severity, one.text)).collect::<Vec<_>>()
        };
        let past = Load {
            processor_pressure: Some(39.0),
            io_pressure: Some(27.0),
            average: Some([9.0; 3]),
            running: Some(1),
            ..Load::default()
        };
        let over = Load { processor_pressure_now: Some(0.0), io_pressure_now: Some(3.0), ..past.clone() };
        assert!(of(over.clone(), 1 << 30).iter().all(|(_, severity, _)| *severity == Severity::Note));
        let writing = Load { io_pressure_now: Some(75.0), ..over };
        let told = of(writing.clone(), 1 << 30);
        assert_eq!((told[0].0.as_str(), told[0].1), ("io-busy", Severity::Warning));
        assert!(told[0].2.contains("1 GiB that was written before is not on them yet"), "{told:?}");
        assert!(!told[0].2.contains("other processes"), "{told:?}");
        let read = of(writing, 1 << 20);
        assert!(read[0].2.starts_with("other processes use the devices: "), "{read:?}");
        let both = Load { processor_pressure_now: Some(100.0), ..past };
        assert!(
            of(both, 0)
                .iter()
                .any(|(code, severity, _)| code == "processor-busy" && *severity == Severity::Problem)
        );
        // The last minute alone says nothing of now; without pressure stalls it does where tasks still run.
        let minute = Load { average: Some([9.0; 3]), running: Some(1), ..Load::default() };
        assert_eq!(of(minute.clone(), 0), []);
        assert_eq!(of(Load { running: Some(9), ..minute }, 0).len(), 1);
    }

    #[test]
    fn a_directory_in_memory_is_not_taken_for_a_disk() {
        let place = PathFacts {
            path: "/dev/shm".into(),
            in_memory: true,
            file_system: Some("tmpfs".into()),
            ..PathFacts::default()
        };
        assert_eq!(codes(&MachineFacts { paths: vec![place], ..MachineFacts::default() }), ["in-memory"]);
    }

    #[test]
    fn a_quota_below_the_processors_is_found() {
        let machine = MachineFacts {
            processor: Processor { online: Some(4), ..Processor::default() },
            limits: Limits { processors: Some(0.5), throttled: Some(12), ..Limits::default() },
            ..MachineFacts::default()
        };
        assert_eq!(codes(&machine), ["cgroup-processor"]);
    }

    #[test]
    fn missing_barriers_and_throttled_cores_are_found() {
        let mount = Mount {
            file_system: "ext4".into(),
            options: vec!["rw".into(), "nobarrier".into()],
            ..Default::default()
        };
        let machine = MachineFacts {
            processor: Processor { hot: Some(3), ..Processor::default() },
            paths: vec![PathFacts { path: "/d".into(), mount: Some(mount), ..PathFacts::default() }],
            ..MachineFacts::default()
        };
        assert_eq!(codes(&machine), ["heat", "no-barrier"]);
    }

    #[test]
    fn a_directory_that_is_not_writable_comes_first() {
        let place =
            PathFacts { path: "/d".into(), writable: Some(false), remote: true, ..PathFacts::default() };
        let busy = Load { processor_pressure: Some(12.0), ..Load::default() };
        let machine = MachineFacts { load: busy, paths: vec![place], ..MachineFacts::default() };
        assert_eq!(codes(&machine), ["not-writable", "processor-busy", "network"]);
    }
}
