//! What the system says of a thread and of its program.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::quiet::has_capabilities;

/// Whether a descriptor is this process's own, which the application does not get.
pub fn closes_on_exec(thread: libc::pid_t, number: i32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{thread}/fdinfo/{number}")).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_CLOEXEC != 0)
}

/// Whether a program would have rights that Linux gives to none that is recorded (`no_new_privs`).
pub fn loses_rights(program: &Path) -> bool {
    // SAFETY: plain calls.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let gives = |found: std::fs::Metadata| {
        let mode = found.mode();
        mode & libc::S_ISUID != 0 && found.uid() != user || mode & libc::S_ISGID != 0 && found.gid() != group
    };
    program.metadata().is_ok_and(gives) || user != 0 && has_capabilities(program)
}

/// Calls of a thread that read or write, as Linux counts them.
pub fn counts(thread: libc::pid_t) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{thread}/task/{thread}/io")).unwrap_or_default();
    let count = |name: &str| -> u64 {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0)
    };
    count("syscr:") + count("syscw:")
}

/// The process of a thread.
pub fn group_of(thread: libc::pid_t) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}
