//! What makes a result invalid, by the rules of IO500.

use super::config::Config;
use super::phase::Phase;
use super::score::Measured;

/// What a result of lastrank is not, whatever its numbers.
pub const SUBMISSION: &str = "No result of lastrank can be submitted: the IO500 list takes results of the original program only, with its \
    hashes of configuration and scores.";

/// What was found in a run besides rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Whether the run came to its end.
    pub complete: bool,
    /// Operations that failed, reads with wrong content among them, and assertions that did not hold.
    pub errors: u64,
    /// Files that the search found.
    pub files: u64,
}

/// Why a phase makes the result invalid.
pub(super) fn of_phase(config: &Config, phase: Phase, measured: Option<&Measured>) -> Vec<String> {
    let name = phase.name();
    if config.left_out.contains(&phase) {
        return vec![format!("{name} was left out (run = FALSE); all twelve phases are mandatory")];
    }
    let Some(measured) = measured.filter(|one| one.score() > 0.0) else {
        return vec![format!("{name} did nothing, or did not end")];
    };
    let (least, wall) = (config.least_seconds(), config.stonewall_seconds);
    match phase.amount_key() {
        Some(key) if measured.seconds < wall as f64 => vec![format!(
            "{name} took {:.3} s, less than its stonewall of {wall} s: it had done all it was given; raise {key}",
            measured.seconds
        )],
        Some(_) if measured.seconds < least as f64 => {
            vec![format!("{name} took {:.3} s; the rules ask for at least {least} s", measured.seconds)]
        }
        _ => Vec::new(),
    }
}

/// Why the run as a whole makes the result invalid.
pub(super) fn of_run(config: &Config, found: &Found) -> Vec<String> {
    let mut reasons = Vec::new();
    let (least, wall) = (config.least_seconds(), config.stonewall_seconds);
    if wall != least {
        reasons.push(format!("[debug] stonewall-time is {wall}; the rules ask for {least}"));
    }
    if !found.complete {
        reasons.push("the run did not come to its end".into());
    }
    if found.errors > 0 {
        let plural = if found.errors == 1 { "operation" } else { "operations" };
        reasons.push(format!("{} {plural} failed, or read or found what was not written", found.errors));
    }
    if found.files == 0 && !config.left_out.contains(&Phase::Find) {
        reasons.push("the search found no file: write more files ([mdtest-hard] n, the stonewall)".into());
    }
    reasons
}
