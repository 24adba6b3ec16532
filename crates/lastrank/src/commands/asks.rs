//! What a program asks for beyond files of its own below its directories, as `check`, `explain` and `--dry-run` list it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use engine::run::{Options, RunError, foreseen, missing_space, options_of};
use ppl::commands::Wish;
use ppl::count::details;
use ppl::plan::Plan;
use serde::Serialize;

/// Who lets a program start others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnGrant {
    /// Nobody.
    Nobody,
    /// It ships inside the binary: no stranger wrote it.
    Shipped,
    /// The command line.
    CommandLine,
}

impl SpawnGrant {
    /// That of a program that ships with lastrank, or of any other, where the command line may say more.
    pub fn of(shipped: bool, said: bool) -> Self {
        match (shipped, said) {
            (true, _) => Self::Shipped,
            (false, true) => Self::CommandLine,
            (false, false) => Self::Nobody,
        }
    }
}

/// Something that a program asks for, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// What.
    pub what: Wish,
    /// It may do that already.
    pub granted: bool,
    /// The lines in which it does so, in order.
    pub lines: Vec<u32>,
}

/// A wish in words, and what grants it.
fn words(wish: Wish, spawns: SpawnGrant) -> (&'static str, &'static str) {
    let spawning = match spawns {
        SpawnGrant::Nobody => "only with --allow-spawn",
        SpawnGrant::Shipped => "granted, since it ships with lastrank",
        SpawnGrant::CommandLine => "granted on the command line",
    };
    match wish {
        Wish::StartPrograms if spawns == SpawnGrant::Nobody => {
            ("start other programs", "only with --allow-spawn; these may change any file of its directories")
        }
        Wish::StartPrograms => ("start other programs", spawning),
        Wish::LayOutFiles => ("start `lfs`, where it runs on Lustre", spawning),
        Wish::ChangePermissions if spawns == SpawnGrant::Nobody => {
            ("change permissions", "to make files executable only with --allow-spawn")
        }
        Wish::ChangePermissions => ("change permissions", spawning),
        Wish::Remove => ("remove or rename files", "those that this run made; others only with --allow DIR"),
        Wish::DropCaches => ("empty the page cache of the machine", "only root may"),
        Wish::SyncAll => ("have everything written back, of all programs", "anybody may"),
    }
}

/// What a program asks for, in a fixed order.
pub fn of(plan: &Plan, spawns: SpawnGrant) -> Vec<Asked> {
    let mut found: BTreeMap<Wish, BTreeSet<u32>> = BTreeMap::new();
    for site in plan.sites() {
        if let Some(wish) = site.command.and_then(|command| command.spec().wish()) {
            found.entry(wish).or_default().insert(site.line);
        }
    }
    let granted = |what: Wish| match what {
        Wish::StartPrograms | Wish::LayOutFiles | Wish::ChangePermissions => spawns != SpawnGrant::Nobody,
        Wish::SyncAll => true,
        Wish::Remove | Wish::DropCaches => false,
    };
    let asked = |(what, lines): (Wish, BTreeSet<u32>)| Asked {
        what,
        granted: granted(what),
        lines: lines.into_iter().collect(),
    };
    found.into_iter().map(asked).collect()
}

/// One line each, indented; empty where a program asks for nothing.
pub fn text(asked: &[Asked], spawns: SpawnGrant) -> String {
    let lines = |lines: &[u32]| {
        let shown: Vec<String> = lines.iter().take(3).map(u32::to_string).collect();
        let more = if lines.len() > shown.len() { " …" } else { "" };
        format!("line {}{more}", shown.join(", "))
    };
    asked
        .iter()
        .map(|asked| {
            let (what, grant) = words(asked.what, spawns);
            format!("  {what} ({}): {grant}\n", lines(&asked.lines))
        })
        .collect()
}

/// Ranks whose names are looked at.
const RANKS: u32 = 16;
/// Operations of each rank that are followed for that.
const FOLLOWED: u64 = 100_000;
/// Refusals that are told one by one.
const TOLD: usize = 5;

/// What a run would be refused as files are now, of the names that are known before: what the first few ranks do first with
/// each.
pub fn refusals(plan: &Plan, options: &Options) -> Vec<String> {
    let in_mpi = ranks::launcher::this_launcher().is_some();
    let mut told = Vec::new();
    for rank in 0..plan.ranks.min(RANKS) {
        let touched = details(plan, rank, FOLLOWED).touched;
        for refusal in foreseen(options, in_mpi, &touched) {
            let refusal = refusal.to_string();
            if !told.contains(&refusal) {
                told.push(refusal);
            }
        }
    }
    told
}

/// As [`refusals`], where no option of a run was given.
pub fn refusals_without_options(plan: &Plan) -> Vec<String> {
    refusals(plan, &options_of(plan, &Options::new(plan.ranks)))
}

/// Whether a run would find the space that it needs, as file systems and memory are now.
///
/// # Errors
/// Why it would not begin, with what to do.
pub fn has_room(plan: &Plan, options: &Options) -> anyhow::Result<()> {
    missing_space(plan, options).map_err(|error| match error {
        RunError::Space { .. } => {
            anyhow!("{error}; make room there, choose another place with `--set dir=…`, or write less")
        }
        other => anyhow!(other),
    })
}

/// As [`has_room`], in words and where no option of a run was given.
pub fn lacks_room(plan: &Plan) -> Option<String> {
    has_room(plan, &options_of(plan, &Options::new(plan.ranks))).err().map(|error| error.to_string())
}

/// Refusals in lines, each after `head`.
pub fn refusals_text(refusals: &[String], head: &str) -> String {
    let mut text: String =
        refusals.iter().take(TOLD).map(|one| format!("{head}as files are now, a run is {one}\n")).collect();
    if refusals.len() > TOLD {
        text += &format!("{head}and {} more names would be refused\n", refusals.len() - TOLD);
    }
    text
}
