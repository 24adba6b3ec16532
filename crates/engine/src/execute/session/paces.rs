//! How late operations are under `rate` and `at`: each block has an intended start, and all of its operations are as
//! late as the first.

/// Is there an intended start?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    None,
    /// Of the next operation, in ns since the run's epoch.
    Intended(u64),
    /// The operations are so late, in ns.
    Late(u64),
}

impl Pace {
    fn late(&mut self, start_ns: u64) -> u64 {
        match *self {
            Pace::None => 0,
            Pace::Late(ns) => ns,
            Pace::Intended(intended) => {
                let ns = start_ns.saturating_sub(intended);
                *self = Pace::Late(ns);
                ns
            }
        }
    }
}

/// The intended starts of the blocks around an operation.
#[derive(Clone, Debug)]
pub(in crate::execute) struct Paces {
    /// Of the innermost block.
    now: Pace,
    /// Of the blocks around it, the outermost first.
    outer: Vec<Pace>,
}

impl Default for Paces {
    fn default() -> Self {
        Self { now: Pace::None, outer: Vec::with_capacity(4) }
    }
}

impl Paces {
    /// A block begins that was meant to begin at `ns`.
    pub(super) fn enter(&mut self, ns: u64) {
        self.outer.push(std::mem::replace(&mut self.now, Pace::Intended(ns)));
    }

    /// The block is over: what counted before counts again.
    pub(super) fn leave(&mut self) {
        self.now = self.outer.pop().unwrap_or(Pace::None);
    }

    /// How late an operation is; `None` if it is the first of its block, so that [`Paces::first`] says it.
    #[inline(always)]
    pub(super) fn known(&self) -> Option<u64> {
        match self.now {
            Pace::None => Some(0),
            Pace::Late(ns) => Some(ns),
            Pace::Intended(_) => None,
        }
    }

    /// How late the first operation of a block is, which began at `start_ns`. It is the first of the blocks around as
    /// well, if they have had none.
    pub(super) fn first(&mut self, start_ns: u64) -> u64 {
        for outer in &mut self.outer {
            outer.late(start_ns);
        }
        self.now.late(start_ns)
    }

    /// Workers began with these paces, as `self` is, and ended with theirs: the earliest of their first operations is
    /// the first of each block that had none.
    pub(in crate::execute) fn join(&mut self, workers: &[Paces]) {
        let levels = self.outer.len();
        for level in 0..=levels {
            let pace = |paces: &Paces| paces.outer.get(level).copied().unwrap_or(paces.now);
            let late = workers.iter().filter_map(|worker| match pace(worker) {
                Pace::Late(ns) => Some(ns),
                Pace::None | Pace::Intended(_) => None,
            });
            let own = self.outer.get_mut(level).unwrap_or(&mut self.now);
            if let (Pace::Intended(_), Some(least)) = (*own, late.min()) {
                *own = Pace::Late(least);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_operation_of_any_worker_is_the_first_of_the_blocks_around() {
        let mut rank = Paces::default();
        rank.enter(100);
        rank.enter(150);
        let mut workers = vec![rank.clone(); 3];
        assert_eq!(workers[1].first(180), 30);
        assert_eq!(workers[2].first(160), 10);
        rank.join(&workers);
        // Worker 0 had no operation.
        assert_eq!(rank.known(), Some(10));
        rank.leave();
        assert_eq!(rank.known(), Some(60));
        rank.leave();
        assert_eq!(rank.known(), Some(0));
    }

    #[test]
    fn a_block_that_had_an_operation_before_its_workers_keeps_its_lateness() {
        let mut rank = Paces::default();
        rank.enter(100);
        assert_eq!((rank.known(), rank.first(105)), (None, 5));
        let mut worker = rank.clone();
        worker.enter(110);
        worker.first(170);
        worker.leave();
        assert_eq!(worker.known(), Some(5));
        rank.join(&[worker]);
        assert_eq!(rank.known(), Some(5));
    }
}
