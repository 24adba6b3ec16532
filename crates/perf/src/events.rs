//! Opens the kernel events of a thread or a processor.
//!
//! `perf_event_open(2)` without hardware counters: context-switch records and page-fault samples need
//! no privilege while `perf_event_paranoid` is at most 2, tracepoints need CAP_PERFMON.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Mutex;

/// `struct perf_event_attr` up to its fifth version (112 bytes), from the kernel's user interface.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const FAULTS_MINOR: u64 = 5;
const FAULTS_MAJOR: u64 = 6;
/// PERF_SAMPLE_TIME and PERF_SAMPLE_IDENTIFIER, the fields of every record.
const SAMPLE: u64 = (1 << 2) | (1 << 16);
const DISABLED: u64 = 1 << 0;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCK: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;
/// Number of records after which a poller is woken. Nothing polls the ring and a wake-up costs an interrupt,
/// so this is the largest value of the kernel's signed field.
const NEVER: u32 = i32::MAX as u32;
const CLOSE_ON_EXEC: u64 = 1 << 3;

/// The meaning of an event's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventMeaning {
    MinorFault,
    MajorFault,
    Timer,
    SoftInterrupt,
    DeviceInterrupt,
    /// A request was given to the scheduler of a block device.
    RequestQueued,
    /// A request was given to a block device.
    RequestBegins,
    /// A block device has completed a request.
    RequestEnds,
}

/// An open perf event.
#[derive(Debug)]
pub struct KernelEvent {
    pub file: OwnedFd,
    pub identifier: u64,
    pub meaning: EventMeaning,
    /// Of a request: where its record says what kind it is, in bytes from the beginning of the raw data.
    pub kind_at: Option<usize>,
}

/// The scope of an event: the calling thread on any processor, or all threads on one processor.
#[derive(Clone, Copy)]
enum Scope<'a> {
    /// With the leader of its group: the kernel takes a group off the processor and on again at once.
    ThisThread(Option<&'a KernelEvent>),
    Processor(u32),
}

/// The specification of an event to open.
struct EventSpec {
    kind: u32,
    config: u64,
    /// Flags in addition to those of every event.
    extra: u64,
    /// Fields of each record (`PERF_SAMPLE_*`).
    sample_type: u64,
    meaning: EventMeaning,
    kind_at: Option<usize>,
}

impl EventSpec {
    fn software(config: u64, meaning: EventMeaning) -> Self {
        Self { kind: SOFTWARE, config, extra: 0, sample_type: SAMPLE, meaning, kind_at: None }
    }

    fn tracepoint(name: &'static str, meaning: EventMeaning) -> io::Result<Self> {
        let Tracepoint { number, kind_at } = find(name)?;
        Ok(Self { kind: TRACEPOINT, config: number, extra: 0, sample_type: SAMPLE, meaning, kind_at })
    }

    fn attributes(&self, exclude: u64) -> Attributes {
        Attributes {
            kind: self.kind,
            size: size_of::<Attributes>() as u32,
            config: self.config,
            sample_period: 1,
            sample_type: self.sample_type,
            flags: DISABLED | SAMPLE_ID_ALL | USE_CLOCK | EXCLUDE_HYPERVISOR | exclude | self.extra,
            wakeup_events: NEVER,
            clock: libc::CLOCK_MONOTONIC_RAW,
            ..Attributes::default()
        }
    }

