//! The barrier of a communicator: counts arrivals by generation, so that it is ready again at once.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use crate::{futex, meeting};

/// Lowest bit of a generation: the barrier is closed, nobody will be released any more.
const CLOSED: u32 = 1;
/// From one generation to the next.
const STEP: u32 = 2;
/// One sleeper, in the upper half of the word whose lower half is the generation.
const SLEEPER: u64 = 1 << 32;

/// A barrier in shared memory. All bytes zero: one of size 0, not yet in use.
///
/// A rank that comes changes one word, the last one a second. Each change of a word on which others look costs a transfer
/// between caches, so a word holds what would else take two: who has come and for what, the generation and its sleepers.
#[repr(C, align(64))]
pub(crate) struct BarrierSlot {
    /// The generation in the lower half: even numbers; the lowest bit is [`CLOSED`]. In the upper half the number of
    /// ranks that sleep until it changes.
    turn: AtomicU64,
    /// The sum of what [`meeting::arrival`] gives for each rank that has come.
    arrivals: AtomicU64,
    size: AtomicU32,
    /// Member that ended its program (world rank + 1): it will never come again.
    ended: AtomicU32,
    /// Largest value of even and of odd generations: the one not in use is cleared by the last to come.
    largest: [AtomicU64; 2],
    /// The last stonewalled phase that a member has completed.
    phase: AtomicU64,
}

/// How a rank waits, and whom it tells.
pub(crate) trait Waiter {
    /// The meeting that it has come to, packed.
    fn meeting(&self) -> u64;

    /// It is about to arrive in this generation.
    fn arrives(&mut self, generation: u32);

    /// The packed meeting of a rank that has arrived in this generation for another one than this; `None`: there is none
    /// any more.
    fn other(&self, generation: u32) -> Option<u64>;

    /// How often it looks before it sleeps.
    fn spins(&self) -> u32;

    /// It begins to sleep, or has stopped sleeping.
    fn sleeps(&mut self, sleeping: bool);

    /// How long it may still wait; `None`: for ever.
    fn remaining(&mut self) -> Option<Duration>;

    /// Asked while it sleeps: is it known that the others never come, since they wait for this one elsewhere?
    fn is_stuck(&mut self) -> bool {
        false
    }
}

/// Why a rank leaves a barrier without having met the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmet {
    /// The barrier is closed: a rank is lost, or the run is to stop.
    Closed,
    /// The time is up, in this generation.
    TimedOut(u32),
    /// Another rank waits here for another meeting: this one, packed.
    Apart(u64),
    /// The others wait for this one elsewhere.
    Stuck,
}

enum Look {
    Released,
    Closed,
    Pending,
}

impl BarrierSlot {
    /// How many ranks meet here.
    pub(crate) fn size(&self) -> u32 {
        self.size.load(Acquire)
    }

    /// Publishes the size, and with it what was written before: the list of members.
    pub(crate) fn set_size(&self, size: u32) {
        self.size.store(size, Release);
    }

    /// Waits until all have come; the largest value that any of them brought.
    pub(crate) fn meet(&self, value: u64, waiter: &mut impl Waiter) -> Result<u64, Unmet> {
        let generation = self.generation();
        if generation & CLOSED != 0 {
            return Err(Unmet::Closed);
        }
        let parity = (generation / STEP) as usize & 1;
        let mine = meeting::arrival(waiter.meeting());
        waiter.arrives(generation);
        // Nobody brought less than 0.
        if value > 0 {
            self.largest[parity].fetch_max(value, Relaxed);
        }
        let before = self.arrivals.fetch_add(mine, AcqRel);
        if !meeting::all_meet(before, mine) {
            return Err(waiter.other(generation).map_or(Unmet::Closed, Unmet::Apart));
        }
        if meeting::count_of_arrivals(before) + 1 == u64::from(self.size.load(Relaxed)) {
            self.largest[parity ^ 1].store(0, Relaxed);
            self.arrivals.store(0, Relaxed);
            // The same change tells the sleepers before it: either one has counted itself and is woken, or its own
            // change comes after and sees the new generation.
            if self.turn.fetch_add(to_next(generation), AcqRel) >= SLEEPER {
                futex::wake_all(futex::lower_half(&self.turn));
            }
        } else {
            self.wait(generation, waiter)?;
        }
        Ok(self.largest[parity].load(Relaxed))
    }

