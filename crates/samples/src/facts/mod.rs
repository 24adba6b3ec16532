//! Facts of a run: everything known about it besides its samples, as JSON in the footer of the run file.
//!
//! Every section is a typed struct whose fields all have defaults, so that older files are read as they are.
//! Keys that a newer writer added to a section are kept in its `other` and written again. A section whose
//! form this version does not understand fails on its own; the reader of run files leaves it out with a
//! warning.

mod clock;
mod confinement;
mod coverage;
mod judgement;
mod machine;
mod mpi;
mod nodes;
mod other;
mod path;
mod steady;
mod tour;
mod until;
mod verified;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Counted, RankSpan};

pub use clock::{ClockFacts, ClockKind, ClockOffset, Overhead};
pub use confinement::{ConfinedBy, ConfinementFacts};
pub use coverage::{Coverage, Tier};
pub use judgement::{Judgement, JudgementExample, JudgementKind, Judgements, Progress, ProgressUnit};
pub use machine::{
    Cache, Interface, Limits, Load, MACHINE_SCHEMA, MachineFacts, Memory, MemoryNode, OsKernel, Processor,
    Virtualisation,
};
pub use mpi::{HintsOfFile, MpiFacts, MpiHints};
pub use nodes::{NodeFacts, who_answered};
pub use other::OtherFacts;
pub use path::{BlockDevice, FileLayout, Mount, NfsMount, NfsOperation, PathFacts};
pub use steady::{SteadyFacts, SteadyLimit, SteadyOutcome, SteadyQuantity, SteadyRule, SteadyWindow};
pub use tour::{Bandwidth, CurvePoint, Noise, RungFacts, RungGroup, RungQuantiles, TimingCheck, TourFacts};
pub use until::{EndedBy, UntilFacts};
pub use verified::VerifiedFacts;

/// The schema of [`Facts`]: the number rises when a key changes its meaning, not when one is added.
pub const FACTS_SCHEMA: &str = "lastrank.facts/1";

/// What was run, on what, how: JSON in the footer of the run file (schema [`FACTS_SCHEMA`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// `lastrank.facts/1`.
    pub schema: String,
    /// Name of the program: the file's stem or the experiment's name.
    pub name: String,
    /// What the user said about the run (`--note`). Empty where nothing was said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Names with values that the user gave it (`--tag`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The whole program text.
    pub program: String,
    /// Parameters as they were used, defaults included.
    pub parameters: BTreeMap<String, String>,
    /// The seed of all random draws.
    pub seed: u64,
    /// Number of ranks.
    pub ranks: u32,
    /// `posix`, `simulate`, `mpiio`.
    pub backend: String,
    /// How ranks communicate: `single`, `processes`, or the MPI library's own description.
    pub communicator: String,
    /// How ranks were placed on processors: pinned, or left to the scheduler, and why. Empty if lastrank did
    /// not decide it: in a simulated run, or under a launcher.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub placement: String,
    /// Under MPI: which library, and why. Null otherwise.
    pub mpi: Option<MpiFacts>,
    /// Under MPI: a number that all ranks of the job agreed on, in hexadecimal, which identifies the parts of
    /// one run. Empty otherwise.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job: String,
    /// Under MPI: which ranks shared a machine. Empty without, and from earlier versions; of parts of a run that broke off or
    /// is large that of rank 0 has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeFacts>,
    /// The host of each rank, where ranks ran on several. Empty where all ran on one, and from earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Hints to MPI-IO (`define hints`). Null if there were none.
    pub hints: Option<MpiHints>,
    /// UTC start, RFC 3339.
    pub started: String,
    /// Wall time of the whole run in seconds.
    pub elapsed_s: f64,
    /// Bytes that block devices read for its ranks, as the kernel accounts them (`getrusage`: `ru_inblock`): what was read
    /// beyond came from the page cache. `None` where the ranks are no children of one process, and from earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<u64>,
    /// How many reads each block device was asked for during the run, by whomever, those that the kernel put together counted
    /// one by one (`/proc/diskstats`): no more reads than these can have waited for the device. `None` where that is not
    /// known, and from earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_reads: Option<BTreeMap<String, u64>>,
    /// The command line.
    pub command_line: Vec<String>,
    /// Host, processor, memory, kernel, hypervisor …
    pub machine: Option<MachineFacts>,
    /// Kind, resolution (quantum), cost and calibration of the clock.
    pub clock: Option<ClockFacts>,
    /// Which causes of slow operations could be observed. `None` if causes were not watched.
    #[serde(rename = "sight", skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// The confinement of the program, which adds about 0.4 µs to each call that opens or creates a file.
    /// `None` for a run without local files, and from earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confinement: Option<ConfinementFacts>,
    /// For each directory the program names: file system, mount options, device.
    pub file_systems: Vec<PathFacts>,
    /// Versions of lastrank, its compiler and the libraries that matter.
    pub versions: BTreeMap<String, String>,
    /// The offsets of the ranks' clocks from that of rank 0: one list for each comparison (at the start and
    /// at the end) with one entry for each rank; see [`crate::CommonClock`].
    pub clock_offsets: Vec<Vec<ClockOffset>>,
    /// When each rank ran the program: what [`crate::time_use`] needs.
    pub spans: Vec<RankSpan>,
    /// Whether every rank reached the end of the program and all its samples could be read back. Failed
    /// operations are samples with an errno and do not make a run incomplete.
    pub complete: bool,
    /// What was found in it: failures, wrong content, assertions that do not hold, lost ranks. `None` of runs of earlier
    /// versions: [`crate::Run::judgements`] then judges by samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgements: Option<Judgements>,
    /// How much of what was read was compared with what was written there. `None` of a run whose program verifies nothing,
    /// and of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<VerifiedFacts>,
    /// What the run was to go on until. `None` where nothing was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilFacts>,
    /// When the load was to count as steady, and whether it did. `None` where nothing was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyFacts>,
    /// Why the run is incomplete: one line for each failed rank.
    pub failures: Vec<String>,
    /// Conditions that make the result less trustworthy.
    pub warnings: Vec<Warning>,
    /// Results of `lastrank try` besides its samples; `None` in other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tour: Option<TourFacts>,
    /// The histograms of each site, of a run with `--record histogram`; empty in other runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Counted>,
    /// Hints for the report, from `define report` in the program: what to analyse first.
    pub report: BTreeMap<String, String>,
}

