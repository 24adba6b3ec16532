//! Keeps recorder and application on one processor while the application has one thread.
//!
//! Then the one stands still while the other works, and an idle processor that must be woken for each stop costs more than
//! the stop itself, part of it processor time of the thread. An application that asks for its processors, or has more
//! threads, runs where it would without the recorder.

use std::mem::MaybeUninit;

/// Delays of a thread that is ready to run are noticed from so many nanoseconds on.
const DELAY_NS: u64 = 200_000;

/// So many delays show that others want this processor, too.
const MOST_DELAYS: u32 = 10;

/// On which processors the recorder and the application run.
pub struct OneProcessor {
    /// Those that the recorder had at first; `None` where it leaves them alone.
    free: Option<libc::cpu_set_t>,
    /// The threads that were moved to one processor.
    moved: Vec<libc::pid_t>,
    delays: u32,
}

impl OneProcessor {
    /// Nothing is moved yet; nothing ever will where there is one processor only.
    pub fn new() -> Self {
        let free = affinity(0).filter(|set| count(set) > 1);
        Self { free, moved: Vec::new(), delays: 0 }
    }

    /// The application has one thread, this one: it comes to the processor of the recorder. Returns whether it did.
    pub fn join(&mut self, thread: libc::pid_t) -> bool {
        if self.free.is_none() || !self.moved.is_empty() {
            return false;
        }
        // SAFETY: a plain call.
        let here = unsafe { libc::sched_getcpu() };
        let Ok(here) = usize::try_from(here) else { return false };
        let mut one = empty();
        // SAFETY: the number is that of a processor that runs us, within the set.
        unsafe { libc::CPU_SET(here, &mut one) };
        let done = set_affinity(0, &one) && set_affinity(thread, &one);
        self.moved = vec![0, thread];
        if !done {
            self.part();
        }
        done
    }

    /// The application has another thread, or works with processors: all may run where they might at first. Returns
    /// whether they could not before.
    pub fn part(&mut self) -> bool {
        let Some(free) = self.free else { return false };
        let moved = std::mem::take(&mut self.moved);
        for thread in &moved {
            // A thread that has ended needs no processor.
            set_affinity(*thread, &free);
        }
        !moved.is_empty()
    }

    /// As [`OneProcessor::part`], also of a thread that was started meanwhile.
    pub fn part_with(&mut self, child: libc::pid_t) -> bool {
        if !self.moved.is_empty() {
            self.moved.push(child);
        }
        self.part()
    }

    /// From now on all run where they might at first. Returns whether they could not before.
    pub fn give_up(&mut self) -> bool {
        let parted = self.part();
        self.free = None;
        parted
    }

    /// A thread ended: its number may become that of another one.
    pub fn ended(&mut self, thread: libc::pid_t) {
        self.moved.retain(|moved| *moved != thread);
    }

    /// Nothing is ever moved.
    pub fn none() -> Self {
        Self { free: None, moved: Vec::new(), delays: 0 }
    }

    /// Whether recorder and application share a processor now.
    pub fn is_shared(&self) -> bool {
        !self.moved.is_empty()
    }

    /// A thread was ready to run for so long until it ran. Returns whether others need the processor.
    pub fn delayed(&mut self, ns: u64) -> bool {
        self.delays += u32::from(ns >= DELAY_NS && !self.moved.is_empty());
        self.delays >= MOST_DELAYS
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        self.part();
    }
}

fn empty() -> libc::cpu_set_t {
    // SAFETY: a set of bits, all zero.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn count(set: &libc::cpu_set_t) -> usize {
    // SAFETY: plain arithmetic.
    usize::try_from(unsafe { libc::CPU_COUNT(set) }).unwrap_or(0)
}

/// Processors of a thread, 0 for this one; `None` where Linux does not tell.
fn affinity(thread: libc::pid_t) -> Option<libc::cpu_set_t> {
    let mut set = empty();
    // SAFETY: Linux writes at most the size that is given.
    let done = unsafe { libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &mut set) };
    (done == 0).then_some(set)
}

fn set_affinity(thread: libc::pid_t, set: &libc::cpu_set_t) -> bool {
    // SAFETY: Linux reads the set.
    unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), set) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_come_to_one_processor_and_go_back_to_all() {
        std::thread::spawn(|| {
            let before = affinity(0).expect("a set");
            let mut one = OneProcessor::new();
            // SAFETY: a plain call.
            let own = unsafe { libc::gettid() };
            assert_eq!(one.join(own), count(&before) > 1);
            assert_eq!(count(&affinity(0).expect("a set")), 1);
            assert!(!one.join(own));
            assert_eq!(one.part(), count(&before) > 1);
            assert_eq!(count(&affinity(0).expect("a set")), count(&before));
            assert_eq!(one.join(own), count(&before) > 1);
            assert_eq!(one.give_up(), count(&before) > 1);
            assert!(!one.join(own));
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn ten_delays_show_that_others_need_the_processor() {
        let mut one = OneProcessor { free: Some(empty()), moved: vec![1], delays: 0 };
        assert!((0..9).all(|_| !one.delayed(DELAY_NS)));
        assert!(!one.delayed(DELAY_NS - 1));
        assert!(one.delayed(DELAY_NS));
    }
}
