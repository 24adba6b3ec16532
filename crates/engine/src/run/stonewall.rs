//! How much each rank did in the phases that ended for all when the first was through.

use std::collections::BTreeMap;

use samples::units::{bytes, count, duration};
use samples::{Site, Warning};

use record::Stonewalled;

/// What one site's phases came to.
#[derive(Default)]
struct Phases {
    /// By rank: operations, bytes, phases.
    ranks: BTreeMap<u32, (u64, u64, u64)>,
    longest_ns: u64,
    /// Ranks whose loops ended early, over all phases.
    cut: u64,
}

/// A note for each phase in the program: the least and the most that a rank did.
pub(super) fn words(done: &[(u32, u32, Stonewalled)], sites: &[Site]) -> Vec<Warning> {
    let mut phases: BTreeMap<u32, Phases> = BTreeMap::new();
    for (site, rank, stonewalled) in done {
        let all = phases.entry(*site).or_default();
        let own = all.ranks.entry(*rank).or_default();
        *own = (own.0 + stonewalled.operations, own.1 + stonewalled.bytes, own.2 + 1);
        all.longest_ns = all.longest_ns.max(stonewalled.ns);
        all.cut += u64::from(stonewalled.cut);
    }
    let one = |(site, all): (u32, Phases)| {
        let site = sites.get(site as usize)?;
        let amount = |(operations, moved, _): (u64, u64, u64)| {
            let plural = if operations == 1 { "" } else { "s" };
            match moved {
                0 => format!("{} operation{plural}", count(operations)),
                moved => format!("{} operation{plural}, {}", count(operations), bytes(moved)),
            }
        };
        let least = all.ranks.iter().min_by_key(|(_, own)| (own.0, own.1))?;
        let most = all.ranks.iter().max_by_key(|(_, own)| (own.0, own.1))?;
        let sum = all.ranks.values().fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2.max(b.2)));
        let name = site.labels.last().map_or(String::new(), |label| format!(" \"{label}\""));
        let how = match (all.cut, sum.2) {
            (0, _) => "no loop had to end early".to_owned(),
            (cut, 1) => format!("it cut the loops of {cut} of {} ranks short", all.ranks.len()),
            (cut, times) => format!("it cut loops short {cut} times in {times} phases"),
        };
        let after = duration(all.longest_ns as f64 * 1e-9);
        let spread = if all.ranks.len() == 1 {
            format!("it did {}", amount(sum))
        } else {
            format!(
                "rank {} did least ({}), rank {} most ({}); together {}",
                least.0,
                amount(*least.1),
                most.0,
                amount(*most.1),
                amount(sum)
            )
        };
        Some(Warning {
            code: "stonewall".into(),
            text: format!(
                "line {}: the stonewall of the phase{name} fell after {after}, {how}: {spread}",
                site.line
            ),
            advice: "ranks did different amounts: compare rates, not times".into(),
        })
    };
    phases.into_iter().filter_map(one).collect()
}
