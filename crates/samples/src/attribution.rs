//! Attributes the excess of slow operations to the causes that were observed.

use crate::{Cause, Causes, ExcessPart, Sample};

/// The causes of the time by which the slowest 1% of a site's operations exceed the median.
///
/// The shares and the unattributed rest add up to the excess.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    /// The median duration, in ps.
    pub median_ps: u64,
    /// The shortest duration that counts as slow, in ps.
    pub limit_ps: u64,
    /// Number of slow operations.
    pub slow: usize,
    /// Sum of their durations beyond the median, in ps.
    pub excess_ps: u128,
    /// The causes that were observed, the greatest share first.
    pub shares: Vec<Share>,
}

/// The share of one cause in the excess.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The cause of the share; [`Cause::Device`] is time blocked while a device was working.
    pub part: ExcessPart,
    /// Its share of the excess, in ps.
    pub ps: u128,
    /// Number of slow operations with a share of it.
    pub operations: usize,
}

/// The causes that can explain time on the processor, the strongest first.
fn on_the_processor() -> Vec<Cause> {
    let mut found: Vec<Cause> =
        Cause::ALL.into_iter().filter(|cause| cause.precedence_on_processor().is_some()).collect();
    found.sort_by_key(|cause| std::cmp::Reverse(cause.precedence_on_processor()));
    found
}

impl Attribution {
    /// The share of the excess for which a cause was observed, 0 to 1; 1 if there is no excess.
    pub fn attributed(&self) -> f64 {
        let known: u128 = self.shares.iter().map(|share| share.ps).sum();
        if self.excess_ps == 0 { 1.0 } else { known as f64 / self.excess_ps as f64 }
    }

    /// The parts of the excess and their shares, the greatest first, including [`ExcessPart::Unattributed`].
    pub fn parts(&self) -> Vec<(ExcessPart, f64)> {
        let excess = self.excess_ps.max(1) as f64;
        let known: u128 = self.shares.iter().map(|share| share.ps).sum();
        let mut parts: Vec<_> =
            self.shares.iter().map(|share| (share.part, share.ps as f64 / excess)).collect();
        parts.push((ExcessPart::Unattributed, self.excess_ps.saturating_sub(known) as f64 / excess));
        parts.retain(|(_, share)| *share > 0.0);
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        parts
    }
}

/// Attributes the excess of the slowest 1% of `samples`, which belong to one site. `None` for fewer than 100
/// samples, or if all take equally long.
///
/// The excess of each slow sample is attributed in this order: first the wait on the run queue, as recorded (to
/// throttling, if the control group throttled meanwhile); then the time blocked beyond what is usual at this
/// site (to the device if it worked for most of that time, otherwise to blocking in general); the rest was spent
/// on the processor and goes to an interrupt, a fault or a migration that was seen in this sample and is not
/// usual at the site. What is left stays unattributed.
pub fn attribute<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Option<Attribution> {
    let all: Vec<&Sample> = samples.into_iter().filter(|sample| !sample.failed()).collect();
    let n = all.len();
    if n < 100 {
        return None;
    }
    let middle = |of: fn(&Sample) -> u64| {
        let mut values: Vec<u64> = all.iter().map(|sample| of(sample)).collect();
        *values.select_nth_unstable(n / 2).1
    };
    let (median_ps, usual_ns) = (middle(|s| s.duration_ps), middle(|s| u64::from(s.blocked_ns)));
    let mut durations: Vec<u64> = all.iter().map(|sample| sample.duration_ps).collect();
    let limit_ps = *durations.select_nth_unstable(n * 99 / 100).1;
    // A cause that most samples show belongs to the operation and does not explain a slow one.
    let usual = |cause: Cause| 2 * all.iter().filter(|s| Causes(s.causes).has(cause)).count() > n;
    let telling: Vec<Cause> = on_the_processor().into_iter().filter(|cause| !usual(*cause)).collect();

    let mut found = Attribution { median_ps, limit_ps, ..Attribution::default() };
    for sample in all.iter().filter(|s| s.duration_ps >= limit_ps && s.duration_ps > median_ps) {
        let excess = sample.duration_ps - median_ps;
        let causes = Causes(sample.causes);
        let queue = sample.queue_ns.saturating_mul(1000).min(excess);
        let throttled = causes.has(Cause::Throttled);
        let waited = if throttled { ExcessPart::Of(Cause::Throttled) } else { ExcessPart::RunQueue };
        found.add(waited, queue);
        let longer = u64::from(sample.blocked_ns).saturating_sub(usual_ns).saturating_mul(1000);
        let blocked = longer.min(excess - queue);
        let off = if causes.has(Cause::Device) { Cause::Device } else { Cause::Blocked };
        found.add(ExcessPart::Of(off), blocked);
        if let Some(cause) = telling.iter().find(|cause| causes.has(**cause)) {
            found.add(ExcessPart::Of(*cause), excess - queue - blocked);
        }
        found.slow += 1;
        found.excess_ps += u128::from(excess);
    }
    found.shares.sort_by_key(|share| std::cmp::Reverse(share.ps));
    (found.slow > 0).then_some(found)
}

