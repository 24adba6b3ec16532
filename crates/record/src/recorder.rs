//! The writing end of a region: one 64-byte store and one release store for each sample.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samples::{Sample, Site, VerifiedFacts};

use crate::counts::{IdleTally, OF_SERVICE, STRIDE, Tallies, too_many};
use crate::journal::{Entry, Journal};
use crate::region::{RecordState, SampleRegion};

/// Samples whose memory is populated at a time (1 MiB).
const CHUNK: usize = (1 << 20) / size_of::<Sample>();

/// Samples that a worker takes room for at a time: few at first, so that little stays unused.
const FIRST_BLOCK: usize = 4;
const LARGEST_BLOCK: usize = 256;

/// Writes one rank's samples into its region. Used by one process and thread only.
///
/// Workers of a rank ([`Recorder::part`]) each have their own. They take blocks of places from the
/// region under a lock, seldom; places that stay empty in them (`batch` 0) are left out by the reader.
///
/// [`Recorder::push`] is one store of 64 bytes and one release store of the count. When the populated
/// memory is used up, the next chunk is populated after the sample was stored, never between two
/// clock reads; when the limit is reached, what is in memory goes to the spill file first.
pub struct Recorder {
    region: Arc<SampleRegion>,
    base: NonNull<Sample>,
    /// Samples in memory.
    used: usize,
    /// Samples for which memory is populated.
    ready: usize,
    /// Samples published, spilled ones included.
    total: u64,
    shared: Arc<Mutex<Shared>>,
    /// Of a worker: where its block begins, and how large the next one will be. 0: of the rank itself.
    block: (usize, usize),
    /// Where samples are counted, and only the slowest kept.
    tallies: Option<Tallies>,
}

/// What workers of one rank share.
struct Shared {
    journal: Journal,
    sites: Vec<Site>,
    numbers: HashMap<Site, u32>,
    /// By number: whether an operation of it began; and these sites in that order.
    known: Vec<bool>,
    came_to: Vec<u32>,
    /// While workers are about: samples in memory, samples with memory, all samples, as in [`Recorder`].
    used: usize,
    ready: usize,
    total: u64,
    /// Tallies of workers that are gone, by site: the next workers count in them.
    idle: Vec<(u32, IdleTally)>,
}

