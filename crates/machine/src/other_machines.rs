//! Tests that describe other machines from their kernel files: ARM servers, several memory nodes, both
//! versions of control groups.

use super::files::tests::KernelFiles;
use super::{describe, judge};

const CPU: &str = "/sys/devices/system/cpu";

/// A two-socket ARM server: 4 processors in 2 memory nodes, without a `boost` file of the frequency driver.
fn arm() -> KernelFiles {
    let processor = |n: u32| {
        format!(
            "processor\t: {n}\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm atomics cpuid sve ecv\n\
             CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 1\n"
        )
    };
    let cpuinfo = (0..4).map(processor).collect::<Vec<_>>().join("\n");
    let other = KernelFiles::new(&[
        ("/proc/cpuinfo", &cpuinfo),
        ("/sys/devices/system/cpu/online", "0-3"),
        (
            "/proc/self/status",
            "Name:\tlastrank\nCpus_allowed_list:\t0-1\nCapEff:\t0000000000000000\nSeccomp:\t2\n",
        ),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter"),
        ("/sys/devices/system/node/online", "0-1"),
        ("/sys/devices/system/node/node0/cpulist", "0-1"),
        ("/sys/devices/system/node/node0/distance", "10 40"),
        (
            "/sys/devices/system/node/node0/meminfo",
            "Node 0 MemTotal:       131072 kB\nNode 0 MemFree: 5 kB\n",
        ),
        ("/sys/devices/system/node/node1/cpulist", "2-3"),
        ("/sys/devices/system/node/node1/distance", "40 10"),
        ("/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       262144 kB\n"),
        ("/proc/sys/kernel/numa_balancing", "1"),
        ("/proc/sys/kernel/perf_event_paranoid", "4"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        (
            "/proc/meminfo",
            "MemTotal: 393216 kB\nMemAvailable: 300000 kB\nHugePages_Total: 8\nHugePages_Free: 5\n",
        ),
        ("/proc/sys/vm/nr_hugepages", "8"),
        ("/proc/sys/kernel/osrelease", "6.6.0"),
        ("/proc/sys/kernel/version", "#1 SMP PREEMPT_RT Tue"),
        ("/proc/cmdline", "root=/dev/nvme0n1p2 nohz_full=2-3 isolcpus=2-3"),
        ("/sys/devices/system/cpu/isolated", "2-3"),
        ("/sys/devices/system/cpu/nohz_full", "2-3"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand"),
        ("/sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: CSV2, BHB"),
        ("/sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected"),
    ]);
    for cpu in 0..4u32 {
        let place = format!("{CPU}/cpu{cpu}/topology");
        other.write(&format!("{place}/physical_package_id"), &(cpu / 2).to_string());
        other.write(&format!("{place}/thread_siblings_list"), &cpu.to_string());
    }
    for (index, level, kind, size, shared) in [
        (0, 1, "Data", "64K", "0"),
        (1, 1, "Instruction", "64K", "0"),
        (2, 2, "Unified", "2048K", "0"),
        (3, 3, "Unified", "114688K", "0-1"),
    ] {
        let place = format!("{CPU}/cpu0/cache/index{index}");
        other.write(&format!("{place}/level"), &level.to_string());
        other.write(&format!("{place}/type"), kind);
        other.write(&format!("{place}/size"), size);
        other.write(&format!("{place}/shared_cpu_list"), shared);
    }
    other
}

#[test]
fn an_arm_server_of_two_nodes_is_described() {
    let _other = arm();
    let machine = describe(&[]);
    let cpu = &machine.processor;
    assert_eq!(cpu.model.as_deref(), Some("ARM Neoverse V2"));
    assert_eq!((cpu.online, cpu.allowed, cpu.sockets, cpu.cores), (Some(4), Some(2), Some(2), Some(4)));
    assert_eq!(cpu.allowed_list.as_deref(), Some("0-1"));
    assert_eq!(cpu.features, ["asimd", "atomics", "sve", "ecv"]);
    assert_eq!(
        cpu.nodes.iter().map(|node| node.bytes).collect::<Vec<_>>(),
        [Some(128 << 20), Some(256 << 20)]
    );
    assert_eq!(cpu.nodes[1].distances, [40, 10]);
    assert_eq!((cpu.isolated.as_deref(), cpu.tickless.as_deref()), (Some("2-3"), Some("2-3")));
    assert_eq!(cpu.mitigations.keys().collect::<Vec<_>>(), ["spectre_v2"]);
    assert_eq!(machine.kernel.preemption.as_deref(), Some("real time"));
    assert_eq!((machine.kernel.huge_pages_reserved, machine.kernel.huge_pages_free), (Some(8), Some(5)));
    assert!(machine.limits.filtered);
    let rows: Vec<String> =
        super::table(&machine).into_iter().take(3).map(|(name, words)| format!("{name}: {words}")).collect();
    assert_eq!(
        rows,
        [
            "Processor: ARM Neoverse V2, 2 sockets, 4 cores, 4 hardware threads, 2 of them allowed to this process",
            "Caches: L1 data 64 KiB, L1 instructions 64 KiB, L2 2 MiB, L3 112 MiB for 2 threads",
            "Memory nodes: 0: processors 0-1 with 128 MiB, 1: processors 2-3 with 256 MiB, \
             the farthest at 4.0 times the local distance",
        ]
    );
    let codes: Vec<String> = judge(&machine).into_iter().map(|finding| finding.code).collect();
    assert!(codes.contains(&"governor".into()) && codes.contains(&"numa-balancing".into()), "{codes:?}");
}

#[test]
fn limits_of_version_2_are_the_tightest_on_the_way_to_the_root() {
    let group = "/sys/fs/cgroup";
    let _other = KernelFiles::new(&[
        ("/proc/self/cgroup", "0::/user.slice/job.scope\n"),
        (&format!("{group}/cgroup.controllers"), "cpu io memory"),
        (&format!("{group}/user.slice/cpu.max"), "400000 100000"),
        (
            &format!("{group}/user.slice/cpu.stat"),
            "usage_usec 9\nnr_periods 4\nnr_throttled 1\nthrottled_usec 5000\n",
        ),
        (&format!("{group}/user.slice/memory.max"), "max"),
        (&format!("{group}/user.slice/job.scope/cpu.max"), "150000 100000"),
        (&format!("{group}/user.slice/job.scope/cpu.stat"), "nr_throttled 7\nthrottled_usec 350000\n"),
        (&format!("{group}/user.slice/job.scope/memory.max"), "2147483648"),
        (&format!("{group}/user.slice/job.scope/io.max"), "259:0 rbps=max wbps=1048576 riops=max wiops=max"),
        (&format!("{group}/user.slice/job.scope/cpuset.cpus.effective"), "0-3"),
    ]);
    let limits = super::limits();
    assert_eq!((limits.cgroup_version, limits.processors), (Some(2), Some(1.5)));
    assert_eq!((limits.throttled, limits.throttled_ms), (Some(8), Some(355.0)));
    assert_eq!((limits.memory, limits.cpuset.as_deref()), (Some(2 << 30), Some("0-3")));
    assert_eq!(limits.devices, ["259:0 rbps=max wbps=1048576 riops=max wiops=max"]);
}

#[test]
fn limits_of_version_1_are_found_by_controller() {
    let group = "/sys/fs/cgroup";
    let _other = KernelFiles::new(&[
        ("/proc/self/cgroup", "5:blkio:/jobs\n4:memory:/jobs/a\n3:cpuset:/\n2:cpu:/jobs\n0::/\n"),
        (&format!("{group}/cpu/jobs/cpu.cfs_quota_us"), "50000"),
        (&format!("{group}/cpu/jobs/cpu.cfs_period_us"), "100000"),
        (&format!("{group}/cpu/jobs/cpu.stat"), "nr_periods 10\nnr_throttled 4\nthrottled_time 200000000\n"),
        (&format!("{group}/cpu/cpu.cfs_quota_us"), "-1"),
        (&format!("{group}/cpuset/cpuset.cpus"), "0-7"),
        (&format!("{group}/memory/jobs/a/memory.limit_in_bytes"), "1073741824"),
        (&format!("{group}/memory/memory.limit_in_bytes"), "9223372036854771712"),
        (&format!("{group}/blkio/jobs/blkio.throttle.write_iops_device"), "8:0 200"),
    ]);
    let limits = super::limits();
    assert_eq!((limits.cgroup_version, limits.processors), (Some(1), Some(0.5)));
    assert_eq!((limits.throttled, limits.throttled_ms), (Some(4), Some(200.0)));
    assert_eq!((limits.memory, limits.cpuset.as_deref()), (Some(1 << 30), Some("0-7")));
    assert_eq!(limits.devices, ["8:0 200 write_iops"]);
}

#[test]
fn containers_are_recognised_by_their_marker_files() {
    let container = |files: &[(&str, &str)]| {
        let _other = KernelFiles::new(files);
        describe(&[]).virtualisation.container
    };
    let overlay = "1 0 0:50 / / rw - overlay overlay rw\n";
    let disk = "1 0 254:0 / / rw - ext4 /dev/vda rw\n";
    assert_eq!(container(&[("/run/.containerenv", "engine")]).as_deref(), Some("podman"));
    assert_eq!(
        container(&[("/.dockerenv", ""), ("/proc/self/mountinfo", overlay)]).as_deref(),
        Some("docker")
    );
    // The marker file of an image that was unpacked into a virtual machine.
    assert_eq!(container(&[("/.dockerenv", ""), ("/proc/self/mountinfo", disk)]), None);
    assert_eq!(
        container(&[("/proc/1/cgroup", "0::/kubepods/burstable/pod1")]).as_deref(),
        Some("kubernetes")
    );
    assert_eq!(container(&[("/proc/1/cgroup", "1:name=systemd:/lxc/web")]).as_deref(), Some("lxc"));
}

#[test]
fn the_preemption_model_comes_from_the_best_source() {
    let preemption = |files: &[(&str, &str)]| {
        let _other = KernelFiles::new(files);
        describe(&[]).kernel.preemption
    };
    let dynamic = ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1");
    let shown = ("/sys/kernel/debug/sched/preempt", "none (voluntary) full");
    assert_eq!(preemption(&[dynamic, shown]).as_deref(), Some("voluntary"));
    assert_eq!(preemption(&[dynamic, ("/proc/cmdline", "ro preempt=none")]).as_deref(), Some("none"));
    assert_eq!(preemption(&[dynamic]).as_deref(), Some("dynamic"));
    assert_eq!(preemption(&[("/proc/sys/kernel/version", "#2 SMP")]), None);
}
