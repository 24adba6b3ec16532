//! The reading end of a region: everything that one rank recorded, checked.

use std::os::unix::fs::FileExt;

use rustix::mm::{Advice, madvise};
use samples::{Counted, Sample, Site, VerifiedFacts};
use serde::{Deserialize, Serialize};

use crate::journal::Entry;
use crate::region::{RecordState, SampleRegion};

/// Everything one rank recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankRecord {
    /// The rank.
    pub rank: u32,
    /// How far it came.
    pub state: RecordState,
    /// The rank's own sites; `Sample::site` of `samples` indexes this list.
    pub sites: Vec<Site>,
    /// In the order in which they ended.
    #[serde(skip)]
    pub samples: Vec<Sample>,
    /// Failures, warnings and the reason of an early end, in order.
    pub entries: Vec<Entry>,
    /// Operations that failed.
    pub failed: u64,
    /// What verified reads came to.
    pub verified: VerifiedFacts,
    /// The site of the operation under way when it ended.
    pub last_site: Option<u32>,
    /// How many samples went through the spill file.
    pub spilled: u64,
    /// What was counted where samples were not all kept; `Counted::site` indexes `sites`. Workers of the
    /// rank have one each for the same site.
    pub counted: Vec<Counted>,
}

impl RankRecord {
    /// For the way to another process of the same machine type: length of the JSON, JSON, samples.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = Vec::with_capacity(8 + head.len() + self.samples.len() * size_of::<Sample>());
        bytes.extend_from_slice(&(head.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&head);
        for s in &self.samples {
            for wide in [s.start_ns, s.duration_ps, s.late_ns, s.bytes, s.queue_ns] {
                bytes.extend_from_slice(&wide.to_le_bytes());
            }
            for narrow in [s.site, s.rank, s.errno as u32, s.batch, s.blocked_ns] {
                bytes.extend_from_slice(&narrow.to_le_bytes());
            }
            bytes.extend_from_slice(&s.cpu.to_le_bytes());
            bytes.extend_from_slice(&s.causes.to_le_bytes());
        }
        bytes
    }

    /// The inverse of [`RankRecord::to_bytes`]; `None` where the bytes are not such.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        /// Bytes of a sample on the way.
        const PACKED: usize = 64;
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (head, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let mut record: Self = serde_json::from_slice(head).ok()?;
        if rest.len() % PACKED != 0 {
            return None;
        }
        let wide = |b: &[u8], at| u64::from_le_bytes(b[at..at + 8].try_into().unwrap_or_default());
        let narrow = |b: &[u8], at| u32::from_le_bytes(b[at..at + 4].try_into().unwrap_or_default());
        let small = |b: &[u8], at| u16::from_le_bytes(b[at..at + 2].try_into().unwrap_or_default());
        let sample = |b: &[u8]| Sample {
            start_ns: wide(b, 0),
            duration_ps: wide(b, 8),
            late_ns: wide(b, 16),
            bytes: wide(b, 24),
            queue_ns: wide(b, 32),
            site: narrow(b, 40),
            rank: narrow(b, 44),
            errno: narrow(b, 48) as i32,
            batch: narrow(b, 52),
            blocked_ns: narrow(b, 56),
            cpu: small(b, 60),
            causes: small(b, 62),
        };
        record.samples = rest.chunks_exact(PACKED).map(sample).collect();
        record.samples.iter().all(|s| (s.site as usize) < record.sites.len()).then_some(record)
    }
}

/// Why the record of a rank cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The header is not ours.
    #[error("rank {rank}: its memory does not start with a lastrank header: it was overwritten")]
    Header {
        /// The rank.
        rank: u32,
    },
    /// The counts contradict each other.
    #[error(
        "rank {rank}: {published} samples published, {spilled} of them spilled, room for {limit}: damaged"
    )]
    Counts {
        /// The rank.
        rank: u32,
        /// Samples published.
        published: u64,
        /// Of them in the spill file.
        spilled: u64,
        /// Room in memory.
        limit: usize,
    },
    /// The journal is cut off or not JSON.
    #[error("rank {rank}: its journal is damaged at byte {at}: {why}")]
    Journal {
        /// The rank.
        rank: u32,
        /// Where.
        at: usize,
        /// What is wrong there.
        why: String,
    },
    /// A sample that cannot be.
    #[error("rank {rank}: sample {index} is of site {site}, but the rank has {sites} sites: damaged")]
    Sample {
        /// The rank.
        rank: u32,
        /// Which sample.
        index: usize,
        /// The site it claims.
        site: u32,
        /// Sites there are.
        sites: usize,
    },
    /// The spill file is shorter than it should be.
    #[error("rank {rank}: the spill file ends after {found} of {expected} samples: {why}")]
    Spill {
        /// The rank.
        rank: u32,
        /// Samples that could be read.
        found: u64,
        /// Samples that should be there.
        expected: u64,
        /// The system's reason.
        why: String,
    },
}