    fn generation(&self) -> u32 {
        // The lower half.
        self.turn.load(Acquire) as u32
    }

    fn wait(&self, generation: u32, waiter: &mut impl Waiter) -> Result<(), Unmet> {
        for _ in 0..waiter.spins() {
            match self.look(generation) {
                Look::Released => return Ok(()),
                Look::Closed => return Err(Unmet::Closed),
                Look::Pending => std::hint::spin_loop(),
            }
        }
        waiter.sleeps(true);
        self.turn.fetch_add(SLEEPER, AcqRel);
        let met = loop {
            match self.look(generation) {
                Look::Released => break Ok(()),
                Look::Closed => break Err(Unmet::Closed),
                Look::Pending => {}
            }
            if waiter.is_stuck() {
                break Err(Unmet::Stuck);
            }
            let remaining = waiter.remaining();
            if remaining.is_some_and(|remaining| remaining.is_zero()) {
                break Err(Unmet::TimedOut(generation));
            }
            futex::wait(futex::lower_half(&self.turn), generation, remaining);
        };
        self.turn.fetch_sub(SLEEPER, AcqRel);
        waiter.sleeps(false);
        met
    }

    /// Released comes before closed: a rank that was released by one that died later carries on.
    fn look(&self, generation: u32) -> Look {
        match self.generation() {
            now if now & !CLOSED != generation => Look::Released,
            now if now & CLOSED != 0 => Look::Closed,
            _ => Look::Pending,
        }
    }

    /// Does it still wait for members in this generation?
    pub(crate) fn is_pending(&self, generation: u32) -> bool {
        self.generation() == generation
    }

    /// Releases no more ranks: those that wait leave with [`Unmet::Closed`].
    pub(crate) fn close(&self) {
        self.turn.fetch_or(u64::from(CLOSED), AcqRel);
        futex::wake_all(futex::lower_half(&self.turn));
    }

    /// Closes it because a member reached the end of its program.
    pub(crate) fn close_for(&self, ended: u32) {
        let _ = self.ended.compare_exchange(0, ended + 1, AcqRel, Relaxed);
        self.close();
    }

    /// The member because of which [`BarrierSlot::close_for`] closed it.
    pub(crate) fn ended(&self) -> Option<u32> {
        self.ended.load(Acquire).checked_sub(1)
    }

    /// A member has completed the phase of this number.
    pub(crate) fn raise(&self, phase: u64) {
        self.phase.fetch_max(phase, Relaxed);
    }

    /// Has one?
    pub(crate) fn raised(&self, phase: u64) -> bool {
        self.phase.load(Relaxed) >= phase
    }
}

