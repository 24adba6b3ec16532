//! `lastrank machine`: what is this machine, and is it fit to measure?

use std::path::{Path, PathBuf};

use engine::clock::{Clock, Description};
use engine::comm::mpi::{Survey, survey};
use engine::machine::{self, Finding, Machine};
use samples::units::duration;
use serde::Serialize;

use crate::cli::MachineArgs;
use crate::commands::run::choice;
use crate::exit::Status;
use crate::output;

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    machine: &'a Machine,
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
    let mut mpi = survey(&choice(args.mpi.as_deref()));
    let (_, clock) = Clock::choose();
    let mut found = machine::describe(&paths);
    found.clock = Some(clock.clone());
    let findings = machine::judge(&found);
    let verdict = machine::verdict(&findings);
    let shown = if args.redact { found.redact() } else { found };
    if args.redact {
        mpi = mpi.redact();
    }
    if args.json {
        output::json(&Answer { machine: &shown, mpi: &mpi, findings: &findings, verdict })?;
    } else {
        let mut lines = shown.lines();
        lines.push(clock_line(&clock));
        lines.extend(mpi.lines());
        let mut text = lines.join("\n") + "\n\n";
        for finding in &findings {
            text += &format!("{}: {}\n  {}\n", finding.severity, finding.text, finding.advice);
        }
        if !findings.is_empty() {
            text.push('\n');
        }
        output::print(&(text + verdict + "\n"))?;
    }
    Ok(Status::Ok)
}

/// `Clock: TSC, steps of 10.0 ns, 22.7 ns a reading`.
pub fn clock_line(clock: &Description) -> String {
    let name = match clock.kind {
        engine::clock::Kind::Monotonic => "the kernel's monotonic clock",
        _ => "the processor's counter",
    };
    format!(
        "Clock: {name}, steps of {}, {} a reading",
        duration(clock.quantum_ps as f64 * 1e-12),
        duration(clock.overhead.mean_ps as f64 * 1e-12)
    )
}
