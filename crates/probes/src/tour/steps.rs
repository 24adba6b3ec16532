//! Which rungs are there to climb, in which order, and how much of the time may each have?

use std::path::Path;

use crate::{Access, Request};
use samples::{Machine, RungGroup};

/// A step of the tour: how much of the time it may have (its weight), and what it does.
pub(super) struct Step<'a> {
    pub(super) name: &'static str,
    pub(super) weight: f64,
    pub(super) work: Work<'a>,
}

pub(super) enum Work<'a> {
    Kernel { code: &'static str, what: String, group: RungGroup, request: Request, warm: bool },
    Curve,
    Bandwidth,
    Prepare,
    File { code: &'static str, what: &'static str, access: Access, size: u64 },
    Skip(&'a str),
}

impl Step<'_> {
    pub(super) fn is_of_processes(&self) -> bool {
        matches!(self.work, Work::Kernel { group: RungGroup::Process, .. })
    }
}

/// Bytes that stay within each level, and what to call it: innermost first, memory last.
pub(super) fn levels(machine: &Machine) -> Vec<(&'static str, &'static str, u64)> {
    let size = |level: u32| {
        let caches = machine.processor.caches.iter();
        caches
            .filter(|cache| cache.level == level && cache.kind != "Instruction")
            .map(|cache| cache.bytes)
            .max()
    };
    let l1 = size(1).unwrap_or(32 << 10);
    let l2 = size(2);
    let mut found = vec![("l1", "L1 cache", l1 / 2)];
    found.extend(l2.map(|bytes| ("l2", "L2 cache", (bytes / 2).max(l1 * 2))));
    let l3 = size(3).filter(|l3| *l3 > 2 * l2.unwrap_or(l1));
    // An outer cache is shared with work that cannot be seen: an eighth of it can be hoped for.
    found.extend(l3.map(|bytes| ("l3", "L3 cache", (bytes / 8).max(l2.unwrap_or(l1) * 2).min(bytes / 2))));
    let outermost = l3.or(l2).unwrap_or(l1);
    let quarter = machine.memory.available.unwrap_or(1 << 30) / 4;
    let memory = (outermost * 8).clamp(64 << 20, 256 << 20).min(quarter.max(outermost * 2));
    found.push(("memory", "Memory", memory));
    found
}

pub(super) fn steps<'a>(machine: &Machine, directory: &Path) -> Vec<Step<'a>> {
    let kernel = |name, code, weight, group, what: &str, request| Step {
        name,
        weight,
        work: Work::Kernel { code, what: what.into(), group, request, warm: true },
    };
    let slow = |name, code, weight, what: &str, request| Step {
        name,
        weight,
        work: Work::Kernel { code, what: what.into(), group: RungGroup::Process, request, warm: false },
    };
    let file = |name, code, weight, what, access, size| Step {
        name,
        weight,
        work: Work::File { code, what, access, size },
    };
    let here = || directory.to_path_buf();
    let mut steps = vec![kernel(
        "Clock",
        "clock",
        0.3,
        RungGroup::Clock,
        "an empty timing: what the clock itself shows",
        Request::Empty,
    )];
    for (code, name, bytes) in levels(machine) {
        let what = format!("one dependent load within {}", samples::units::bytes(bytes));
        let weight = if code == "memory" { 2.5 } else { 1.0 };
        let request = Request::Chase { bytes, huge: false, seed: 1 };
        steps.push(kernel(name, code, weight, RungGroup::Memory, &what, request));
    }
    steps.push(Step { name: "Latency against working set", weight: 9.0, work: Work::Curve });
    steps.push(Step { name: "Bandwidth", weight: 2.0, work: Work::Bandwidth });
    use RungGroup::{Memory, System};
    steps.extend([
        kernel(
            "Page fault",
            "page_fault",
            1.0,
            Memory,
            "first touch of a 4 KiB page",
            Request::Touch { bytes: 64 << 20, huge: false },
        ),
        kernel(
            "malloc + free",
            "malloc_free",
            0.5,
            Memory,
            "malloc(4) and free",
            Request::MallocFree { bytes: 4 },
        ),
        kernel("getpid", "getpid", 0.7, System, "the raw system call", Request::Getpid),
        kernel("read 1 byte", "read_null", 0.7, System, "read of one byte of /dev/zero", Request::ReadNull),
        kernel(
            "write 1 byte",
            "write_null",
            0.7,
            System,
            "write of one byte to /dev/null",
            Request::WriteNull,
        ),
        kernel("stat", "stat", 0.7, System, "stat of a file", Request::Stat { directory: here() }),
        kernel(
            "open + close",
            "open_close",
            0.7,
            System,
            "of a file that exists",
            Request::OpenClose { directory: here() },
        ),
        kernel(
            "create + delete",
            "create_delete",
            1.5,
            System,
            "of an empty file",
            Request::CreateDelete { directory: here() },
        ),
        slow(
            "Context switch",
            "context_switch",
            1.0,
            "between two processes on one processor",
            Request::ContextSwitch,
        ),
        slow("Pipe", "pipe_pingpong", 1.0, "a byte to another process and back", Request::PipePingpong),
        slow("Thread", "thread", 1.0, "create and join", Request::Thread),
        slow("fork", "fork", 1.0, "fork, exit, wait", Request::Fork { resident: 0 }),
        slow(
            "Program start",
            "spawn",
            1.0,
            "posix_spawn of `true`, wait",
            Request::Spawn { program: "true".into() },
        ),
    ]);
    let disk = machine.paths.first().is_none_or(|path| path.writable != Some(false));
    if !disk {
        steps.push(Step { name: "Disk", weight: 0.1, work: Work::Skip("the directory is not writable") });
        return steps;
    }
    use Access::{CachedRead, DirectRead, DirectWrite, SyncWrite, WriteFsync};
    steps.push(Step { name: "Preparing a file", weight: 4.0, work: Work::Prepare });
    steps.extend([
        file("Page cache", "page_cache", 0.7, "4 KiB read that the page cache answers", CachedRead, 4096),
        file("Disk read", "disk_read", 3.0, "4 KiB at random, O_DIRECT", DirectRead, 4096),
        file("Disk write", "disk_write", 2.0, "4 KiB at random, O_DIRECT", DirectWrite, 4096),
        file("Safe write", "sync_write", 2.5, "4 KiB at random, O_DIRECT and O_DSYNC", SyncWrite, 4096),
        file("write + fsync", "fsync", 2.5, "4 KiB at random, buffered, then fsync", WriteFsync, 4096),
        file("Large read", "large_read", 1.0, "1 MiB at random, O_DIRECT", DirectRead, 1 << 20),
        file("Large write", "large_write", 1.0, "1 MiB at random, O_DIRECT and O_DSYNC", SyncWrite, 1 << 20),
    ]);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::Cache;

    #[test]
    fn working_sets_lie_within_their_levels() {
        let cache = |level, bytes| Cache { level, kind: "Unified".into(), bytes, ..Cache::default() };
        let mut machine = Machine::default();
        machine.processor.caches = vec![cache(1, 48 << 10), cache(2, 1 << 20), cache(3, 32 << 20)];
        machine.memory.available = Some(20 << 30);
        let sizes: Vec<u64> = levels(&machine).iter().map(|level| level.2).collect();
        assert_eq!(sizes, [24 << 10, 512 << 10, 4 << 20, 256 << 20]);
    }
}
