//! `--dry-run`: prints operations, bytes, files and space of each rank.

use engine::run::{Confine, Options};
use ppl::commands::Wish;
use ppl::count::{DEFAULT_BUDGET, Details, count, details};
use samples::units::{bytes, count as number, duration};
use serde_json::json;

use crate::commands::asks::{self, SpawnGrant};
use crate::commands::explain;
use crate::exit::Status;
use crate::output;
use crate::program::Planned;

/// The most ranks that are counted one by one; further ones are only mentioned.
const MOST_RANKS: u32 = 64;

/// The number of samples of one rank, for the size of its buffer and the progress bar; 0 if it is not known, as of
/// a program that runs for a time.
pub fn expected_samples(planned: &Planned) -> u64 {
    let tally = count(&planned.plan, 0, DEFAULT_BUDGET / 10);
    if tally.at_least { 0 } else { tally.total.saturating_add(tally.barriers) }
}

/// Print operations, bytes, files and space of every rank, and whether it would begin at all.
pub fn show(planned: &Planned, options: &Options, as_json: bool) -> anyhow::Result<Status> {
    let plan = &planned.plan;
    let ranks = plan.ranks.min(MOST_RANKS);
    let budget = DEFAULT_BUDGET / u64::from(ranks.max(1));
    let works: Vec<Details> = (0..ranks).map(|rank| details(plan, rank, budget)).collect();
    let refusal = asks::has_room(plan, options).err().map(|error| error.to_string());
    let status = if refusal.is_some() { Status::Usage } else { Status::Ok };
    if as_json {
        let space: Vec<_> = plan
            .space
            .iter()
            .map(|space| json!({"directory": space.directory, "bytes": space.bytes}))
            .collect();
        output::json(&json!({
            "schema": "lastrank.dry-run/1",
            "program": planned.name,
            "ranks": plan.ranks,
            "parameters": plan.parameters,
            "seed": plan.seed,
            "backend": options.backend.name(),
            "space": space,
            "asks": asks::of(plan, grant(planned, options)),
            "refusals": asks::refusals(plan, options),
            "would_not_begin": refusal,
            "per_rank": works.iter().map(|work| &work.tally).collect::<Vec<_>>(),
        }))?;
        return Ok(status);
    }
    output::print(&text(planned, options, (&works, refusal.as_deref())))?;
    Ok(status)
}

/// What a program of a stranger asks for beyond files of its own, before it begins; nothing of one that ships with lastrank.
pub fn tell_asked(planned: &Planned, options: &Options) {
    let spawns = grant(planned, options);
    let mut asked = asks::of(&planned.plan, spawns);
    // What it made it may remove, as nearly all do.
    asked.retain(|asked| asked.what != Wish::Remove);
    if !planned.shipped && !asked.is_empty() {
        output::say(format_args!("note: {} asks to\n{}", planned.name, asks::text(&asked, spawns)));
    }
}

fn grant(planned: &Planned, options: &Options) -> SpawnGrant {
    SpawnGrant::of(planned.shipped, options.allow_spawn || options.confine == Confine::Nobody)
}

fn text(planned: &Planned, options: &Options, (works, refusal): (&[Details], Option<&str>)) -> String {
    let plan = &planned.plan;
    let ranks = if plan.ranks == 1 { "1 rank".into() } else { format!("{} ranks", plan.ranks) };
    let mut text =
        format!("{}: {ranks}, backend {}; nothing was done\n", planned.name, options.backend.name());
    for (name, value) in &plan.parameters {
        text += &format!("  {name} = {value}\n");
    }
    for space in &plan.space {
        if ppl::plan::is_memory(space.directory.as_deref()) {
            text += &format!("  uses {} of memory\n", bytes(space.bytes));
            continue;
        }
        let place = space.directory.as_deref().or_else(|| plan.parameter("dir")).unwrap_or(".");
        text += &format!("  needs {} free in {place}\n", bytes(space.bytes));
    }
    let spawns = grant(planned, options);
    let asked = asks::of(plan, spawns);
    if !asked.is_empty() {
        text += "it asks to\n";
        text += &asks::text(&asked, spawns);
    }
    text += &asks::refusals_text(&asks::refusals(plan, options), "");
    if let Some(why) = refusal {
        text += &format!("it would not begin: {why}\n");
    }
    text.push('\n');
    let mut rank = 0;
    while rank < works.len() {
        let first = &works[rank];
        let same = works[rank..].iter().take_while(|other| other.tally == first.tally).count();
        let is_alike = works[rank..rank + same].iter().all(|other| other.created == first.created);
        let who = match same {
            1 => format!("rank {rank}"),
            _ => format!("ranks {rank} to {}, each", rank + same - 1),
        };
        // Names often hold the number of the rank.
        let whose = if is_alike { String::new() } else { format!(" (rank {rank})") };
        text += &of_rank(&who, first, &whose);
        rank += same;
    }
    if plan.ranks as usize > works.len() {
        text += &format!("… and {} more ranks\n", plan.ranks as usize - works.len());
    }
    text
}

fn of_rank(who: &str, work: &Details, whose: &str) -> String {
    let tally = &work.tally;
    let least = if tally.at_least { "at least " } else { "" };
    let mut text = format!("{who}: {least}{} operations\n", number(tally.total));
    let operations: Vec<_> =
        tally.operations.iter().map(|(name, count)| format!("{name} {}", number(*count))).collect();
    text += &format!("  {}\n", operations.join(" · "));
    text += &format!("  writes {}, reads {}", bytes(tally.written), bytes(tally.read));
    text += &format!(
        "; at most {} on disk and {} in memory at a time\n",
        bytes(tally.space),
        bytes(tally.memory)
    );
    if let Some(created) = explain::created(tally, &work.created) {
        text += &format!("  {created}{whose}\n");
    }
    if tally.barriers > 0 {
        text += &format!("  meets the other ranks {} times\n", number(tally.barriers));
    }
    if tally.waiting_ns > 0 {
        text += &format!("  waits {} of its own accord\n", duration(tally.waiting_ns as f64 * 1e-9));
    }
    if let Some(why) = &tally.stopped {
        text += &format!("  would stop early: {why}\n");
    }
    text
}