/// Samples that a region can give: all that were published, those in the spill file, and those in memory.
#[derive(Clone, Copy)]
struct Published {
    all: u64,
    spilled: u64,
    in_memory: usize,
}

impl Published {
    /// # Errors
    /// Counts that contradict each other, or that the spill file does not hold.
    fn of(region: &SampleRegion) -> Result<Self, ReadError> {
        let rank = region.rank();
        if !region.intact() {
            return Err(ReadError::Header { rank });
        }
        let (all, spilled) = (region.header().samples.seen(), region.header().spilled.seen());
        let limit = region.sample_limit();
        if spilled > all || all - spilled > limit as u64 {
            return Err(ReadError::Counts { rank, published: all, spilled, limit });
        }
        let found = region.spill().metadata().map_or(0, |file| file.len() / size_of::<Sample>() as u64);
        if spilled > found {
            let why = "the file is shorter".to_owned();
            return Err(ReadError::Spill { rank, found, expected: spilled, why });
        }
        Ok(Self { all, spilled, in_memory: (all - spilled) as usize })
    }
}

/// Reads what the rank of `region` published.
///
/// # Errors
/// Where the region is damaged.
pub fn read(region: &SampleRegion) -> Result<RankRecord, ReadError> {
    let published = Published::of(region)?;
    let mut samples = room_for(published.all as usize);
    let record = read_into(region, published, &mut samples)?;
    Ok(RankRecord { samples, ..record })
}

/// A record without samples, and how many of those that lie beside it are its own.
pub type CountedRecord = Result<(RankRecord, usize), ReadError>;

/// As [`read`] of each region, but all samples come into one vector, rank after rank: with each record, which has none of its
/// own, their number. While the first half of its memory is filled, another thread makes the second half ready.
pub fn read_together<'r>(
    regions: impl IntoIterator<Item = &'r SampleRegion>,
) -> (Vec<CountedRecord>, Vec<Sample>) {
    /// Less is there sooner than a thread.
    const MANY: usize = 1 << 18;
    // Looked at once: the vector must not move while the other thread is at work.
    let regions: Vec<_> = regions.into_iter().map(|region| (region, Published::of(region))).collect();
    let all =
        regions.iter().flat_map(|(_, published)| published).map(|published| published.all as usize).sum();
    let mut samples = room_for(all);
    let spare = samples.spare_capacity_mut();
    let half = &spare[spare.len() / 2..];
    let (begin, bytes) = (half.as_ptr() as usize, if all < MANY { 0 } else { size_of_val(half) });
    let records = std::thread::scope(|scope| {
        if bytes > 0 {
            scope.spawn(move || populate(begin, bytes));
        }
        let one = |(region, published): (_, Result<Published, ReadError>)| {
            let before = samples.len();
            let record = read_into(region, published?, &mut samples)?;
            Ok((record, samples.len() - before))
        };
        regions.into_iter().map(one).collect()
    });
    (records, samples)
}

/// Gives memory to whole pages, whose content stays as it is.
fn populate(begin: usize, bytes: usize) {
    const PAGE: usize = 1 << 16;
    let (first, end) = (begin.next_multiple_of(PAGE), (begin + bytes) / PAGE * PAGE);
    if first < end {
        // SAFETY: pages inside of memory of a vector that lives longer than this call; only pages that have no memory yet
        // change, and they read as before. Kernels before 5.14 refuse it: then they get memory when they are written.
        let _ = unsafe { madvise(first as *mut _, end - first, Advice::LinuxPopulateWrite) };
    }
}

/// As [`read`], with the samples behind those that are there; after an error these are all.
fn read_into(
    region: &SampleRegion,
    published: Published,
    samples: &mut Vec<Sample>,
) -> Result<RankRecord, ReadError> {
    let first = samples.len();
    let record = append(region, published, samples);
    if record.is_err() {
        samples.truncate(first);
    }
    record
}

