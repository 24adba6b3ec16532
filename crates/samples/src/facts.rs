//! What is known about a run besides its samples?

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ClockOffset, Counted, Span};

/// What was run, on what, how: JSON in the footer of the run file (schema `lastrank.facts/1`).
///
/// Sections that describe hardware are free JSON objects, so that a newer writer does not break an
/// older reader.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// `lastrank.facts/1`.
    pub schema: String,
    /// Name of the program: the file's stem or the experiment's name.
    pub name: String,
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
    /// Which processors the ranks ran on: pinned, or left to the scheduler, and why. Empty where nobody
    /// decided it: simulated, or under a launcher.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub placement: String,
    /// Under MPI: `library`, `version`, `abi`, `why` it was chosen and what `launcher` told. Null without.
    pub mpi: Value,
    /// Under MPI: a number that all ranks of the job agreed on, in hexadecimal; by it parts of one run are
    /// told from those of another. Empty without.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job: String,
    /// Hints to MPI-IO (`define hints`): `asked` by the program, and those `used` by the library, for
    /// each file. Null where none were asked for.
    pub hints: Value,
    /// UTC start, RFC 3339.
    pub started: String,
    /// Wall time of the whole run in seconds.
    pub elapsed_s: f64,
    /// The command line.
    pub command_line: Vec<String>,
    /// Host, processor, memory, kernel, hypervisor …
    pub machine: Value,
    /// Kind, resolution (quantum), cost and calibration of the clock.
    pub clock: Value,
    /// What could be seen of the causes of slow operations: `tier`, `sees`, and `blind`, a sentence for
    /// each thing that could not be seen. Null where nobody looked.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub sight: Value,
    /// For each directory the program names: file system, mount options, device.
    pub file_systems: Vec<Value>,
    /// Versions of lastrank, its compiler and the libraries that matter.
    pub versions: BTreeMap<String, String>,
    /// The ranks' clocks against that of rank 0, one list a comparison (at the start, at the end), in it
    /// one a rank; see [`crate::CommonClock`].
    pub clock_offsets: Vec<Vec<ClockOffset>>,
    /// When each rank ran the program: what [`crate::time_use`] needs.
    pub spans: Vec<Span>,
    /// Did every rank reach the end of the program, and could what it recorded be read back? Operations
    /// that failed on the way are samples with an errno and change nothing here.
    pub complete: bool,
    /// Why not, where it did not: one line a failed rank.
    pub failures: Vec<String>,
    /// Anything that makes the result less trustworthy.
    pub warnings: Vec<Warning>,
    /// What `lastrank try` found beside its samples (schema `lastrank.tour/1`): `rungs` with quantiles,
    /// causes and the picture of their tail, `curve` (latency in ps against working set in bytes),
    /// `bandwidths`, `caches` with their sizes, `clock`, `noise`, `skipped`. Null of any other run.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub tour: Value,
    /// Of a run that counts instead of keeping every sample (`--record histogram`): what each site came to.
    /// Empty of any other run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Counted>,
    /// Hints for the report, from `define report` in the program: what to analyse first.
    pub report: BTreeMap<String, String>,
}

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
