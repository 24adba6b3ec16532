//! The schedule of paced operations, found from the moments at which they were due: how many streams, and how far apart.

/// One operation, or batch, of a schedule: when it was due and when it began, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub due: u64,
    pub begun: u64,
    pub operations: u64,
}

/// From the first moment until the next one after the last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// By the moments at which operations were due.
    pub due: [u64; 2],
    /// By those at which they began.
    pub begun: [u64; 2],
    pub operations: u64,
    /// Whether the moments are equally far apart, so that they tell the rate itself and not an average of chance.
    pub is_regular: bool,
}

/// Most streams of one operation on a rank that are told apart.
const MOST_STREAMS: usize = 64;
/// So many moments are enough to tell.
const LOOKED_AT: usize = 4_096;
/// Moments of one schedule are that exact, in ns.
const EXACT: u64 = 8;
/// That share of the distances is alike in a schedule of equal ones; the others lie where it began anew.
const ALIKE: f64 = 0.7;

/// The middle one of some distances, and which share of them it is like.
fn middle(mut distances: Vec<u64>, tolerance: impl Fn(u64) -> u64) -> Option<(u64, f64)> {
    let at = distances.len().checked_sub(1)? / 2;
    let middle = *distances.select_nth_unstable(at).1;
    let alike = distances.iter().filter(|one| one.abs_diff(middle) <= tolerance(middle)).count();
    (middle > 0).then(|| (middle, alike as f64 / distances.len() as f64))
}

/// How far apart operations are on average, in ns: each of the fewest streams whose moments are equally far apart, or one
/// whose distances vary a little, as behind another operation of a body.
fn regular(all: &[Due]) -> Option<f64> {
    let looked_at = &all[..all.len().min(LOOKED_AT)];
    let apart = |streams: usize| -> Vec<u64> {
        looked_at.iter().zip(&looked_at[streams..]).map(|(a, b)| b.due - a.due).collect()
    };
    // One distance of each stream shows nothing.
    let most = MOST_STREAMS.min(all.len() / 2);
    let of_streams = (1..=most).find_map(|streams| {
        let (apart, alike) = middle(apart(streams), |_| EXACT)?;
        (alike >= ALIKE).then(|| apart as f64 / streams as f64)
    });
    of_streams.or_else(|| {
        let (apart, alike) = middle(apart(1), |middle| middle / 10)?;
        (alike >= ALIKE).then_some(apart as f64)
    })
}

impl Schedule {
    /// Of operations in the order in which they were due; `None` of those that do not tell how far they are apart.
    pub fn of(all: &[Due]) -> Option<Schedule> {
        let (first, last) = (all.first()?, all.last()?);
        let due = last.due.saturating_sub(first.due);
        if due == 0 {
            return None;
        }
        let (from, until) =
            all.iter().fold((u64::MAX, 0), |(a, b), one| (a.min(one.begun), b.max(one.begun)));
        let n = all.len() as f64;
        let on_average = due as f64 / (n - 1.0);
        let apart = regular(all);
        let length = n * apart.unwrap_or(on_average);
        // No stream is faster than was asked of it: one that began late has only made up for that.
        let behind = (until - from).saturating_sub(due) as f64 * n / (n - 1.0);
        let operations = all.iter().map(|one| one.operations).sum();
        Some(Schedule {
            due: [first.due, first.due.saturating_add(length as u64)],
            begun: [from, from.saturating_add((length + behind) as u64)],
            operations,
            is_regular: apart.is_some(),
        })
    }
}
