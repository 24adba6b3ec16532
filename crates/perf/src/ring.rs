//! Reads the kernel's event records without a system call.
//!
//! The kernel writes records into a ring shared with this process and publishes its head, so testing for new
//! records is one load. Layout: `perf_event_open(2)`, "MMAP layout".

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Advice, MmapOptions, MmapRaw};

use crate::events::{self, EventMeaning, KernelEvent};

/// Pages of records, drained at every operation. With the control page they stay below the locked-memory
/// limit of an unprivileged user for dozens of ranks.
const PAGES: usize = 8;
const _: () = assert!(PAGES.is_power_of_two());
const HEAD: usize = 1024;
const TAIL: usize = 1032;

const RECORD_LOST: u32 = 2;
/// The record type of an event's sample.
pub const RECORD_SAMPLE: u32 = 9;
const RECORD_SWITCH: u32 = 14;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// One decoded record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventRecord {
    /// The thread was switched out; `preempted` if it was still runnable.
    Out { preempted: bool },
    /// The thread was switched in.
    In,
    /// A sample of one of the opened events.
    Event(EventMeaning),
    /// That many records did not fit into the ring.
    Lost(u64),
}

/// The mapped pages of one event.
#[derive(Debug)]
pub struct Pages {
    map: MmapRaw,
    /// Bytes of the control page, which the records follow.
    page: usize,
    /// Bytes of records less one. They are a power of two, so it takes the place of a division, which costs more than
    /// all else that is done with a word.
    mask: u64,
    tail: u64,
}

/// The first words of a record: all that the decoders read.
pub type Words = [u64; 10];

impl Pages {
    /// Maps the ring of `leader`.
    pub fn map(leader: &KernelEvent) -> io::Result<Self> {
        let page = page_size();
        let map = MmapOptions::new().len((PAGES + 1) * page).map_raw(&leader.file)?;
        // A forked child must not write the parent's tail.
        map.advise(Advice::DontFork)?;
        let mut pages = Self { map, page, mask: (PAGES * page - 1) as u64, tail: 0 };
        pages.tail = pages.head();
        Ok(pages)
    }

    /// A counter in the control page.
    #[inline]
    fn counter(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: `offset` is 1024 or 1032, eight-byte aligned, inside the mapped control page, which lives
        // as long as `self`; the kernel changes it with 8-byte stores.
        unsafe { &*self.map.as_mut_ptr().add(offset).cast::<AtomicU64>() }
    }

    #[inline]
    fn head(&self) -> u64 {
        self.counter(HEAD).load(Ordering::Acquire)
    }

    /// Whether nothing has been written since the last [`Pages::drain`].
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.head() == self.tail
    }

    /// Passes every new record (type, miscellaneous bits, its words, missing ones 0) to `see` and frees its
    /// space in the ring.
    pub fn drain(&mut self, mut see: impl FnMut(u32, u16, &Words)) {
        let head = self.head();
        if self.tail == head {
            return;
        }
        while self.tail < head {
            let mut words: Words = [0; 10];
            words[0] = self.word(self.tail);
            let (kind, misc, size) = header(words[0]);
            if size < 8 {
                // Not a record: the rest of the ring cannot be decoded.
                self.tail = head;
                break;
            }
            for (index, word) in words.iter_mut().enumerate().take(usize::from(size) / 8).skip(1) {
                *word = self.word(self.tail + 8 * index as u64);
            }
            see(kind, misc, &words);
            self.tail += u64::from(size);
        }
        // Released: the kernel writes over no word that is not read yet.
        self.counter(TAIL).store(self.tail, Ordering::Release);
    }

    /// Passes over every record so far, those that did not fit included.
    pub fn skip(&mut self) {
        self.tail = self.head();
        self.counter(TAIL).store(self.tail, Ordering::Release);
    }

    fn word(&self, at: u64) -> u64 {
        let offset = (at & self.mask) as usize;
        // SAFETY: records are eight-byte aligned, so the word lies entirely within the data pages.
        unsafe { self.map.as_mut_ptr().add(self.page + offset).cast::<u64>().read_volatile() }
    }
}

