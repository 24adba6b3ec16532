//! `lastrank machine`: judges whether this machine is fit to measure, and describes it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clock::Clock;
use engine::mpi::{Survey, survey};
use machine::{self, Finding, Severity};
use report::words::capital;
use report::{AnswerSign, answer_line};
use samples::units::duration;
use samples::{ClockFacts, ClockKind, MachineFacts};
use serde::Serialize;

use crate::cli::MachineArgs;
use crate::commands::run::choice;
use crate::exit::Status;
use crate::output;

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    machine: &'a MachineFacts,
    mpi: &'a Survey,
    findings: &'a [Finding],
    verdict: &'a str,
}

/// Describe the machine and judge it.
pub fn run(args: &MachineArgs) -> anyhow::Result<Status> {
    let here = [PathBuf::from(".")];
    let paths: Vec<&Path> =
        if args.paths.is_empty() { &here[..] } else { &args.paths }.iter().map(PathBuf::as_path).collect();
    for path in &paths {
        if !path.exists() {
            anyhow::bail!("there is no `{}` here; name directories that exist", path.display());
        }
    }
    let mut mpi = survey(&choice(args.mpi.as_deref())).context("cannot look for MPI libraries")?;
    let (_, clock) = Clock::choose();
    let mut found = machine::describe_before(&paths);
    found.clock = Some(clock.clone());
    let shown = if args.redact { machine::redact(&found) } else { found };
    // Redact before judging: findings name paths too.
    let findings = machine::judge(&shown);
    let verdict = machine::verdict(&findings);
    if args.redact {
        mpi = mpi.redact();
    }
    if args.json {
        output::json(&Answer { machine: &shown, mpi: &mpi, findings: &findings, verdict })?;
    } else {
        let sign = match findings.iter().any(|finding| finding.severity > Severity::Note) {
            true => AnswerSign::Caution,
            false => AnswerSign::Good,
        };
        let head = answer_line(sign, verdict, output::screen_options());
        output::print_below(&head, &text(&shown, &clock, &mpi, &findings))?;
    }
    let fit = findings.iter().all(|finding| finding.severity < Severity::Problem);
    Ok(if fit { Status::Ok } else { Status::No })
}

/// The findings in the order in which they are to be mended, then a line for each thing, and each path with what lies
/// under it.
fn text(shown: &MachineFacts, clock: &ClockFacts, mpi: &Survey, findings: &[Finding]) -> String {
    let row = |(name, words): (&str, String)| report::sentence(&format!("{name:13} "), &words);
    let mut text: String = findings.iter().map(told).collect();
    text.push('\n');
    text.extend(machine::table(shown).into_iter().map(row));
    text += &row(("Clock", clock_words(clock)));
    for line in mpi.lines() {
        text += &row(("MPI", line.strip_prefix("MPI ").unwrap_or(&line).to_owned()));
    }
    for path in &shown.paths {
        text += &format!("\n{}\n", machine::path_line(path));
        for (name, words) in machine::path_table(path) {
            text += &report::sentence(&format!("  {name:11} "), &words);
        }
    }
    text
}

/// What was found, and what to do; of a note both in one, since there is nothing to mend.
fn told(finding: &Finding) -> String {
    match finding.severity {
        Severity::Note => report::sentence("– ", &format!("{}: {}", capital(&finding.text), finding.advice)),
        _ => report::sentence("⚠ ", &capital(&finding.text)) + &report::sentence("  Fix: ", &finding.advice),
    }
}

/// `the processor's counter, steps of 10.0 ns, 22.7 ns a reading`.
fn clock_words(clock: &ClockFacts) -> String {
    let name = match clock.kind {
        ClockKind::Monotonic => "the kernel's monotonic clock",
        ClockKind::Tsc | ClockKind::TscMfence => "the processor's counter",
        ClockKind::Virtual => "a virtual clock",
        ClockKind::Unknown => "a clock of another version",
    };
    format!(
        "{name}, steps of {}, {} a reading ({})",
        duration(clock.quantum_ps as f64 * 1e-12),
        duration(clock.overhead.mean_ps as f64 * 1e-12),
        clock.fence
    )
}
