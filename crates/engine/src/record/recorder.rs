//! How does a rank store a sample without disturbing what it measures?

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use samples::{Sample, Site};

use super::journal::{Entry, Journal};
use super::region::{Region, State, populate};

/// Samples whose memory is populated at a time (1 MiB).
const CHUNK: usize = (1 << 20) / size_of::<Sample>();

/// Writes one rank's samples into its region. Used by one process and thread only.
///
/// [`Recorder::push`] is one store of 64 bytes and one release store of the count. When the populated
/// memory is used up, the next chunk is populated after the sample was stored, never between two
/// clock reads; when the limit is reached, what is in memory goes to the spill file first.
pub struct Recorder {
    region: Arc<Region>,
    base: NonNull<Sample>,
    /// Samples in memory.
    used: usize,
    /// Samples for which memory is populated.
    ready: usize,
    /// Samples published, spilled ones included.
    total: u64,
    journal: Journal,
    sites: u32,
}

impl Recorder {
    /// A recorder for an unused region; the first chunk is populated here.
    ///
    /// Errors: no memory behind the first chunk.
    pub fn new(region: Arc<Region>) -> io::Result<Self> {
        let base = region.samples();
        let journal = Journal::new(&region);
        let ready = CHUNK.min(region.sample_limit());
        populate(base.cast(), ready * size_of::<Sample>())?;
        region.set_state(State::Running);
        Ok(Self { region, base, used: 0, ready, total: 0, journal, sites: 0 })
    }

    /// The region it writes to.
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// Populates memory for `samples` more, as far as the limit allows; a later [`Recorder::push`]
    /// then need not.
    pub fn reserve(&mut self, samples: usize) -> io::Result<()> {
        let wanted = self.used.saturating_add(samples).min(self.region.sample_limit());
        if wanted > self.ready {
            // SAFETY: `ready` is at most the region's limit.
            let start = unsafe { self.base.add(self.ready) };
            populate(start.cast(), (wanted - self.ready) * size_of::<Sample>())?;
            self.ready = wanted;
        }
        Ok(())
    }

    /// Says which site's operation begins, so that a rank that dies or hangs in it can be named.
    #[inline(always)]
    pub fn begin(&self, site: u32) {
        self.region.header().site.store(site, Ordering::Relaxed);
    }

    /// Stores and publishes one sample.
    ///
    /// Errors: memory and the spill file are both full. The sample given is then lost; the caller stops.
    #[inline(always)]
    pub fn push(&mut self, sample: Sample) -> io::Result<()> {
        // SAFETY: `used < ready <= limit` holds here: `make_room` restores it after each push.
        unsafe { self.base.add(self.used).write(sample) };
        self.used += 1;
        self.total += 1;
        self.region.header().samples.store(self.total, Ordering::Release);
        if self.used == self.ready { self.make_room() } else { Ok(()) }
    }

    /// Counts a failed operation.
    pub fn count_failure(&self) {
        self.region.header().failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Samples published so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The samples in memory: all, unless some went to the spill file.
    pub fn in_memory(&self) -> &[Sample] {
        // SAFETY: the first `used` samples were written by `push`; nobody else writes them.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.used) }
    }

    /// Registers a site and returns its number in this rank's own count.
    ///
    /// Errors: the journal is full.
    pub fn site(&mut self, site: &Site) -> io::Result<u32> {
        self.journal.append(&Entry::Site(site.clone()))?;
        self.sites += 1;
        Ok(self.sites - 1)
    }

    /// Keeps a message for the parent.
    ///
    /// Errors: the journal is full.
    pub fn note(&mut self, entry: &Entry) -> io::Result<()> {
        self.journal.append(entry)
    }

    /// Says how the rank ended.
    pub fn finish(&mut self, state: State) {
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
        let bytes = self.used * size_of::<Sample>();
        let offset = (self.total - self.used as u64) * size_of::<Sample>() as u64;
        let mut done = 0;
        while done < bytes {
            // SAFETY: the first `used` samples of the region are initialised; the range lies inside.
            let written = unsafe {
                libc::pwrite(
                    self.region.spill(),
                    self.base.as_ptr().cast::<u8>().add(done).cast(),
                    bytes - done,
                    (offset + done as u64) as libc::off_t,
                )
            };
            let error = match written {
                n if n > 0 => {
                    done += n as usize;
                    continue;
                }
                0 => io::Error::from_raw_os_error(libc::ENOSPC),
                _ => io::Error::last_os_error(),
            };
            if error.kind() != io::ErrorKind::Interrupted {
                // The last sample gives way, so that there is room for the next push.
                self.used -= 1;
                self.total -= 1;
                self.region.header().samples.store(self.total, Ordering::Release);
                return Err(error);
            }
        }
        self.region.header().spilled.store(self.total, Ordering::Release);
        self.used = 0;
        Ok(())
    }
}
