//! `lastrank check`: prints the mistakes of a program.

use ppl::diagnostic::has_errors;
use ppl::plan::Settings;
use ppl::{Diagnostic, Severity};
use serde_json::json;

use super::asks::{self, SpawnGrant};
use super::parameters::{groups, pairs};
use crate::cli::{CheckArgs, DiagnosticFormat};
use crate::exit::Status;
use crate::{diagnostics, output, program};

/// Parse, check and plan; exit status 2 where there are errors, or a run would not find the space that it needs.
pub fn run(args: &CheckArgs) -> anyhow::Result<Status> {
    let environment = |name: &str| std::env::var(name).ok();
    let settings = Settings {
        ranks: args.ranks,
        parameters: pairs(&args.parameters, &args.set)?,
        groups: groups(&args.group, args.classic)?,
        environment: Some(&environment),
        seed: 1,
        tentative: args.ranks.is_none() && args.group.is_empty(),
    };
    let program = program::load(&args.program, args.classic, None)?;
    let spawns = SpawnGrant::of(program.is_shipped(), false);
    let (source, found, plan) = program.findings(&settings);
    let asked = plan.as_ref().map(|plan| asks::of(plan, spawns)).unwrap_or_default();
    // Of a program with mistakes, or of unknown ranks, names are not known.
    let refusals = plan.as_ref().map(asks::refusals_without_options).unwrap_or_default();
    let lack = plan.as_ref().and_then(asks::lacks_room);
    match args.format {
        DiagnosticFormat::Json => output::json(&json!({
            "schema": "lastrank.check/1",
            "diagnostics": diagnostics::findings(&source, &found),
            "asks": asked,
            "refusals": refusals,
            "would_not_begin": lack,
        }))?,
        DiagnosticFormat::Text => {
            diagnostics::show(&source, &found);
            if found.is_empty() {
                output::print(&format!("{}: no mistakes found\n", args.program))?;
            } else {
                output::say(format_args!("{}: {}\n", args.program, counted(&found)));
            }
            if !asked.is_empty() {
                output::print(&format!("{} asks to\n{}", args.program, asks::text(&asked, spawns)))?;
            }
            output::say(format_args!("{}", asks::refusals_text(&refusals, "warning: ")));
            if let Some(why) = &lack {
                output::say(format_args!("error: as it is now, a run would not begin: {why}\n"));
            }
        }
    }
    Ok(if has_errors(&found) || lack.is_some() { Status::Usage } else { Status::Ok })
}

/// How many findings of each kind, and where their codes are explained.
fn counted(found: &[Diagnostic]) -> String {
    let kinds = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let counts: Vec<String> = kinds
        .into_iter()
        .filter_map(|(severity, name)| {
            let count = found.iter().filter(|one| one.severity == severity).count() as u64;
            let ending = if count == 1 { "" } else { "s" };
            (count > 0).then(|| format!("{} {name}{ending}", samples::units::count(count)))
        })
        .collect();
    format!("{}; docs/language-diagnostics.md explains each code", counts.join(", "))
}
