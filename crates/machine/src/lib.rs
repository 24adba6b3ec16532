//! What is this machine, what lies under the paths a program uses, and is it fit to measure?
//!
//! Every field is optional: containers, guests and ordinary users see only part of `/proc` and `/sys`,
//! and a missing file is no error. [`describe`] before a run and after it; [`compare`] turns what
//! changed into warnings, [`judge`] says what to mend first, [`Machine::redact`] removes names.
//!
//! ```
//! let machine = machine::describe(&["/tmp".as_ref()]);
//! println!("{}", machine.lines().join("\n"));
//! for finding in machine::judge(&machine) {
//!     println!("{}: {}. {}", finding.severity, finding.text, finding.advice);
//! }
//! ```

pub mod affinity;
mod compare;
mod device;
#[cfg(test)]
mod elsewhere;
mod files;
mod judge;
mod mounts;
mod nfs;
mod place;
mod processor;
mod redact;
mod show;
mod speed;
mod stripes;
mod system;

use std::path::Path;

use samples::units::bytes;
use serde::{Deserialize, Serialize};

pub use compare::compare;
pub use device::Device;
pub use judge::{Finding, Severity, judge, verdict};
pub use mounts::Mount;
pub use nfs::{NfsMount, NfsOperation};
pub use place::Place;
pub use processor::{Cache, Node, Processor};
pub use stripes::Layout;
pub use system::{Kernel, Limits, Load, Memory, Virtualisation, limits, memory};

/// Numbers of processors in a list as the kernel writes it: `0-3,8`.
pub fn processors(list: &str) -> Vec<u32> {
    files::list(list)
}

/// The schema of [`Machine`] as JSON.
pub const SCHEMA: &str = "lastrank.machine/1";

/// A machine as this process sees it: the facts' `machine` section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// `lastrank.machine/1`.
    pub schema: String,
    /// Its name.
    pub host: Option<String>,
    /// The distribution, from `/etc/os-release`.
    pub distribution: Option<String>,
    /// Processor, caches, memory nodes.
    pub processor: Processor,
    /// Memory.
    pub memory: Memory,
    /// Kernel and its settings.
    pub kernel: Kernel,
    /// Hypervisor and container.
    pub virtualisation: Virtualisation,
    /// Limits of this process.
    pub limits: Limits,
    /// How busy it is.
    pub load: Load,
    /// The clock, where the caller has measured it.
    pub clock: Option<clock::Description>,
    /// What lies under the paths asked for, in their order.
    pub places: Vec<Place>,
}

/// Describes this machine and what lies under `paths`. Takes a few ms; never fails.
pub fn describe(paths: &[&Path]) -> Machine {
    let processor = processor::describe();
    let release = files::text("/etc/os-release").unwrap_or_default();
    let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    Machine {
        schema: SCHEMA.into(),
        host: files::text("/proc/sys/kernel/hostname"),
        distribution: pretty.map(|name| name.trim_matches('"').to_owned()),
        virtualisation: system::virtualisation(processor.guest),
        processor,
        memory: system::memory(),
        kernel: system::kernel(),
        limits: system::limits(),
        load: system::load(),
        clock: None,
        places: paths.iter().map(|path| place::describe(path)).collect(),
    }
}

impl Machine {
    /// `AMD EPYC 9R14, 2 CPUs (KVM guest), 23.5 GiB, Linux 6.18.4`.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        let architecture = Some(&self.processor.architecture).filter(|name| !name.is_empty());
        let unnamed = || format!("{} processor", architecture.map_or("unknown", String::as_str));
        parts.push(self.processor.model.clone().unwrap_or_else(unnamed));
        if let Some(online) = self.processor.online {
            let mut part = format!("{online} CPU{}", if online == 1 { "" } else { "s" });
            match (&self.virtualisation.hypervisor, &self.virtualisation.container) {
                (Some(name), None) => part += &format!(" ({name} guest)"),
                (None, Some(name)) => part += &format!(" (in {name})"),
                (Some(host), Some(name)) => part += &format!(" ({host} guest, in {name})"),
                (None, None) => {}
            }
            parts.push(part);
        }
        parts.extend(self.memory.total.map(bytes));
        if let Some(release) = &self.kernel.release {
            let name = self.kernel.name.as_deref().unwrap_or("Linux");
            parts.push(format!("{name} {release}"));
        }
        parts.join(", ")
    }

    /// What was run on what: the machine, then a line for each path.
    pub fn lines(&self) -> Vec<String> {
        std::iter::once(self.line()).chain(self.places.iter().map(Place::line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_described_and_comes_back_from_json() {
        let machine = describe(&["/".as_ref(), "/dev/shm/none".as_ref()]);
        assert!(machine.processor.online.is_some_and(|online| online > 0));
        assert_eq!(machine.places.len(), 2);
        let json = serde_json::to_string(&machine).expect("plain data");
        let back: Machine = serde_json::from_str(&json).expect("what was just written");
        assert_eq!(back.places[0].file_system, machine.places[0].file_system);
        assert_eq!(back.line(), machine.line());
    }

    #[test]
    fn the_line_tells_processor_guest_memory_and_kernel() {
        let machine = Machine {
            processor: Processor {
                model: Some("AMD EPYC 9R14".into()),
                online: Some(2),
                ..Processor::default()
            },
            virtualisation: Virtualisation { hypervisor: Some("KVM".into()), ..Virtualisation::default() },
            memory: Memory { total: Some((23 << 30) + (1 << 29)), ..Memory::default() },
            kernel: Kernel { release: Some("6.18".into()), ..Kernel::default() },
            ..Machine::default()
        };
        assert_eq!(machine.line(), "AMD EPYC 9R14, 2 CPUs (KVM guest), 23.5 GiB, Linux 6.18");
        assert_eq!(Machine::default().line(), "unknown processor");
    }
}
