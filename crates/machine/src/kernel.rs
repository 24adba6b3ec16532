//! Reads the kernel's version, its memory and scheduling policy, and its settings.

use std::path::{Path, PathBuf};

use rustix::time::{ClockId, clock_getres};
use samples::Kernel;

use crate::files::{chosen, field, number, text};

/// Files of one value, kept in [`Kernel::settings`] under the name given here: a path below `/proc/sys`, or an
/// absolute path. A fact of this kind is one line in this list; a change during a run becomes a warning by itself.
const SETTINGS: &[&str] = &[
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

fn setting_path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name)
}

/// The kernel that runs now.
pub fn describe() -> Kernel {
    let huge = "/sys/kernel/mm/transparent_hugepage";
    let setting = |name: &&str| Some(((*name).to_owned(), text(setting_path(name))?));
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
        page_size: u64::try_from(rustix::param::page_size()).ok(),
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
    let period = clock_getres(ClockId::MonotonicCoarse);
    (period.tv_sec == 0 && period.tv_nsec > 0).then(|| (1e9 / period.tv_nsec as f64).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::Elsewhere;

    #[test]
    fn a_setting_is_read_from_its_path() {
        assert_eq!(setting_path("vm/swappiness"), Path::new("/proc/sys/vm/swappiness"));
        assert_eq!(setting_path("/sys/module/zswap/x"), Path::new("/sys/module/zswap/x"));
        let files: Vec<(String, &str)> =
            SETTINGS.iter().map(|name| (setting_path(name).display().to_string(), "7")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let _other = Elsewhere::new(&files);
        assert!(describe().settings.values().all(|value| value == "7"));
        assert_eq!(describe().settings.len(), SETTINGS.len());
    }
}
