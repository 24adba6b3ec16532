//! Reads model, layout, caches, memory nodes and power policy of the processor.

use std::collections::BTreeMap;
use std::fs;

use samples::{Cache, MemoryNode, Processor};

use crate::files::{self, field, list, located, number, text};
use crate::speed;

/// Features to report: of x86, then of ARM.
const FEATURES: [&str; 24] = [
    "constant_tsc",
    "nonstop_tsc",
    "tsc_known_freq",
    "tsc_reliable",
    "rdtscp",
    "lfence_rdtsc",
    "ht",
    "pcid",
    "invpcid",
    "pdpe1gb",
    "erms",
    "fsrm",
    "clflushopt",
    "clwb",
    "avx2",
    "avx512f",
    "waitpkg",
    "asimd",
    "atomics",
    "sve",
    "sve2",
    "dcpop",
    "ecv",
    "mops",
];

const CPU: &str = "/sys/devices/system/cpu";

/// Describes this machine's processor; fields that cannot be read stay empty.
pub fn describe() -> Processor {
    let mut found = parse(&text("/proc/cpuinfo").unwrap_or_default());
    found.architecture = std::env::consts::ARCH.into();
    found.online = text(format!("{CPU}/online")).map(|all| list(&all).len() as u32).or(found.online);
    found.allowed = std::thread::available_parallelism().ok().map(|n| n.get() as u32);
    if let Some(status) = text("/proc/self/status") {
        let allowed = field(&status, "Cpus_allowed_list");
        let mask = allowed.map(|all| list(all).len() as u32);
        found.allowed = mask.filter(|n| *n > 0).or(found.allowed);
        found.allowed_list = allowed.map(str::to_owned);
    }
    topology(&mut found);
    found.caches = caches();
    found.nodes = nodes();
    let policy = format!("{CPU}/cpu0/cpufreq");
    found.governor = text(format!("{policy}/scaling_governor"));
    found.frequency_driver = text(format!("{policy}/scaling_driver"));
    found.boost = number::<u8>(format!("{CPU}/cpufreq/boost"))
        .map(|on| on == 1)
        .or_else(|| number::<u8>(format!("{CPU}/intel_pstate/no_turbo")).map(|off| off == 0));
    found.idle_driver = text(format!("{CPU}/cpuidle/current_driver"));
    found.isolated = text(format!("{CPU}/isolated"));
    found.tickless = text(format!("{CPU}/nohz_full")).filter(|list| list != "(null)");
    found.interrupts = text("/proc/irq/default_smp_affinity");
    found.hot = hot(&text(format!("{CPU}/online")).unwrap_or_default());
    found.gigahertz_measured = speed::gigahertz();
    found.clock_source = text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    found.mitigations = mitigations();
    found
}