fn append(
    region: &SampleRegion,
    Published { spilled, in_memory, .. }: Published,
    all: &mut Vec<Sample>,
) -> Result<RankRecord, ReadError> {
    let rank = region.rank();
    let (sites, entries) = read_journal(region)?;
    let first = all.len();
    read_spill(region, spilled, all)?;
    // SAFETY: the rank published that many samples before the acquire load above, all bit patterns
    // of `Sample` are valid, and the range is inside the mapping (checked against the limit).
    all.extend_from_slice(unsafe { std::slice::from_raw_parts(region.samples().as_ptr(), in_memory) });
    if entries.iter().any(|entry| matches!(entry, Entry::Unordered)) {
        let mut kept = first;
        for index in first..all.len() {
            if all[index].batch > 0 {
                all[kept] = all[index];
                kept += 1;
            }
        }
        all.truncate(kept);
        // In the order they began: the n-th sample of a site is that of the n-th round.
        all[first..].sort_by_key(|sample| (sample.start_ns, sample.duration_ps));
    }
    let samples = &all[first..];
    let counted = read_tallies(region, &sites);
    let strange =
        samples.iter().position(|sample| sample.site as usize >= sites.len() || sample.rank != rank);
    if let Some(index) = strange {
        return Err(ReadError::Sample { rank, index, site: samples[index].site, sites: sites.len() });
    }
    Ok(RankRecord {
        rank,
        state: region.state(),
        sites,
        samples: Vec::new(),
        entries,
        failed: region.failed(),
        verified: region.verified(),
        last_site: region.current_site(),
        spilled,
        counted,
    })
}

fn read_tallies(region: &SampleRegion, sites: &[Site]) -> Vec<Counted> {
    let used = region.header().tallies.seen() as usize;
    (0..used.min(region.tally_limit()))
        // SAFETY: published tallies lie inside the mapping and are valid for all bit patterns; the rank that
        // wrote them is gone, or has come to its end.
        .map(|index| unsafe { region.tally(index).as_ref() }.counted())
        .filter(|counted| (counted.site as usize) < sites.len())
        .collect()
}

fn read_journal(region: &SampleRegion) -> Result<(Vec<Site>, Vec<Entry>), ReadError> {
    let rank = region.rank();
    let used = region.header().journal.seen() as usize;
    let damaged = |at: usize, why: &str| ReadError::Journal { rank, at, why: why.into() };
    if used > region.journal_limit() {
        return Err(damaged(0, "longer than a journal can be"));
    }
    // SAFETY: `used` bytes were published before the acquire load and lie inside the mapping.
    let bytes = unsafe { std::slice::from_raw_parts(region.journal().as_ptr(), used) };
    let (mut sites, mut entries, mut at) = (Vec::new(), Vec::new(), 0);
    while at < used {
        let (head, rest) = bytes[at..].split_first_chunk::<4>().ok_or_else(|| damaged(at, "cut off"))?;
        let length = u32::from_ne_bytes(*head) as usize;
        let text = rest.get(..length).ok_or_else(|| damaged(at, "cut off"))?;
        match serde_json::from_slice(text).map_err(|error| damaged(at, &error.to_string()))? {
            Entry::Site(site) => sites.push(site),
            entry => entries.push(entry),
        }
        at += 4 + length;
    }
    Ok((sites, entries))
}

/// An empty vector with memory for `count` samples, in huge pages where the kernel has them: memory that is touched for the
/// first time costs more than what is then written to it.
pub fn room_for(count: usize) -> Vec<Sample> {
    /// Less is not worth a huge page.
    const LEAST: usize = 4 << 20;
    const HUGE: usize = 2 << 20;
    let room: Vec<Sample> = Vec::with_capacity(count);
    let (begin, bytes) = (room.as_ptr() as usize, room.capacity() * size_of::<Sample>());
    if bytes >= LEAST {
        let (first, end) = (begin.next_multiple_of(HUGE), (begin + bytes) / HUGE * HUGE);
        // SAFETY: whole pages inside of memory of the vector; the advice changes nothing that is stored in it. A kernel
        // without huge pages refuses it.
        let _ = unsafe { madvise(first as *mut _, end - first, Advice::LinuxHugepage) };
    }
    room
}

/// Appends what was spilled.
fn read_spill(region: &SampleRegion, spilled: u64, samples: &mut Vec<Sample>) -> Result<(), ReadError> {
    const AT_ONCE: usize = 1 << 16;
    let first = samples.len();
    samples.resize(first + spilled as usize, Sample::default());
    let mut found = 0;
    for part in samples[first..].chunks_mut(AT_ONCE) {
        read_spilled(region, found, part).map_err(|error| ReadError::Spill {
            rank: region.rank(),
            found,
            expected: spilled,
            why: error.to_string(),
        })?;
        found += part.len() as u64;
    }
    Ok(())
}

/// Fills `samples` from the spill file, from its `first` sample on.
pub(super) fn read_spilled(region: &SampleRegion, first: u64, samples: &mut [Sample]) -> std::io::Result<()> {
    let offset = first * size_of::<Sample>() as u64;
    // SAFETY: the samples are valid for all bit patterns, and the borrow is unique.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(samples.as_mut_ptr().cast::<u8>(), size_of_val(samples)) };
    region.spill().read_exact_at(bytes, offset)
}
