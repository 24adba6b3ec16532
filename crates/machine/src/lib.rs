//! Describes this machine and the file systems of the paths that a program uses; judges, compares, redacts
//! and prints the description.
//!
//! The data are [`samples::MachineFacts`] and [`samples::PathFacts`]. Containers, guests and unprivileged users
//! see only part of `/proc` and `/sys`, so a missing file is not an error. Call [`describe`] before and after
//! a run; [`compare`] turns changes into warnings, [`judge`] lists what to fix first, [`redact`] removes
//! names. Only Linux is described; descriptions are printed, judged, compared and redacted anywhere.
//!
//! ```
//! let machine = machine::describe(&["/tmp".as_ref()]);
//! println!("{}", machine::lines(&machine).join("\n"));
//! for finding in machine::judge(&machine) {
//!     println!("{}: {}. {}", finding.severity, finding.text, finding.advice);
//! }
//! ```

// Elsewhere only the words of a description are used.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

#[cfg(target_os = "linux")]
pub mod affinity;
mod compare;
#[cfg(target_os = "linux")]
mod device;
mod files;
mod judge;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod layout;
mod layout_words;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod mount;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod nfs;
#[cfg(all(test, target_os = "linux"))]
mod other_machines;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod processor;
mod redact;
pub mod settings;
mod show;
#[cfg(target_os = "linux")]
mod speed;
#[cfg(target_os = "linux")]
mod virtualisation;

#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(target_os = "linux")]
use samples::{MACHINE_SCHEMA, MachineFacts};

pub use compare::compare;
#[cfg(target_os = "linux")]
pub use files::list as processors;
pub use judge::{Finding, Severity, judge, verdict};
#[cfg(target_os = "linux")]
pub use limits::limits;
#[cfg(target_os = "linux")]
pub use load::memory;
#[cfg(target_os = "linux")]
pub use processor::memory_nodes;
pub use redact::redact;
pub use show::{line, lines, path_line, path_table, table};

/// Describes this machine and the file systems of `paths`. Takes a few ms; never fails.
#[cfg(target_os = "linux")]
pub fn describe(paths: &[&Path]) -> MachineFacts {
    let processor = processor::describe();
    let release = files::text("/etc/os-release").unwrap_or_default();
    let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    // Every field is listed, so that a new field without a reader does not compile.
    MachineFacts {
        schema: MACHINE_SCHEMA.into(),
        summary: String::new(),
        host: files::text("/proc/sys/kernel/hostname"),
        distribution: pretty.map(|name| name.trim_matches('"').to_owned()),
        virtualisation: virtualisation::describe(processor.guest),
        processor,
        memory: load::memory(),
        kernel: kernel::describe(),
        limits: limits::limits(),
        load: load::load(),
        load_after: None,
        clock: None,
        paths: paths.iter().map(|path| path::describe(path)).collect(),
        other: samples::OtherFacts::new(),
    }
}

/// The same before a measurement: where tasks waited in the last 10 s, it also looks for a fifth of a second whether they
/// still do.
#[cfg(target_os = "linux")]
pub fn describe_before(paths: &[&Path]) -> MachineFacts {
    let mut found = describe(paths);
    load::look_now(&mut found.load, || {
        let begin = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(200));
        begin.elapsed()
    });
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_described_and_comes_back_from_json() {
        let machine = describe(&["/".as_ref(), "/dev/shm/none".as_ref()]);
        assert!(machine.processor.online.is_some_and(|online| online > 0));
        assert_eq!(machine.paths.len(), 2);
        let json = serde_json::to_string(&machine).expect("plain data");
        let back: MachineFacts = serde_json::from_str(&json).expect("what was just written");
        assert_eq!(back.paths[0].file_system, machine.paths[0].file_system);
        assert_eq!(line(&back), line(&machine));
    }
}
