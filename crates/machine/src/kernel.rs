//! Reads the kernel's version and its memory and scheduling policy; `settings` lists its other settings.

use rustix::time::{ClockId, clock_getres};
use samples::OsKernel;

use crate::files::{chosen, field, number, text};
use crate::settings;

/// Describes the running kernel.
pub fn describe() -> OsKernel {
    let huge = "/sys/kernel/mm/transparent_hugepage";
    OsKernel {
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
        page_size: u64::try_from(rustix::param::page_size()).ok(),
        settings: settings::read(),
    }
}

/// The preemption model: what the scheduler shows to root, else what the command line asks for, else what the
/// kernel was built with. A kernel with dynamic preemption reports only that it is dynamic.
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
    let period = clock_getres(ClockId::MonotonicCoarse);
    (period.tv_sec == 0 && period.tv_nsec > 0).then(|| (1e9 / period.tv_nsec as f64).round() as u32)
}
