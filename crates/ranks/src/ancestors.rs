//! The processes that started this one: which is the launcher, and what terminal its user looks at.

use std::fs::{File, OpenOptions, read_link};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Ancestors that are looked at.
const MOST: usize = 32;

/// The parent of a process of this machine, unless that is `init`.
pub fn parent_of(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
    (parent > 1).then_some(parent)
}

/// The terminal on which the user of our launcher sees a stream (1: standard output, 2: standard error), where the
/// launcher runs on this machine and has not been given a file or a pipe instead.
///
/// A rank cannot ask its own stream: Open MPI gives it a terminal that nobody looks at, Hydra a pipe.
pub fn terminal_of_launcher(stream: u32) -> Option<File> {
    const LAUNCHERS: [&str; 5] = ["mpirun", "mpiexec", "orterun", "prterun", "prun"];
    let mut process = std::process::id();
    for _ in 0..MOST {
        process = parent_of(process)?;
        // The name under which it was called: `mpirun.openmpi` is a link to `orterun`.
        let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
        if LAUNCHERS.iter().any(|launcher| name.starts_with(launcher)) {
            return terminal(&read_link(format!("/proc/{process}/fd/{stream}")).ok()?);
        }
    }
    None
}

/// Opens a terminal, without making it that of this process.
fn terminal(device: &Path) -> Option<File> {
    if !device.starts_with("/dev/pts") && !device.starts_with("/dev/tty") {
        return None;
    }
    OpenOptions::new().read(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK).open(device).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_parent_and_files_are_no_terminals() {
        assert!(parent_of(std::process::id()).is_some());
        assert!(parent_of(1).is_none());
        assert!(terminal(Path::new("/dev/null")).is_none() && terminal(Path::new("pipe:[4026]")).is_none());
    }
}
