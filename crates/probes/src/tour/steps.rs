//! Lists the steps of a tour in order, with the share of the time that each may take.

use std::path::Path;

use samples::{MachineFacts, RungGroup};

use crate::disk::Access;
use crate::request::Request;

/// The name and description of a rung.
#[derive(Clone, Copy)]
pub(super) struct RungLabel<'a> {
    pub(super) code: &'a str,
    pub(super) name: &'a str,
    pub(super) what: &'a str,
    pub(super) group: RungGroup,
}

/// A step of the tour: its share of the time (`weight`) and its work.
pub(super) struct TourStep<'a> {
    pub(super) name: &'static str,
    pub(super) weight: f64,
    pub(super) work: StepWork<'a>,
}

pub(super) enum StepWork<'a> {
    Kernel { code: &'static str, what: String, group: RungGroup, request: Request, warm: bool },
    Curve,
    Bandwidth,
    Prepare,
    File { code: &'static str, what: &'static str, access: Access, size: u64 },
    Skip(&'a str),
}

impl TourStep<'_> {
    pub(super) fn is_of_processes(&self) -> bool {
        matches!(self.work, StepWork::Kernel { group: RungGroup::Process, .. })
    }
}

/// Code, name and working-set size of each level, innermost first, memory last.
pub(super) fn levels(machine: &MachineFacts) -> Vec<(&'static str, &'static str, u64)> {
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
    // The last-level cache is shared with other work, so only an eighth of it is used.
    found.extend(l3.map(|bytes| ("l3", "L3 cache", (bytes / 8).max(l2.unwrap_or(l1) * 2).min(bytes / 2))));
    let outermost = l3.or(l2).unwrap_or(l1);
    let quarter = machine.memory.available.unwrap_or(1 << 30) / 4;
    let memory = (outermost * 8).clamp(64 << 20, 256 << 20).min(quarter.max(outermost * 2));
    found.push(("memory", "Memory", memory));
    found
}

pub(super) fn steps<'a>(machine: &MachineFacts, directory: &Path) -> Vec<TourStep<'a>> {
    let mut steps = memory_steps(machine);
    steps.extend(system_steps(directory));
    steps.extend(process_steps());
    let disk = machine.paths.first().is_none_or(|path| path.writable != Some(false));
    if disk {
        steps.extend(disk_steps());
    } else {
        steps.push(TourStep {
            name: "Disk",
            weight: 0.1,
            work: StepWork::Skip("the directory is not writable"),
        });
    }
    steps
}

/// A step whose kernel is repeated until it is steady.
fn kernel<'a>(weight: f64, label: RungLabel<'static>, request: Request) -> TourStep<'a> {
    let RungLabel { code, name, what, group } = label;
    TourStep { name, weight, work: StepWork::Kernel { code, what: what.into(), group, request, warm: true } }
}

/// The clock, caches and memory.
fn memory_steps<'a>(machine: &MachineFacts) -> Vec<TourStep<'a>> {
    let what = "an empty timing: what the clock itself shows";
    let clock = RungLabel { code: "clock", name: "Clock", what, group: RungGroup::Clock };
    let mut steps = vec![kernel(0.3, clock, Request::Empty)];
    for (code, name, bytes) in levels(machine) {
        let what = format!("one dependent load within {}", samples::units::bytes(bytes));
        let weight = if code == "memory" { 2.5 } else { 1.0 };
        let request = Request::Chase { bytes, huge: false, seed: 1 };
        let work = StepWork::Kernel { code, what, group: RungGroup::Memory, request, warm: true };
        steps.push(TourStep { name, weight, work });
    }
    steps.push(TourStep { name: "Latency against working set", weight: 9.0, work: StepWork::Curve });
    steps.push(TourStep { name: "Bandwidth", weight: 2.0, work: StepWork::Bandwidth });
    let memory = |code, name, what| RungLabel { code, name, what, group: RungGroup::Memory };
    steps.push(kernel(
        1.0,
        memory("page_fault", "Page fault", "first touch of a 4 KiB page"),
        Request::Touch { bytes: 64 << 20, huge: false },
    ));
    steps.push(kernel(
        0.5,
        memory("malloc_free", "malloc + free", "malloc(4) and free"),
        Request::MallocFree { bytes: 4 },
    ));
    steps
}

