//! A job: the meaning of fio's options as a type.

use super::access::{Access, BlockSizes, Distribution};
use crate::Refusal;
use crate::quantity::{bytes_in_words, time_in_words};

/// When a job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It has moved as many bytes as its file has.
    Once,
    /// It has moved this many bytes.
    Bytes(u64),
    /// It has done this many operations.
    Operations(u64),
}

/// How fast operations begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// So many operations a second, reads and writes together.
    Operations(u64),
    /// So many operations a second of each direction.
    EachDirection(u64),
    /// So many bytes a second of each direction.
    Bytes(u64),
}

/// What an open file promises for each write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenSync {
    /// Nothing.
    None,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    DataSync,
}

/// The most bytes of all files, so that no calculation of a program overflows.
const MOST_BYTES: u128 = 1 << 56;

/// A job of fio.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name, for labels and files.
    pub name: String,
    /// Direction and order.
    pub access: Access,
    /// Of 100 operations of a mix, how many read.
    pub read_share: u64,
    /// Bytes of an operation.
    pub sizes: BlockSizes,
    /// Bytes of the file that it works on; `None`: the whole of a file that exists.
    pub size: Option<u64>,
    /// Where in the file it begins.
    pub offset: u64,
    /// Directory of its file.
    pub directory: Option<String>,
    /// Name of its file, which all its processes share.
    pub file: Option<String>,
    /// Operations in flight.
    pub depth: u64,
    /// Whether its engine does one operation at a time, whatever the depth.
    pub synchronous: bool,
    /// Processes that do the same.
    pub jobs: u64,
    /// How much it does.
    pub extent: Extent,
    /// Nanoseconds after which it ends at the latest.
    pub time: Option<u64>,
    /// Whether it begins again until the time is over, whatever `extent` says.
    pub time_based: bool,
    /// Nanoseconds of the same before it is measured.
    pub ramp: Option<u64>,
    /// Past the page cache.
    pub direct: bool,
    /// Safe when a write returns.
    pub sync: OpenSync,
    /// An fsync after so many writes; 0: none.
    pub fsync: u64,
    /// An fdatasync after so many writes; 0: none.
    pub fdatasync: u64,
    /// An fsync at the end.
    pub end_fsync: bool,
    /// At what rate.
    pub rate: Option<Rate>,
    /// With random gaps.
    pub poisson: bool,
    /// Nanoseconds between operations.
    pub think: u64,
    /// Where random accesses go.
    pub distribution: Distribution,
    /// The file is written before it is measured, so that writes find their blocks.
    pub overwrite: bool,
    /// The page cache forgets the file before it begins.
    pub invalidate: bool,
    /// Space is reserved before it begins.
    pub fallocate: bool,
    /// Its files stay.
    pub keep: bool,
    /// It waits for the jobs before it.
    pub stonewall: bool,
    /// What is done otherwise than fio would, one sentence each.
    pub notes: Vec<String>,
}

