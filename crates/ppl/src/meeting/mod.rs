//! Checks that every rank reaches the meetings of its groups: barriers, phases and collective commands.
//!
//! First a static analysis ([`analysis`]) finds which variables can differ between ranks, and whether all
//! ranks reach each meeting equally often. It is sound: without a finding, all ranks meet in every run. A
//! finding may be a false alarm, so it is a warning. If the number of ranks is known and the meetings do not
//! depend on what only a run shows, all ranks are then simulated ([`simulate`]); what that finds is certain
//! and is an error.

mod analysis;
mod domain;
mod flow;
mod simulate;
mod values;

use crate::code::{Code, Expr, GroupId, SiteId, Step};
use crate::commands::{Command, Effect};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::plan::Plan;

use analysis::{Analysis, MissReason, PossibleMiss};
use domain::Divergence;
use simulate::{NO_SITE, StuckRank, Verdict, simulate};

/// Diagnostics about the meetings of ranks. `known`: whether the plan has the ranks and groups of the run.
pub(crate) fn check(plan: &Plan, known: bool) -> Vec<Diagnostic> {
    if !has_meetings(&plan.code) {
        return Vec::new();
    }
    let Analysis { mut findings, misused, open, given_up, .. } = Analysis::of(plan, known);
    if known && plan.ranks == 1 {
        findings.retain(|_, finding| matches!(finding.why, MissReason::Workers(_)));
    }
    let mut stuck = None;
    if known && !findings.is_empty() && !open && !given_up {
        match simulate(plan) {
            Verdict::AllMeet => findings.retain(|_, finding| finding.soft),
            Verdict::Unknown => {}
            Verdict::Stuck(wanting) => stuck = Some(wanting),
        }
    }
    let mut out = Vec::new();
    if let Some(wanting) = stuck {
        let span = span_of(plan, wanting.site).or_else(|| findings.values().next().map(|it| it.span));
        let span = span.unwrap_or_default();
        let finding = findings.remove(&(span.start, span.end));
        out.push(hang(plan, &wanting, span, finding.as_ref()));
    }
    out.extend(findings.values().map(|finding| perhaps(plan, finding)));
    out.extend(
        misused.iter().map(|((start, end), command)| of_group_file(Span::new(*start, *end), *command)),
    );
    if given_up {
        let message = "the program is too large to check whether all ranks reach its meetings";
        out.push(
            Diagnostic::warning(DiagnosticCode::PerhapsCollective, Span::default(), message)
                .help("if the ranks differ, the program hangs"),
        );
    }
    out
}

/// Whether ranks meet anywhere.
fn has_meetings(code: &Code) -> bool {
    let collective = |command: Command| command.is_collective();
    code.steps.iter().any(|step| match *step {
        Step::Barrier { .. } | Step::Phase { .. } => true,
        Step::ForTime { together, .. } => together,
        Step::Command { command, .. } => collective(command),
        _ => false,
    }) || code.exprs.iter().any(|expr| match *expr {
        Expr::Command(at) => collective(code.calls[at as usize].command()),
        _ => false,
    })
}

fn span_of(plan: &Plan, site: SiteId) -> Option<Span> {
    plan.code.places.of_site(site).filter(|_| site != NO_SITE)
}

fn name(plan: &Plan, group: GroupId) -> &str {
    plan.groups.get(group.index()).map_or("world", |group| &group.name)
}

/// The span where ranks diverge, and its label.
fn divergence_place(plan: &Plan, why: &MissReason) -> (Span, String) {
    match why {
        MissReason::Workers(place) => (*place, "several workers of each rank execute this".into()),
        MissReason::Diverged(Divergence::Master(place)) => {
            (*place, "only the first rank executes this".into())
        }
        MissReason::Diverged(Divergence::Differs(place)) => (*place, "this can differ between ranks".into()),
        MissReason::Diverged(Divergence::Environment(place)) => {
            (*place, "`$$env` can differ between ranks: each reads its own environment".into())
        }
        MissReason::Diverged(Divergence::Stonewall(place)) => (*place, "loops inside end at any time".into()),
        MissReason::Group { only: Some(only), place, .. } => {
            (*place, format!("only the ranks of \"{}\" execute this", name(plan, *only)))
        }
        MissReason::Group { only: None, place, .. } => (*place, "only some ranks execute this".into()),
    }
}

