//! `lastrank explain`: prints what a program will do, rank by rank.

use ppl::count::{DEFAULT_BUDGET, WorkCount};
use ppl::explain::{Explanation, PatternLayout, PictureScale, RankWork, ShapeLayout, explain};
use ppl::plan::{Plan, Settings};
use samples::units::{bytes, count, duration};
use serde_json::json;

use super::asks::{self, SpawnGrant};
use super::parameters::{groups, pairs};
use crate::cli::ExplainArgs;
use crate::exit::Status;
use crate::{output, program};

/// Plan the program for its ranks and say what it will do; nothing is done.
pub fn run(args: &ExplainArgs) -> anyhow::Result<Status> {
    let environment = |name: &str| std::env::var(name).ok();
    let settings = Settings {
        ranks: args.ranks,
        parameters: pairs(&args.parameters, &args.set)?,
        groups: groups(&args.group, args.classic)?,
        environment: Some(&environment),
        seed: 1,
        tentative: false,
    };
    let Some(planned) = program::load(&args.program, args.classic, None)?.plan(&settings, true) else {
        return Ok(Status::Usage);
    };
    let plan = &planned.plan;
    let found = explain(plan, DEFAULT_BUDGET);
    let spawns = SpawnGrant::of(planned.shipped, false);
    let lack = asks::lacks_room(plan);
    if args.json {
        let space: Vec<_> = plan
            .space
            .iter()
            .map(|space| json!({"directory": place(plan, space.directory.as_deref()), "bytes": space.bytes}))
            .collect();
        output::json(&json!({
            "schema": "lastrank.explain/1",
            "program": planned.name,
            "parameters": plan.parameters,
            "space": space,
            "asks": asks::of(plan, spawns),
            "refusals": asks::refusals_without_options(plan),
            "would_not_begin": lack,
            "explanation": found,
        }))?;
    } else {
        let refused = lack.as_ref().map_or(String::new(), |why| format!("  it would not begin: {why}\n"));
        output::print(&(text(&planned.name, plan, (&found, spawns)) + &refused))?;
    }
    Ok(if lack.is_some() { Status::Usage } else { Status::Ok })
}

fn place<'a>(plan: &'a Plan, directory: Option<&'a str>) -> &'a str {
    directory.or_else(|| plan.parameter("dir")).unwrap_or(".")
}

fn text(name: &str, plan: &Plan, (found, spawns): (&Explanation, SpawnGrant)) -> String {
    let mut text = format!("{name} on {}; nothing was done\n", ranks(found.ranks.into()));
    if !plan.parameters.is_empty() {
        text += "\nParameters\n";
        let widest = plan.parameters.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, value) in &plan.parameters {
            text += &format!("  {name:<widest$}  {value}\n");
        }
    }
    if found.groups.len() > 1 {
        text += "\nRanks and groups\n";
        text += &rank_map(found);
    }
    for layout in &found.patterns {
        text += &pattern(layout);
    }
    let asked = asks::of(plan, spawns);
    if !asked.is_empty() {
        text += "\nAsks to\n";
        text += &asks::text(&asked, spawns);
    }
    let refusals = asks::refusals_without_options(plan);
    if !refusals.is_empty() {
        text += "\nRefused\n";
        text += &asks::refusals_text(&refusals, "  ");
    }
    text += "\nWhere ranks meet\n";
    text += &meetings(found);
    text += "\nWork\n";
    for work in &found.work {
        text += &of_ranks(work);
    }
    if found.uncounted_ranks > 0 {
        text +=
            &format!("  … and {} more ranks, which were not counted\n", count(found.uncounted_ranks.into()));
    }
    text += "\nSpace\n";
    for space in &plan.space {
        if ppl::plan::is_memory(space.directory.as_deref()) {
            text += &format!("  uses {} of memory\n", bytes(space.bytes));
            continue;
        }
        let directory = place(plan, space.directory.as_deref());
        text += &format!("  asks for {} free in {directory} before it starts\n", bytes(space.bytes));
    }
    let all = |of: fn(&RankWork) -> u64| -> u64 {
        let each = |work: &RankWork| of(work).saturating_mul(u64::from(work.ranks.1 - work.ranks.0) + 1);
        found.work.iter().map(each).fold(0, u64::saturating_add)
    };
    text += &format!(
        "  its files take at most {} at a time, all counted ranks together; buffers {} of memory\n",
        bytes(all(|work| work.tally.space)),
        bytes(all(|work| work.tally.memory)),
    );
    text
}

