//! Measures how long a block device was at work for a thread.
//!
//! A request is this thread's if this thread gave it to the scheduler or to the device. It ends in an
//! interrupt that hits whichever thread runs there, so the events of every processor are read. What the
//! kernel asks in a thread's stead (a journal, write-back) is not counted: it would be a guess.
//!
//! Some kernels do not tell what an interrupt does on an idle processor. The end of a request is among it, and a
//! thread that waits leaves its processor idle. Then the request ended when the thread was woken, if the device has
//! none under way any more.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::events::{self, EventMeaning, KernelEvent};
use crate::ring::{Pages, RECORD_SAMPLE, Words};

/// Rings on more processors than this are not worth their memory in every rank.
const MOST_PROCESSORS: usize = 16;

/// Every request that ends is written down once for each thread that watches, in the middle of what is
/// measured: a third of a microsecond each.
const MOST_WATCHERS: u32 = 4;

/// Ranks on this machine that will watch.
static RANKS: AtomicU32 = AtomicU32::new(1);

/// Threads of this process that watch.
static WATCHING: AtomicU32 = AtomicU32::new(0);

/// Says how many ranks will watch, before they are forked.
pub fn expect(ranks: u32) {
    RANKS.store(ranks, Ordering::Relaxed);
}

/// Requests of this thread that are remembered while they are under way.
const MOST_OPEN: usize = 64;

/// What one record says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestStep {
    time: u64,
    meaning: EventMeaning,
    thread: u32,
    /// Device and first sector.
    place: (u32, u64),
}

/// A request of this thread that has not ended.
#[derive(Clone, Copy, Debug)]
struct DeviceRequest {
    place: (u32, u64),
    /// When it was issued to the device; `None` while the I/O scheduler holds it.
    begin: Option<u64>,
    /// Of the operation that is being watched, not of an earlier one.
    fresh: bool,
}

/// Reads the requests to block devices on all processors.
#[derive(Debug)]
pub struct Devices {
    rings: Vec<(Pages, Vec<KernelEvent>)>,
    requests: Requests,
    records: Vec<RequestStep>,
}

