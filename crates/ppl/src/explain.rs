//! Explains what a program will do: groups, layouts of patterns, meetings of ranks, amount of work.

mod shape;

use samples::SiteKind;
use serde::Serialize;

use crate::code::{GroupId, Step};
use crate::commands::Command;
use crate::count::{Details, WorkCount, details};
use crate::plan::{Pattern, Plan, any_pattern_in, pattern_uses};

pub use shape::{PictureScale, ShapeLayout};

/// The largest number of ranks whose work is counted.
pub const MOST_RANKS: u32 = 64;
/// The largest number of blocks in the picture of a pattern.
const MOST_BLOCKS: u64 = 24;
/// The largest number of ranks in the picture of a pattern.
const MOST_ROWS: u32 = 16;

/// Description of the work of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Number of ranks.
    pub ranks: u32,
    /// The groups with their ranks.
    pub groups: Vec<GroupShare>,
    /// The layouts of patterns.
    pub patterns: Vec<PatternLayout>,
    /// The meetings of ranks, in program order.
    pub meetings: Vec<MeetingPlace>,
    /// The work of each rank; successive ranks with equal work share an entry.
    pub work: Vec<RankWork>,
    /// Number of ranks after the last entry of `work`, which were not counted.
    pub uncounted_ranks: u32,
}

/// The ranks of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupShare {
    /// Its name.
    pub name: String,
    /// Its ranks as ranges: first and last.
    pub ranks: Vec<(u32, u32)>,
}

impl GroupShare {
    /// Whether this rank is in the group.
    pub fn holds(&self, rank: u32) -> bool {
        self.ranks.iter().any(|(first, last)| (*first..=*last).contains(&rank))
    }
}

/// The layout of a pattern's blocks in the file, for one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatternLayout {
    /// The pattern's name.
    pub name: String,
    /// The group whose ranks' blocks alternate.
    pub group: String,
    /// Its ranks.
    pub ranks: Vec<u32>,
    /// Blocks per rank.
    pub blocks: u64,
    /// Bytes per block.
    pub block_bytes: u64,
    /// The access level, 0 to 3.
    pub level: u8,
    /// Transfers of one rank.
    pub transfers: u64,
    /// Bytes of one transfer.
    pub transfer_bytes: u64,
    /// Whether the transfer is collective.
    pub collective: bool,
    /// Bytes of all ranks.
    pub total_bytes: u64,
    /// Whether a command uses the pattern with this group.
    pub used: bool,
    /// What is special about a pattern with a shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeLayout>,
}

/// A place in the program where ranks wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MeetingPlace {
    /// The file.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// `barrier`, `phase`, or a collective command.
    pub operation: &'static str,
    /// Its group.
    pub group: String,
    /// Number of ranks that meet.
    pub ranks: u32,
    /// The largest number of times that any rank reaches it.
    pub times: u64,
}

/// The work of each rank of a range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankWork {
    /// First and last rank.
    pub ranks: (u32, u32),
    /// Amount.
    pub tally: WorkCount,
    /// The first few names that the first of them creates.
    pub created: Vec<String>,
    /// The first few names that the first of them removes.
    pub removed: Vec<String>,
}

/// Explains a plan; counts at most `budget` operations.
pub fn explain(plan: &Plan, budget: u64) -> Explanation {
    let counted = plan.ranks.min(MOST_RANKS);
    let share = budget / u64::from(counted.max(1));
    let details: Vec<Details> = (0..counted).map(|rank| details(plan, rank, share)).collect();
    Explanation {
        ranks: plan.ranks,
        groups: plan.groups.iter().map(share_of).collect(),
        patterns: layouts(plan),
        meetings: meetings(plan, &details),
        work: work(details),
        uncounted_ranks: plan.ranks - counted,
    }
}

fn share_of(group: &crate::plan::Group) -> GroupShare {
    let mut ranks: Vec<(u32, u32)> = Vec::new();
    for &rank in &group.ranks {
        match ranks.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => ranks.push((rank, rank)),
        }
    }
    GroupShare { name: group.name.clone(), ranks }
}

fn work(details: Vec<Details>) -> Vec<RankWork> {
    let mut out: Vec<RankWork> = Vec::new();
    for (rank, Details { tally, created, removed, .. }) in (0..).zip(details) {
        match out.last_mut() {
            Some(same) if same.tally == tally => same.ranks.1 = rank,
            _ => out.push(RankWork { ranks: (rank, rank), tally, created, removed }),
        }
    }
    out
}