/// Bytes of a page. Asked of the C library: rustix reads the process's auxiliary vector for it, which tools that run
/// programs on a processor of their own (valgrind) do not keep readable.
fn page_size() -> usize {
    // SAFETY: a plain call.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// The mapped ring and the events that write into it.
#[derive(Debug)]
pub struct EventRing {
    pages: Pages,
    events: Vec<KernelEvent>,
}

impl EventRing {
    /// Maps a ring on `leader` and redirects the other events into it.
    pub fn map(leader: KernelEvent, others: Vec<KernelEvent>) -> io::Result<Self> {
        let pages = Pages::map(&leader)?;
        let mut ring = Self { pages, events: vec![leader] };
        for event in others {
            events::redirect(&event, &ring.events[0])?;
            ring.events.push(event);
        }
        for event in &ring.events {
            events::enable(event)?;
        }
        ring.pages.tail = ring.pages.head();
        Ok(ring)
    }

    /// Stops all events. Until [`EventRing::resume`], which must come before the next drain, the ring is not quiet.
    pub fn pause(&mut self) {
        // On failure records go on, which costs time and is not wrong.
        self.events.iter().for_each(|event| drop(events::disable(event)));
        self.pages.tail = u64::MAX;
    }

    /// Starts the events again, with none of the records so far.
    ///
    /// # Errors
    /// As ioctl(2).
    pub fn resume(&mut self) -> io::Result<()> {
        self.events.iter().try_for_each(events::enable)?;
        self.pages.skip();
        Ok(())
    }

    /// Enables or disables the event of page faults that read no device; the others stay enabled.
    pub fn record_minor_faults(&self, enabled: bool) {
        for event in self.events.iter().filter(|event| event.meaning == EventMeaning::MinorFault) {
            // On failure faults cost a microsecond more or go unrecorded, which is not fatal.
            let _ = if enabled { events::enable(event) } else { events::disable(event) };
        }
    }

    /// Whether nothing has been written since the last [`EventRing::drain`].
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.pages.is_quiet()
    }

    /// Passes every new record, with its time on CLOCK_MONOTONIC_RAW in ns, to `see` and frees its space in
    /// the ring.
    pub fn drain(&mut self, mut see: impl FnMut(u64, EventRecord)) {
        let events = &self.events;
        let meaning = |identifier: u64| {
            events.iter().find(|event| event.identifier == identifier).map(|event| event.meaning)
        };
        self.pages.drain(|kind, misc, words| {
            if let Some((time, record)) = decode(kind, misc, words, meaning) {
                see(time, record);
            }
        });
    }
}

/// Type, miscellaneous bits and size in bytes of a record.
fn header(word: u64) -> (u32, u16, u16) {
    (word as u32, (word >> 32) as u16, (word >> 48) as u16)
}

/// Decodes the record in `words`: `[header, identifier, time]` of a sample, `[header, time, identifier]` of a
/// switch, `[header, id, lost, time]` of a loss.
fn decode(
    kind: u32,
    misc: u16,
    words: &Words,
    meaning: impl Fn(u64) -> Option<EventMeaning>,
) -> Option<(u64, EventRecord)> {
    match kind {
        RECORD_SWITCH if misc & MISC_SWITCH_OUT != 0 => {
            Some((words[1], EventRecord::Out { preempted: misc & MISC_SWITCH_OUT_PREEMPT != 0 }))
        }
        RECORD_SWITCH => Some((words[1], EventRecord::In)),
        RECORD_SAMPLE => meaning(words[1]).map(|meaning| (words[2], EventRecord::Event(meaning))),
        RECORD_LOST => Some((words[3], EventRecord::Lost(words[2]))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preemption_is_distinguished_from_a_voluntary_switch() {
        let words = [0, 77, 1, 0, 0, 0, 0, 0, 0, 0];
        let out = |misc| decode(RECORD_SWITCH, misc, &words, |_| None);
        assert_eq!(out(MISC_SWITCH_OUT), Some((77, EventRecord::Out { preempted: false })));
        assert_eq!(
            out(MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT),
            Some((77, EventRecord::Out { preempted: true }))
        );
        assert_eq!(out(0), Some((77, EventRecord::In)));
    }

    #[test]
    fn a_sample_is_named_by_its_identifier() {
        let words = [0, 5, 99, 0, 0, 0, 0, 0, 0, 0];
        let found = decode(RECORD_SAMPLE, 0, &words, |id| (id == 5).then_some(EventMeaning::MinorFault));
        assert_eq!(found, Some((99, EventRecord::Event(EventMeaning::MinorFault))));
    }
}
