//! Where a replay takes longer than the application.

use super::{Side, Tally};

/// A replay takes as long as the application if its time in operations is by no larger share longer or shorter.
const WITHIN: f64 = 0.05;

/// By how much a replay takes longer than the application, and where; times in nanoseconds, negative where it takes less.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Excess {
    /// More time in which operations were in flight.
    pub operations: i64,
    /// More time in which none was.
    pub between: i64,
    /// Durations of all operations of a kind, together, less those of the application: by the language's command, those first
    /// that differ most.
    pub by_operation: Vec<(String, i64)>,
    /// How long the replay's busiest rank read the clock around its operations. Half of it is in their durations.
    pub clock: u64,
    /// For how long operations of the replay were in flight, by that of the application. Pauses are not in it: the replay
    /// has them from the recording, so that they are alike whatever it does. `None` where the recording does not say.
    pub ratio: Option<f64>,
    /// Whether that is 1, within 5%.
    pub within: Option<bool>,
    /// Where the replay's operations wait far less than the application's.
    pub elsewhere: Option<Elsewhere>,
    /// Whether threads of one process may have waited for each other (for a lock, an interpreter) while operations took longer
    /// than in the replay, which waits for as long as they did.
    pub threads_waited: bool,
}

/// A replay where operations wait less than where the application was recorded: it pauses as long as the application computed
/// there. Behind a wait a processor computes more slowly, since others used its caches meanwhile; an application that does not
/// wait computes faster than its recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elsewhere {
    /// How long the application computed right behind operations that waited, in nanoseconds.
    pub behind_waits: u64,
    /// So many times as long as the application in the same place the replay may take.
    pub at_most: f64,
}

impl Elsewhere {
    /// Of the time right behind waits so much may not be needed elsewhere: sqlite took 2.6 times as long for it as without waits
    /// on a quiet machine, and nearly four times where others used its processor.
    const SLOWER: f64 = 0.75;
    /// From this ratio on it is told.
    const TOLD: f64 = 1.05;

    fn of(application: &Side, replay: &Side) -> Option<Self> {
        let busy = replay.busy();
        if busy >= application.busy() / 2 {
            return None;
        }
        let behind_waits = application.computed_behind_waits();
        // One as fast as possible does not pause.
        let pauses = replay.elapsed.saturating_sub(busy) >= behind_waits / 2;
        let elapsed = replay.elapsed as f64;
        let least = (elapsed - Self::SLOWER * behind_waits as f64).max(elapsed * (1.0 - Self::SLOWER));
        let found = Self { behind_waits, at_most: elapsed / least.max(1.0) };
        (pauses && found.at_most > Self::TOLD).then_some(found)
    }
}

/// Whether operations take less time in a replay, by more than 5% of the application's, and pauses do not.
fn is_quicker_with_pauses(application: &Side, replay: &Side) -> bool {
    let less = application.busy().saturating_sub(replay.busy());
    let pauses = |side: &Side| side.elapsed.saturating_sub(side.busy());
    less as f64 > WITHIN * application.elapsed as f64 && pauses(replay) > pauses(application) / 2
}