impl Job {
    /// A job that does nothing unusual.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            access: Access { reads: true, writes: false, random: false },
            read_share: 50,
            sizes: BlockSizes::One(4096),
            size: None,
            offset: 0,
            directory: None,
            file: None,
            depth: 1,
            synchronous: false,
            jobs: 1,
            extent: Extent::Once,
            time: None,
            time_based: false,
            ramp: None,
            direct: false,
            sync: OpenSync::None,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            rate: None,
            poisson: false,
            think: 0,
            distribution: Distribution::Uniform,
            overwrite: false,
            invalidate: true,
            fallocate: false,
            keep: false,
            stonewall: false,
            notes: Vec::new(),
        }
    }

    /// Refuses valid values that contradict each other.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let together = |words: String| Err(Refusal::Together(words));
        let most = self.sizes.most();
        let bytes = u128::from(self.size.unwrap_or(0)) + u128::from(self.offset);
        if bytes * u128::from(self.jobs) > MOST_BYTES {
            return together("size, offset and numjobs make files of more than 64 PiB".into());
        }
        let blocks = self.size.unwrap_or(0) / self.sizes.least();
        if matches!(self.distribution, Distribution::Zipf(_)) && blocks > 1 << 33 {
            return together(
                "zipf takes at most 8 thousand million blocks: make size smaller or bs larger".into(),
            );
        }
        if let Some(size) = self.size.filter(|size| *size < most) {
            return together(format!(
                "a file of {} holds no block of {}: make size larger or bs smaller",
                bytes_in_words(size),
                bytes_in_words(most)
            ));
        }
        if self.direct && !self.sizes.are_multiples_of(512) {
            return together(format!(
                "direct needs blocks that are multiples of 512 bytes, not {}",
                self.sizes.in_words()
            ));
        }
        if self.direct && !self.offset.is_multiple_of(512) {
            return together("direct needs an offset that is a multiple of 512 bytes".into());
        }
        if self.time_based && self.time.is_none() {
            return together("time_based needs a runtime".into());
        }
        if !self.access.random && self.distribution != Distribution::Uniform {
            return together(format!(
                "random_distribution is for random accesses; {} is in order",
                self.access.word()
            ));
        }
        let is_mix = self.access.reads && self.access.writes;
        if is_mix && matches!(self.rate, Some(Rate::Bytes(_) | Rate::EachDirection(_))) {
            return together(
                "fio's rates hold for reads and writes apart; of a mix give both together as rate=1000/s"
                    .into(),
            );
        }
        if matches!(
            (&self.sizes, self.rate),
            (BlockSizes::Range(..) | BlockSizes::Split(_), Some(Rate::Bytes(_)))
        ) {
            return together(
                "a rate in bytes needs blocks of one size; give operations a second, rate=1000/s".into(),
            );
        }
        if self.poisson && self.rate.is_none() {
            return together("rate_process=poisson needs a rate".into());
        }
        if !self.access.writes && (self.fsync > 0 || self.fdatasync > 0 || self.end_fsync) {
            return together(format!("fsync follows writes; {} writes nothing", self.access.word()));
        }
        if self.operations_a_second() == Some(0) {
            return together("the rate is less than one operation a second".into());
        }
        Ok(())
    }

    /// Its rate in operations a second.
    pub(super) fn operations_a_second(&self) -> Option<u64> {
        match self.rate? {
            Rate::Operations(count) | Rate::EachDirection(count) => Some(count),
            Rate::Bytes(bytes) => Some(bytes / self.sizes.most()),
        }
    }

    /// The operations that its engine has in flight: one if it is synchronous, whatever depth was asked for.
    pub(super) fn in_flight(&self) -> u64 {
        if self.synchronous { 1 } else { self.depth }
    }

    /// Whether there must be content before it begins.
    pub(super) fn needs_content(&self) -> bool {
        self.access.reads || self.overwrite
    }

    /// What it does, in a sentence without an end.
    pub fn in_words(&self) -> String {
        let what = match (self.access.reads, self.access.writes) {
            (true, true) => format!("{} % reads and {} % writes", self.read_share, 100 - self.read_share),
            (false, true) => "Writes".into(),
            (_, false) => "Reads".into(),
        };
        let order = if self.access.random { "at random places" } else { "one after the other" };
        let mut text = format!("{what} of {} {order}", self.sizes.in_words());
        if let Some(size) = self.size {
            text += &format!(" of a file of {}", bytes_in_words(size));
        }
        if self.in_flight() > 1 {
            text += &format!(", {} in flight", self.depth);
        }
        if self.direct {
            text += ", past the page cache";
        }
        match self.sync {
            OpenSync::None => {}
            OpenSync::Sync | OpenSync::DataSync => text += ", each safe when it returns",
        }
        if let Some(time) = self.time.filter(|_| self.time_based) {
            text += &format!(", for {}", time_in_words(time));
        }
        if self.jobs > 1 {
            text += &format!(", by {} processes at once", self.jobs);
        }
        text
    }
}