/// The layouts of patterns for the groups that use them.
fn layouts(plan: &Plan) -> Vec<PatternLayout> {
    let computed = any_pattern_in(plan).is_some();
    let of_use = |(pattern, group, used): (usize, GroupId, bool)| {
        Some(layout(plan.patterns.get(pattern)?, plan.groups.get(group.index())?, used || computed))
    };
    let mut layouts: Vec<PatternLayout> = pattern_uses(plan).into_iter().filter_map(of_use).collect();
    for (layout, (pattern, group, _)) in layouts.iter_mut().zip(pattern_uses(plan)) {
        if plan.patterns[pattern].shape.is_some() {
            layout.take_shape(plan, &plan.patterns[pattern], &plan.groups[group.index()]);
        }
    }
    layouts
}

fn layout(pattern: &Pattern, group: &crate::plan::Group, used: bool) -> PatternLayout {
    let single = pattern.level >= 2;
    PatternLayout {
        name: pattern.name.clone(),
        group: group.name.clone(),
        ranks: group.ranks.clone(),
        blocks: pattern.iterations,
        block_bytes: pattern.element,
        level: pattern.level,
        transfers: if single { u64::from(pattern.iterations > 0) } else { pattern.iterations },
        transfer_bytes: if single { pattern.bytes() } else { pattern.element },
        collective: pattern.is_collective(),
        total_bytes: pattern.bytes().saturating_mul(group.ranks.len() as u64),
        used,
        shape: None,
    }
}

impl PatternLayout {
    /// The transfer that moves block `block` of a rank, from 0.
    fn transfer_of(&self, block: u64) -> u64 {
        if self.level >= 2 { 0 } else { block }
    }

    /// A picture with a row for each rank and a column for each block of the file; each cell is the number of
    /// the transfer that moves the block. The first row is the offset in blocks.
    pub fn picture(&self) -> String {
        if let Some(shape) = &self.shape {
            return shape.picture();
        }
        let members = self.ranks.len() as u64;
        let blocks = self.blocks.saturating_mul(members);
        let shown = blocks.min(MOST_BLOCKS);
        let width = shown.saturating_sub(1).to_string().len() + 1;
        let more = if blocks > shown { " …" } else { "" };
        let name = |text: &str| format!("{text:<12}");
        let mut out = name("block");
        (0..shown).for_each(|block| out += &format!("{block:>width$}"));
        out += &format!("{more}\n");
        for (place, rank) in self.ranks.iter().take(MOST_ROWS as usize).enumerate() {
            out += &name(&format!("rank {rank}"));
            for at in 0..shown {
                if at % members == place as u64 {
                    out += &format!("{:>width$}", self.transfer_of(at / members));
                } else {
                    out += &format!("{:>width$}", "·");
                }
            }
            out += &format!("{more}\n");
        }
        if self.ranks.len() > MOST_ROWS as usize {
            out += &format!("… {} more ranks\n", self.ranks.len() - MOST_ROWS as usize);
        }
        out
    }
}

/// The sites at which ranks wait for each other, if some rank reaches them.
fn meetings(plan: &Plan, details: &[Details]) -> Vec<MeetingPlace> {
    let groups: std::collections::HashMap<u32, GroupId> = plan
        .code
        .steps
        .iter()
        .filter_map(|step| match *step {
            Step::Barrier { site, group } => Some((site.0, group)),
            _ => None,
        })
        .collect();
    let mut out = Vec::new();
    for (at, site) in plan.sites().iter().enumerate() {
        let is_barrier = groups.contains_key(&(at as u32));
        let phase = site.kind == SiteKind::Phase;
        let waits = site.command.map_or(is_barrier || phase, Command::is_collective);
        if !waits {
            continue;
        }
        // The two barriers of a phase have the site after it.
        let counted = at + usize::from(phase);
        let passed = details.iter().filter_map(|details| details.sites.get(counted)).max();
        let times = passed.copied().unwrap_or(0) / if phase { 2 } else { 1 };
        let group = groups.get(&(at as u32)).copied().unwrap_or(site.group);
        let Some(group) = plan.groups.get(group.index()) else { continue };
        out.push(MeetingPlace {
            file: site.file.to_string(),
            line: site.line,
            operation: site.operation,
            group: group.name.clone(),
            ranks: group.ranks.len() as u32,
            times,
        });
    }
    out.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
    out
}