    /// Opens the event.
    fn open(&self, scope: Scope<'_>) -> io::Result<KernelEvent> {
        let (process, processor, group) = match scope {
            Scope::ThisThread(leader) => (0, -1, leader.map_or(-1, |leader| leader.file.as_raw_fd())),
            Scope::Processor(number) => (-1, i32::try_from(number).unwrap_or(-1), -1),
        };
        // Try with faults inside the kernel first; an unprivileged user may see only those of user code.
        let mut last = io::Error::from_raw_os_error(libc::ENOSYS);
        for exclude in [0, EXCLUDE_KERNEL] {
            let attributes = self.attributes(exclude);
            // SAFETY: a complete attribute structure whose size it states; pid 0 and cpu -1 mean this thread
            // on any processor, pid -1 all threads on one; group -1 means none.
            let fd = unsafe {
                libc::syscall(
                    libc::SYS_perf_event_open,
                    &attributes,
                    process,
                    processor,
                    group,
                    CLOSE_ON_EXEC,
                )
            };
            if fd >= 0 {
                // SAFETY: the kernel has just returned this descriptor and nothing else owns it.
                let file = unsafe { OwnedFd::from_raw_fd(fd as i32) };
                let mut identifier = 0u64;
                // SAFETY: PERF_EVENT_IOC_ID writes eight bytes.
                if unsafe { libc::ioctl(file.as_raw_fd(), IOC_ID as _, &mut identifier) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                let (meaning, kind_at) = (self.meaning, self.kind_at);
                return Ok(KernelEvent { file, identifier, meaning, kind_at });
            }
            last = io::Error::last_os_error();
        }
        Err(last)
    }
}

const IOC_ENABLE: u64 = 0x2400;
const IOC_DISABLE: u64 = 0x2401;
const IOC_SET_OUTPUT: u64 = 0x2405;
const IOC_SET_FILTER: u64 = 0x4008_2406;
const IOC_ID: u64 = 0x8008_2407;

/// Opens the event of page faults that read a device, which carries the context-switch records too; the ring is mapped
/// on it, and it leads the group of the thread's other events.
pub fn switches() -> io::Result<KernelEvent> {
    EventSpec { extra: CONTEXT_SWITCH, ..EventSpec::software(FAULTS_MAJOR, EventMeaning::MajorFault) }
        .open(Scope::ThisThread(None))
}

/// Opens the event of page faults served without reading a device, one record a fault.
pub fn faults(leader: &KernelEvent) -> io::Result<KernelEvent> {
    EventSpec::software(FAULTS_MINOR, EventMeaning::MinorFault).open(Scope::ThisThread(Some(leader)))
}

/// The tracepoints at which interrupts begin. What they interrupt goes on when they are over, so an interrupt lies in the
/// operation in which it began; each further event costs some 0.1 µs at every switch of the thread.
const INTERRUPTS: [(&str, EventMeaning); 3] = [
    ("irq_vectors/local_timer_entry", EventMeaning::Timer),
    ("irq/softirq_entry", EventMeaning::SoftInterrupt),
    ("irq/irq_handler_entry", EventMeaning::DeviceInterrupt),
];

/// Opens the events of timer, soft and device interrupts that run while this thread is current, in the group of `leader`.
/// Tracepoints that the machine lacks (`irq_vectors` exists on x86 only) are left out; an error is returned only if none
/// can be opened.
pub fn interrupts(leader: Option<&KernelEvent>) -> io::Result<Vec<KernelEvent>> {
    let mut found = Vec::new();
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for (name, meaning) in INTERRUPTS {
        let opened =
            EventSpec::tracepoint(name, meaning).and_then(|spec| spec.open(Scope::ThisThread(leader)));
        match opened {
            Ok(event) => found.push(event),
            Err(error) => last = error,
        }
    }
    if found.is_empty() { Err(last) } else { Ok(found) }
}

/// Also PERF_SAMPLE_TID and PERF_SAMPLE_RAW: the thread that made a request, and the request.
const REQUEST: u64 = SAMPLE | (1 << 1) | (1 << 10);

/// The tracepoints of requests to block devices; `block_rq_insert` has no records if the device has no I/O
/// scheduler.
const REQUESTS: [(&str, EventMeaning); 3] = [
    ("block/block_rq_issue", EventMeaning::RequestBegins),
    ("block/block_rq_complete", EventMeaning::RequestEnds),
    ("block/block_rq_insert", EventMeaning::RequestQueued),
];

/// Requests that move something. The others are the steps of a flush, which threads of the kernel make: they belong to no
/// thread that is watched, and would make every third record of a flushed write.
const MOVES: &str = "nr_sector > 0";

/// The condition on records of this kind. Who queues a request is its owner, so nobody else's are needed; whoever issues
/// or completes it is any thread.
fn condition(meaning: EventMeaning, thread: Option<i32>) -> CString {
    let text = match (meaning, thread) {
        (EventMeaning::RequestQueued, Some(thread)) => format!("{MOVES} && common_pid == {thread}"),
        _ => MOVES.into(),
    };
    CString::new(text).unwrap_or_default()
}

/// The number of the calling thread in conditions, which is the machine's; `None` in a namespace that has numbers of its own.
fn thread_of_the_machine() -> Option<i32> {
    // The first namespace has this number on every machine.
    let first = fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.as_os_str() == "pid:[4026531836]");
    first.then(|| rustix::thread::gettid().as_raw_pid())
}

