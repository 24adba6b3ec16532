//! Measures how long a block device worked on the requests of a thread.
//!
//! A request belongs to this thread if this thread queued or issued it. Its completion interrupt runs on any
//! processor, so the events of every processor are read. Requests that kernel threads make on behalf of a
//! thread (journal, write-back) are not counted, since they cannot be attributed.
//!
//! Some kernels record no tracepoints for interrupts on an idle processor, so the completion of a request can
//! be missed: a waiting thread leaves its processor idle. In that case the request is taken to end when the
//! thread is woken, provided that the operation waited for it: a read that is no read-ahead, a synchronous write. Of
//! other requests the device says whether it has any in flight.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::events::{self, EventMeaning, KernelEvent};
use crate::ring::{Pages, RECORD_SAMPLE, Words};

/// Largest number of processors to watch: every rank maps one ring a processor.
const MOST_PROCESSORS: usize = 16;

/// Largest number of watching threads. The kernel records each completed request once for each of them,
/// during the measurement, at about 0.33 µs a record.
const MOST_WATCHERS: u32 = 4;

/// Number of ranks on this machine that watch devices.
static RANKS: AtomicU32 = AtomicU32::new(1);

/// Number of threads of this process that watch devices, without those whose records are stopped.
static WATCHING: AtomicU32 = AtomicU32::new(0);

/// Sets how many ranks will watch devices. Call before forking them.
pub fn expect(ranks: u32) {
    RANKS.store(ranks, Ordering::Relaxed);
}

/// Largest number of in-flight requests kept for a thread; the oldest is dropped first.
const MOST_OPEN: usize = 64;

/// One record about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestStep {
    time: u64,
    meaning: EventMeaning,
    thread: u32,
    /// Device and first sector.
    location: (u32, u64),
    /// Whether the thread that makes such a request waits for it.
    awaited: bool,
}

/// A request of this thread that has not completed.
#[derive(Clone, Copy, Debug)]
struct DeviceRequest {
    location: (u32, u64),
    /// Time of issue to the device; `None` while the I/O scheduler holds it.
    begin: Option<u64>,
    /// Whether the watched operation made it, not an earlier one.
    of_this_operation: bool,
    /// Whether this thread made it and waits for it.
    awaited: bool,
}

impl DeviceRequest {
    /// One that this thread makes now.
    fn of(seen: &RequestStep, begin: Option<u64>) -> Self {
        Self { location: seen.location, begin, of_this_operation: true, awaited: seen.awaited }
    }
}

/// Reads the requests to block devices on all processors.
#[derive(Debug)]
pub struct Devices {
    rings: Vec<(Pages, Vec<KernelEvent>)>,
    requests: Requests,
    in_flight: RequestsInFlight,
    records: Vec<RequestStep>,
    /// Whether it counts among those that watch: its records are not stopped.
    watching: bool,
}