/// What is added for the next generation: that behind the last one is the first again, and sleepers stay as they are.
fn to_next(generation: u32) -> u64 {
    match generation.checked_add(STEP) {
        Some(_) => u64::from(STEP),
        None => u64::from(STEP).wrapping_sub(1 << 32),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn after_the_last_generation_comes_the_first_and_sleepers_and_the_end_stay() {
        let next = |turn: u64| turn.wrapping_add(to_next(turn as u32 & !CLOSED));
        let last = u64::from(!CLOSED);
        assert_eq!(next(0), 2);
        assert_eq!(next(last - 2), last);
        assert_eq!(next(last), 0);
        assert_eq!(next(3 * SLEEPER + last), 3 * SLEEPER);
        assert_eq!(next(3 * SLEEPER + last + 1), 3 * SLEEPER + 1);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::meeting::{Meeting, MeetingKind};
    use loom::sync::Arc;
    use loom::sync::atomic::Ordering::Relaxed;
    use loom::thread;

    /// Sleeps at once: loom explores every moment at which the others act.
    struct Sleeper;

    /// Comes to another meeting.
    struct Stray;

    impl Waiter for Stray {
        fn meeting(&self) -> u64 {
            Meeting { kind: MeetingKind::End, ..Meeting::default() }.packed(1)
        }
        fn arrives(&mut self, _generation: u32) {}
        fn other(&self, _generation: u32) -> Option<u64> {
            Some(self.meeting() ^ 1)
        }
        fn spins(&self) -> u32 {
            0
        }
        fn sleeps(&mut self, _sleeping: bool) {}
        fn remaining(&mut self) -> Option<Duration> {
            None
        }
    }

    impl Waiter for Sleeper {
        fn meeting(&self) -> u64 {
            Meeting::default().packed(0)
        }
        fn arrives(&mut self, _generation: u32) {}
        fn other(&self, _generation: u32) -> Option<u64> {
            Some(self.meeting() ^ 1)
        }
        fn spins(&self) -> u32 {
            0
        }
        fn sleeps(&mut self, _sleeping: bool) {}
        fn remaining(&mut self) -> Option<Duration> {
            None
        }
    }

    fn slot(size: u32) -> Arc<BarrierSlot> {
        Arc::new(BarrierSlot {
            turn: AtomicU64::new(0),
            arrivals: AtomicU64::new(0),
            size: AtomicU32::new(size),
            ended: AtomicU32::new(0),
            largest: [AtomicU64::new(0), AtomicU64::new(0)],
            phase: AtomicU64::new(0),
        })
    }

    #[test]
    fn loom_nobody_is_left_asleep_and_each_round_has_its_own_largest_value() {
        // Two rounds have too many interleavings to try all: only those with at most three preemptions.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let barrier = slot(2);
            let other = Arc::clone(&barrier);
            let rounds =
                |barrier: &BarrierSlot, values: [u64; 2]| values.map(|v| barrier.meet(v, &mut Sleeper));
            let theirs = thread::spawn(move || rounds(&other, [7, 1]));
            assert_eq!(rounds(&barrier, [3, 2]), [Ok(7), Ok(2)]);
            assert_eq!(theirs.join().expect("no panic"), [Ok(7), Ok(2)]);
        });
    }

    #[test]
    fn loom_what_a_rank_wrote_before_is_seen_after() {
        loom::model(|| {
            let barrier = slot(2);
            let written = Arc::new(loom::cell::UnsafeCell::new(0));
            let (other, place) = (Arc::clone(&barrier), Arc::clone(&written));
            let writer = thread::spawn(move || {
                // SAFETY: the reader looks after the barrier only; loom proves it.
                place.with_mut(|value| unsafe { *value = 5 });
                other.meet(0, &mut Sleeper).expect("open");
            });
            barrier.meet(0, &mut Sleeper).expect("open");
            // SAFETY: the writer is through with it.
            assert_eq!(written.with(|value| unsafe { *value }), 5);
            writer.join().expect("no panic");
        });
    }

    #[test]
    fn loom_two_ranks_at_different_meetings_never_pass() {
        loom::model(|| {
            let barrier = slot(2);
            let other = Arc::clone(&barrier);
            let stray = thread::spawn(move || {
                let met = other.meet(0, &mut Stray);
                other.close();
                met
            });
            let met = barrier.meet(0, &mut Sleeper);
            barrier.close();
            let stray = stray.join().expect("no panic");
            assert!(met.is_err() && stray.is_err());
            assert!(matches!(met, Err(Unmet::Apart(_))) || matches!(stray, Err(Unmet::Apart(_))));
        });
    }

    #[test]
    fn loom_a_closed_barrier_keeps_nobody() {
        loom::model(|| {
            let barrier = slot(2);
            let closing = Arc::clone(&barrier);
            let closer = thread::spawn(move || closing.close_for(1));
            assert_eq!(barrier.meet(0, &mut Sleeper), Err(Unmet::Closed));
            closer.join().expect("no panic");
            assert_eq!(barrier.ended(), Some(1));
            assert!(barrier.turn.load(Relaxed) < SLEEPER);
        });
    }
}
