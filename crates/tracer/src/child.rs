//! Prepares the traced process before it executes the application; the filter selects the calls at which it stops.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::calls::{CLONES, PROCESSORS, SELECTS, SLEEPS, TRACES, listed};
use crate::signals::SignalsPassedOn;

#[cfg(target_arch = "x86_64")]
pub const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const ARCHITECTURE: u32 = 0;

/// In numbers of calls of programs whose pointers have 32 bits (x32); no other number has it.
pub const X32: u32 = 0x4000_0000;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

fn step(code: u16, k: u32, yes: u8, no: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: yes, jf: no, k }
}

/// The filter: calls of other architectures, listed calls, sleeps, those that work with processors and those of tracers stop, `mmap`
/// of memory without a file does not, and of `ioctl` only clones do; all others run freely.
pub fn filter() -> Vec<libc::sock_filter> {
    let allow = step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
    let stop = step(RETURN, libc::SECCOMP_RET_TRACE, 0, 0);
    // Offsets in `struct seccomp_data`: number 0, architecture 4, arguments from 16.
    let mut all = vec![
        step(LOAD, 4, 0, 0),
        step(EQUAL, ARCHITECTURE, 1, 0),
        stop,
        step(LOAD, 0, 0, 0),
        step(ANY_BIT, X32, 0, 1),
        stop,
        step(EQUAL, libc::SYS_mmap as u32, 0, 4),
        step(LOAD, 16 + 3 * 8, 0, 0),
        step(ANY_BIT, libc::MAP_ANONYMOUS as u32, 0, 1),
        allow,
        stop,
        step(EQUAL, libc::SYS_ioctl as u32, 0, 3 + CLONES.len() as u8),
        step(LOAD, 16 + 8, 0, 0),
    ];
    let clones = CLONES.iter().zip((1..=CLONES.len() as u8).rev());
    all.extend(clones.map(|(request, behind)| step(EQUAL, *request as u32, behind, 0)));
    all.extend([allow, stop]);
    for number in listed().map(libc::c_long::from).chain(SLEEPS).chain(PROCESSORS).chain([TRACES]) {
        all.push(step(EQUAL, number as u32, 0, 1));
        all.push(stop);
    }
    // The first argument is the number of descriptors.
    for number in SELECTS {
        all.push(step(EQUAL, *number as u32, 0, 4));
        all.extend([step(LOAD, 16, 0, 0), step(EQUAL, 0, 0, 1), stop, allow]);
    }
    all.push(allow);
    all
}

/// What is to be run.
pub enum Task<'a> {
    /// The application: its file, its arguments, and the signals that it gets.
    Command(&'a CString, &'a [CString], &'a SignalsPassedOn),
    /// The number of calls that it makes before, to measure the cost of recording.
    Calibration(u32),
}

/// Bytes that the calibration reads before each call, as a program works on data between two calls: what a stop costs is
/// also that caches are colder behind it.
const WORKED_ON: usize = 16 << 10;
const LINE: usize = 64;

static DATA: [[u8; LINE]; WORKED_ON / LINE] = [[1; LINE]; WORKED_ON / LINE];

/// Reads a byte of each line of the data.
pub fn work() {
    for line in std::hint::black_box(&DATA) {
        std::hint::black_box(line[0]);
    }
}

/// A call of the calibration: it fails immediately.
pub fn call() {
    // SAFETY: of no descriptor.
    unsafe { libc::lseek(-1, 0, libc::SEEK_SET) };
}

/// Becomes the application. Runs in the forked child alone.
///
/// # Safety
/// Only in a child of a process with one thread.
pub unsafe fn run(task: &Task<'_>, filter: &[libc::sock_filter]) -> ! {
    // SAFETY: plain system calls; `filter` and the strings live, and no memory is allocated after the fork.
    unsafe {
        let no: *const libc::c_void = std::ptr::null();
        if libc::ptrace(libc::PTRACE_TRACEME, 0, no, no) != 0 {
            libc::_exit(errno());
        }
        libc::raise(libc::SIGSTOP);
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            libc::_exit(errno());
        }
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        if libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0) != 0 {
            libc::_exit(errno());
        }
        match task {
            Task::Calibration(count) => {
                for _ in 0..*count {
                    work();
                    call();
                }
                libc::_exit(0);
            }
            Task::Command(file, arguments, signals) => {
                signals.before.restore();
                // Rust's start ignores it.
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                let mut pointers = [std::ptr::null(); MOST_ARGUMENTS + 1];
                for (at, argument) in arguments.iter().take(MOST_ARGUMENTS).enumerate() {
                    pointers[at] = argument.as_ptr();
                }
                libc::execv(file.as_ptr(), pointers.as_ptr());
                libc::_exit(errno());
            }
        }
    }
}

/// The most arguments of an application.
pub const MOST_ARGUMENTS: usize = 4096;

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(1)
}

/// The file of a command: itself where it has a slash, otherwise the first of PATH.
pub fn find(command: &std::ffi::OsStr) -> Option<CString> {
    let c_string = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
    if command.as_bytes().contains(&b'/') {
        return c_string(Path::new(command));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let runs = |file: &Path| {
        use std::os::unix::fs::PermissionsExt;
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path)
        .map(|folder| folder.join(command))
        .find(|file| runs(file))
        .and_then(|file| c_string(&file))
}
