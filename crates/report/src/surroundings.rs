//! What surrounds the ranks of a step: machines, file systems, links, and what their slow operations waited for.

use std::collections::BTreeSet;

use results::ResultRow;
use samples::{Cause, ExcessPart, FileLayout, Interface, Load, Run, SiteKind};
use tail::targets::Standing;

use crate::causes::Slowness;
use crate::subject::Subject;
use crate::unit::{percent, significant};

/// A link that carries so much of its rate holds the client up.
const FULL: f64 = 0.8;
/// A side to which more than this of the lost time goes is what makes the variation.
const MOST: f64 = 0.5;
/// Megabits a second from which on a link is told.
const LEAST: f64 = 1.0;
/// Megabits a second of one byte a second.
const MEGABITS: f64 = 8e-6;

/// What a run tells beside its durations.
pub(crate) struct Surroundings<'a> {
    pub run: &'a Run,
    pub rows: &'a [ResultRow],
    /// What is analysed first.
    pub subject: &'a Subject,
    pub causes: &'a [Slowness],
}

impl Surroundings<'_> {
    fn is_simulated(&self) -> bool {
        self.run.facts.backend.starts_with("simulate")
    }

    /// The labels around what is analysed.
    fn labels(&self) -> &[String] {
        self.run.sites.get(self.subject.site as usize).map_or(&[], |site| &site.labels)
    }

    /// Whether one client waits for many targets, and why that is said.
    pub fn one_to_many(&self) -> (Standing, String) {
        let ranks = self.subject.ranks.len();
        let facts = &self.run.facts;
        let hosts: BTreeSet<&String> = facts.hosts.iter().filter(|host| !host.is_empty()).collect();
        if hosts.len() > 1 {
            return (
                Standing::NotMet,
                format!("{} clients: {ranks} ranks on that many machines", hosts.len()),
            );
        }
        if self.is_simulated() {
            return (Standing::Met, format!("simulated: {ranks} ranks, a target of its own each"));
        }
        let moves = self.rows.iter().any(|row| {
            row.kind == SiteKind::Operation && row.bytes > 0 && row.labels.starts_with(self.labels())
        });
        if !moves {
            return (
                Standing::Met,
                format!("{ranks} ranks of one machine, each its own target: no bytes are moved"),
            );
        }
        let [path] = facts.file_systems.as_slice() else {
            return (Standing::NotKnown, "the files may lie on several file systems".into());
        };
        if let FileLayout::Striped { stripe_count, .. } = &path.layout {
            return match stripe_count {
                Some(1) => (Standing::NotKnown, "each file is on one target; which one is not known".into()),
                Some(count) => (Standing::Met, format!("one machine, files striped over {count} targets")),
                None => (Standing::Met, "one machine, files striped over all targets".into()),
            };
        }
        match (&path.device, &path.nfs) {
            (Some(device), _) if device.below.len() < 2 => {
                (Standing::NotMet, format!("{ranks} ranks share one local device ({})", device.name))
            }
            (None, Some(nfs)) => {
                (Standing::NotMet, format!("{ranks} ranks share one server ({})", nfs.source))
            }
            (None, None) if path.in_memory => {
                (Standing::NotMet, format!("{ranks} ranks share the memory of this machine (tmpfs)"))
            }
            _ => (Standing::NotKnown, "over how many targets the files lie is not known".into()),
        }
    }

    /// Whether the slow operations of the step waited for what is outside of the client, and why that is said.
    pub fn who_varies(&self) -> (Standing, String) {
        if self.is_simulated() {
            return (Standing::NotKnown, "simulated: nothing was watched".into());
        }
        let wire = self.wire();
        if let Some(full) = wire.as_ref().filter(|wire| wire.share.is_some_and(|share| share >= FULL)) {
            return (Standing::NotMet, format!("the client is the bottleneck: {}", full.words));
        }
        let link = wire.filter(|wire| wire.megabits >= LEAST);
        let link = link.map_or(String::new(), |wire| format!("; {}", wire.words));
        let Some([client, outside, lost]) = self.sides() else {
            return (Standing::NotKnown, format!("what slow operations waited for was not seen{link}"));
        };
        // The rest of a difference of sums is no share.
        let left = Some(lost - client - outside).filter(|left| *left > 1e-6 * lost).unwrap_or(0.0);
        let because = format!(
            "of what the slowest 1% lost, {} is a wait for a CPU, interrupts or faults of the client, {} a wait for a device, \
             the network or another process, {} has no cause seen{link}",
            percent(client / lost),
            percent(outside / lost),
            percent(left / lost)
        );
        let standing = match (client / lost > MOST, outside / lost > MOST) {
            (true, _) => Standing::NotMet,
            (false, true) => Standing::Met,
            (false, false) => Standing::NotKnown,
        };
        (standing, because)
    }

    /// Seconds that the slow operations of the step lost to the client, outside of it, and in all; none where none was seen.
    fn sides(&self) -> Option<[f64; 3]> {
        let labels = self.labels();
        let (mut client, mut outside, mut lost) = (0.0, 0.0, 0.0);
        for one in self.causes {
            if !self.run.sites.get(one.site as usize).is_some_and(|site| site.labels.starts_with(labels)) {
                continue;
            }
            if !one.watched {
                continue;
            }
            lost += one.excess_s;
            for (name, share) in &one.shares {
                match ExcessPart::from_name(name).map(is_outside) {
                    Some(Some(true)) => outside += share * one.excess_s,
                    Some(Some(false)) => client += share * one.excess_s,
                    Some(None) | None => {}
                }
            }
        }
        (lost > 0.0).then_some([client, outside, lost])
    }

    /// The interface that was nearest to the rate of its link, or where no rate is known the busiest.
    fn wire(&self) -> Option<Wire> {
        let machine = self.run.facts.machine.as_ref()?;
        let (before, after) = (&machine.load, machine.load_after.as_ref()?);
        let elapsed = after.uptime_s? - before.uptime_s?;
        if elapsed <= 0.0 {
            return None;
        }
        let found = after.network.iter().filter_map(|one| Wire::of(one, before, elapsed));
        found.max_by(|a, b| {
            let share = |one: &Wire| one.share.unwrap_or(0.0);
            share(a).total_cmp(&share(b)).then(a.megabits.total_cmp(&b.megabits))
        })
    }
}