impl Devices {
    /// Opens the rings for the calling thread.
    pub fn of_this_thread() -> io::Result<Self> {
        // Workers of a rank observe devices too.
        let here = WATCHING.load(Ordering::Relaxed).saturating_add(1);
        let watchers = RANKS.load(Ordering::Relaxed).saturating_mul(here);
        if watchers > MOST_WATCHERS {
            let many = format!(
                "{watchers} ranks and workers would slow each other's requests down by watching them"
            );
            return Err(io::Error::other(many));
        }
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
        let processors = machine::processors(&online);
        if processors.is_empty() || processors.len() > MOST_PROCESSORS {
            let many = format!("watching them on more than {MOST_PROCESSORS} processors costs too much");
            return Err(io::Error::other(many));
        }
        let ring = |processor: u32| {
            let events = events::requests(processor)?;
            let (leader, others) = events.split_first().ok_or(io::ErrorKind::NotFound)?;
            let pages = Pages::map(leader)?;
            others.iter().try_for_each(|event| events::redirect(event, leader))?;
            events.iter().try_for_each(events::enable)?;
            Ok((pages, events))
        };
        let me = rustix::thread::gettid().as_raw_pid() as u32;
        let rings = processors.into_iter().map(ring).collect::<io::Result<_>>()?;
        WATCHING.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            rings,
            requests: Requests { me, open: Vec::new(), done: Vec::new() },
            in_flight: RequestsInFlight::default(),
            records: Vec::with_capacity(1024),
            watching: true,
        })
    }

    /// Stops the records of requests, so that another thread may watch them instead.
    pub fn pause(&mut self) {
        self.leave();
        // On failure records go on, which costs time and is not wrong.
        self.rings.iter().flat_map(|(_, events)| events).for_each(|event| drop(events::disable(event)));
        self.requests.open.clear();
        self.requests.done.clear();
    }

    /// It does not count among those that watch any longer.
    fn leave(&mut self) {
        if std::mem::take(&mut self.watching) {
            WATCHING.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Starts the records again, with none of those so far.
    ///
    /// # Errors
    /// As ioctl(2).
    pub fn resume(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.watching, true) {
            WATCHING.fetch_add(1, Ordering::Relaxed);
        }
        for (pages, events) in &mut self.rings {
            events.iter().try_for_each(events::enable)?;
            pages.skip();
        }
        Ok(())
    }

    /// Starts an operation: discards the requests that completed before it.
    #[inline(always)]
    pub fn before(&mut self) {
        if !self.requests.is_empty() || self.rings.iter().any(|(pages, _)| !pages.is_quiet()) {
            self.discard();
        }
    }

    #[cold]
    #[inline(never)]
    fn discard(&mut self) {
        if self.rings.iter().any(|(pages, _)| !pages.is_quiet()) {
            self.read();
        }
        self.requests.done.clear();
        self.requests.open.iter_mut().for_each(|open| open.of_this_operation = false);
    }

    /// Time within `begin..end` (ns on CLOCK_MONOTONIC_RAW) in which a device had a request of this thread.
    pub fn busy_ns(&mut self, begin: u64, end: u64) -> u64 {
        self.read();
        self.requests.complete_missed(end, |device| self.in_flight.is_idle(device));
        self.requests.busy_ns(begin, end)
    }

    /// Reads the new records of all processors in time order.
    fn read(&mut self) {
        let records = &mut self.records;
        records.clear();
        for (pages, events) in &mut self.rings {
            let meaning = |identifier: u64| {
                let event = events.iter().find(|event| event.identifier == identifier)?;
                Some((event.meaning, event.kind_at))
            };
            pages.drain(|kind, _, words| records.extend(decode(kind, words, meaning)));
        }
        records.sort_by_key(|seen| seen.time);
        records.iter().for_each(|seen| self.requests.add(*seen));
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The files that tell how many requests block devices have in flight, held open: opening one takes as long as a quick
/// read of a disk.
#[derive(Debug, Default)]
struct RequestsInFlight(Vec<(u32, Option<File>)>);

impl RequestsInFlight {
    /// Whether a block device (the kernel's device number) has no request in flight.
    fn is_idle(&mut self, device: u32) -> bool {
        let known = self.0.iter().position(|(known, _)| *known == device);
        let at = known.unwrap_or_else(|| {
            let path = format!("/sys/dev/block/{}:{}/inflight", device >> 20, device & 0xf_ffff);
            self.0.push((device, File::open(path).ok()));
            self.0.len() - 1
        });
        let Some(file) = &self.0[at].1 else { return false };
        // The file holds the number of reads and of writes in flight.
        let mut text = [0; 64];
        let Ok(length) = file.read_at(&mut text, 0) else { return false };
        let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
        text.split_ascii_whitespace().eq(["0", "0"])
    }
}

/// The requests of one thread, from the records of all.
#[derive(Debug, Default)]
struct Requests {
    me: u32,
    open: Vec<DeviceRequest>,
    /// Intervals in which a device worked on a request: start and end in ns.
    done: Vec<(u64, u64)>,
}

impl Requests {
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.done.is_empty()
    }

    fn add(&mut self, seen: RequestStep) {
        let known = self.open.iter().position(|open| open.location == seen.location);
        match (seen.meaning, known) {
            (EventMeaning::RequestBegins, Some(index)) => {
                let open = &mut self.open[index];
                open.begin = Some(seen.time);
                open.of_this_operation |= seen.thread == self.me;
                open.awaited |= seen.thread == self.me && seen.awaited;
            }
            // The completion of the previous request at this sector was missed.
            (EventMeaning::RequestQueued, Some(index)) if seen.thread == self.me => {
                self.open[index] = DeviceRequest::of(&seen, None);
            }
            (EventMeaning::RequestBegins | EventMeaning::RequestQueued, None) if seen.thread == self.me => {
                if self.open.len() == MOST_OPEN {
                    self.open.remove(0);
                }
                let begin = (seen.meaning == EventMeaning::RequestBegins).then_some(seen.time);
                self.open.push(DeviceRequest::of(&seen, begin));
            }
            (EventMeaning::RequestEnds, Some(index)) => {
                if let Some(begin) = self.open.swap_remove(index).begin {
                    self.done.push((begin, seen.time));
                }
            }
            _ => {}
        }
    }

    /// Completes at `end` the requests of this operation whose completion was missed: those that it waited for, the
    /// others if their device is idle now.
    fn complete_missed(&mut self, end: u64, mut is_idle: impl FnMut(u32) -> bool) {
        let mut asked = None;
        let mut idle = |device: u32| match asked {
            Some((known, found)) if known == device => found,
            _ => asked.insert((device, is_idle(device))).1,
        };
        let done = &mut self.done;
        self.open.retain(|open| match open.begin {
            Some(begin)
                if open.of_this_operation && begin < end && (open.awaited || idle(open.location.0)) =>
            {
                done.push((begin, end));
                false
            }
            _ => true,
        });
    }

    /// The length of the union of the completed intervals, within `begin..end`.
    fn busy_ns(&mut self, begin: u64, end: u64) -> u64 {
        self.done.sort_unstable();
        let (mut sum, mut reached) = (0, begin);
        for (from, to) in &self.done {
            let (from, to) = ((*from).max(reached), (*to).min(end));
            sum += to.saturating_sub(from);
            reached = reached.max(to);
        }
        sum
    }
}

/// Decodes a record `[header, identifier, process and thread, time, raw size and first half word, …]`. In the
/// raw data the device is at offset 8 and the sector at offset 16.
fn decode(
    kind: u32,
    words: &Words,
    event: impl Fn(u64) -> Option<(EventMeaning, Option<usize>)>,
) -> Option<RequestStep> {
    if kind != RECORD_SAMPLE {
        return None;
    }
    let location = ((words[5] >> 32) as u32, words[6] >> 32 | words[7] << 32);
    let thread = (words[2] >> 32) as u32;
    let (meaning, kind_at) = event(words[1])?;
    let awaited = kind_at.is_some_and(|at| is_awaited(&words[4..], at + 4));
    Some(RequestStep { time: words[3], meaning, thread, location, awaited })
}

/// Whether a request is of a kind that the thread which makes it waits for; `at`: where in `words` its letters begin, which
/// end with a 0 (`R`, `W`, F before them: with a flush; A: read-ahead, S: synchronous, M: metadata).
fn is_awaited(words: &[u64], at: usize) -> bool {
    let letter = |at: usize| words.get(at / 8).map(|word| word.to_ne_bytes()[at % 8]);
    let letters = (at..at + 8).map_while(letter).take_while(|letter| *letter != 0);
    let (mut reads, mut ahead, mut synchronous) = (false, false, false);
    for letter in letters {
        match letter {
            b'R' => reads = true,
            b'A' => ahead = true,
            b'S' => synchronous = true,
            _ => {}
        }
    }
    if reads { !ahead } else { synchronous }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(time: u64, meaning: EventMeaning, thread: u32, sector: u64) -> RequestStep {
        RequestStep { time, meaning, thread, location: (8, sector), awaited: false }
    }

    fn requests(all: &[RequestStep]) -> Requests {
        let mut found = Requests { me: 7, ..Requests::default() };
        all.iter().for_each(|one| found.add(*one));
        found
    }

    #[test]
    fn devices_whose_records_are_stopped_do_not_count_as_watching() {
        let Ok(mut devices) = Devices::of_this_thread() else {
            eprintln!("skipped: requests cannot be watched here");
            return;
        };
        devices.pause();
        devices.pause();
        assert!(!devices.watching);
        devices.resume().expect("records again");
        assert!(devices.watching);
    }

    #[test]
    fn time_in_the_io_scheduler_is_not_device_time() {
        let mut found = requests(&[
            seen(10, EventMeaning::RequestQueued, 7, 64),
            // Another thread may issue it to the device.
            seen(15, EventMeaning::RequestBegins, 9, 64),
            seen(40, EventMeaning::RequestEnds, 0, 64),
        ]);
        assert_eq!(found.busy_ns(0, 100), 25);
        assert_eq!(found.busy_ns(20, 30), 10);
    }

    #[test]
    fn requests_of_others_are_not_counted_and_overlap_is_counted_once() {
        let mut found = requests(&[
            seen(5, EventMeaning::RequestBegins, 9, 1),
            seen(10, EventMeaning::RequestBegins, 7, 2),
            seen(20, EventMeaning::RequestBegins, 7, 3),
            seen(30, EventMeaning::RequestEnds, 0, 2),
            seen(50, EventMeaning::RequestEnds, 0, 3),
            seen(90, EventMeaning::RequestEnds, 0, 1),
            // Still in flight.
            seen(95, EventMeaning::RequestBegins, 7, 4),
        ]);
        assert_eq!(found.busy_ns(0, 100), 40);
        assert_eq!(found.open.len(), 1);
    }

    #[test]
    fn a_missed_completion_is_taken_as_the_wake_up_if_the_device_is_idle() {
        let all = [seen(5, EventMeaning::RequestBegins, 7, 1), seen(10, EventMeaning::RequestBegins, 7, 2)];
        let mut found = requests(&all);
        found.complete_missed(100, |_| false);
        assert_eq!((found.busy_ns(0, 100), found.open.len()), (0, 2));
        // A request of an earlier operation may have completed long ago.
        found.open[0].of_this_operation = false;
        found.complete_missed(100, |device| device == 8);
        assert_eq!((found.busy_ns(0, 100), found.open.len()), (90, 1));
        // The same sector again is a new request.
        found.done.clear();
        found.add(seen(110, EventMeaning::RequestQueued, 7, 1));
        found.add(seen(115, EventMeaning::RequestBegins, 9, 1));
        found.complete_missed(200, |_| true);
        assert_eq!((found.busy_ns(100, 200), found.open.len()), (85, 0));
    }

    #[test]
    fn a_request_that_was_waited_for_is_done_whatever_else_the_device_does() {
        let awaited = RequestStep { awaited: true, ..seen(5, EventMeaning::RequestQueued, 7, 1) };
        let all = [
            awaited,
            seen(10, EventMeaning::RequestBegins, 9, 1),
            seen(20, EventMeaning::RequestBegins, 7, 2),
        ];
        let mut found = requests(&all);
        found.complete_missed(100, |_| false);
        assert_eq!((found.busy_ns(0, 100), found.open.len()), (90, 1));
    }

    /// The words of a record whose raw data say `letters` at offset 34.
    fn record(letters: &str) -> Words {
        let mut words: Words = [0, 5, 7 << 32 | 6, 99, 0, 8 << 32, 0x1234 << 32, 1, 0, 0];
        for (at, letter) in (38..).zip(letters.bytes()) {
            words[4 + at / 8] |=
                u64::from_ne_bytes([letter, 0, 0, 0, 0, 0, 0, 0]).rotate_left(8 * (at as u32 % 8));
        }
        words
    }

    #[test]
    fn a_record_holds_thread_device_sector_and_kind() {
        let found = |kind_at| {
            decode(RECORD_SAMPLE, &record("WS"), |id| {
                (id == 5).then_some((EventMeaning::RequestEnds, kind_at))
            })
        };
        let location = (8, 1 << 32 | 0x1234);
        let step =
            RequestStep { time: 99, meaning: EventMeaning::RequestEnds, thread: 7, location, awaited: true };
        assert_eq!(found(Some(34)), Some(step));
        assert_eq!(found(None), Some(RequestStep { awaited: false, ..step }));
        assert_eq!(decode(14, &record("WS"), |_| Some((EventMeaning::RequestEnds, Some(34)))), None);
    }

    #[test]
    fn reads_but_for_read_ahead_and_synchronous_writes_are_awaited() {
        for (letters, awaited) in [
            ("R", true),
            ("RM", true),
            ("RA", false),
            ("RAM", false),
            ("W", false),
            ("WS", true),
            ("FWFSM", true),
            ("", false),
        ] {
            assert_eq!(is_awaited(&record(letters)[4..], 38), awaited, "{letters}");
        }
        assert!(!is_awaited(&[], 38));
    }
}