fn system_steps<'a>(directory: &Path) -> [TourStep<'a>; 6] {
    let here = || directory.to_path_buf();
    let call = |weight, code, name, what, request| {
        kernel(weight, RungLabel { code, name, what, group: RungGroup::System }, request)
    };
    [
        call(0.7, "getpid", "getpid", "the raw system call", Request::Getpid),
        call(0.7, "read_null", "read 1 byte", "read of one byte of /dev/zero", Request::ReadNull),
        call(0.7, "write_null", "write 1 byte", "write of one byte to /dev/null", Request::WriteNull),
        call(0.7, "stat", "stat", "stat of a file", Request::Stat { directory: here() }),
        call(
            0.7,
            "open_close",
            "open + close",
            "of a file that exists",
            Request::OpenClose { directory: here() },
        ),
        call(
            1.5,
            "create_delete",
            "create + delete",
            "of an empty file",
            Request::CreateDelete { directory: here(), sync: false },
        ),
    ]
}

/// Processes and threads: too slow to be repeated until they are steady.
fn process_steps<'a>() -> [TourStep<'a>; 5] {
    let slow = |code, name, what: &str, request| {
        let work =
            StepWork::Kernel { code, what: what.into(), group: RungGroup::Process, request, warm: false };
        TourStep { name, weight: 1.0, work }
    };
    let program = "true".into();
    [
        slow(
            "context_switch",
            "Context switch",
            "between two processes on one processor",
            Request::ContextSwitch,
        ),
        slow("pipe_pingpong", "Pipe", "a byte to another process and back", Request::PipePingpong),
        slow("thread", "Thread", "create and join", Request::Thread),
        slow("fork", "fork", "fork, exit, wait", Request::Fork { resident: 0 }),
        slow("spawn", "Program start", "posix_spawn of `true`, wait", Request::Spawn { program }),
    ]
}

fn disk_steps<'a>() -> [TourStep<'a>; 8] {
    use Access::{CachedRead, DirectRead, DirectWrite, SyncWrite, WriteFsync};
    let file = |name, weight, work| TourStep { name, weight, work };
    let small = |code, what, access| StepWork::File { code, what, access, size: 4096 };
    let large = |code, what, access| StepWork::File { code, what, access, size: 1 << 20 };
    [
        TourStep { name: "Preparing a file", weight: 4.0, work: StepWork::Prepare },
        file("Page cache", 0.7, small("page_cache", "4 KiB read that the page cache answers", CachedRead)),
        file("Disk read", 3.0, small("disk_read", "4 KiB at random, O_DIRECT", DirectRead)),
        file("Disk write", 2.0, small("disk_write", "4 KiB at random, O_DIRECT", DirectWrite)),
        file("Safe write", 2.5, small("sync_write", "4 KiB at random, O_DIRECT and O_DSYNC", SyncWrite)),
        file("write + fsync", 2.5, small("fsync", "4 KiB at random, buffered, then fsync", WriteFsync)),
        file("Large read", 1.0, large("large_read", "1 MiB at random, O_DIRECT", DirectRead)),
        file("Large write", 1.0, large("large_write", "1 MiB at random, O_DIRECT and O_DSYNC", SyncWrite)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::Cache;

    #[test]
    fn working_sets_lie_within_their_levels() {
        let cache = |level, bytes| Cache { level, kind: "Unified".into(), bytes, ..Cache::default() };
        let mut machine = MachineFacts::default();
        machine.processor.caches = vec![cache(1, 48 << 10), cache(2, 1 << 20), cache(3, 32 << 20)];
        machine.memory.available = Some(20 << 30);
        let sizes: Vec<u64> = levels(&machine).iter().map(|level| level.2).collect();
        assert_eq!(sizes, [24 << 10, 512 << 10, 4 << 20, 256 << 20]);
    }
}
