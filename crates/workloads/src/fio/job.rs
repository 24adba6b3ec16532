//! A job: the meaning of fio's options as a type.

use super::access::{Access, BlockSizes, Distribution, Sequence};
use super::names::Names;
use super::steady::Steady;
use crate::quantity::{bytes_in_words, time_in_words};

/// When a job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It has moved as many bytes as its files have.
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

/// Stretches of a file that are used, with others between them that are not: fio's `zonemode=strided`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zones {
    /// Whether there are any.
    pub strided: bool,
    /// Bytes of each.
    pub size: u64,
    /// Bytes between two.
    pub skip: u64,
}

impl Zones {
    /// Bytes from the beginning of one to that of the next.
    pub(super) fn step(self) -> u64 {
        self.size.saturating_add(self.skip)
    }
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

/// What ends with a job that has `exitall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitWhat {
    /// The jobs of its group: up to the next `stonewall` or `new_group`.
    Group,
    /// All that run.
    Stage,
    /// Those that wait behind a `stonewall`, too.
    All,
}

/// Whether content is compared with what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// No.
    No,
    /// What is written is not read back; what is read is compared.
    Reads,
    /// What is written is read back and compared.
    All,
}

/// A job of fio.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name, for labels and files.
    pub name: String,
    /// Whether it stands in a job file: it then does what fio does where `lastrank io` differs.
    pub is_imported: bool,
    /// Direction and order.
    pub access: Access,
    /// Holes between accesses in order, or runs of accesses at random.
    pub sequence: Sequence,
    /// Which stretches of a file accesses in order use.
    pub zones: Zones,
    /// Of 100 operations of a mix, how many read.
    pub read_share: u64,
    /// Bytes of an operation.
    pub sizes: BlockSizes,
    /// The same of writes, where reads have others.
    pub write_sizes: Option<BlockSizes>,
    /// To what accesses are aligned, where that is said.
    pub align: Option<u64>,
    /// Bytes that it moves in one pass over its files; `None`: all of them.
    pub size: Option<u64>,
    /// The share of its file or device that it works on, in percent.
    pub size_share: Option<u64>,
    /// Bytes of one file, where that is not its part of `size`.
    pub file_size: Option<u64>,
    /// Where in the file it begins,
    pub offset: u64,
    /// and how much later each further process does.
    pub offset_increment: u64,
    /// Its files.
    pub names: Names,
    /// Operations in flight.
    pub depth: u64,
    /// Whether its engine does one operation at a time, whatever the depth.
    pub synchronous: bool,
    /// Processes that do the same.
    pub jobs: u64,
    /// How much it does.
    pub extent: Extent,
    /// How often it does all that.
    pub loops: u64,
    /// Nanoseconds before it begins.
    pub start_delay: u64,
    /// Nanoseconds after which it ends at the latest.
    pub time: Option<u64>,
    /// Whether it begins again until the time is over, whatever `extent` says.
    pub time_based: bool,
    /// Nanoseconds of the same before it is measured.
    pub ramp: Option<u64>,
    /// When it counts as steady, which ends it.
    pub steady: Steady,
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
    /// The same of writes, where reads have another.
    pub write_rate: Option<Option<Rate>>,
    /// With random gaps.
    pub poisson: bool,
    /// Nanoseconds of a pause,
    pub think: u64,
    /// which follows so many operations.
    pub think_blocks: u64,
    /// Where random accesses go.
    pub distribution: Distribution,
    /// Whether random accesses come to each block once a pass.
    pub random_map: bool,
    /// Whether content is compared.
    pub verify: Verify,
    /// The file is written before it is measured, so that writes find their blocks.
    pub overwrite: bool,
    /// The page cache forgets the file before it begins.
    pub invalidate: bool,
    /// The kernel is told in which order the file is used.
    pub advise: bool,
    /// Space is reserved before it begins.
    pub fallocate: bool,
    /// Its files stay.
    pub keep: bool,
    /// It waits for the jobs before it.
    pub stonewall: bool,
    /// The job of this name has ended before it begins.
    pub wait_for: Option<String>,
    /// The jobs that run beside it end with it,
    pub exit_all: bool,
    /// and which of them those are.
    pub exit_what: ExitWhat,
    /// It begins a group: those that `exitall` ends.
    pub new_group: bool,
    /// Its files are made, and that is all.
    pub create_only: bool,
    /// Its files exist and are used as they are.
    pub existing: bool,
    /// What is done otherwise than fio would, one sentence each.
    pub notes: Vec<String>,
}

