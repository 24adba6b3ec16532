//! Work on several processors: what a reader waits for is done side by side.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Both results, found side by side. By rayon, as the statistics are: a thread of another kind that waits for them while it
/// holds one of its threads waits for ever.
pub(crate) fn both<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    rayon::join(first, second)
}

/// What `find` finds for each number below `count`, in their order; on all processors.
pub(crate) fn each<T: Send>(count: usize, find: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    (0..count).into_par_iter().map(find).collect()
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

    #[test]
    fn reports_in_every_thread_of_a_pool_end() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
        let run = samples::example::parallel_write(2, 60, 7);
        let made: Vec<usize> = pool.install(|| {
            (0..4)
                .into_par_iter()
                .map(|_| crate::build(&run, &crate::ReportOptions::default()).results.len())
                .collect()
        });
        assert!(made.windows(2).all(|pair| pair[0] == pair[1]) && made[0] > 0);
    }
}
