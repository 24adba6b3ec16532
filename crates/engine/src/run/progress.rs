//! How far a run came that did not reach its end.

use std::collections::{BTreeSet, HashMap, HashSet};

use ppl::commands::{Command, CommandByClass};
use ppl::count::{Details, details};
use ppl::plan::Plan;
use samples::{Progress, ProgressUnit, Run, Site, SiteKind};

/// Operations walked at most, of all ranks; a loop of equal turns counts as one turn.
const BUDGET: u64 = 200_000;

/// A place in the program: what it does, and its line.
type BlockAt<'a> = (SiteKind, &'a str, u32);

/// What the ranks whose samples are here did, of what the plan has them do. None where the plan does not say how much that
/// is.
pub(super) fn of(plan: &Plan, run: &Run) -> Option<Progress> {
    let mut ranks: BTreeSet<u32> = run.samples.iter().map(|sample| sample.rank).collect();
    ranks.extend(run.facts.spans.iter().map(|span| span.rank));
    let each = BUDGET / (ranks.len() as u64).max(1);
    let planned: Vec<Details> = ranks.iter().map(|rank| details(plan, *rank, each)).collect();
    let is_known = |one: &Details| !one.tally.at_least && one.tally.stopped.is_none();
    if planned.is_empty() || !planned.iter().all(is_known) {
        return None;
    }
    let found = steps(plan, run, (&ranks, &planned)).unwrap_or_else(|| operations(plan, run, &planned));
    // A sample may be a part of an operation, and loops may end early.
    (found.planned > 0 && found.done <= found.planned).then_some(found)
}

/// Labelled blocks, where all ranks do all of them equally often.
fn steps(plan: &Plan, run: &Run, (ranks, planned): (&BTreeSet<u32>, &[Details])) -> Option<Progress> {
    if !run.facts.counted.is_empty() {
        return None;
    }
    let mut wanted: HashMap<BlockAt<'_>, u64> = HashMap::new();
    for (at, site) in plan.sites().iter().enumerate() {
        if !matches!(site.kind, SiteKind::Time | SiteKind::Phase) {
            continue;
        }
        let mut times = planned.iter().map(|one| one.sites.get(at).copied().unwrap_or(0));
        let first = times.next()?;
        if !times.all(|other| other == first) {
            return None;
        }
        *wanted.entry((site.kind, site.operation, site.line)).or_default() += first;
    }
    let times = wanted.values().copied().max().filter(|times| *times > 1)?;
    if wanted.values().any(|other| *other != times) {
        return None;
    }
    let mut done: HashMap<(u32, BlockAt<'_>), u64> = HashMap::new();
    for sample in run.samples.iter().filter(|sample| !sample.failed()) {
        let place = run.sites.get(sample.site as usize).map(place_of);
        if let Some(place) = place.filter(|place| wanted.contains_key(place)) {
            *done.entry((sample.rank, place)).or_default() += 1;
        }
    }
    let of = |rank: u32, place: &BlockAt<'_>| done.get(&(rank, *place)).copied().unwrap_or(0);
    let least = ranks.iter().flat_map(|rank| wanted.keys().map(|place| of(*rank, place))).min()?;
    Some(Progress { done: least, planned: times, unit: ProgressUnit::Steps })
}

fn place_of(site: &Site) -> BlockAt<'_> {
    (site.kind, &site.operation, site.line)
}

/// Operations of all ranks together; one that failed is not done.
fn operations(plan: &Plan, run: &Run, planned: &[Details]) -> Progress {
    let is_timed = |command: Command| !matches!(command.by_class(), CommandByClass::Language(_));
    let mut all = 0_u64;
    let mut places: HashSet<BlockAt<'_>> = HashSet::new();
    for (at, site) in plan.sites().iter().enumerate() {
        if site.kind == SiteKind::Operation && site.command.is_some_and(is_timed) {
            places.insert((site.kind, site.operation, site.line));
            all += planned.iter().filter_map(|one| one.sites.get(at)).sum::<u64>();
        }
    }
    let counts =
        |site: u32| run.sites.get(site as usize).is_some_and(|site| places.contains(&place_of(site)));
    let done = match run.facts.counted.is_empty() {
        true => run.samples.iter().filter(|sample| counts(sample.site) && !sample.failed()).count() as u64,
        false => {
            let of_place = run.facts.counted.iter().filter(|counted| counts(counted.site));
            of_place.map(|counted| counted.histogram.count()).sum()
        }
    };
    Progress { done, planned: all, unit: ProgressUnit::Operations }
}