impl Excess {
    /// Of a replay; operations of the ranks `overlapping` overlap, since they have several threads. `is_known` says whether
    /// the durations of the application are more than what recording them costs.
    pub(super) fn of(application: &Side, replay: &Side, overlapping: &[u32], is_known: bool) -> Self {
        let less = |one: u64, other: u64| one.cast_signed().saturating_sub(other.cast_signed());
        let operations = less(replay.busy(), application.busy());
        let total = |side: &Side, name: &str| side.operations.get(name).map_or(0, Tally::total);
        let names = application.operations.keys();
        let further = replay.operations.keys().filter(|name| !application.operations.contains_key(*name));
        let mut by_operation: Vec<(String, i64)> = names
            .chain(further)
            .map(|name| (name.clone(), less(total(replay, name), total(application, name))))
            .collect();
        by_operation.sort_by_key(|(_, more)| std::cmp::Reverse(more.unsigned_abs()));
        let (own, theirs) = (application.busy(), replay.busy());
        let ratio = (is_known && own > 0 && theirs > 0).then(|| theirs as f64 / own as f64);
        Self {
            operations,
            between: less(replay.elapsed, application.elapsed).saturating_sub(operations),
            by_operation,
            clock: replay.clock,
            ratio,
            within: ratio.map(|ratio| (ratio - 1.0).abs() <= WITHIN),
            elsewhere: Elsewhere::of(application, replay),
            threads_waited: !overlapping.is_empty() && is_quicker_with_pauses(application, replay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fidelity::Done;

    /// Operations of one rank: their command, how long after the one before they began, and how long they took.
    fn side(operations: &[(&str, u64, u64)]) -> Side {
        let mut side = Side::default();
        let mut start = 0;
        for (command, after, duration) in operations {
            start += after;
            side.add(&Done { command, start, duration: Some(*duration), bytes: 0, errno: 0, rank: 0 });
            start += duration;
        }
        side
    }

    #[test]
    fn more_time_is_that_of_operations_and_that_between_them() {
        let application = side(&[("fread", 0, 100), ("fwrite", 50, 200), ("fread", 50, 100)]);
        let replay = side(&[("fread", 0, 130), ("fwrite", 70, 190), ("fread", 40, 110)]);
        let found = Excess::of(&application, &replay, &[], true);
        assert_eq!((found.operations, found.between, found.within), (30, 10, Some(false)));
        assert_eq!(found.by_operation, [("fread".to_owned(), 40), ("fwrite".to_owned(), -10)]);
        let same = Excess::of(&application, &application, &[], true);
        assert_eq!((same.operations, same.between, same.within), (0, 0, Some(true)));
    }

    #[test]
    fn pauses_of_the_recording_do_not_make_a_replay_alike() {
        let (mine, twice) = (side(&[("fread", 0, 100)].repeat(2)), side(&[("fread", 0, 200)].repeat(2)));
        assert_eq!(Excess::of(&mine, &twice, &[], true).within, Some(false));
        let (mine, twice) = (
            side(&[("fread", 0, 100), ("fread", 1_000_000, 100)]),
            side(&[("fread", 0, 200), ("fread", 1_000_000, 200)]),
        );
        assert!(twice.elapsed.abs_diff(mine.elapsed) * 1000 < mine.elapsed, "alike but for the operations");
        let found = Excess::of(&mine, &twice, &[], true);
        assert_eq!((found.ratio, found.within), (Some(2.0), Some(false)));
        let unknown = Excess::of(&mine, &mine, &[], false);
        assert_eq!((unknown.ratio, unknown.within), (None, None));
        // A trace without durations says nothing either.
        let none = side(&[("fread", 0, 0), ("fread", 1_000_000, 0)]);
        assert_eq!(Excess::of(&none, &mine, &[], true).within, None);
    }

    #[test]
    fn pauses_that_were_recorded_behind_waits_are_told_where_nothing_waits() {
        let transactions = |wait: u64| {
            let one = [("fwrite", 10_000, 2000), ("fsync", 1000, wait), ("fread", 30_000, 1000)];
            side(&one.repeat(100))
        };
        let (disk, memory) = (transactions(500_000), transactions(300));
        let found = Excess::of(&disk, &memory, &[], true).elsewhere.expect("pauses behind waits");
        // All pauses but the two before the first wait.
        assert_eq!(found.behind_waits, 100 * 41_000 - 11_000);
        // Of 4.42 ms 0.75 times these may be too long.
        assert!((found.at_most - 4.42 / (4.42 - 0.75 * 4.089)).abs() < 0.01, "{}", found.at_most);
        assert_eq!(Excess::of(&disk, &disk, &[], true).elsewhere, None);
        assert_eq!(Excess::of(&memory, &memory, &[], true).elsewhere, None);
        // Without pauses.
        let fast = side(&[("fwrite", 0, 2000), ("fsync", 0, 300), ("fread", 0, 1000)].repeat(100));
        assert_eq!(Excess::of(&disk, &fast, &[], true).elsewhere, None);
        // What is computed elsewhere than behind waits is as long everywhere.
        let read = |took: u64| side(&[("fread", 2_000_000, took), ("fread", 2_000_000, took)].repeat(9));
        assert_eq!(Excess::of(&read(900_000), &read(900), &[], true).elsewhere, None);
    }

    #[test]
    fn waits_of_threads_are_told_where_operations_are_quicker_and_pauses_are_not() {
        let threads = |pause: u64, took: u64| side(&[("fread", pause, took)].repeat(400));
        let told = |took: u64, (pause, replayed): (u64, u64), overlapping: &[u32]| {
            Excess::of(&threads(500, took), &threads(pause, replayed), overlapping, true).threads_waited
        };
        assert!(told(500, (500, 100), &[0]));
        assert!(!told(500, (500, 100), &[]), "one thread");
        assert!(!told(500, (500, 490), &[0]) && !told(100, (500, 500), &[0]), "no quicker");
        assert!(!told(500, (0, 100), &[0]), "as fast as possible");
    }

    #[test]
    fn an_operation_of_the_replay_alone_counts() {
        let found =
            Excess::of(&side(&[("stat", 0, 10)]), &side(&[("stat", 0, 10), ("fopen", 0, 5)]), &[], true);
        assert_eq!(found.by_operation[0], ("fopen".to_owned(), 5));
        assert_eq!((found.operations, found.between), (5, 0));
    }
}
