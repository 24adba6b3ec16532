//! The counters that publish what a rank wrote: stored after it, loaded before it is read.

#[cfg(loom)]
use loom::sync::atomic::AtomicU64;
#[cfg(not(loom))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

/// How much of a part of the region is complete. All bytes zero: nothing.
#[repr(transparent)]
pub(crate) struct PublishedCount(AtomicU64);

impl PublishedCount {
    /// What lies below `count` is complete. One writer at a time.
    #[inline(always)]
    pub(crate) fn publish(&self, count: u64) {
        self.0.store(count, Release);
    }

    /// What lies below may be read.
    #[inline(always)]
    pub(crate) fn seen(&self) -> u64 {
        self.0.load(Acquire)
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    #[test]
    fn loom_a_reader_sees_every_published_sample_whole() {
        loom::model(|| {
            let count = Arc::new(PublishedCount(AtomicU64::new(0)));
            let samples = Arc::new([UnsafeCell::new(0), UnsafeCell::new(0)]);
            let (counted, written) = (Arc::clone(&count), Arc::clone(&samples));
            let rank = loom::thread::spawn(move || {
                for (number, place) in (1..).zip(written.iter()) {
                    // SAFETY: nobody reads a place before it is published; loom proves it.
                    place.with_mut(|sample| unsafe { *sample = 10 * number });
                    counted.publish(number);
                }
            });
            let published = count.seen();
            for (number, place) in (1..=published).zip(samples.iter()) {
                // SAFETY: it is published, and never written again.
                assert_eq!(place.with(|sample| unsafe { *sample }), 10 * number);
            }
            rank.join().expect("no panic");
            assert_eq!(count.seen(), 2);
        });
    }
}