/// Parses `/proc/cpuinfo`, of x86 and of ARM.
pub fn parse(cpuinfo: &str) -> Processor {
    let first = cpuinfo.split("\n\n").next().unwrap_or_default();
    let get = |key| field(first, key).map(str::to_owned);
    let vendor = get("vendor_id").or_else(|| arm_vendor(field(first, "CPU implementer")?));
    let model =
        get("model name").or_else(|| arm_model(field(first, "CPU implementer")?, field(first, "CPU part")?));
    let identity = match (get("cpu family"), get("model"), get("stepping")) {
        (Some(family), Some(model), Some(step)) => {
            Some(format!("family {family} model {model} stepping {step}"))
        }
        _ => get("CPU part").map(|part| {
            let variant = get("CPU variant").unwrap_or_default();
            format!("part {part} variant {variant} revision {}", get("CPU revision").unwrap_or_default())
        }),
    };
    let online = cpuinfo.lines().filter(|line| field(line, "processor").is_some()).count() as u32;
    Processor {
        vendor,
        model,
        identity,
        online: (online > 0).then_some(online),
        megahertz: get("cpu MHz").and_then(|value| value.parse().ok()),
        features: features(&get("flags").or_else(|| get("Features")).unwrap_or_default()),
        guest: get("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        ..Processor::default()
    }
}

fn features(all: &str) -> Vec<String> {
    let has = |name: &&&str| all.split(' ').any(|feature| feature == **name);
    FEATURES.iter().filter(has).map(|name| (*name).to_owned()).collect()
}

/// Number of thermal throttling events of all cores. Each core is counted once, though all its threads show
/// its counter.
fn hot(online: &str) -> Option<u64> {
    let counts = list(online).into_iter().filter_map(|cpu| {
        let siblings = text(format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"));
        let first = siblings.is_none_or(|all| list(&all).first().is_none_or(|first| *first == cpu));
        let count = number::<u64>(format!("{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count"))?;
        first.then_some(count)
    });
    counts.reduce(|sum, count| sum + count)
}

fn arm_vendor(implementer: &str) -> Option<String> {
    let name = match implementer {
        "0x41" => "ARM",
        "0x42" => "Broadcom",
        "0x43" => "Cavium",
        "0x46" => "Fujitsu",
        "0x48" => "HiSilicon",
        "0x4e" => "NVIDIA",
        "0x51" => "Qualcomm",
        "0x61" => "Apple",
        "0xc0" => "Ampere",
        _ => return None,
    };
    Some(name.into())
}

fn arm_model(implementer: &str, part: &str) -> Option<String> {
    let name = match (implementer, part) {
        ("0x41", "0xd03") => "Cortex-A53",
        ("0x41", "0xd07") => "Cortex-A57",
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd0b") => "Cortex-A76",
        ("0x41", "0xd0c") => "Neoverse N1",
        ("0x41", "0xd40") => "Neoverse V1",
        ("0x41", "0xd49") => "Neoverse N2",
        ("0x41", "0xd4f") => "Neoverse V2",
        ("0x46", "0x001") => "A64FX",
        ("0x48", "0xd01") => "Kunpeng 920",
        ("0xc0", "0xac3") => "Ampere-1",
        _ => return Some(format!("{} part {part}", arm_vendor(implementer)?)),
    };
    Some(match arm_vendor(implementer) {
        Some(vendor) if implementer == "0x41" => format!("{vendor} {name}"),
        _ => name.into(),
    })
}

fn topology(found: &mut Processor) {
    let (mut sockets, mut cores) = (Vec::new(), Vec::new());
    for cpu in list(&text(format!("{CPU}/online")).unwrap_or_default()) {
        let place = format!("{CPU}/cpu{cpu}/topology");
        let socket: Option<i64> = number(format!("{place}/physical_package_id"));
        let siblings = text(format!("{place}/thread_siblings_list"));
        sockets.extend(socket);
        cores.extend(siblings);
    }
    let threads = cores.len();
    sockets.sort_unstable();
    sockets.dedup();
    cores.sort_unstable();
    cores.dedup();
    if !cores.is_empty() {
        found.sockets = (!sockets.is_empty()).then_some(sockets.len() as u32);
        found.cores = Some(cores.len() as u32);
        found.threads_per_core = Some((threads / cores.len()) as u32);
    }
}

fn caches() -> Vec<Cache> {
    let cache = |index: u32| {
        let place = format!("{CPU}/cpu0/cache/index{index}");
        Some(Cache {
            level: number(format!("{place}/level"))?,
            kind: text(format!("{place}/type"))?,
            bytes: files::size(&text(format!("{place}/size"))?)?,
            line: number(format!("{place}/coherency_line_size")),
            ways: number(format!("{place}/ways_of_associativity")),
            shared_by: text(format!("{place}/shared_cpu_list")).map(|all| list(&all).len() as u32),
        })
    };
    (0..8).map_while(cache).collect()
}

/// The numbers of the memory nodes that have memory; node 0 where the OS kernel names none.
pub fn memory_nodes() -> Vec<u32> {
    let found = nodes().into_iter().filter(|node| node.bytes.is_none_or(|bytes| bytes > 0));
    let numbers: Vec<u32> = found.map(|node| node.number).collect();
    if numbers.is_empty() { vec![0] } else { numbers }
}

fn nodes() -> Vec<MemoryNode> {
    let place = "/sys/devices/system/node";
    let numbers = list(&text(format!("{place}/online")).unwrap_or_default());
    let node = |number: u32| {
        let place = format!("{place}/node{number}");
        let memory = text(format!("{place}/meminfo")).unwrap_or_default();
        let total = memory.lines().find_map(|line| line.split_once("MemTotal:")).map(|(_, rest)| rest);
        let distances = text(format!("{place}/distance")).unwrap_or_default();
        MemoryNode {
            number,
            processors: text(format!("{place}/cpulist")).unwrap_or_default(),
            bytes: total.and_then(files::size),
            distances: distances.split_whitespace().filter_map(|d| d.parse().ok()).collect(),
        }
    };
    numbers.into_iter().map(node).collect()
}

fn mitigations() -> BTreeMap<String, String> {
    let Ok(folder) = fs::read_dir(located(format!("{CPU}/vulnerabilities"))) else {
        return BTreeMap::new();
    };
    let named = folder.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let state = text(format!("{CPU}/vulnerabilities/{}", name.to_string_lossy()))?;
        (state != "Not affected").then(|| (name.to_string_lossy().into_owned(), state))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
        model name\t: AMD EPYC 9R14\nstepping\t: 1\ncpu MHz\t\t: 2596.122\n\
        flags\t\t: fpu tsc constant_tsc nonstop_tsc hypervisor\n\nprocessor\t: 1\nvendor_id\t: AuthenticAMD\n";
    const ARM: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\
        CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\nprocessor\t: 1\n";

    #[test]
    fn an_x86_processor_is_named_by_its_model() {
        let found = parse(X86);
        assert_eq!(found.model.as_deref(), Some("AMD EPYC 9R14"));
        assert_eq!(found.identity.as_deref(), Some("family 25 model 17 stepping 1"));
        assert_eq!((found.online, found.guest), (Some(2), true));
    }

    #[test]
    fn an_arm_processor_is_named_by_implementer_and_part() {
        let found = parse(ARM);
        assert_eq!(found.model.as_deref(), Some("ARM Neoverse N1"));
        assert_eq!(found.identity.as_deref(), Some("part 0xd0c variant 0x3 revision 1"));
        assert_eq!((found.online, found.guest), (Some(2), false));
    }

    #[test]
    fn an_empty_cpuinfo_leaves_every_field_empty() {
        assert_eq!(parse(""), Processor::default());
    }
}