impl Facts {
    /// The step in which the clock advances, in seconds; `None` if unknown.
    pub fn clock_step_s(&self) -> Option<f64> {
        let step = self.clock.as_ref()?.quantum_ps;
        (step > 0).then_some(step as f64 * 1e-12)
    }

    /// What a rank is called: `14`, or `14 on node7` where ranks ran on several hosts.
    pub fn name_of_rank(&self, rank: u32) -> String {
        match self.hosts.get(rank as usize).filter(|host| !host.is_empty()) {
            Some(host) => format!("{rank} on {host}"),
            None => rank.to_string(),
        }
    }

    /// Whether the run was in virtual time, without accessing a device.
    pub fn is_simulated(&self) -> bool {
        self.backend.starts_with("simulate")
    }

    /// When the run began, in UTC; `None` of a simulated one, whose clock begins at 1970, and where nobody knows.
    pub fn began(&self) -> Option<&str> {
        Some(self.started.as_str()).filter(|text| !text.is_empty() && !self.is_simulated())
    }
}

/// Begins, in the text of a [`Warning`], which thing it was the first time. Several ranks may name several.
pub const FIRST: &str = " (first: ";

/// Something that makes a result less trustworthy, and what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A short stable name: `page-cache`, `clock-coarse`, `short-transfer` …
    pub code: String,
    /// What was found.
    pub text: String,
    /// What the reader can do.
    pub advice: String,
}

impl Warning {
    fn stem(&self) -> Option<&str> {
        self.text.split(FIRST).next()
    }

    /// Does this one say the same, whichever it names first?
    pub fn says(&self, other: &Self) -> bool {
        self.code == other.code && self.advice == other.advice && self.stem() == other.stem()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Facts {
        serde_json::from_str(json).expect("facts")
    }

    #[test]
    fn unknown_keys_of_a_section_are_written_again() {
        let json = r#"{"schema":"lastrank.facts/1","machine":{"host":"a","of_tomorrow":[1,{"deep":true}]},
            "clock":{"quantum_ps":10,"of_tomorrow":1},"mpi":{"version":"x","of_tomorrow":2},
            "file_systems":[{"path":"/d","of_tomorrow":3}],"sight":{"tier":"events","of_tomorrow":4},
            "hints":{"used":[],"of_tomorrow":5},"tour":{"rungs":[{"name":"L1","of_tomorrow":6}],"of_tomorrow":7}}"#;
        let again = serde_json::to_value(read(json)).expect("plain data");
        let before: serde_json::Value = serde_json::from_str(json).expect("JSON");
        for section in ["machine", "clock", "mpi", "sight", "hints", "tour"] {
            assert_eq!(again[section]["of_tomorrow"], before[section]["of_tomorrow"], "{section}");
        }
        assert_eq!(again["file_systems"][0]["of_tomorrow"], 3);
        assert_eq!(again["tour"]["rungs"][0]["of_tomorrow"], 6);
    }

    #[test]
    fn sections_of_older_files_may_be_null_absent_or_short() {
        let facts = read(r#"{"mpi":null,"hints":null,"clock":null,"machine":null}"#);
        assert_eq!(facts, Facts::default());
        let facts = read(
            r#"{"clock":{"kind":"virtual","quantum_ps":1},"file_systems":[{"directory":"/d","type":"xfs"}]}"#,
        );
        assert_eq!(facts.clock_step_s(), Some(1e-12));
        let on = &facts.file_systems[0];
        assert_eq!((on.path.as_str(), on.file_system.as_deref()), ("/d", Some("xfs")));
    }

    #[test]
    fn default_facts_have_the_same_keys_as_before() {
        let json = serde_json::to_value(Facts::default()).expect("plain data");
        let keys: Vec<&str> = json.as_object().expect("an object").keys().map(String::as_str).collect();
        assert!(
            ["machine", "clock", "mpi", "hints"].iter().all(|key| json[key].is_null() && keys.contains(key))
        );
        assert!(
            ["sight", "tour", "counted", "job", "placement"].iter().all(|key| !keys.contains(key)),
            "{keys:?}"
        );
        let simulated = MachineFacts { summary: "a simulated machine".into(), ..MachineFacts::default() };
        let json = serde_json::to_string(&simulated).expect("plain data");
        assert_eq!(json, r#"{"summary":"a simulated machine"}"#);
    }
}