/// Opens the events of block-device requests of all threads on one processor, since a request may complete on
/// another processor than the one its thread waits on; of requests that are queued only those of the calling thread,
/// where the kernel can tell. Needs CAP_PERFMON.
pub fn requests(processor: u32) -> io::Result<Vec<KernelEvent>> {
    let thread = thread_of_the_machine();
    let open = |(name, meaning)| {
        let spec = EventSpec { sample_type: REQUEST, ..EventSpec::tracepoint(name, meaning)? };
        let event = spec.open(Scope::Processor(processor))?;
        // Where it is refused there are more records, which cost time and are not wrong.
        let _ = filter(&event, &condition(meaning, thread));
        Ok(event)
    };
    REQUESTS.into_iter().map(open).collect()
}

/// Looks up all tracepoints, so that forked ranks inherit them.
pub fn prepare() {
    for (name, _) in INTERRUPTS.into_iter().chain(REQUESTS) {
        // A missing tracepoint is reported when it is opened.
        drop(find(name));
    }
}

/// What the kernel says of a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tracepoint {
    number: u64,
    kind_at: Option<usize>,
}

/// A tracepoint, looked up once.
fn find(name: &'static str) -> io::Result<Tracepoint> {
    static KNOWN: Mutex<BTreeMap<&str, Result<Tracepoint, io::ErrorKind>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let found = known.entry(name).or_insert_with(|| tracepoint(name).map_err(|error| error.kind()));
    found.map_err(io::Error::from)
}

/// Looks up a tracepoint in tracefs; as root also where tracefs is not mounted.
fn tracepoint(name: &str) -> io::Result<Tracepoint> {
    let places = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let paths = places.map(|place| format!("{place}/events/{name}/format"));
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for path in &paths {
        match fs::read_to_string(path) {
            Ok(text) => return identified(name, &text),
            Err(error) => last = error,
        }
    }
    if last.kind() == io::ErrorKind::NotFound {
        identified(name, &read_unmounted(&paths[0])?)
    } else {
        Err(last)
    }
}

/// The tracepoint of this `format` file. An error if a request's device and sector are not at the
/// offsets that [`crate::device`] reads.
fn identified(name: &str, format: &str) -> io::Result<Tracepoint> {
    let at = |field: &str, offset: u32| format.contains(&format!("{field};\toffset:{offset};"));
    if name.starts_with("block/") && !(at("dev_t dev", 8) && at("sector_t sector", 16)) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let number = format.lines().find_map(|line| line.strip_prefix("ID: "));
    let number = number.and_then(|number| number.trim().parse().ok()).ok_or(io::ErrorKind::NotFound)?;
    // "field:char rwbs[10];	offset:34;	size:10;"
    let kind = format.split_once("char rwbs[").and_then(|(_, rest)| rest.split_once("offset:"));
    let kind_at = kind.and_then(|(_, rest)| rest.split(';').next()?.parse().ok());
    Ok(Tracepoint { number, kind_at })
}

