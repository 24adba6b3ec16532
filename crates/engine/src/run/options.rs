//! What can be chosen about a run besides the program.

use std::path::PathBuf;
use std::sync::Arc;

use samples::units::bytes;

use super::{RunError, Tap};
use crate::content::Dials;
use crate::driver::BackendKind;
use crate::execute::OnError;
use clock::Kind;
use ranks::{Launch, Pin};
use record::live::LiveFolder;

/// What is kept of the operations?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Every one, 64 bytes each.
    #[default]
    Samples,
    /// A histogram of each site in constant memory, and the slowest samples: for runs of billions.
    Histogram,
}

/// When is what the run created removed?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clean {
    /// Never.
    Never,
    /// When the run did not reach its end, where a program would have removed its files itself.
    #[default]
    WhenIncomplete,
    /// Always.
    Always,
}

/// Who confines the program?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confine {
    /// The kernel where it can, and our own checks.
    #[default]
    BestEffort,
    /// As `BestEffort`; no run where the kernel cannot.
    Required,
    /// Nobody: the user owns the program.
    Nobody,
}

/// What can be chosen about a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ranks, and how patient to be with them.
    pub launch: Launch,
    /// Real or simulated.
    pub backend: BackendKind,
    /// Of all random draws.
    pub seed: u64,
    /// How far what is written may be compressed and deduplicated.
    pub dials: Dials,
    /// Writes take what was read just before, where that is enough; not with dials.
    pub copies: bool,
    /// The clock; `None` for the best there is.
    pub clock: Option<Kind>,
    /// Places, besides the working directory, that the program may read and write: those that the user gave as
    /// parameters.
    pub named: Vec<PathBuf>,
    /// Places in which the program may also remove what the run did not make, and use hidden names and devices.
    pub allow: Vec<PathBuf>,
    /// May the program start others and make files executable?
    pub allow_spawn: bool,
    /// TCP ports that the program may connect to: those of addresses that the user gave as parameters.
    pub connect: Vec<u16>,
    /// May one write take more than nine tenths of what is free?
    pub fill: bool,
    /// May it make links to what lies elsewhere? What is behind a link is judged when it is opened.
    pub links: bool,
    /// Who confines the program.
    pub confine: Confine,
    /// The only directory below which the program may read and write.
    pub root: Option<PathBuf>,
    /// Is the root a room: all that the program sees and changes, by the kernel and our own checks together, or no run?
    pub room: bool,
    /// What the caller writes while ranks may still be at work: no program gets these names.
    pub results: Vec<PathBuf>,
    /// When to remove what the run created.
    pub clean: Clean,
    /// What to do when an operation fails.
    pub on_error: OnError,
    /// Samples each rank will take, where the caller knows better than the plan; 0 where it does not.
    pub expected_samples: u64,
    /// Bytes of memory for the samples of all ranks of a machine; further ones go to a file. `None`: a quarter of
    /// what is available, at most 8 GiB.
    pub memory: Option<u64>,
    /// Are ranks pinned to processors? Those of a launcher are not: it has options for that.
    pub pin: Pin,
    /// Every sample, or histograms.
    pub keep: Keep,
    /// Where that file lies, without a name.
    pub spill_directory: PathBuf,
    /// Where samples survive the death of all processes; `None`: they live as long as one of them.
    pub live: Option<Arc<LiveFolder>>,
    /// Shows samples to the caller while the run is under way.
    pub tap: Option<Arc<Tap>>,
    /// Look for the causes of slow operations where that costs next to nothing (perf events).
    pub causes: bool,
    /// Do not sleep and think, for trying a program out.
    pub skip_sleep: bool,
}

impl Options {
    /// `ranks` ranks, everything else as a user expects it.
    pub fn new(ranks: u32) -> Self {
        Self {
            launch: Launch::new(ranks),
            backend: BackendKind::default(),
            seed: 1,
            dials: Dials::default(),
            copies: false,
            clock: None,
            named: Vec::new(),
            allow: Vec::new(),
            allow_spawn: false,
            connect: Vec::new(),
            fill: false,
            links: false,
            confine: Confine::default(),
            root: None,
            room: false,
            results: Vec::new(),
            clean: Clean::default(),
            on_error: OnError::default(),
            expected_samples: 0,
            memory: None,
            pin: Pin::default(),
            keep: Keep::default(),
            spill_directory: std::env::temp_dir(),
            live: None,
            tap: None,
            causes: true,
            skip_sleep: false,
        }
    }

    /// Samples that each of `ranks` ranks of this machine keeps in memory.
    pub(super) fn samples_per_rank(&self, ranks: u32) -> usize {
        let bytes = self.memory.unwrap_or_else(|| (available_memory() / 4).min(8 << 30));
        let each = bytes / u64::from(ranks.max(1)) / size_of::<samples::Sample>() as u64;
        usize::try_from(each).unwrap_or(usize::MAX).max(1024)
    }
}

/// Memory that a rank takes before it has done anything: its first samples and its list of files, the
/// pages that it writes to after the fork, its page tables.
const LEAST_OF_A_RANK: u64 = 4 << 20;

/// A number that is too large by mistake should not drive everything else out of memory.
pub(super) fn enough_memory(ranks: u32) -> Result<(), RunError> {
    let (needed, available) = (u64::from(ranks) * LEAST_OF_A_RANK, available_memory());
    if ranks == 1 || needed <= available {
        return Ok(());
    }
    Err(RunError::Ranks { ranks, needed: bytes(needed), available: bytes(available) })
}

/// `MemAvailable`, or 4 GiB where that is not known; no more than half of what a control group grants, since
/// what it has used already is not told.
fn available_memory() -> u64 {
    let granted = machine::limits().memory.unwrap_or(u64::MAX);
    // `ulimit -v`: otherwise the region of the first rank could take the address space of the others and of the analysis.
    let address_space = rustix::process::getrlimit(rustix::process::Resource::As).current.unwrap_or(u64::MAX);
    of_machine().min(granted / 2).min(address_space / 2)
}

fn of_machine() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map_or(4 << 30, |k| k << 10)
}

/// Processes that the kernel has killed for lack of memory since the machine started, in all groups; 0 where it does
/// not say.
pub(super) fn killed_for_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// Raises the soft limit of open files to what is needed, as far as the hard limit allows.
pub(super) fn allow_descriptors(wanted: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid to read and write; failure leaves the limit as it is.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < wanted {
            limit.rlim_cur = wanted.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
