//! What the ranks of a communicator have announced before a call of a library, where the parent of a rank can read it
//! while the rank is inside of that call.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

use crate::meeting;

/// The memory of one reduction over the ranks of a communicator: a number, the packed meeting and its complement, of
/// which each becomes the largest that any rank has brought.
///
/// The library writes to it while a rank waits inside of another call. What it holds in between is the result for some
/// of the ranks, so that two meetings in it are two that ranks have come to.
#[repr(C)]
pub struct Announcement {
    in_use: AtomicBool,
    /// All ranks of the job have met at the end of the program.
    last: AtomicBool,
    /// What this rank brings, then the result.
    values: [AtomicU64; 6],
}

impl Announcement {
    /// Stores what this rank brings: three numbers, behind them three of the result, which are 0. `None` while another
    /// announcement is not over.
    pub fn begin(&self, values: [u64; 3]) -> Option<*mut [[u64; 3]; 2]> {
        if self.in_use.load(Relaxed) {
            return None;
        }
        for (at, value) in values.into_iter().chain([0; 3]).enumerate() {
            self.values[at].store(value, Relaxed);
        }
        self.in_use.store(true, SeqCst);
        Some(self.values.as_ptr().cast_mut().cast())
    }

    /// The result, once the reduction is complete.
    pub fn end(&self) -> [u64; 3] {
        let result = [3, 4, 5].map(|at| self.values[at].load(SeqCst));
        self.in_use.store(false, SeqCst);
        result
    }

    /// All ranks of the job have met at the end of the program: only the library remains to be ended.
    pub fn conclude(&self) {
        self.last.store(true, SeqCst);
    }

    /// Whether they have.
    pub(crate) fn is_last(&self) -> bool {
        self.last.load(SeqCst)
    }

    /// What is wrong if ranks have announced different meetings: a sentence that names two of them.
    pub fn apart(&self) -> Option<String> {
        if !self.in_use.load(SeqCst) {
            return None;
        }
        let [most, least] = [4, 5].map(|at| self.values[at].load(SeqCst));
        // 0: no rank's number has come.
        let known = most != 0 && least != 0 && meeting::is_one(most) && meeting::is_one(!least);
        (known && !meeting::is_same(most, !least)).then(|| meeting::apart(most, !least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meeting::{Meeting, MeetingKind};

    fn empty() -> Announcement {
        Announcement {
            in_use: AtomicBool::new(false),
            last: AtomicBool::new(false),
            values: [const { AtomicU64::new(0) }; 6],
        }
    }

    #[test]
    fn two_meetings_in_one_announcement_are_told_as_soon_as_both_are_known() {
        let announcement = empty();
        let write = Meeting { kind: MeetingKind::Command, line: 3, place: 1 }.packed(0);
        let read = Meeting { kind: MeetingKind::Command, line: 9, place: 2 }.packed(1);
        let brought = announcement.begin([5, write, !write]).unwrap();
        assert!(announcement.begin([0; 3]).is_none());
        assert_eq!(announcement.apart(), None);
        // SAFETY: the memory is of `announcement`.
        unsafe { assert_eq!(*brought, [[5, write, !write], [0; 3]]) };
        announcement.values[4].store(write, SeqCst);
        announcement.values[5].store(!write, SeqCst);
        assert_eq!(announcement.apart(), None);
        announcement.values[4].store(write.max(read), SeqCst);
        announcement.values[5].store((!write).max(!read), SeqCst);
        let text = announcement.apart().unwrap();
        assert!(text.contains("rank 0 is at the collective command at line 3"), "{text}");
        assert!(text.contains("rank 1 is at the collective command at line 9"), "{text}");
        announcement.end();
        assert_eq!(announcement.apart(), None);
    }

    #[test]
    fn numbers_that_are_no_meetings_are_not_told() {
        let announcement = empty();
        announcement.begin([1, 2, 3]).unwrap();
        for (most, least) in [(7, 9), (u64::MAX, u64::MAX), (1 << 60, u64::MAX)] {
            announcement.values[4].store(most, SeqCst);
            announcement.values[5].store(least, SeqCst);
            assert_eq!(announcement.apart(), None);
        }
    }
}