impl Attribution {
    fn add(&mut self, part: ExcessPart, ps: u64) {
        if ps == 0 {
            return;
        }
        match self.shares.iter_mut().find(|share| share.part == part) {
            Some(share) => {
                share.ps += u128::from(ps);
                share.operations += 1;
            }
            None => self.shares.push(Share { part, ps: u128::from(ps), operations: 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(duration_ps: u64, queue_ns: u64, blocked_ns: u32, cause: Option<Cause>) -> Sample {
        let causes = cause.map_or(0, |cause| cause as u16);
        Sample { duration_ps, queue_ns, blocked_ns, causes, ..Sample::default() }
    }

    #[test]
    fn each_part_of_the_excess_is_attributed_to_its_cause() {
        let mut all = vec![sample(50_000_000, 0, 40_000, None); 396];
        all.push(sample(4_050_000_000, 4_000_000, 40_000, Some(Cause::Blocked)));
        all.push(sample(1_050_000_000, 0, 1_040_000, Some(Cause::Blocked)));
        all.push(sample(150_000_000, 0, 40_000, Some(Cause::Timer)));
        all.push(sample(60_000_000, 0, 40_000, None));
        let found = attribute(&all).expect("enough samples");
        let shares: Vec<_> = found.shares.iter().map(|s| (s.part.name(), s.ps / 1_000_000)).collect();
        assert_eq!(shares, [("run_queue", 4000), ("blocked", 1000), ("timer", 100)]);
        assert_eq!(found.parts().last().map(|part| part.0), Some(ExcessPart::Unattributed));
    }

    #[test]
    fn time_blocked_is_attributed_to_a_device_that_was_working() {
        let mut all = vec![sample(50_000_000, 0, 40_000, Some(Cause::Blocked)); 299];
        all.push(sample(1_050_000_000, 0, 1_040_000, Some(Cause::Blocked)));
        all.push(sample(3_050_000_000, 0, 3_040_000, Some(Cause::Device)));
        let found = attribute(&all).expect("enough samples");
        let shares: Vec<_> = found.shares.iter().map(|s| (s.part.name(), s.ps / 1_000_000)).collect();
        assert_eq!(shares, [("device", 3000), ("blocked", 1000)]);
    }

    #[test]
    fn a_cause_in_every_sample_explains_no_slow_one() {
        let mut all = vec![sample(1_000, 0, 0, Some(Cause::MinorFault)); 200];
        all.push(sample(90_000, 0, 0, Some(Cause::MinorFault)));
        all.push(sample(90_000, 0, 0, Some(Cause::MinorFault)));
        let found = attribute(&all).expect("enough samples");
        assert_eq!((found.attributed(), found.parts()), (0.0, vec![(ExcessPart::Unattributed, 1.0)]));
    }

    #[test]
    fn few_or_equal_samples_have_no_attribution() {
        assert_eq!(attribute(&vec![sample(5, 0, 0, None); 99]), None);
        assert_eq!(attribute(&vec![sample(5, 0, 0, None); 500]), None);
    }

    proptest! {
        #[test]
        fn causes_never_add_up_to_more_than_the_excess(
            rows in prop::collection::vec((1u64..1 << 40, any::<u64>(), any::<u32>(), any::<u16>()), 100..400),
        ) {
            let all: Vec<Sample> = rows
                .into_iter()
                .map(|(duration_ps, queue_ns, blocked_ns, causes)| Sample {
                    duration_ps, queue_ns: queue_ns >> (queue_ns % 60), blocked_ns, causes, ..Sample::default()
                })
                .collect();
            if let Some(found) = attribute(&all) {
                let known: u128 = found.shares.iter().map(|share| share.ps).sum();
                prop_assert!(known <= found.excess_ps);
                prop_assert!((0.0..=1.0).contains(&found.attributed()));
                let sum: f64 = found.parts().iter().map(|part| part.1).sum();
                prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            }
        }
    }
}