// SAFETY: the pointer is into the region, which the recorder keeps alive; who writes where is decided by
// the counters, under the lock where there are several writers.
unsafe impl Send for Recorder {}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // A worker that panicked ends the rank; every entry here is complete.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// A recorder for an unused region; the first chunk is populated here.
    ///
    /// Errors: no memory behind the first chunk.
    pub fn new(region: Arc<SampleRegion>) -> io::Result<Self> {
        let base = region.samples();
        let shared = Shared {
            journal: Journal::new(&region),
            sites: Vec::new(),
            numbers: HashMap::new(),
            known: Vec::new(),
            came_to: Vec::new(),
            used: 0,
            ready: 0,
            total: 0,
            idle: Vec::new(),
        };
        let ready = CHUNK.min(region.sample_limit());
        region.populate(base.cast(), ready * size_of::<Sample>())?;
        region.set_state(RecordState::Running);
        let shared = Arc::new(Mutex::new(shared));
        Ok(Self { region, base, used: 0, ready, total: 0, shared, block: (0, 0), tallies: None })
    }

    /// Recorders for so many workers, which record beside each other, on other threads, until
    /// [`Recorder::joined`]; meanwhile this recorder is not used.
    ///
    /// # Errors
    /// No room for their first samples.
    pub fn part(&mut self, count: u32) -> io::Result<Vec<Self>> {
        if !self.is_worker() {
            let wanted = (count as usize).saturating_mul(2 * LARGEST_BLOCK);
            if self.used > 0 && self.used.saturating_add(wanted) > self.region.sample_limit() {
                self.spill()?;
            }
            let mut shared = lock(&self.shared);
            (shared.used, shared.ready, shared.total) = (self.used, self.ready, self.total);
        }
        (0..count)
            .map(|_| {
                let (region, shared) = (Arc::clone(&self.region), Arc::clone(&self.shared));
                let base = self.base;
                let tallies = self.tallies.as_ref().map(|_| Tallies::default());
                let block = (0, FIRST_BLOCK);
                let mut one = Self { region, base, used: 0, ready: 0, total: 0, shared, block, tallies };
                one.take_block().map(|()| one)
            })
            .collect()
    }

    /// All workers are gone: resumes appending after their samples.
    pub fn joined(&mut self) {
        if !self.is_worker() {
            let shared = lock(&self.shared);
            (self.used, self.ready, self.total) = (shared.used, shared.ready, shared.total);
        }
    }

    fn is_worker(&self) -> bool {
        self.block.1 > 0
    }

    /// The region it writes to.
    pub fn region(&self) -> &Arc<SampleRegion> {
        &self.region
    }

    /// Populates memory for `samples` more, as far as the limit allows; a later [`Recorder::push`]
    /// then need not.
    pub fn reserve(&mut self, samples: usize) -> io::Result<()> {
        let wanted = self.used.saturating_add(samples).min(self.region.sample_limit());
        if wanted > self.ready {
            // SAFETY: `ready` is at most the region's limit.
            let start = unsafe { self.base.add(self.ready) };
            self.region.populate(start.cast(), (wanted - self.ready) * size_of::<Sample>())?;
            self.ready = wanted;
        }
        Ok(())
    }

    /// Says which site's operation begins, so that a rank that dies or hangs in it can be named.
    #[inline(always)]
    pub fn begin(&self, site: u32) {
        self.region.header().site.store(site, Ordering::Relaxed);
    }

    /// From now on samples are counted in histograms, and only the slowest are stored.
    pub fn count_samples(&mut self) {
        self.tallies = Some(Tallies::default());
    }

    /// Are samples counted instead of stored?
    pub fn counts_samples(&self) -> bool {
        self.tallies.is_some()
    }

    /// Stores and publishes one sample, or counts it.
    ///
    /// Errors: memory and the spill file are both full. The sample given is then lost; the caller stops.
    #[inline(always)]
    pub fn push(&mut self, sample: Sample) -> io::Result<()> {
        self.push_with(|| sample)
    }

    /// As [`Recorder::push`]. The sample is made where it is needed: were it made before, it would be built in memory
    /// and copied from there, at the price of a failed store forwarding.
    #[inline(always)]
    pub fn push_with(&mut self, sample: impl FnOnce() -> Sample) -> io::Result<()> {
        match self.tallies.is_some() || self.is_worker() {
            false => self.keep(sample()),
            true => self.push_otherwise(sample()),
        }
    }

    #[inline(never)]
    fn push_otherwise(&mut self, sample: Sample) -> io::Result<()> {
        let kept = match &mut self.tallies {
            None => true,
            Some(tallies) => match tallies.of(sample.site) {
                Some(tally) if tally.becomes_late(&sample) => return self.count_first_late(sample),
                Some(tally) => tally.count(&sample),
                None => return self.count_first(sample),
            },
        };
        match (kept, self.is_worker()) {
            (false, _) => Ok(()),
            (true, false) => self.keep(sample),
            (true, true) => self.push_of_worker(sample),
        }
    }

    /// The first sample of a site.
    #[cold]
    #[inline(never)]
    fn count_first(&mut self, sample: Sample) -> io::Result<()> {
        let place = {
            let mut shared = lock(&self.shared);
            match shared.idle.iter().position(|(site, _)| *site == sample.site) {
                Some(at) => shared.idle.swap_remove(at).1,
                None => {
                    let next = self.region.header().tallies.seen() as usize;
                    if next >= self.region.tally_limit() {
                        return Err(too_many(self.region.tally_limit()));
                    }
                    let place = self.region.tally(next);
                    self.region.populate(place.cast(), OF_SERVICE)?;
                    self.region.header().tallies.publish(next as u64 + 1);
                    IdleTally(place)
                }
            }
        };
        if let Some(tallies) = &mut self.tallies {
            tallies.add(sample.site, place.0);
        }
        self.push_otherwise(sample)
    }

    /// The first sample of a site that began later than it was due: response times need memory of their own.
    #[cold]
    #[inline(never)]
    fn count_first_late(&mut self, sample: Sample) -> io::Result<()> {
        if let Some(tally) = self.tallies.as_mut().and_then(|tallies| tallies.of(sample.site)) {
            // SAFETY: inside the tally, whose place is `STRIDE` bytes long.
            let start = unsafe { NonNull::from(&mut *tally).cast::<u8>().add(OF_SERVICE) };
            self.region.populate(start, STRIDE - OF_SERVICE)?;
            tally.begin_responses();
        }
        self.push_otherwise(sample)
    }

    #[inline(always)]
    fn keep(&mut self, sample: Sample) -> io::Result<()> {
        // SAFETY: `used < ready <= limit` holds here: `make_room` restores it after each push. Field by field,
        // from registers.
        unsafe {
            let place = self.base.add(self.used).as_ptr();
            (*place).start_ns = sample.start_ns;
            (*place).duration_ps = sample.duration_ps;
            (*place).late_ns = sample.late_ns;
            (*place).bytes = sample.bytes;
            (*place).queue_ns = sample.queue_ns;
            (*place).blocked_ns = sample.blocked_ns;
            (*place).site = sample.site;
            (*place).rank = sample.rank;
            (*place).errno = sample.errno;
            (*place).batch = sample.batch;
            (*place).cpu = sample.cpu;
            (*place).causes = sample.causes;
        }
        self.used += 1;
        self.total += 1;
        self.region.header().samples.publish(self.total);
        self.fetch_next();
        if self.used == self.ready { self.make_room() } else { Ok(()) }
    }

    /// Brings the memory of the next sample near. No cache holds it yet, and while a store waits for it those of the next
    /// system call wait behind it, between the two clock reads.
    #[inline(always)]
    fn fetch_next(&self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch accesses nothing, whatever the address: at most one sample beyond the region.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.base.as_ptr().wrapping_add(self.used).cast());
        }
    }

    #[inline(never)]
    fn push_of_worker(&mut self, sample: Sample) -> io::Result<()> {
        if self.used == self.ready {
            self.take_block()?;
        }
        // SAFETY: `used < ready` is a place in this worker's own block. The sample counts once its batch is
        // not 0, which is stored last; four aligned bytes inside it.
        unsafe {
            let place = self.base.add(self.used);
            place.write(Sample { batch: 0, ..sample });
            let batch = &raw mut (*place.as_ptr()).batch;
            AtomicU32::from_ptr(batch).store(sample.batch.max(1), Ordering::Release);
        }
        self.used += 1;
        self.total += 1;
        Ok(())
    }

    /// Room for the next samples of this worker: a new block, or, where memory is used up, its own again
    /// after what is in it went to the spill file.
    #[cold]
    fn take_block(&mut self) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        let length = self.block.1.min(LARGEST_BLOCK);
        let (first, limit) = (shared.used, self.region.sample_limit());
        if first + length < limit {
            if first + length >= shared.ready {
                let more = CHUNK.min(limit - shared.ready);
                // SAFETY: `ready` is at most the region's limit.
                let start = unsafe { self.base.add(shared.ready) };
                self.region.populate(start.cast(), more * size_of::<Sample>())?;
                shared.ready += more;
            }
            // SAFETY: inside the region; nobody else has these places. What an earlier spill left there
            // must not count.
            unsafe { self.base.add(first).write_bytes(0, length) };
            shared.used += length;
            shared.total += length as u64;
            self.region.header().samples.publish(shared.total);
            (self.used, self.ready) = (first, first + length);
            self.block = (first, (2 * length).min(LARGEST_BLOCK));
            return Ok(());
        }
        let own = self.ready - self.block.0;
        if own == 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        // SAFETY: this worker's own block.
        let block = unsafe { self.base.add(self.block.0) };
        let spilled = self.region.header().spilled.seen();
        self.write_out(block, own, spilled)?;
        self.region.header().spilled.publish(spilled + own as u64);
        shared.total += own as u64;
        self.region.header().samples.publish(shared.total);
        // SAFETY: as above.
        unsafe { block.write_bytes(0, own) };
        self.used = self.block.0;
        Ok(())
    }

    /// Counts a failed operation.
    pub fn count_failure(&self) {
        self.region.header().failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts verified reads.
    pub fn count_verified(&self, more: VerifiedFacts) {
        self.region.count_verified(more);
    }

    /// Samples published so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Shows every sample so far to `see`, those in the spill file first.
    ///
    /// # Errors
    /// The spill file cannot be read.
    pub fn each(&self, mut see: impl FnMut(&Sample)) -> io::Result<()> {
        let spilled = self.region.header().spilled.seen();
        let mut chunk = vec![Sample::default(); CHUNK.min(usize::try_from(spilled).unwrap_or(CHUNK))];
        let mut done = 0;
        while done < spilled {
            let count = (spilled - done).min(chunk.len() as u64) as usize;
            crate::reader::read_spilled(&self.region, done, &mut chunk[..count])?;
            chunk[..count].iter().for_each(&mut see);
            done += count as u64;
        }
        // SAFETY: the first `used` samples were written by `push`; nobody else writes them.
        let in_memory = unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.used) };
        in_memory.iter().for_each(see);
        Ok(())
    }

    /// Registers a site and returns its number in this rank's own count, the same for all its workers.
    ///
    /// Errors: the journal is full.
    pub fn site(&mut self, site: &Site) -> io::Result<u32> {
        let mut shared = lock(&self.shared);
        if let Some(number) = shared.numbers.get(site) {
            return Ok(*number);
        }
        shared.journal.append(&Entry::Site(site.clone()))?;
        let number = shared.sites.len() as u32;
        shared.sites.push(site.clone());
        shared.known.push(false);
        shared.numbers.insert(site.clone(), number);
        Ok(number)
    }

    /// An operation of a site begins for the first time, or for the first time on a worker.
    pub fn comes_to(&mut self, site: u32) {
        let mut shared = lock(&self.shared);
        if let Some(known) = shared.known.get_mut(site as usize)
            && !std::mem::replace(known, true)
        {
            shared.came_to.push(site);
        }
    }

    /// Keeps for the parent in which order the rank came to its sites.
    ///
    /// # Errors
    /// The journal is full.
    pub fn note_order(&mut self) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        let came_to = std::mem::take(&mut shared.came_to);
        shared.journal.append(&Entry::CameTo(came_to))
    }

    /// Every site so far, by number.
    pub fn sites(&self) -> Vec<Site> {
        lock(&self.shared).sites.clone()
    }

    /// Keeps a message for the parent.
    ///
    /// Errors: the journal is full.
    pub fn note(&mut self, entry: &Entry) -> io::Result<()> {
        lock(&self.shared).journal.append(entry)
    }

    /// Says how the rank ended.
    pub fn finish(&mut self, state: RecordState) {
        self.region.set_state(state);
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) -> io::Result<()> {
        if self.used < self.region.sample_limit() && self.reserve(CHUNK).is_ok() {
            return Ok(());
        }
        self.spill()
    }

    /// Moves all samples in memory to the spill file and starts at its beginning again.
    fn spill(&mut self) -> io::Result<()> {
        if let Err(error) = self.write_out(self.base, self.used, self.total - self.used as u64) {
            // Drops the last sample, so that there is room for the next push.
            self.used -= 1;
            self.total -= 1;
            self.region.header().samples.publish(self.total);
            return Err(error);
        }
        self.region.header().spilled.publish(self.total);
        self.used = 0;
        Ok(())
    }

    /// Writes `count` samples from `first` to the spill file, behind the `before` that are in it.
    fn write_out(&self, first: NonNull<Sample>, count: usize, before: u64) -> io::Result<()> {
        let offset = before * size_of::<Sample>() as u64;
        // SAFETY: the caller gives a range of the region that holds initialised memory, which nobody writes
        // meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(first.as_ptr().cast(), count * size_of::<Sample>()) };
        self.region.spill().write_all_at(bytes, offset)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(tallies) = self.tallies.take().filter(|_| self.is_worker()) {
            lock(&self.shared).idle.extend(tallies.into_idle());
        }
    }
}