/// Whether a wait is for something outside of the client's processors; none of what is no side.
fn is_outside(part: ExcessPart) -> Option<bool> {
    match part {
        ExcessPart::Unattributed => None,
        ExcessPart::RunQueue => Some(false),
        ExcessPart::Of(cause) => Some(match cause {
            Cause::Device | Cause::Blocked | Cause::ShortTransfer => true,
            Cause::Preempted
            | Cause::Migration
            | Cause::MinorFault
            | Cause::MajorFault
            | Cause::Timer
            | Cause::SoftInterrupt
            | Cause::DeviceInterrupt
            | Cause::Throttled
            | Cause::Interrupted => false,
        }),
    }
}

/// What an interface carried in the direction that carried more, on average over the run.
struct Wire {
    megabits: f64,
    /// Of the rate of its link; none where that is not known.
    share: Option<f64>,
    words: String,
}

impl Wire {
    fn of(after: &Interface, before: &Load, elapsed: f64) -> Option<Wire> {
        let before = before.network.iter().find(|one| one.name == after.name)?;
        let bytes = |after: u64, before: u64| after.checked_sub(before);
        let bytes = bytes(after.received, before.received)?.max(bytes(after.sent, before.sent)?);
        let megabits = bytes as f64 / elapsed * MEGABITS;
        let share = after.megabits.map(|rate| megabits / rate as f64);
        let carried = significant(megabits, 3);
        let words = match after.megabits {
            Some(rate) => format!("{} carried {carried} of {rate} Mbit/s on average", after.name),
            None => format!(
                "{} carried {carried} Mbit/s on average; the rate of its link is not known",
                after.name
            ),
        };
        Some(Wire { megabits, share, words })
    }
}
