//! Chooses the clock to use on this machine.

use std::fs;

use crate::kind::Kind;

/// Chooses the counter if it never stops, runs at a constant rate and agrees on all processors, and the
/// monotonic clock otherwise. The second value is the reason, for the facts.
///
/// The kernel compares the counters of all processors before it makes the counter its clock source, and drops
/// it when they diverge, so its choice is the best evidence available. A guest with another clock source
/// (kvm-clock, hyperv) may be migrated to a host with another rate. User-Mode Linux is a program of its host, which asks it for
/// the time by tens of microseconds at each look, and has no word on the counter.
pub fn choose() -> (Kind, String) {
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = source.ok();
    let source = source.as_deref().map(str::trim);
    decide(source, invariant(), lfence_serialises(), || {
        fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
    })
}

/// Whether `/proc/cpuinfo` is that of User-Mode Linux.
fn is_user_mode_linux(processors: &str) -> bool {
    processors.lines().any(|line| line.starts_with("vendor_id") && line.ends_with(": User Mode Linux"))
}

/// [`choose`] as a function of the evidence; `processors` reads `/proc/cpuinfo`, which takes long where there are many.
fn decide(
    source: Option<&str>,
    invariant: bool,
    lfence_serialises: bool,
    processors: impl FnOnce() -> String,
) -> (Kind, String) {
    let counter = if lfence_serialises { Kind::Tsc } else { Kind::TscMfence };
    match source {
        Some("arch_sys_counter") if cfg!(target_arch = "aarch64") => {
            (Kind::Tsc, "the generic timer is the kernel's clock source".into())
        }
        Some("tsc") if invariant => {
            (counter, "the time-stamp counter is invariant and is the kernel's clock source".into())
        }
        // So the source of User-Mode Linux is called.
        Some("timer") if cfg!(target_arch = "x86_64") && invariant && is_user_mode_linux(&processors()) => (
            counter,
            "the time-stamp counter is the host's and invariant; User-Mode Linux asks the host for the time"
                .into(),
        ),
        Some("tsc") => (Kind::Monotonic, "the time-stamp counter may change its rate or stop".into()),
        Some(other) => (Kind::Monotonic, format!("the kernel's clock source is {other}, not the counter")),
        None => (Kind::Monotonic, "the kernel's clock source could not be read".into()),
    }
}

/// Whether the counter runs at one rate in all power states (CPUID 80000007 EDX bit 8, which Linux shows as
/// `constant_tsc` with `nonstop_tsc`).
#[cfg(target_arch = "x86_64")]
fn invariant() -> bool {
    leaf(0x8000_0007).is_some_and(|registers| registers[3] & (1 << 8) != 0)
}

/// Whether `lfence` waits for all earlier instructions. It does on Intel; on AMD and Hygon, if CPUID 80000021
/// EAX bit 2 is set or Linux reports it (`lfence_rdtsc`).
#[cfg(target_arch = "x86_64")]
fn lfence_serialises() -> bool {
    let vendor = leaf(0).map(|r| [r[1], r[3], r[2]].map(u32::to_le_bytes).concat()).unwrap_or_default();
    if vendor != b"AuthenticAMD" && vendor != b"HygonGenuine" {
        return true;
    }
    leaf(0x8000_0021).is_some_and(|registers| registers[0] & (1 << 2) != 0)
        || fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains(" lfence_rdtsc"))
}

/// EAX, EBX, ECX, EDX of one CPUID leaf; `None` if the processor lacks the leaf.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "`__cpuid` has become a safe function in newer compilers")]
fn leaf(number: u32) -> Option<[u32; 4]> {
    // SAFETY: CPUID exists on every x86-64 processor and changes only its four registers.
    let highest = unsafe { std::arch::x86_64::__cpuid(number & 0x8000_0000) }.eax;
    // SAFETY: as above.
    let found = (highest >= number).then(|| unsafe { std::arch::x86_64::__cpuid(number) })?;
    Some([found.eax, found.ebx, found.ecx, found.edx])
}

#[cfg(not(target_arch = "x86_64"))]
fn invariant() -> bool {
    cfg!(target_arch = "aarch64")
}

#[cfg(not(target_arch = "x86_64"))]
fn lfence_serialises() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(source: Option<&str>, invariant: bool, lfence_serialises: bool) -> Kind {
        decide(source, invariant, lfence_serialises, || unreachable!("the processors are not asked for")).0
    }

    #[test]
    fn the_counter_is_taken_only_when_the_kernel_trusts_it_too() {
        assert_eq!(decided(Some("tsc"), true, true), Kind::Tsc);
        assert_eq!(decided(Some("tsc"), false, true), Kind::Monotonic);
        assert_eq!(decided(Some("kvm-clock"), true, true), Kind::Monotonic);
        assert_eq!(decided(None, true, true), Kind::Monotonic);
    }

    #[test]
    fn an_amd_without_serialising_lfence_is_read_between_mfences() {
        assert_eq!(decided(Some("tsc"), true, false), Kind::TscMfence);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn user_mode_linux_is_known_by_its_clock_source_and_its_processor() {
        let host = "processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\n";
        let other = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: User Mode Linux\n";
        for (invariant, processors, kind) in
            [(true, host, Kind::Tsc), (false, host, Kind::Monotonic), (true, other, Kind::Monotonic)]
        {
            assert_eq!(decide(Some("timer"), invariant, true, || processors.into()).0, kind, "{processors}");
        }
    }
}
