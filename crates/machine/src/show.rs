//! Formats a description for a terminal, one line for each property that measurements depend on.

use samples::units::bytes;

use samples::{Cache, MachineFacts, MemoryNode, PathFacts};

use crate::layout_words;
use crate::settings::PERF_EVENT_PARANOID;

/// Joins the known parts; `None` if there are none.
fn join(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn plural(n: u32, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// `AMD EPYC 9R14, 2 CPUs (KVM guest), 23.5 GiB, Linux 6.18.4`.
pub fn line(machine: &MachineFacts) -> String {
    let mut parts = Vec::new();
    let architecture = Some(&machine.processor.architecture).filter(|name| !name.is_empty());
    let unnamed = || format!("{} processor", architecture.map_or("unknown", String::as_str));
    parts.push(machine.processor.model.clone().unwrap_or_else(unnamed));
    if let Some(online) = machine.processor.online {
        let mut part = format!("{online} CPU{}", if online == 1 { "" } else { "s" });
        match (&machine.virtualisation.hypervisor, &machine.virtualisation.container) {
            (Some(name), None) => part += &format!(" ({name} guest)"),
            (None, Some(name)) => part += &format!(" (in {name})"),
            (Some(host), Some(name)) => part += &format!(" ({host} guest, in {name})"),
            (None, None) => {}
        }
        parts.push(part);
    }
    parts.extend(machine.memory.total.map(bytes));
    if let Some(release) = &machine.kernel.release {
        let name = machine.kernel.name.as_deref().unwrap_or("Linux");
        parts.push(format!("{name} {release}"));
    }
    parts.join(", ")
}

/// The description in lines: the machine, then one line for each path.
pub fn lines(machine: &MachineFacts) -> Vec<String> {
    std::iter::once(line(machine)).chain(machine.paths.iter().map(path_line)).collect()
}

/// One line for the terminal: `/tmp on ext4 (/dev/vda, virtio disk, scheduler none), 80 GiB free`.
pub fn path_line(path: &PathFacts) -> String {
    let mut line = path.path.clone();
    let Some(file_system) = &path.file_system else { return format!("{line}: unknown file system") };
    line += &format!(" on {file_system}");
    let source = path.mount.as_ref().map(|mount| mount.source.as_str());
    let mut details: Vec<String> =
        source.filter(|s| *s != file_system && *s != "none").map(str::to_owned).into_iter().collect();
    if let Some(device) = &path.device {
        details.push(device.kind.clone());
        details.extend(device.scheduler.as_ref().map(|name| format!("scheduler {name}")));
    }
    if let Some(nfs) = &path.nfs {
        details.extend(["rsize", "wsize"].iter().filter_map(|key| nfs.option(key)).map(|o| o.to_owned()));
    }
    let parallel = path.file_system.as_deref().is_some_and(layout_words::is_parallel);
    details.extend(layout_words::words(&path.layout).or_else(|| parallel.then(|| "layout unknown".into())));
    details.extend(path.flags.iter().cloned());
    if !details.is_empty() {
        line += &format!(" ({})", details.join(", "));
    }
    match path.free {
        Some(free) => format!("{line}, {} free", bytes(free)),
        None => line,
    }
}

/// `(property, value)` for everything except the paths. Unknown properties are left out.
pub fn table(machine: &MachineFacts) -> Vec<(&'static str, String)> {
    let rows = [
        ("Processor", processor_words(machine)),
        ("Caches", caches_words(machine)),
        ("Memory nodes", nodes_words(machine)),
        ("Power", power_words(machine)),
        ("Interrupts", interrupts_words(machine)),
        ("Mitigations", mitigations_words(machine)),
        ("Memory", memory_words(machine)),
        ("Kernel", kernel_words(machine)),
        ("Guest", guest_words(machine)),
        ("Limits", limits_words(machine)),
        ("Load", load_words(machine)),
    ];
    rows.into_iter().filter_map(|(name, words)| Some((name, words?))).collect()
}

fn processor_words(machine: &MachineFacts) -> Option<String> {
    let cpu = &machine.processor;
    let allowed = cpu.allowed.filter(|allowed| Some(*allowed) != cpu.online);
    join([
        cpu.model.clone(),
        cpu.sockets.map(|n| plural(n, "socket")),
        cpu.cores.map(|n| plural(n, "core")),
        cpu.online.map(|n| plural(n, "hardware thread")),
        allowed.map(|n| format!("{n} of them allowed to this process")),
    ])
}

fn caches_words(machine: &MachineFacts) -> Option<String> {
    let one = |cache: &Cache| {
        let kind = match cache.kind.as_str() {
            "Data" => " data",
            "Instruction" => " instructions",
            _ => "",
        };
        let shared = cache.shared_by.filter(|n| *n > 1);
        let shared = shared.map(|n| format!(" for {n} threads")).unwrap_or_default();
        Some(format!("L{}{kind} {}{shared}", cache.level, bytes(cache.bytes)))
    };
    join(machine.processor.caches.iter().map(one))
}

fn nodes_words(machine: &MachineFacts) -> Option<String> {
    let nodes = &machine.processor.nodes;
    let one = |node: &MemoryNode| {
        let size = node.bytes.map(|size| format!(" with {}", bytes(size))).unwrap_or_default();
        Some(format!("{}: processors {}{size}", node.number, node.processors))
    };
    let far = nodes.iter().flat_map(|node| &node.distances).max().filter(|far| **far > 10);
    let far =
        far.map(|far| format!("the farthest at {:.1} times the local distance", f64::from(*far) / 10.0));
    join(nodes.iter().map(one).chain([far]))
}

fn power_words(machine: &MachineFacts) -> Option<String> {
    let cpu = &machine.processor;
    join([
        cpu.governor.as_ref().map(|name| format!("governor {name}")),
        cpu.boost.map(|on| format!("boost {}", if on { "on" } else { "off" })),
        cpu.idle_driver.as_ref().map(|name| format!("idle driver {name}")),
        cpu.gigahertz_measured.map(|ghz| format!("runs at {ghz:.2} GHz now")),
        cpu.hot.filter(|times| *times > 0).map(|times| format!("throttled for heat {times} times")),
    ])
}

fn interrupts_words(machine: &MachineFacts) -> Option<String> {
    let cpu = &machine.processor;
    join([
        machine.kernel.timer_hertz.map(|hertz| format!("timer {hertz} times a second")),
        cpu.isolated.as_ref().map(|list| format!("processors {list} isolated")),
        cpu.tickless.as_ref().map(|list| format!("processors {list} tickless")),
        cpu.interrupts.as_ref().map(|mask| format!("device interrupts on the processors in mask {mask}")),
    ])
}

fn mitigations_words(machine: &MachineFacts) -> Option<String> {
    let at_work = machine.processor.mitigations.iter();
    join(at_work.map(|(fault, state)| {
        let state = state.strip_prefix("Mitigation: ").unwrap_or(state);
        Some(format!("{fault} ({})", state.split([';', ',']).next().unwrap_or(state)))
    }))
}

fn memory_words(machine: &MachineFacts) -> Option<String> {
    let (memory, kernel) = (&machine.memory, &machine.kernel);
    let swap = memory
        .swap
        .filter(|swap| *swap > 0)
        .map(|swap| format!("swap {}, {} of it used", bytes(swap), bytes(memory.swap_used.unwrap_or(0))));
    let reserved = kernel.huge_pages_reserved.filter(|n| *n > 0);
    join([
        memory.total.map(bytes),
        memory.available.map(|free| format!("{} available", bytes(free))),
        memory.dirty.filter(|dirty| *dirty >= 1 << 20).map(|d| format!("{} to be written", bytes(d))),
        swap.or_else(|| memory.swap.map(|_| "no swap".into())),
        kernel.page_size.map(|size| format!("pages of {}", bytes(size))),
        kernel.huge_pages.as_ref().map(|policy| format!("huge pages {policy}")),
        reserved.map(|n| {
            format!("{n} huge pages reserved, {} of them free", kernel.huge_pages_free.unwrap_or(0))
        }),
    ])
}

fn kernel_words(machine: &MachineFacts) -> Option<String> {
    let kernel = &machine.kernel;
    let release = kernel.release.as_ref();
    join([
        release.map(|release| format!("{} {release}", kernel.name.as_deref().unwrap_or("Linux"))),
        machine.distribution.clone(),
        kernel.preemption.as_ref().map(|model| format!("preemption {model}")),
        machine.processor.clock_source.as_ref().map(|name| format!("clock source {name}")),
        PERF_EVENT_PARANOID.of(kernel).map(|n| format!("perf_event_paranoid {n}")),
        kernel.security.as_ref().map(|names| format!("security modules {}", names.replace(',', " "))),
    ])
}

fn guest_words(machine: &MachineFacts) -> Option<String> {
    let found = &machine.virtualisation;
    join([
        found.hypervisor.as_ref().map(|name| format!("of {name}")),
        found.product.clone(),
        found.container.as_ref().map(|name| format!("in a container ({name})")),
        machine.load.stolen_ms.filter(|ms| *ms > 0).map(|ms| {
            format!(
                "{} held back by the hypervisor so far (steal)",
                samples::units::duration(ms as f64 / 1e3)
            )
        }),
    ])
}

fn limits_words(machine: &MachineFacts) -> Option<String> {
    let limits = &machine.limits;
    let group = limits.cgroup_version.map(|version| format!("control groups v{version}"));
    let bound = limits.processors.is_some() || limits.memory.is_some() || !limits.devices.is_empty();
    join([
        group.map(|group| if bound { group } else { group + " without a limit" }),
        limits.processors.map(|share| format!("{share:.2} processors")),
        limits.throttled.filter(|times| *times > 0).map(|times| format!("throttled {times} times so far")),
        limits.memory.map(|memory| format!("{} of memory", bytes(memory))),
        (!limits.devices.is_empty()).then(|| format!("devices {}", limits.devices.join("; "))),
        limits.cpuset.as_ref().map(|set| format!("processors {set}")),
        limits.filtered.then(|| "system calls filtered (seccomp)".into()),
        Some(if limits.root { "root" } else { "ordinary user" }.into()),
    ])
}

fn load_words(machine: &MachineFacts) -> Option<String> {
    let load = &machine.load;
    let waited = |share: Option<f64>, what: &str| share.map(|share| format!("{share:.0}% for {what}"));
    let pressure = join([
        waited(load.processor_pressure, "a processor"),
        waited(load.io_pressure, "a device"),
        waited(load.memory_pressure, "memory"),
    ]);
    join([
        load.average.map(|[one, five, quarter]| format!("{one:.1} {five:.1} {quarter:.1}")),
        load.running.map(|n| format!("{} running now", plural(n, "task"))),
        pressure.map(|words| format!("some task waited in the last 10 s: {words}")),
    ])
}

/// What `path_line` leaves out, as `(property, value)`.
pub fn path_table(path: &PathFacts) -> Vec<(&'static str, String)> {
    let mount = path.mount.as_ref().map(|mount| mount.options.join(","));
    let device = path.device.as_ref();
    let cache = device.and_then(|d| d.write_cache.as_ref()).map(|cache| format!("{cache} cache"));
    let direct = match (path.direct_offset_align, path.direct_memory_align) {
        (Some(0), _) => Some("O_DIRECT is not possible".into()),
        (Some(offset), _) => Some(format!("O_DIRECT in multiples of {}", bytes(offset.into()))),
        _ => None,
    };
    let device = join([
        device.and_then(|d| d.model.clone()),
        device.and_then(|d| d.bytes).map(bytes),
        cache,
        device.and_then(|d| d.queue_depth).map(|n| format!("{n} requests may queue")),
        device
            .and_then(|d| d.max_request_kib)
            .map(|kib| format!("up to {} each", bytes(u64::from(kib) << 10))),
        device.and_then(|d| d.read_ahead_kib).map(|k| format!("reads {} ahead", bytes(u64::from(k) << 10))),
        device.filter(|d| !d.below.is_empty()).map(|d| format!("made of {}", d.below.join(" "))),
        direct,
    ]);
    let nfs = path.nfs.as_ref().and_then(|nfs| {
        join(nfs.operations.iter().filter(|(_, seen)| seen.count > 0).map(|(name, seen)| {
            let each = |ms: u64| samples::units::duration(ms as f64 / 1e3 / seen.count as f64);
            let again = seen.transmissions.saturating_sub(seen.count);
            let again = if again > 0 { format!(", {again} sent again") } else { String::new() };
            Some(format!("{name} {}: {} each{again}", seen.count, each(seen.total_ms)))
        }))
    });
    let rows = [("mounted", mount), ("device", device), ("NFS so far", nfs)];
    rows.into_iter().filter_map(|(name, words)| Some((name, words?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Memory, OsKernel, Processor, Virtualisation};

    #[test]
    fn the_line_names_processor_guest_memory_and_kernel() {
        let machine = MachineFacts {
            processor: Processor {
                model: Some("AMD EPYC 9R14".into()),
                online: Some(2),
                ..Processor::default()
            },
            virtualisation: Virtualisation { hypervisor: Some("KVM".into()), ..Virtualisation::default() },
            memory: Memory { total: Some((23 << 30) + (1 << 29)), ..Memory::default() },
            kernel: OsKernel { release: Some("6.18".into()), ..OsKernel::default() },
            ..MachineFacts::default()
        };
        assert_eq!(line(&machine), "AMD EPYC 9R14, 2 CPUs (KVM guest), 23.5 GiB, Linux 6.18");
        assert_eq!(line(&MachineFacts::default()), "unknown processor");
    }
}
