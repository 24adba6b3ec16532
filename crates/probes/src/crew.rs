//! Runs threads that load the machine or answer while a kernel is timed, and only then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use machine::affinity;

use crate::error::Error;

/// What a crew and its threads share.
#[derive(Debug, Default)]
struct Signals {
    working: AtomicBool,
    ending: AtomicBool,
    /// Rounds that all threads have finished together since the crew exists.
    rounds: AtomicU64,
}

/// Threads that repeat a short piece of work between [`Crew::begin`] and [`Crew::end`] and sleep otherwise. Dropping the
/// crew ends them.
#[derive(Debug)]
pub(crate) struct Crew {
    signals: Arc<Signals>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Starts one thread for each piece of work. Each call of a piece takes well below a second: `end` has its effect
    /// after it.
    ///
    /// # Errors
    /// If a thread cannot be started; those that were are ended.
    pub fn start<W: FnMut() + Send + 'static>(work: impl IntoIterator<Item = W>) -> Result<Self, Error> {
        let mut crew = Self { signals: Arc::default(), threads: Vec::new() };
        for mut piece in work {
            let signals = Arc::clone(&crew.signals);
            let thread = std::thread::Builder::new().spawn(move || {
                // A rank may be pinned to one processor; its helpers are not.
                affinity::unpin();
                while !signals.ending.load(Ordering::Acquire) {
                    if signals.working.load(Ordering::Acquire) {
                        piece();
                        signals.rounds.fetch_add(1, Ordering::Release);
                    } else {
                        std::thread::park();
                    }
                }
            });
            let thread = thread.map_err(|source| Error::System { call: "pthread_create", source })?;
            crew.threads.push(thread);
        }
        Ok(crew)
    }

    /// Sets all to work and waits until as many rounds are done as there are threads.
    pub fn begin(&self) {
        let until = self.signals.rounds.load(Ordering::Acquire) + self.threads.len() as u64;
        self.signals.working.store(true, Ordering::Release);
        self.threads.iter().for_each(|thread| thread.thread().unpark());
        while self.signals.rounds.load(Ordering::Acquire) < until {
            std::thread::yield_now();
        }
    }

    /// Lets all sleep after the round that each is in.
    #[inline(always)]
    pub fn end(&self) {
        self.signals.working.store(false, Ordering::Release);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.end();
        self.signals.ending.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A thread that panicked has nothing to say.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crew_works_between_begin_and_end_and_then_no_more() {
        let done = Arc::new(AtomicU64::new(0));
        let piece = |_| {
            let done = Arc::clone(&done);
            move || {
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        let crew = Crew::start((0..2).map(piece)).expect("two threads");
        assert_eq!(done.load(Ordering::Relaxed), 0);
        crew.begin();
        assert!(done.load(Ordering::Relaxed) >= 2);
        crew.end();
        drop(crew);
        let after = done.load(Ordering::Relaxed);
        assert_eq!(Arc::strong_count(&done), 1, "all threads have ended");
        assert_eq!(done.load(Ordering::Relaxed), after);
    }
}