impl Devices {
    /// For the calling thread.
    pub fn of_this_thread() -> io::Result<Self> {
        // Workers of a rank observe devices too.
        let here = WATCHING.load(Ordering::Relaxed).saturating_add(1);
        let watchers = RANKS.load(Ordering::Relaxed).saturating_mul(here);
        if watchers > MOST_WATCHERS {
            let many =
                format!("{watchers} ranks and workers would slow each other's requests down by looking");
            return Err(io::Error::other(many));
        }
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
        let processors = machine::processors(&online);
        if processors.is_empty() || processors.len() > MOST_PROCESSORS {
            let many = format!("on more than {MOST_PROCESSORS} processors it costs too much to look");
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
            records: Vec::with_capacity(1024),
        })
    }

    /// To be called before an operation: what ended until now is not of it.
    #[inline]
    pub fn before(&mut self) {
        if self.rings.iter().any(|(pages, _)| !pages.is_quiet()) {
            self.read();
        }
        self.requests.done.clear();
        self.requests.open.iter_mut().for_each(|open| open.fresh = false);
    }

    /// Time within `begin..end` (ns on CLOCK_MONOTONIC_RAW) in which a device had a request of this thread.
    pub fn busy_ns(&mut self, begin: u64, end: u64) -> u64 {
        self.read();
        self.requests.end_unseen(end, is_idle);
        self.requests.busy_ns(begin, end)
    }

    /// Reads what is new, in the order of time over all processors.
    fn read(&mut self) {
        let records = &mut self.records;
        records.clear();
        for (pages, events) in &mut self.rings {
            let meaning = |identifier: u64| {
                events.iter().find(|event| event.identifier == identifier).map(|event| event.meaning)
            };
            pages.drain(|kind, _, words| records.extend(understand(kind, words, meaning)));
        }
        records.sort_by_key(|seen| seen.time);
        records.iter().for_each(|seen| self.requests.see(*seen));
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        WATCHING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Has a block device, numbered as in the kernel, no request under way?
fn is_idle(device: u32) -> bool {
    let path = format!("/sys/dev/block/{}:{}/inflight", device >> 20, device & 0xf_ffff);
    // Reads and writes under way.
    std::fs::read_to_string(path)
        .is_ok_and(|text| text.split_whitespace().count() == 2 && text.split_whitespace().all(|n| n == "0"))
}

/// The requests of one thread, from the records of all.
#[derive(Debug, Default)]
struct Requests {
    me: u32,
    open: Vec<DeviceRequest>,
    /// From when to when a device was at work.
    done: Vec<(u64, u64)>,
}

impl Requests {
    fn see(&mut self, seen: RequestStep) {
        let known = self.open.iter().position(|open| open.place == seen.place);
        match (seen.meaning, known) {
            (EventMeaning::RequestBegins, Some(index)) => {
                let open = &mut self.open[index];
                open.begin = Some(seen.time);
                open.fresh |= seen.thread == self.me;
            }
            // The completion of the previous request at this sector was missed.
            (EventMeaning::RequestQueued, Some(index)) if seen.thread == self.me => {
                self.open[index] = DeviceRequest { place: seen.place, begin: None, fresh: true };
            }
            (EventMeaning::RequestBegins | EventMeaning::RequestQueued, None) if seen.thread == self.me => {
                if self.open.len() == MOST_OPEN {
                    self.open.remove(0);
                }
                let begin = (seen.meaning == EventMeaning::RequestBegins).then_some(seen.time);
                self.open.push(DeviceRequest { place: seen.place, begin, fresh: true });
            }
            (EventMeaning::RequestEnds, Some(index)) => {
                if let Some(begin) = self.open.swap_remove(index).begin {
                    self.done.push((begin, seen.time));
                }
            }
            _ => {}
        }
    }

    /// Ends at `end` the requests of this operation whose completion was missed, on devices that are idle by now.
    fn end_unseen(&mut self, end: u64, is_idle: impl Fn(u32) -> bool) {
        let mut asked = None;
        let mut idle = |device: u32| match asked {
            Some((known, found)) if known == device => found,
            _ => asked.insert((device, is_idle(device))).1,
        };
        let done = &mut self.done;
        self.open.retain(|open| match open.begin {
            Some(begin) if open.fresh && begin < end && idle(open.place.0) => {
                done.push((begin, end));
                false
            }
            _ => true,
        });
    }

    /// The length of the union of what is done, within `begin..end`.
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

/// `[header, identifier, process and thread, time, size of what follows and its first half word, …]`: the
/// device stands 8 bytes into what follows, the sector 16.
fn understand(
    kind: u32,
    words: &Words,
    meaning: impl Fn(u64) -> Option<EventMeaning>,
) -> Option<RequestStep> {
    if kind != RECORD_SAMPLE {
        return None;
    }
    let place = ((words[5] >> 32) as u32, words[6] >> 32 | words[7] << 32);
    let thread = (words[2] >> 32) as u32;
    Some(RequestStep { time: words[3], meaning: meaning(words[1])?, thread, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(time: u64, meaning: EventMeaning, thread: u32, sector: u64) -> RequestStep {
        RequestStep { time, meaning, thread, place: (8, sector) }
    }

    fn requests(all: &[RequestStep]) -> Requests {
        let mut found = Requests { me: 7, ..Requests::default() };
        all.iter().for_each(|one| found.see(*one));
        found
    }

    #[test]
    fn the_time_of_a_request_is_the_device_s_and_not_the_scheduler_s() {
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
    fn what_others_ask_for_is_not_counted_and_what_overlaps_is_counted_once() {
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
    fn an_end_that_was_not_told_is_when_the_thread_came_back_if_the_device_is_idle() {
        let all = [seen(5, EventMeaning::RequestBegins, 7, 1), seen(10, EventMeaning::RequestBegins, 7, 2)];
        let mut found = requests(&all);
        found.end_unseen(100, |_| false);
        assert_eq!((found.busy_ns(0, 100), found.open.len()), (0, 2));
        // A request of an earlier operation may have completed long ago.
        found.open[0].fresh = false;
        found.end_unseen(100, |device| device == 8);
        assert_eq!((found.busy_ns(0, 100), found.open.len()), (90, 1));
        // The same sector again is a new request.
        found.done.clear();
        found.see(seen(110, EventMeaning::RequestQueued, 7, 1));
        found.see(seen(115, EventMeaning::RequestBegins, 9, 1));
        found.end_unseen(200, |_| true);
        assert_eq!((found.busy_ns(100, 200), found.open.len()), (85, 0));
    }

    #[test]
    fn a_record_tells_thread_device_and_sector() {
        let words: Words = [0, 5, 7 << 32 | 6, 99, 0, 8 << 32, 0x1234 << 32, 1];
        let found = understand(RECORD_SAMPLE, &words, |id| (id == 5).then_some(EventMeaning::RequestEnds));
        let place = (8, 1 << 32 | 0x1234);
        assert_eq!(
            found,
            Some(RequestStep { time: 99, meaning: EventMeaning::RequestEnds, thread: 7, place })
        );
        assert_eq!(understand(14, &words, |_| Some(EventMeaning::RequestEnds)), None);
    }
}
