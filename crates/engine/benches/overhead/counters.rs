//! Counts instructions and cycles of this thread and its children, in user space and in the kernel apart.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// What is counted: instructions in user space and in the kernel, cycles in user space and in the kernel.
pub const COUNTED: [&str; 4] =
    ["instructions, user", "instructions, kernel", "cycles, user", "cycles, kernel"];

/// The first version of `struct perf_event_attr`, 64 bytes.
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
}

const HARDWARE: u32 = 0;
const CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// Four running counters.
pub struct Counters([File; 4]);

impl Counters {
    /// Counters that run from now on.
    ///
    /// # Errors
    /// ENOENT where the machine shows no counters (most virtual ones), EACCES where it shows them to others.
    pub fn open() -> io::Result<Self> {
        let event = |config, excluded| {
            let flags = INHERIT | EXCLUDE_HYPERVISOR | excluded;
            let attributes = Attributes { kind: HARDWARE, size: 64, config, flags, ..Attributes::default() };
            // SAFETY: the attributes have the size that they state and are read only.
            let file = unsafe {
                libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, libc::O_CLOEXEC)
            };
            if file < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: a new descriptor of our own.
            Ok(unsafe { File::from_raw_fd(file as i32) })
        };
        Ok(Self([
            event(INSTRUCTIONS, EXCLUDE_KERNEL)?,
            event(INSTRUCTIONS, EXCLUDE_USER)?,
            event(CYCLES, EXCLUDE_KERNEL)?,
            event(CYCLES, EXCLUDE_USER)?,
        ]))
    }

    /// The counts so far, those of children that have ended included.
    pub fn read(&mut self) -> [u64; 4] {
        self.0.each_mut().map(|file| {
            let mut count = [0; 8];
            file.read_exact(&mut count).expect("a counter");
            u64::from_ne_bytes(count)
        })
    }
}
