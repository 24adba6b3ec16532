//! Text in shared memory: one process writes it once, others read it.

use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Release, SeqCst},
};

/// The longest message of a failed rank, in bytes; the rest is cut.
const MESSAGE: usize = 1984;

/// Text that one process writes once and others read.
#[repr(C)]
pub(crate) struct Message {
    taken: AtomicBool,
    length: AtomicU32,
    bytes: [std::cell::UnsafeCell<u8>; MESSAGE],
}

impl Message {
    /// Keeps `text`, cut to what fits; the first text stays.
    pub(crate) fn set(&self, text: &str) {
        if self.taken.swap(true, SeqCst) {
            return;
        }
        let mut end = text.len().min(MESSAGE);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (place, byte) in self.bytes.iter().zip(&text.as_bytes()[..end]) {
            // SAFETY: only whoever set `taken` writes, and readers wait for the length.
            unsafe { *place.get() = *byte };
        }
        self.length.store(end as u32, Release);
    }

    pub(crate) fn get(&self) -> Option<String> {
        let length = self.length.load(Acquire) as usize;
        // SAFETY: bytes up to the published length are written and never change.
        let bytes: Vec<u8> = self.bytes[..length].iter().map(|place| unsafe { *place.get() }).collect();
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}