fn ranks(count: u64) -> String {
    if count == 1 { "1 rank".into() } else { format!("{} ranks", samples::units::count(count)) }
}

/// Rows of neighbouring ranks that are in the same groups, a column for each group.
fn rank_map(found: &Explanation) -> String {
    let mut edges: Vec<u32> = vec![0, found.ranks];
    for (first, last) in found.groups.iter().flat_map(|group| &group.ranks) {
        edges.extend([*first, *last + 1]);
    }
    edges.sort_unstable();
    edges.dedup();
    let names: Vec<&str> = found.groups.iter().map(|group| group.name.as_str()).collect();
    let rows: Vec<(String, u32)> =
        edges.windows(2).map(|edge| (stretch(edge[0], edge[1] - 1), edge[0])).collect();
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max("rank".len());
    let mut text = format!("  {:<widest$}", "rank");
    names.iter().for_each(|name| text += &format!("  {name}"));
    text.push('\n');
    for (name, first) in rows {
        let mut row = format!("  {name:<widest$}");
        for group in &found.groups {
            let mark = if group.holds(first) { "×" } else { "·" };
            row += &format!("  {mark:<width$}", width = group.name.chars().count());
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

fn stretch(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}

/// `4 KiB`, or `1 to 4 KiB`.
fn from_to((least, most): (u64, u64), text: impl Fn(u64) -> String) -> String {
    if least == most { text(most) } else { format!("{} to {}", text(least), text(most)) }
}

/// Of an array of more than two dimensions the first plane is drawn.
fn of_planes(planes: u64) -> String {
    if planes == 1 { String::new() } else { format!(" of the first of {} planes", count(planes)) }
}

/// A pattern whose blocks are not dealt out in turn.
fn shaped(layout: &PatternLayout, shape: &ShapeLayout) -> String {
    let plural = if shape.pieces == (1, 1) { "piece" } else { "pieces" };
    let mut text = format!(
        "  {}: {} {plural} of {} a rank: {} in all, the file ends at {}\n",
        shape.word,
        from_to(shape.pieces, count),
        from_to(shape.piece_bytes, bytes),
        bytes(layout.total_bytes),
        bytes(shape.end),
    );
    let together = if layout.collective { "collective" } else { "independent" };
    let (transfers, of, view) = match layout.level {
        0 | 1 => (from_to(shape.pieces, count), from_to(shape.piece_bytes, bytes), ""),
        _ => ("1".into(), from_to(shape.rank_bytes, bytes), ", through the view"),
    };
    let plural = if transfers == "1" { "transfer" } else { "transfers" };
    text += &format!("  level {}: {transfers} {together} {plural} of {of} a rank{view}\n", layout.level);
    if !shape.cells.is_empty() {
        let cell = match shape.scale {
            PictureScale::Bytes(cell) => format!("{} of the file", bytes(cell)),
            PictureScale::Elements(1, 1, planes) => format!("1 element{}", of_planes(planes)),
            PictureScale::Elements(high, wide, planes) => {
                format!("{} × {} elements{}", count(high), count(wide), of_planes(planes))
            }
        };
        text += &format!("  each cell is {cell}, and says whose it is (· nobody's, + several ranks')\n");
        layout.picture().lines().for_each(|line| text += &format!("    {line}\n"));
    }
    text
}

fn pattern(layout: &PatternLayout) -> String {
    let PatternLayout { name, group, blocks, block_bytes, level, transfers, transfer_bytes, .. } = layout;
    let members = layout.ranks.len() as u64;
    let unused = if layout.used { "" } else { " (no command uses it)" };
    let together = if layout.collective { "collective" } else { "independent" };
    let size = bytes(*block_bytes);
    if let Some(shape) = &layout.shape {
        let on = format!("\nPattern \"{name}\" on the {} of \"{group}\"{unused}\n", ranks(members));
        return on + &shaped(layout, shape);
    }
    let mut text = format!(
        "\nPattern \"{name}\" on the {} of \"{group}\"{unused}\n  {} blocks of {size} a rank, in turn: {} in all\n",
        ranks(members),
        count(*blocks),
        bytes(layout.total_bytes)
    );
    let plural = if *transfers == 1 { "transfer" } else { "transfers" };
    text += &format!(
        "  level {level}: {} {together} {plural} of {} a rank{}\n",
        count(*transfers),
        bytes(*transfer_bytes),
        if *level >= 2 { ", through the view" } else { "" }
    );
    if members > 0 && *blocks > 0 {
        text += &format!("  block n of the file begins at n × {size}; numbers count the rank's transfers\n");
        layout.picture().lines().for_each(|line| text += &format!("    {line}\n"));
    }
    text
}

fn meetings(found: &Explanation) -> String {
    // Where all was counted, what is never reached is in a part that these parameters leave out.
    let counted = found.uncounted_ranks == 0 && found.work.iter().all(|work| !work.tally.at_least);
    let reached: Vec<_> = found.meetings.iter().filter(|meeting| meeting.times > 0 || !counted).collect();
    if reached.is_empty() {
        return "  nowhere: every rank goes its own way\n".into();
    }
    let files = reached.iter().any(|meeting| meeting.file != reached[0].file);
    let mut text = String::new();
    for meeting in reached {
        let file = if files { format!("{} ", meeting.file) } else { String::new() };
        let times =
            if meeting.times == 1 { "once".into() } else { format!("{} times", count(meeting.times)) };
        text += &format!(
            "  {file}line {:<4} {:<8} {times}, the {} of \"{}\"\n",
            meeting.line,
            meeting.operation,
            ranks(meeting.ranks.into()),
            meeting.group
        );
    }
    text
}

fn of_ranks(work: &RankWork) -> String {
    let tally = &work.tally;
    let (first, last) = work.ranks;
    let who = match first == last {
        true => format!("rank {first}"),
        false => format!("ranks {first} to {last}, each"),
    };
    let least = if tally.at_least { "at least " } else { "" };
    let mut text = format!("  {who}: {least}{} operations\n", count(tally.total));
    let widest = tally.operations.keys().map(|name| name.len()).max().unwrap_or(0);
    let digits = |number: &u64| count(*number).chars().count();
    let numbers = tally.operations.values().map(digits).max().unwrap_or(0);
    for (name, number) in &tally.operations {
        text += &format!("    {name:<widest$}  {:>numbers$}", count(*number));
        if let Some(moved) = tally.bytes.get(name).filter(|moved| **moved > 0) {
            text += &format!("  {}", bytes(*moved));
        }
        text.push('\n');
    }
    if let Some(created) = created(tally, &work.created) {
        text += &format!("    {created}\n");
    }
    let removed: u64 =
        ["delete", "unlink", "rmdir", "pdelete"].iter().filter_map(|name| tally.operations.get(name)).sum();
    if removed > 0 {
        text += &format!("    removes {}{}\n", count(removed), names(&work.removed, removed));
    }
    if tally.waiting_ns > 0 {
        text += &format!("    waits {} of its own accord\n", duration(tally.waiting_ns as f64 * 1e-9));
    }
    if let Some(why) = &tally.stopped {
        text += &format!("    would stop early: {why}\n");
    }
    text
}

/// The first few of `all` names behind a colon.
fn names(list: &[String], all: u64) -> String {
    let more = if all > list.len() as u64 { ", …" } else { "" };
    if list.is_empty() { String::new() } else { format!(": {}{more}", list.join(", ")) }
}

/// `creates 1 file: out.txt`, of work of which the first few names are known; `None` where nothing is created.
pub fn created(tally: &WorkCount, first: &[String]) -> Option<String> {
    let made = tally.files.saturating_add(tally.directories);
    // Names that are the same in each round of a loop are counted for each.
    let most = if made > 1 { "at most " } else { "" };
    let what = things(tally.files, tally.directories);
    (made > 0).then(|| format!("creates {most}{what}{}", names(first, made)))
}

/// `3 files and 1 directory`; empty where there are none.
pub fn things(files: u64, directories: u64) -> String {
    let some = |number: u64, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{} {many}", count(number))),
    };
    [some(files, "file", "files"), some(directories, "directory", "directories")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ")
}
