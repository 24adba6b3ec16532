//! Reads what is submitted to io_uring: its queues lie in the application's memory, which is read when it enters the kernel.
//!
//! Offsets and layouts are those of linux/io_uring.h. Where Linux does not let the queues be read (before 6.10), where a
//! kernel thread polls them, or where files are registered, transfers are not seen.

use std::collections::HashMap;

use crate::calls::Submitted;
use crate::memory::{bytes, value};

/// Where the queues of a ring lie.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    /// Offsets in the mapping of the queues: head, tail, mask and array of the submissions, head of the completions: what
    /// the application has not taken yet counts as in flight.
    head: u64,
    tail: u64,
    mask: u64,
    array: u64,
    completed: u64,
    /// Whether submissions lie in order, without an array.
    in_order: bool,
    /// Bytes of a submission.
    entry: u64,
    /// Addresses of the mappings.
    queues: Option<u64>,
    entries: Option<u64>,
    /// Transfers that were submitted.
    submitted: u32,
}

/// The rings of all processes, by process and descriptor.
#[derive(Debug, Default)]
pub struct Rings {
    all: HashMap<(u32, i32), Ring>,
}

/// What one `io_uring_enter` submits.
#[derive(Clone, Debug, Default)]
pub struct Entered {
    /// The transfers; `None` where something else is submitted.
    pub transfers: Vec<Option<Submitted>>,
    /// How many submissions are in flight before these.
    pub in_flight: u32,
}

impl Rings {
    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A ring was set up with the parameters at `address`.
    pub fn set_up(&mut self, thread: libc::pid_t, process: u32, descriptor: i32, address: u64) {
        let parameters = bytes(thread, address, 120);
        let number = |at: usize| {
            parameters.get(at..at + 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        };
        let (Some(flags), Some(completed)) = (number(8), number(80)) else { return };
        let offset = |at: usize| u64::from(number(at).unwrap_or(0));
        let ring = Ring {
            head: offset(40),
            tail: offset(44),
            mask: offset(48),
            array: offset(64),
            completed: u64::from(completed),
            in_order: flags & 1 << 16 != 0,
            entry: if flags & 1 << 10 != 0 { 128 } else { 64 },
            ..Ring::default()
        };
        self.all.insert((process, descriptor), ring);
    }

    /// Memory of a descriptor was mapped at `address`.
    pub fn mapped(&mut self, process: u32, descriptor: i32, offset: u64, address: u64) {
        let Some(ring) = self.all.get_mut(&(process, descriptor)) else { return };
        match offset {
            0 => ring.queues = Some(address),
            0x1000_0000 => ring.entries = Some(address),
            _ => {}
        }
    }

    /// What a thread is about to submit; `None` where that cannot be seen.
    pub fn entering(
        &mut self,
        thread: libc::pid_t,
        process: u32,
        descriptor: i32,
        count: u64,
    ) -> Option<Entered> {
        let ring = self.all.get(&(process, descriptor))?;
        let (queues, entries) = (ring.queues?, ring.entries?);
        let number =
            |offset: u64| value::<[i32; 1]>(thread, queues + offset).map(|one| one[0].cast_unsigned());
        let (head, tail, mask) = (number(ring.head)?, number(ring.tail)?, number(ring.mask)?);
        let completed = number(ring.completed)?;
        let count = tail.wrapping_sub(head).min(u32::try_from(count).unwrap_or(u32::MAX)).min(1 << 15);
        let mut entered = Entered { in_flight: ring.submitted.wrapping_sub(completed), ..Entered::default() };
        if entered.in_flight > 1 << 16 {
            entered.in_flight = 0;
        }
        for at in 0..count {
            let place = u64::from(head.wrapping_add(at) & mask);
            let index = if ring.in_order { place } else { u64::from(number(ring.array + place * 4)?) };
            let submission: [u64; 8] = value(thread, entries + index * ring.entry)?;
            entered.transfers.push(transfer(thread, &submission));
        }
        Some(entered)
    }

    /// So many of them were submitted.
    pub fn entered(&mut self, process: u32, descriptor: i32, count: u32) {
        if let Some(ring) = self.all.get_mut(&(process, descriptor)) {
            ring.submitted = ring.submitted.wrapping_add(count);
        }
    }
}

/// The transfer of a submission: reads and writes of plain files by descriptor and offset.
fn transfer(thread: libc::pid_t, submission: &[u64; 8]) -> Option<Submitted> {
    const TRANSFERS: [(u8, bool, bool); 6] = [
        (1, false, true),
        (2, true, true),
        (4, false, false),
        (5, true, false),
        (22, false, false),
        (23, true, false),
    ];
    const FIXED_FILE: u8 = 1;
    let [code, flags, ..] = submission[0].to_le_bytes();
    let (_, writes, vector) = TRANSFERS.into_iter().find(|(known, ..)| *known == code)?;
    let (offset, address, length) = (submission[1], submission[2], submission[3] & 0xffff_ffff);
    // An offset of -1 stands for the position of the file.
    if flags & FIXED_FILE != 0 || offset == u64::MAX {
        return None;
    }
    let bytes = if vector {
        let part = |at: u64| value::<[u64; 2]>(thread, address + at * 16).map_or(0, |part| part[1]);
        (0..length.min(1024)).map(part).sum()
    } else {
        length
    };
    Some(Submitted { descriptor: (submission[0] >> 32) as i32, writes, bytes, offset })
}
