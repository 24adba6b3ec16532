//! Work on several processors: what a reader waits for is done side by side.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Both results; the second is found by another thread. A panic of either is a panic of the caller.
pub(crate) fn both<A, B: Send>(first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let second = scope.spawn(second);
        let first = first();
        (first, second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// What `find` finds for each number below `count`, in their order; on all processors.
pub(crate) fn each<T: Send>(count: usize, find: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let some = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.take_while(|at| *at < count).map(|at| (at, find(at))).collect::<Vec<_>>()
    };
    let others = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(count).saturating_sub(1);
    let mut found = thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(some)).collect();
        let mut found = some();
        for other in others {
            found.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    });
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, found)| found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_side_by_side_keeps_its_order() {
        assert_eq!(both(|| 1, || "two"), (1, "two"));
        for count in [0, 1, 2, 100] {
            assert_eq!(each(count, |at| 3 * at), (0..count).map(|at| 3 * at).collect::<Vec<_>>());
        }
    }
}