/// Reads a file of a tracefs that is not mounted. A child process mounts tracefs in a mount namespace of its
/// own, reads the file and exits, so the machine is not changed.
fn read_unmounted(path: &str) -> io::Result<String> {
    let path = CString::new(path)?;
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned both and nothing else owns them.
    let (from, to) = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
    // SAFETY: the child makes only system calls, on memory that existed before the fork, and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: every string is NUL-terminated; `text` has room for what is read into it.
        unsafe {
            let mut text = [0u8; 4096];
            let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
            let place = c"/sys/kernel/tracing".as_ptr();
            if libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(none, c"/".as_ptr(), none, private, none.cast()) == 0
                && libc::mount(c"none".as_ptr(), place, c"tracefs".as_ptr(), 0, none.cast()) == 0
            {
                let file = libc::open(path.as_ptr(), libc::O_RDONLY);
                let got = libc::read(file, text.as_mut_ptr().cast(), text.len());
                libc::write(to.as_raw_fd(), text.as_ptr().cast(), usize::try_from(got).unwrap_or(0));
            }
            libc::_exit(0);
        }
    }
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    drop(to);
    let mut text = String::new();
    let read = fs::File::from(from).read_to_string(&mut text);
    // SAFETY: a child of this process, which exits by itself; its status is not needed.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    read?;
    Ok(text)
}

/// Redirects the records of `event` to the ring of `leader`.
pub fn redirect(event: &KernelEvent, leader: &KernelEvent) -> io::Result<()> {
    request(event, IOC_SET_OUTPUT, leader.file.as_raw_fd())
}

/// Has a tracepoint record only what `condition` holds for.
fn filter(event: &KernelEvent, condition: &CStr) -> io::Result<()> {
    // SAFETY: the descriptor is an open perf event; the condition is NUL-terminated, and the kernel only reads it.
    match unsafe { libc::ioctl(event.file.as_raw_fd(), IOC_SET_FILTER as _, condition.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Starts an event.
pub fn enable(event: &KernelEvent) -> io::Result<()> {
    request(event, IOC_ENABLE, 0)
}

/// Stops an event; [`enable`] starts it again.
pub fn disable(event: &KernelEvent) -> io::Result<()> {
    request(event, IOC_DISABLE, 0)
}

/// Issues one of the ioctls above that take a number.
fn request(event: &KernelEvent, code: u64, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is an open perf event; none of these ioctls takes a pointer.
    match unsafe { libc::ioctl(event.file.as_raw_fd(), code as _, argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `kernel.perf_event_paranoid`, if it can be read.
pub fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

const _: () = assert!(size_of::<Attributes>() == 112);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_says_where_the_kind_of_a_request_stands() {
        let format = "name: block_rq_issue\nID: 2104\nformat:\n\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\t\
                      field:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\t\
                      field:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";
        let found = identified("block/block_rq_issue", format).expect("a tracepoint");
        assert_eq!(found, Tracepoint { number: 2104, kind_at: Some(34) });
        let old = format.replace("rwbs", "other");
        assert_eq!(identified("block/block_rq_issue", &old).expect("a tracepoint").kind_at, None);
        let moved = format.replace("offset:8;", "offset:12;");
        assert!(identified("block/block_rq_issue", &moved).is_err());
        assert!(identified("irq/softirq_entry", "").is_err());
    }
    #[test]
    fn requests_of_others_are_left_out_where_they_are_queued_only() {
        let text = |meaning| condition(meaning, Some(7)).into_string().expect("a text");
        assert_eq!(text(EventMeaning::RequestQueued), "nr_sector > 0 && common_pid == 7");
        assert_eq!(text(EventMeaning::RequestBegins), "nr_sector > 0");
        assert_eq!(text(EventMeaning::RequestEnds), "nr_sector > 0");
        assert_eq!(condition(EventMeaning::RequestQueued, None), CString::from(c"nr_sector > 0"));
    }

    #[test]
    fn the_kernel_knows_the_conditions_on_requests() {
        match requests(0) {
            // An event takes one condition, and has it.
            Ok(events) => events.iter().for_each(|event| {
                let again =
                    filter(event, &condition(event.meaning, None)).map_err(|error| error.raw_os_error());
                assert_eq!(again, Err(Some(libc::EEXIST)));
            }),
            Err(error) => eprintln!("skipped: no tracepoints of requests ({error})"),
        }
    }
}
