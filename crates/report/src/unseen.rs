//! Far outliers during which nothing was seen: whether that shows a cause outside this kernel depends on what was watched.

use samples::{Cause, Causes, Coverage, Facts, Sample, Tier};

use crate::cause_words::style;
use crate::number::time;

/// A far outlier takes more than so many times the median.
const FAR: f64 = 10.0;
/// Fewest samples that have outliers.
const FEWEST: usize = 1_000;

/// Events of the kernel that can hold up an operation, each of which can be watched.
const EVENTS: [Cause; 8] = [
    Cause::Preempted,
    Cause::Blocked,
    Cause::Migration,
    Cause::MinorFault,
    Cause::MajorFault,
    Cause::Timer,
    Cause::SoftInterrupt,
    Cause::DeviceInterrupt,
];

/// The far outliers of one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unseen {
    /// Timings.
    pub count: usize,
    /// What counts as far, in seconds.
    pub from_s: f64,
    /// How many are far.
    pub far: usize,
    /// In how many of these nothing was seen.
    pub unseen: usize,
}

impl Unseen {
    /// Of the samples of one place; `None` of few, and where none is far.
    pub fn of<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<Unseen> {
        let all: Vec<&Sample> = samples.filter(|sample| !sample.failed()).collect();
        if all.len() < FEWEST {
            return None;
        }
        let mut durations: Vec<u64> = all.iter().map(|sample| sample.duration_ps).collect();
        let half = durations.len() / 2;
        let median = *durations.select_nth_unstable(half).1;
        let from = (FAR * median as f64) as u64;
        let far = || all.iter().filter(|sample| sample.duration_ps > from);
        let quiet = |sample: &&&Sample| {
            let causes = Causes(sample.causes);
            sample.queue_ns == 0 && sample.blocked_ns == 0 && !EVENTS.iter().any(|cause| causes.has(*cause))
        };
        let found = Unseen {
            count: all.len(),
            from_s: from as f64 * 1e-12,
            far: far().count(),
            unseen: far().filter(quiet).count(),
        };
        (found.far > 0).then_some(found)
    }

    /// Where their cause lies, one sentence about timings of `what`; `None` where nobody looked.
    pub fn sentence(&self, what: &str, facts: &Facts) -> Option<String> {
        let coverage = facts.coverage.as_ref().filter(|coverage| !coverage.unwanted)?;
        let of = format!(
            "Of {} {what} {} longer than {}",
            samples::units::count(self.count as u64),
            if self.far == 1 {
                "1 is".to_owned()
            } else {
                format!("{} are", samples::units::count(self.far as u64))
            },
            time(self.from_s)
        );
        if self.unseen == 0 {
            return Some(format!("{of}; an event of this kernel was seen in each."));
        }
        let quiet = match self.unseen == self.far {
            true => format!("{of}, and no event of this kernel was seen in them"),
            false => format!(
                "{of}; in {} no event of this kernel was seen",
                samples::units::count(self.unseen as u64)
            ),
        };
        let unwatched = unwatched(coverage);
        Some(match unwatched.is_empty() {
            true => format!(
                "{quiet} though all were watched: outside this kernel, hypervisor or firmware{}, or an interrupt between \
                 processors, which is not recorded.",
                stolen(facts).unwrap_or_default()
            ),
            false => format!("{quiet}; not watched: {}.", unwatched.join(", ")),
        })
    }
}

/// What can hold up an operation and was not watched.
fn unwatched(coverage: &Coverage) -> Vec<String> {
    let missing = EVENTS.into_iter().filter(|cause| !coverage.sees.contains(cause));
    let mut found: Vec<String> =
        missing.map(|cause| style(samples::ExcessPart::Of(cause)).words.to_owned()).collect();
    if coverage.tier < Tier::Events {
        found.insert(0, "what happens within 20 µs".into());
    }
    found
}

/// ` (0.3% of the time stolen)`: the share that the hypervisor gave to others while the run went on.
fn stolen(facts: &Facts) -> Option<String> {
    let machine = facts.machine.as_ref()?;
    let after = machine.load_after.as_ref()?;
    let ms = after.stolen_ms?.checked_sub(machine.load.stolen_ms?)? as f64;
    let elapsed_s = after.uptime_s? - machine.load.uptime_s?;
    let processors = f64::from(machine.processor.online?);
    let share = ms / (elapsed_s * 1e3 * processors);
    (elapsed_s > 0.0 && processors > 0.0).then(|| format!(" ({:.1}% of the time stolen)", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Load, MachineFacts};

    fn timings(far: &[Sample]) -> Unseen {
        let usual = Sample { duration_ps: 20_000, ..Sample::default() };
        let all: Vec<Sample> = (0..2_000).map(|_| usual).chain(far.iter().copied()).collect();
        Unseen::of(all.iter()).expect("outliers")
    }

    fn facts(tier: Tier, sees: &[Cause]) -> Facts {
        let coverage = Coverage { tier, sees: sees.to_vec(), ..Coverage::default() };
        let load = |stolen_ms, uptime_s| Load {
            stolen_ms: Some(stolen_ms),
            uptime_s: Some(uptime_s),
            ..Load::default()
        };
        let mut machine = MachineFacts {
            load: load(100, 50.0),
            load_after: Some(load(160, 60.0)),
            ..MachineFacts::default()
        };
        machine.processor.online = Some(2);
        Facts { coverage: Some(coverage), machine: Some(machine), ..Facts::default() }
    }

    #[test]
    fn outside_this_kernel_is_said_only_where_all_its_events_were_watched() {
        let alone = Sample { duration_ps: 12_000_000, ..Sample::default() };
        let timer = Sample { causes: Cause::Timer as u16, ..alone };
        let waited = Sample { queue_ns: 4, ..alone };
        let found = timings(&[alone, alone, timer, waited]);
        assert_eq!((found.far, found.unseen), (4, 2));
        let said = found.sentence("empty timings", &facts(Tier::Tracepoints, &EVENTS)).expect("watched");
        assert_eq!(
            said,
            "Of 2,004 empty timings 4 are longer than 200 ns; in 2 no event of this kernel was seen though all were \
             watched: outside this kernel, hypervisor or firmware (0.3% of the time stolen), or an interrupt between \
             processors, which is not recorded."
        );
        let some = found.sentence("empty timings", &facts(Tier::Events, &EVENTS[..5])).expect("watched");
        assert!(
            some.ends_with("; not watched: timer interrupt, soft interrupt, device interrupt."),
            "{some}"
        );
        let counters = found.sentence("empty timings", &facts(Tier::Accounting, &EVENTS)).expect("watched");
        assert!(counters.ends_with("; not watched: what happens within 20 µs."), "{counters}");
        assert_eq!(found.sentence("empty timings", &Facts::default()), None);
        let seen = timings(&[timer]).sentence("empty timings", &facts(Tier::Tracepoints, &EVENTS));
        assert!(seen.is_some_and(|seen| seen.ends_with("an event of this kernel was seen in each.")));
    }
}
