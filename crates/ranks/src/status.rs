//! What a rank does right now, for those who wait for it or watch it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::meeting::Meeting;

/// What a rank publishes while it runs. Each field is one relaxed store to memory of the rank's own, cheap
/// enough for every operation.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct RankStatus {
    line: AtomicU32,
    activity: AtomicU32,
    samples: AtomicU64,
    bytes: AtomicU64,
    done: AtomicU64,
    planned: AtomicU64,
    /// Packed; 0 before the first.
    meeting: AtomicU64,
}

/// What a rank does, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Activity {
    /// It has not begun with the program.
    #[default]
    Starting = 0,
    /// It runs the program.
    Running = 1,
    /// It waits for others.
    Waiting = 2,
    /// It reached the end of the program.
    Ended = 3,
    /// It gave up with a message, or died.
    Lost = 4,
}

impl RankStatus {
    /// The program line this rank is at.
    #[inline]
    pub fn set_line(&self, line: u32) {
        self.line.store(line, Relaxed);
    }

    /// The program line last published; 0 before the first.
    pub fn line(&self) -> u32 {
        self.line.load(Relaxed)
    }

    /// Samples recorded so far and bytes moved by them.
    #[inline]
    pub fn set_recorded(&self, samples: u64, bytes: u64) {
        self.samples.store(samples, Relaxed);
        self.bytes.store(bytes, Relaxed);
    }

    /// Samples recorded so far.
    pub fn samples(&self) -> u64 {
        self.samples.load(Relaxed)
    }

    /// Bytes moved so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// How much of the program is done, in steps of which `planned` are known; 0 of 0: not known.
    #[inline]
    pub fn set_progress(&self, done: u64, planned: u64) {
        self.done.store(done, Relaxed);
        self.planned.store(planned, Relaxed);
    }

    /// Steps done and steps planned; 0 of 0 where that is not known.
    pub fn progress(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.planned.load(Relaxed))
    }

    /// The meeting that this rank comes to next, or has come to.
    #[inline]
    pub fn set_meeting(&self, meeting: Meeting, rank: u32) {
        self.meeting.store(meeting.packed(rank), Relaxed);
    }

    /// The meeting that the rank has come to, packed.
    pub fn meeting(&self, rank: u32) -> u64 {
        match self.meeting.load(Relaxed) {
            0 => Meeting::default().packed(rank),
            packed => packed,
        }
    }

    /// What the rank does.
    #[inline]
    pub fn set_activity(&self, activity: Activity) {
        self.activity.store(activity as u32, Relaxed);
    }

    /// What the rank does.
    pub fn activity(&self) -> Activity {
        match self.activity.load(Relaxed) {
            1 => Activity::Running,
            2 => Activity::Waiting,
            3 => Activity::Ended,
            4 => Activity::Lost,
            _ => Activity::Starting,
        }
    }

    /// In words: `it is at line 12`, `it waits at line 7`.
    pub fn describe(&self) -> String {
        let line = self.line();
        match self.activity() {
            Activity::Starting => "it has not started".into(),
            Activity::Ended => "it reached the end of the program".into(),
            Activity::Lost => "it is lost".into(),
            Activity::Running if line == 0 => "it runs".into(),
            Activity::Waiting if line == 0 => "it waits for others".into(),
            Activity::Running => format!("it is at line {line}"),
            Activity::Waiting => format!("it waits for others at line {line}"),
        }
    }
}
