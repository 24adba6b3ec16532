//! What a program asks for beyond files of its own below its directories, as `check`, `explain` and `--dry-run` list it.

use std::collections::{BTreeMap, BTreeSet};

use ppl::commands::Wish;
use ppl::plan::Plan;
use serde::Serialize;

/// Something that a program asks for, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// What.
    pub what: Wish,
    /// The lines in which it does so, in order.
    pub lines: Vec<u32>,
}

/// A wish in words, and what grants it.
fn words(wish: Wish) -> (&'static str, &'static str) {
    match wish {
        Wish::StartPrograms => ("start other programs", "only with --allow-spawn"),
        Wish::LayOutFiles => ("start `lfs`, where it runs on Lustre", "only with --allow-spawn"),
        Wish::ChangePermissions => ("change permissions", "to make files executable only with --allow-spawn"),
        Wish::Remove => ("remove or rename files", "what this run did not make only with --allow DIR"),
        Wish::DropCaches => ("empty the page cache of the machine", "only root may"),
        Wish::SyncAll => ("have everything written back, of all programs", "anybody may"),
    }
}

/// What a program asks for, in a fixed order.
pub fn of(plan: &Plan) -> Vec<Asked> {
    let mut found: BTreeMap<Wish, BTreeSet<u32>> = BTreeMap::new();
    for site in plan.sites() {
        if let Some(wish) = site.command.and_then(|command| command.spec().wish()) {
            found.entry(wish).or_default().insert(site.line);
        }
    }
    found.into_iter().map(|(what, lines)| Asked { what, lines: lines.into_iter().collect() }).collect()
}

/// One line each, indented; empty where a program asks for nothing.
pub fn text(asked: &[Asked]) -> String {
    let lines = |lines: &[u32]| {
        let shown: Vec<String> = lines.iter().take(3).map(u32::to_string).collect();
        let more = if lines.len() > shown.len() { " …" } else { "" };
        format!("line {}{more}", shown.join(", "))
    };
    asked
        .iter()
        .map(|asked| {
            let (what, grant) = words(asked.what);
            format!("  {what} ({}): {grant}\n", lines(&asked.lines))
        })
        .collect()
}