impl Job {
    /// A job that does nothing unusual.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_imported: false,
            access: Access { reads: true, writes: false, random: false },
            sequence: Sequence::Plain,
            zones: Zones::default(),
            read_share: 50,
            sizes: BlockSizes::One(4096),
            write_sizes: None,
            align: None,
            size: None,
            size_share: None,
            file_size: None,
            offset: 0,
            offset_increment: 0,
            names: Names::default(),
            depth: 1,
            synchronous: false,
            jobs: 1,
            extent: Extent::Once,
            loops: 1,
            start_delay: 0,
            time: None,
            time_based: false,
            ramp: None,
            steady: Steady::default(),
            direct: false,
            sync: OpenSync::None,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            rate: None,
            write_rate: None,
            poisson: false,
            think: 0,
            think_blocks: 1,
            distribution: Distribution::Uniform,
            random_map: true,
            verify: Verify::No,
            overwrite: false,
            invalidate: true,
            advise: true,
            fallocate: false,
            keep: false,
            stonewall: false,
            wait_for: None,
            exit_all: false,
            exit_what: ExitWhat::Group,
            new_group: false,
            create_only: false,
            existing: false,
            notes: Vec::new(),
        }
    }

    /// A job of a job file that says nothing: one operation at a time (the engine `psync`), space of new files reserved.
    pub(super) fn imported(name: &str) -> Self {
        Self { is_imported: true, synchronous: true, fallocate: true, ..Self::named(name) }
    }

    /// How many files each process has.
    pub(super) fn files(&self) -> u64 {
        self.names.count()
    }

    /// Bytes of one file that it works on.
    pub(super) fn region(&self) -> Option<u64> {
        self.file_size.or_else(|| Some(self.size? / self.files()))
    }

    /// Bytes of one pass over all its files.
    pub(super) fn pass(&self) -> Option<u64> {
        let all = self.region()?.saturating_mul(self.files());
        Some(self.size.map_or(all, |size| size.min(all)))
    }

    /// Whether reads and writes are mixed.
    pub(super) fn is_mix(&self) -> bool {
        self.access.reads && self.access.writes && (1..100).contains(&self.read_share)
    }

    /// Whether there is nothing but reads.
    pub(super) fn only_reads(&self) -> bool {
        self.access.reads && (!self.access.writes || self.read_share == 100)
    }

    /// Whether random accesses come to each block once a pass.
    pub(super) fn has_map(&self) -> bool {
        self.access.random
            && self.random_map
            && self.distribution == Distribution::Uniform
            && matches!(self.sequence, Sequence::Plain)
            && matches!(self.sizes, BlockSizes::One(_))
    }

    /// Whether random accesses of several sizes come to each block of the smallest size once a pass: an access ends where
    /// the next block was used.
    pub(super) fn has_map_of_blocks(&self) -> bool {
        self.is_imported
            && self.access.random
            && self.random_map
            && self.distribution == Distribution::Uniform
            && matches!(self.sequence, Sequence::Plain)
            && !matches!(self.sizes, BlockSizes::One(_))
    }

    /// Whether one pass comes to each block once.
    pub(super) fn comes_to_each_block(&self) -> bool {
        if self.access.random { self.has_map() } else { !self.is_mix() }
    }

    /// Whether a pass is a number of whole blocks.
    pub(super) fn is_of_whole_blocks(&self) -> bool {
        self.pass().is_none_or(|pass| pass.is_multiple_of(self.sizes.least()))
    }

    /// Whether what was written is read back after it.
    pub(super) fn reads_back(&self) -> bool {
        self.verify == Verify::All && !self.only_reads()
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
        (self.access.reads || self.overwrite) && !self.existing
    }

    /// What it does, in a sentence without an end.
    pub fn in_words(&self) -> String {
        let what = match (self.access.reads, self.access.writes) {
            (true, true) => format!("{}% reads and {}% writes", self.read_share, 100 - self.read_share),
            (false, true) => "Writes".into(),
            (_, false) => "Reads".into(),
        };
        let order = if self.access.random { "at random places" } else { "one after the other" };
        let mut text = format!("{what} of {} {order}", self.sizes.in_words());
        if let Some(region) = self.region() {
            let files = match self.files() {
                1 => "a file".into(),
                files => format!("each of {files} files"),
            };
            text += &format!(" of {files} of {}", bytes_in_words(region));
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
        if self.loops > 1 {
            text += &format!(", {} times", self.loops);
        }
        if self.jobs > 1 {
            text += &format!(", by {} processes at once", self.jobs);
        }
        text
    }
}
