//! What each step of a site took over all ranks.

use crate::Gate;

/// Steps of a site that are kept; of a site with more, none is.
pub const MOST_STEPS: usize = 1 << 16;

/// The n-th sample of a site over all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTotals {
    /// T: the longest duration, in ps.
    pub longest_ps: u64,
    /// The rank that it belongs to; of several the lowest.
    pub last: u32,
    /// Ranks that came to it.
    pub ranks: u64,
    /// When the first one began, on the common clock.
    pub begin_ns: i64,
    /// When the last one ended.
    pub end_ns: i64,
    /// Bytes of all.
    pub bytes: u128,
    /// Ranks on which it failed.
    pub failed: u64,
}

impl StepTotals {
    /// Of a step that no rank has come to.
    pub(super) const NONE: StepTotals = StepTotals {
        longest_ps: 0,
        last: u32::MAX,
        ranks: 0,
        begin_ns: i64::MAX,
        end_ns: i64::MIN,
        bytes: 0,
        failed: 0,
    };

    fn add(&mut self, other: &StepTotals) {
        let order = |step: &StepTotals| (step.longest_ps, std::cmp::Reverse(step.last));
        if order(other) > order(self) {
            (self.longest_ps, self.last) = (other.longest_ps, other.last);
        }
        self.ranks = self.ranks.saturating_add(other.ranks);
        self.begin_ns = self.begin_ns.min(other.begin_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.failed = self.failed.saturating_add(other.failed);
    }
}

/// The steps of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// All, by number.
    All(Vec<StepTotals>),
    /// They were too many, or nobody wants them.
    LeftOut,
}

impl Default for Steps {
    fn default() -> Self {
        Steps::All(Vec::new())
    }
}

impl Steps {
    /// Adds steps of which the first has the number `first`.
    pub(super) fn add(&mut self, first: u64, steps: impl ExactSizeIterator<Item = StepTotals>) {
        let begin = usize::try_from(first).unwrap_or(usize::MAX);
        let end = begin.saturating_add(steps.len());
        if end > MOST_STEPS {
            *self = Steps::LeftOut;
        }
        let Steps::All(all) = self else { return };
        if all.len() < end {
            all.resize(end, StepTotals::NONE);
        }
        all[begin..].iter_mut().zip(steps).for_each(|(step, other)| step.add(&other));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        match other {
            Steps::All(steps) => self.add(0, steps.iter().copied()),
            Steps::LeftOut => *self = Steps::LeftOut,
        }
    }

    /// The steps that so many ranks came to: all that the site has.
    pub(super) fn gates(&self, ranks: u64) -> Option<Vec<Gate>> {
        let Steps::All(all) = self else { return None };
        let reached = all.iter().take_while(|step| step.ranks >= ranks && ranks > 0);
        let gate = |(iteration, step): (usize, &StepTotals)| Gate {
            iteration,
            seconds: step.longest_ps as f64 * 1e-12,
            // As of samples: where nobody took any time, rank 0.
            last: if step.longest_ps == 0 { 0 } else { step.last },
            ranks: u32::try_from(ranks).unwrap_or(u32::MAX),
        };
        Some(reached.enumerate().map(gate).collect())
    }
}
