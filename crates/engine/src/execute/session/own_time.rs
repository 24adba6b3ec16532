//! What a rank itself spends between its operations, which counts as part of the next pause.

/// Own time that is taken off a pause or left for later ones, at most, in nanoseconds. A program may compute for long
/// between two operations, and its pauses are then not to vanish.
pub(in crate::execute) const MOST_NS: u64 = 1_000_000;

/// The own time of a rank or worker since its last pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::execute) struct OwnTime {
    /// The clock in ticks when the last pause was over, and for how long commands had run by then in picoseconds; `None`
    /// where it was with other ranks since.
    since: Option<(u64, u64)>,
    /// What pauses so far had no room for, in nanoseconds.
    owed_ns: u64,
}

impl OwnTime {
    /// Counts from the clock reading `ticks`, by when commands had run for `commands_ps`; what was owed is forgotten.
    pub(super) fn count_from(&mut self, ticks: u64, commands_ps: u64) {
        *self = Self { since: Some((ticks, commands_ps)), owed_ns: 0 };
    }

    /// The next pause began `ns` nanoseconds ago. That comes off whole, and for later pauses [`MOST_NS`] of it are left at most.
    pub(super) fn began_before(&mut self, ns: u64) {
        self.owed_ns = self.owed_ns.saturating_add(ns);
    }

    /// Counts from the next pause; what was owed is forgotten.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Takes a pause of `ns` off what is owed, if it is as long; no clock is needed for that.
    pub(super) fn covers(&mut self, ns: u64) -> bool {
        let covered = ns <= self.owed_ns;
        if covered {
            self.owed_ns = (self.owed_ns - ns).min(MOST_NS);
        }
        covered
    }

    /// What is left in nanoseconds of a pause of `ns` that begins at the clock reading `ticks`, by when commands have run
    /// for `commands_ps`; `picoseconds` passed between two readings.
    pub(super) fn left_of(
        &mut self,
        ns: u64,
        (ticks, commands_ps): (u64, u64),
        picoseconds: impl FnOnce(u64, u64) -> u64,
    ) -> u64 {
        let own_ps = match self.since {
            // Virtual time is set back for each worker.
            Some((before, done)) if before <= ticks => {
                picoseconds(before, ticks).saturating_sub(commands_ps.saturating_sub(done))
            }
            Some(_) | None => 0,
        };
        let owed = self.owed_ns.saturating_add(own_ps / 1000).min(MOST_NS.max(self.owed_ns));
        self.owed_ns = owed.saturating_sub(ns).min(MOST_NS);
        self.since = Some((ticks, commands_ps));
        ns.saturating_sub(owed)
    }

    /// The pause that [`OwnTime::left_of`] was asked for was to end at the clock reading `ticks`: what it takes longer is
    /// own time, too.
    pub(super) fn ends_at(&mut self, ticks: u64) {
        if let Some((before, _)) = &mut self.since {
            *before = ticks;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(begin: u64, end: u64) -> u64 {
        (end - begin) * 1000
    }

    #[test]
    fn what_passed_beside_commands_is_taken_off_the_next_pauses() {
        let mut own = OwnTime::default();
        own.count_from(1000, 0);
        // 700 of 900 ns were in commands.
        assert_eq!(own.left_of(500, (1900, 700_000), whole), 300);
        own.ends_at(2200);
        // The pause ended 50 ns late, and 250 ns were the rank's own.
        assert_eq!(own.left_of(100, (2600, 800_000), whole), 0);
        assert!(own.covers(150));
        assert!(!own.covers(100));
        assert_eq!(own.left_of(100, (2600, 800_000), whole), 50);
    }

    #[test]
    fn own_time_beyond_the_most_is_forgotten() {
        let mut own = OwnTime::default();
        own.count_from(0, 0);
        assert_eq!(own.left_of(5_000_000, (70_000_000, 0), whole), 4_000_000);
        own.forget();
        assert_eq!(own.left_of(5, (80_000_000, 0), whole), 5);
    }

    #[test]
    fn a_pause_that_began_before_the_worker_did_is_shorter_by_all_of_that() {
        let mut own = OwnTime::default();
        own.count_from(0, 0);
        own.began_before(4_000_000);
        assert_eq!(own.left_of(5_000_000, (0, 0), whole), 1_000_000);
        own.began_before(4_000_000);
        assert!(own.covers(10));
        assert_eq!(own.left_of(2_000_000, (0, 0), whole), 1_000_000);
    }

    #[test]
    fn a_clock_that_was_set_back_owes_nothing() {
        let mut own = OwnTime::default();
        own.count_from(500, 0);
        assert_eq!(own.left_of(7, (100, 0), whole), 7);
    }

    proptest! {
        /// Steps are own time, command and pause in nanoseconds. Where pauses have room for the own time, operations and
        /// pauses last as long as the plan says.
        #[test]
        fn a_replay_lasts_as_long_as_its_operations_and_pauses(
            steps in prop::collection::vec((0_u64..400, 0_u64..5000, 0_u64..3000), 1..50),
        ) {
            let (mut now, mut commands, mut own) = (77, 0, OwnTime::default());
            own.count_from(now, 0);
            let mut planned = now;
            for (spent, command, pause) in steps {
                commands += command * 1000;
                now += spent + command;
                planned += command + pause;
                if own.covers(pause) {
                    continue;
                }
                let left = own.left_of(pause, (now, commands), whole);
                own.ends_at(now + left);
                now += left;
                prop_assert!(now >= planned);
            }
            // A last pause with room for all that is owed.
            let left = own.left_of(400 * 50, (now, commands), whole);
            prop_assert_eq!(now + left, planned + 400 * 50);
        }
    }
}
