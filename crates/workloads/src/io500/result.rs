//! What is written of a result: lines for people and for scripts that read those of IO500.

use std::fmt::Write;

use super::config::Config;
use super::phase::{Phase, Unit};
use super::score::{Measured, Scores, scores};
use super::valid::{self, Found, SUBMISSION};

/// A result: what the phases did, and what was found besides.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    /// As it was asked for.
    pub config: &'a Config,
    /// The phases that were measured.
    pub measured: Vec<Measured>,
    /// What was found besides.
    pub found: Found,
}

impl Outcome<'_> {
    fn of(&self, phase: Phase) -> Option<&Measured> {
        self.measured.iter().find(|one| one.phase == phase)
    }

    /// The three numbers.
    pub fn scores(&self) -> Scores {
        let of_phases: Vec<_> = self.measured.iter().map(|one| (one.phase, one.score())).collect();
        scores(&of_phases)
    }

    /// What makes the result invalid by the rules; empty of a valid one.
    pub fn reasons(&self) -> Vec<String> {
        let of_phases =
            Phase::ALL.into_iter().flat_map(|one| valid::of_phase(self.config, one, self.of(one)));
        valid::of_run(self.config, &self.found).into_iter().chain(of_phases).collect()
    }

    /// The lines of a result: one a phase, the score, and what makes it invalid.
    pub fn summary(&self, version: &str) -> String {
        let mut out = format!("lastrank {version}: the phases and formulas of IO500 (standard)\n");
        for phase in Phase::ALL {
            let Some(one) = self.of(phase) else { continue };
            let mark = mark(&valid::of_phase(self.config, phase, Some(one)));
            let (name, score, unit) = (phase.name(), one.score(), phase.unit().name());
            _ = writeln!(
                out,
                "[RESULT] {name:>20} {score:>15.6} {unit} : time {:.3} seconds{mark}",
                one.seconds
            );
        }
        let (scores, reasons) = (self.scores(), self.reasons());
        _ = writeln!(
            out,
            "[SCORE ] Bandwidth {:.6} GiB/s : IOPS {:.6} kiops : TOTAL {:.6}{}",
            scores.bandwidth,
            scores.iops,
            scores.total,
            mark(&reasons)
        );
        if !reasons.is_empty() {
            out += "\nInvalid by the rules of IO500:\n";
            reasons.iter().for_each(|reason| _ = writeln!(out, "- {reason}"));
        }
        _ = write!(out, "\n{SUBMISSION}\n");
        out
    }

    /// The same as sections of `key = value`; `head` is what the first section says of the run.
    pub fn sections(&self, head: &[(&str, String)]) -> String {
        let mut out = String::from("[run]\n");
        head.iter().for_each(|(key, value)| pair(&mut out, key, value));
        for phase in Phase::ALL {
            let Some(one) = self.of(phase) else { continue };
            _ = write!(out, "\n[{}]\n", phase.name());
            if phase == Phase::Find {
                pair(&mut out, "found", &self.found.files.to_string());
            }
            let key = if phase.unit() == Unit::GibPerSecond { "bytes" } else { "total-files" };
            pair(&mut out, key, &one.amount.to_string());
            pair(&mut out, "score", &format!("{:.6}", one.score()));
            pair(&mut out, "t_delta", &format!("{:.4}", one.seconds));
            for reason in valid::of_phase(self.config, phase, Some(one)) {
                _ = writeln!(out, "; INVALID {reason}");
            }
        }
        let (scores, reasons) = (self.scores(), self.reasons());
        out += "\n[SCORE]\n";
        pair(&mut out, "MD", &format!("{:.6}", scores.iops));
        pair(&mut out, "BW", &format!("{:.6}", scores.bandwidth));
        pair(&mut out, "SCORE", &format!("{:.6}{}", scores.total, mark(&reasons)));
        reasons.iter().for_each(|reason| _ = writeln!(out, "; INVALID {reason}"));
        _ = writeln!(out, "; {SUBMISSION}");
        out
    }
}

fn mark(reasons: &[String]) -> &'static str {
    if reasons.is_empty() { "" } else { " [INVALID]" }
}

fn pair(out: &mut String, key: &str, value: &str) {
    _ = writeln!(out, "{key:<20}= {value}");
}