/// The help line.
fn advice(plan: &Plan, why: &MissReason) -> String {
    match why {
        MissReason::Workers(_) => "move it out of `parallel`".into(),
        MissReason::Diverged(Divergence::Master(_)) => "move it out of `master`".into(),
        MissReason::Diverged(Divergence::Differs(_)) => {
            "move it out, or make the condition the same on all ranks: if they differ, the program hangs"
                .into()
        }
        MissReason::Diverged(Divergence::Environment(_)) => {
            "use a parameter, which is the same on all ranks: `define param \"steps\" $steps 10` and `--set steps=20`"
                .into()
        }
        MissReason::Diverged(Divergence::Stonewall(_)) => {
            "move it out of the loop: if the ranks differ, the program hangs".into()
        }
        MissReason::Group { only: Some(only), .. } => format!(
            "move it out of the group, or use that of the group: `barrier(\"{}\");`",
            name(plan, *only)
        ),
        MissReason::Group { only: None, .. } => "move it out of the group".into(),
    }
}

/// The warning about a command of one rank that gets a file of a group.
fn of_group_file(span: Span, command: Command) -> Diagnostic {
    let name = command.name();
    let message = format!("`{name}` gets a file that `pfopen` opened for a group");
    let help = match command.spec().effect {
        Effect::Closes => "close it with `pfclose`",
        _ => "use `pfread`, `pfwrite` and `pfclose`, or open the file with `fopen` for commands of one rank",
    };
    Diagnostic::warning(DiagnosticCode::GroupFile, span, message).help(help)
}

/// The warning about a meeting that ranks may miss.
fn perhaps(plan: &Plan, finding: &PossibleMiss) -> Diagnostic {
    let what = &finding.what;
    let message = match &finding.why {
        MissReason::Workers(_) => format!("{what} cannot be done by the workers of `parallel`"),
        MissReason::Group { target: Some(target), .. } => {
            format!("perhaps not all ranks of \"{}\" reach {what}", name(plan, *target))
        }
        MissReason::Diverged(_) | MissReason::Group { target: None, .. } => {
            format!("ranks may reach {what} a different number of times")
        }
    };
    let (place, seen) = divergence_place(plan, &finding.why);
    let mut found = Diagnostic::warning(DiagnosticCode::PerhapsCollective, finding.span, message);
    if place != Span::default() {
        found = found.label(place, seen);
    }
    found.help(advice(plan, &finding.why))
}

/// The error about a meeting that ranks miss for certain.
fn hang(plan: &Plan, wanting: &StuckRank, span: Span, finding: Option<&PossibleMiss>) -> Diagnostic {
    let StuckRank { rank, missing, elsewhere, .. } = *wanting;
    let what = match finding {
        Some(finding) => finding.what.clone(),
        None => "this".to_owned(),
    };
    let where_ = if elsewhere.is_some() { "waits elsewhere" } else { "has ended its program" };
    let message = format!(
        "not all ranks reach {what}: rank {rank} waits, and rank {missing} {where_}, so the program would hang"
    );
    let mut found = Diagnostic::error(DiagnosticCode::Collective, span, message);
    if let Some(place) = elsewhere.and_then(|site| span_of(plan, site)).filter(|place| *place != span) {
        found = found.label(place, format!("rank {missing} waits here"));
    }
    if let Some(finding) = finding {
        let (place, seen) = divergence_place(plan, &finding.why);
        if place != Span::default() {
            found = found.label(place, seen);
        }
        found = found.help(advice(plan, &finding.why));
    }
    found
}
