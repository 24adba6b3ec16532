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

/// A barrier in shared memory. All bytes zero: one of size 0, not yet in use.
#[repr(C, align(64))]
pub(crate) struct BarrierSlot {
    /// Even numbers; the lowest bit is [`CLOSED`].
    generation: AtomicU32,
    arrived: AtomicU32,
    sleepers: AtomicU32,
    size: AtomicU32,
    /// Member that ended its program (world rank + 1): it will never come again.
    ended: AtomicU32,
    /// Largest value of even and of odd generations: the one not in use is cleared by the last to come.
    largest: [AtomicU64; 2],
    /// The packed meeting that the first to come meant, likewise; 0: nobody has come.
    meetings: [AtomicU64; 2],
    /// The last stonewalled phase that a member has completed.
    phase: AtomicU64,
}

/// How a rank waits, and whom it tells.
pub(crate) trait Waiter {
    /// The meeting that it has come to, packed.
    fn meeting(&self) -> u64;

    /// It is about to arrive in this generation.
    fn arrives(&mut self, generation: u32);

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
        let generation = self.generation.load(Acquire);
        if generation & CLOSED != 0 {
            return Err(Unmet::Closed);
        }
        let parity = generation as usize >> 1 & 1;
        let mine = waiter.meeting();
        if let Err(theirs) = self.meetings[parity].compare_exchange(0, mine, AcqRel, Acquire)
            && !meeting::is_same(theirs, mine)
        {
            return Err(Unmet::Apart(theirs));
        }
        waiter.arrives(generation);
        self.largest[parity].fetch_max(value, Relaxed);
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.size.load(Relaxed) {
            self.largest[parity ^ 1].store(0, Relaxed);
            self.meetings[parity ^ 1].store(0, Relaxed);
            self.arrived.store(0, Relaxed);
            self.generation.fetch_add(2, AcqRel);
            // A read-modify-write, where a load could miss a sleeper: either it comes after the sleeper's own
            // and wakes it, or the sleeper's comes after and sees the new generation.
            if self.sleepers.fetch_add(0, AcqRel) > 0 {
                futex::wake_all(&self.generation);
            }
        } else {
            self.wait(generation, waiter)?;
        }
        Ok(self.largest[parity].load(Relaxed))
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
        self.sleepers.fetch_add(1, AcqRel);
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
            futex::wait(&self.generation, generation, remaining);
        };
        self.sleepers.fetch_sub(1, AcqRel);
        waiter.sleeps(false);
        met
    }

    /// Released comes before closed: a rank that was released by one that died later carries on.
    fn look(&self, generation: u32) -> Look {
        match self.generation.load(Acquire) {
            now if now & !CLOSED != generation => Look::Released,
            now if now & CLOSED != 0 => Look::Closed,
            _ => Look::Pending,
        }
    }

    /// Does it still wait for members in this generation?
    pub(crate) fn is_pending(&self, generation: u32) -> bool {
        self.generation.load(Acquire) == generation
    }

    /// Releases no more ranks: those that wait leave with [`Unmet::Closed`].
    pub(crate) fn close(&self) {
        self.generation.fetch_or(CLOSED, AcqRel);
        futex::wake_all(&self.generation);
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
            generation: AtomicU32::new(0),
            arrived: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            size: AtomicU32::new(size),
            ended: AtomicU32::new(0),
            largest: [AtomicU64::new(0), AtomicU64::new(0)],
            meetings: [AtomicU64::new(0), AtomicU64::new(0)],
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
            assert_eq!(barrier.sleepers.load(Relaxed), 0);
        });
    }
}
