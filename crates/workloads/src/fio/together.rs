//! Refuses options that are valid alone and contradict each other, or that no program carries out together.

use super::access::{BlockSizes, Distribution, Sequence};
use super::job::{Extent, Job, Rate, Verify, Zones};
use crate::Refusal;
use crate::quantity::bytes_in_words;

/// The most bytes of all files, so that no calculation of a program overflows.
const MOST_BYTES: u128 = 1 << 56;

impl Job {
    /// All that speaks against this job.
    ///
    /// # Errors
    /// One sentence for each contradiction.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let mut found: Vec<String> = Vec::new();
        self.check_files(&mut found);
        self.check_order(&mut found);
        self.check_way(&mut found);
        self.check_extent(&mut found);
        self.check_pace(&mut found);
        self.steady.check(&mut found);
        self.check_verify(&mut found);
        Refusal::of_all(found.into_iter().map(Refusal::Together).collect())
    }

    fn check_files(&self, found: &mut Vec<String>) {
        let most = self.sizes.most();
        let region = u128::from(self.region().unwrap_or(0));
        let bytes = region
            .saturating_add(u128::from(self.offset))
            .saturating_add(u128::from(self.offset_increment).saturating_mul(u128::from(self.jobs)));
        if bytes.saturating_mul(u128::from(self.jobs) * u128::from(self.files())) > MOST_BYTES {
            found.push("size, offset and numjobs make files of more than 64 PiB".into());
        }
        if let Some(region) = self.region().filter(|region| *region < most) {
            found.push(format!(
                "a file of {} holds no block of {}: make size larger or bs smaller",
                bytes_in_words(region),
                bytes_in_words(most)
            ));
        }
        if self.direct && !self.sizes.are_multiples_of(512) {
            let words = self.sizes.in_words();
            found.push(format!("direct needs blocks that are multiples of 512 bytes, not {words}"));
        }
        if self.direct && !(self.offset.is_multiple_of(512) && self.offset_increment.is_multiple_of(512)) {
            found.push("direct needs an offset that is a multiple of 512 bytes".into());
        }
        self.check_alignment(found);
        if self.existing && !self.only_reads() {
            found.push(
                "a job that writes over a file that exists is `lastrank io write FILE --overwrite-existing`: leave \
                 allow_file_create out for a file of its own"
                    .into(),
            );
        }
        if self.existing && self.names.are_own() {
            found.push("allow_file_create=0 needs a filename".into());
        }
        if self.files() > 1 {
            self.check_several_files(found);
        }
    }

    fn check_alignment(&self, found: &mut Vec<String>) {
        let Some(align) = self.align.filter(|align| self.sizes != BlockSizes::One(*align)) else { return };
        let is_drawn = self.access.random && !self.random_map && self.sequence == Sequence::Plain;
        let by_blocks = matches!(self.distribution, Distribution::Uniform | Distribution::Zoned(_));
        if !(is_drawn && by_blocks) {
            found.push(
                "blocks begin at multiples of their size: leave ba out, give it as large as bs, or give norandommap=1"
                    .into(),
            );
        } else if self.extent == Extent::Once && matches!(self.sizes, BlockSizes::One(_)) {
            found.push("ba is for a job that says how much it does: give number_ios or io_size".into());
        }
        if matches!(self.sizes, BlockSizes::One(block) if block > align) {
            found
                .push("a block that is larger than ba may reach over the end: make ba as large as bs".into());
        }
        if self.direct && !align.is_multiple_of(512) {
            found.push("direct needs ba as a multiple of 512 bytes".into());
        }
        if self.region().is_some_and(|region| region < align.saturating_add(self.sizes.most())) {
            found.push("size holds no two blocks at multiples of ba: make it larger".into());
        }
    }

    /// Stretches of a file, and blocks from the end to the beginning.
    fn check_way(&self, found: &mut Vec<String>) {
        let (zones, region) = (self.zones, self.region().unwrap_or(0));
        let plain = !self.is_mix() && self.files() == 1 && !self.access.random && self.offset_increment == 0;
        let BlockSizes::One(block) = self.sizes else {
            if zones.strided {
                found.push("zonemode=strided is for one bs".into());
            }
            return;
        };
        if let Sequence::Backwards(back) = self.sequence {
            if back <= block || back > region || !region.is_multiple_of(block) {
                found.push("rw=read:-N goes back by more than bs, and size is a multiple of bs".into());
            }
            if !plain || self.offset > 0 || self.reads_back() || self.loops > 1 {
                found.push(
                    "rw=read:-N is for one file and for reads or writes, without loops, offset and verify"
                        .into(),
                );
            }
        }
        if !zones.strided {
            if zones != Zones::default() {
                found.push("zonesize and zoneskip need zonemode=strided".into());
            }
            return;
        }
        if zones.size == 0 || !zones.size.is_multiple_of(block) || !region.is_multiple_of(block) {
            found.push("zonemode=strided needs a zonesize and a size that are multiples of bs".into());
        } else if region % zones.step() > 0 && region % zones.step() < zones.size {
            found.push("size ends within a zone of zonemode=strided: make it end behind one".into());
        }
        if !plain || self.sequence != Sequence::Plain || self.reads_back() || self.loops > 1 {
            found.push(
                "zonemode=strided is for one file in order and for reads or writes, without loops and verify"
                    .into(),
            );
        }
    }

    fn check_several_files(&self, found: &mut Vec<String>) {
        let files = self.files();
        if self.files() > 1024 {
            found.push("at most 1024 files a process are possible: make nrfiles smaller".into());
        }
        if !matches!(self.sizes, BlockSizes::One(_)) || self.is_mix() || self.sequence != Sequence::Plain {
            found.push(
                "several files are for one direction, one bs and a plain rw: write a job for each file"
                    .into(),
            );
        }
        if self.fsync > 0 || self.fdatasync > 0 {
            found.push(
                "fsync=N and fdatasync=N are for one file: write a job for each, or give end_fsync".into(),
            );
        }
        if self.pass().is_some_and(|pass| !pass.is_multiple_of(files * self.sizes.least())) {
            found.push(format!("size is no multiple of {files} files of whole blocks: make it one"));
        }
    }

    fn check_order(&self, found: &mut Vec<String>) {
        let blocks = self.region().unwrap_or(0) / self.sizes.least();
        if matches!(self.distribution, Distribution::Zipf(_)) && blocks > 1 << 33 {
            found.push("zipf takes at most 8 thousand million blocks: make size smaller or bs larger".into());
        }
        if !self.access.random && self.distribution != Distribution::Uniform {
            let word = self.access.word();
            found.push(format!("random_distribution is for random accesses; {word} is in order"));
        }
        let several = !matches!(self.sizes, BlockSizes::One(_));
        if self.has_map_of_blocks() && !self.sizes.are_multiples_of(self.sizes.least()) {
            found.push(
                "random blocks of several sizes are multiples of the smallest one: give norandommap=1".into(),
            );
        }
        if self.has_map_of_blocks() && !self.is_of_whole_blocks() {
            found.push("size is no multiple of the smallest bs: make it one, or give norandommap=1".into());
        }
        if self.has_map_of_blocks() && blocks > 1 << 33 {
            found.push(
                "a random map for several sizes has at most 8 thousand million blocks: make size smaller, or give norandommap=1"
                    .into(),
            );
        }
        if let (BlockSizes::Range(low, _), true) = (&self.sizes, self.is_imported)
            && !low.is_power_of_two()
        {
            found.push("bsrange is for a smallest size that is a power of two: write bssplit".into());
        }
        if self.sequence != Sequence::Plain && several {
            found.push("rw with a number is for one bs".into());
        }
        if matches!(self.sequence, Sequence::Holes(_)) && self.is_mix() {
            found.push(
                "rw=rw with a number is not possible: write a job that reads and one that writes".into(),
            );
        }
        if let (Sequence::Holes(hole), BlockSizes::One(block)) = (self.sequence, &self.sizes)
            && self.region().is_some_and(|region| !region.is_multiple_of(hole.saturating_add(*block)))
        {
            found.push("size is no multiple of a block and its hole (rw=read:N): make it one".into());
        }
    }

    fn check_extent(&self, found: &mut Vec<String>) {
        if self.time_based && self.time.is_none() {
            found.push("time_based needs a runtime".into());
        }
        if self.loops > 1 && !self.time_based {
            if self.extent != Extent::Once {
                found.push("loops goes with size: leave io_size and number_ios out".into());
            }
            if self.time.is_some() {
                found.push("loops ends no job at a runtime: leave one of them out, or add time_based".into());
            }
        }
        let goes_on = match self.extent {
            Extent::Once => self.loops > 1,
            Extent::Bytes(bytes) => self.pass().is_some_and(|pass| bytes > pass),
            Extent::Operations(_) => false,
        };
        if let (Extent::Operations(count), true) = (self.extent, self.is_imported)
            && !matches!(self.sizes, BlockSizes::One(_))
            && self.pass().is_some_and(|pass| count.saturating_mul(self.sizes.most()) > pass)
        {
            found.push("with several sizes, size may come before number_ios: give io_size instead".into());
        }
        let has_runs = matches!(self.sequence, Sequence::Runs(_));
        if self.is_imported && (goes_on || has_runs) && !self.is_of_whole_blocks() {
            found
                .push("size is no multiple of bs, which several passes over a file need: make it one".into());
        }
        if self.ramp.is_some() && !self.time_based && self.is_imported {
            found.push("ramp_time is for jobs that last a time: add time_based and runtime".into());
        }
    }

    fn check_pace(&self, found: &mut Vec<String>) {
        if self.is_mix() && matches!(self.rate, Some(Rate::Bytes(_) | Rate::EachDirection(_))) {
            found.push(
                "fio's rates hold for reads and writes of a mix apart: write a job that reads and one that writes".into(),
            );
        }
        let several = !matches!(self.sizes, BlockSizes::One(_));
        if several && self.is_imported && self.rate.is_some() {
            found.push(
                "fio's rate_iops counts bytes of the smallest size, and rate all: give one bs, or leave the rate out".into(),
            );
        } else if several && matches!(self.rate, Some(Rate::Bytes(_))) {
            found.push("a rate in bytes needs blocks of one size: give rate_iops, or one bs".into());
        }
        if self.poisson && self.rate.is_none() {
            found.push("rate_process=poisson needs a rate".into());
        }
        if self.operations_a_second() == Some(0) {
            found.push(match self.rate {
                Some(Rate::Bytes(bytes)) => format!(
                    "a rate of {bytes} is {bytes} bytes a second, less than one operation: write 1000/s or \
                     rate_iops=1000 for operations"
                ),
                _ => "the rate is less than one operation a second".into(),
            });
        }
        let syncs = self.fsync > 0 || self.fdatasync > 0 || self.end_fsync;
        if !self.is_imported && !self.access.writes && syncs {
            found.push(format!("fsync follows writes; {} writes nothing", self.access.word()));
        }
        if self.fsync > 0 && self.fdatasync > 0 && self.is_imported {
            found.push("give one of fsync and fdatasync".into());
        }
    }

    fn check_verify(&self, found: &mut Vec<String>) {
        if self.verify == Verify::No {
            return;
        }
        if self.is_mix() {
            found.push("verify is for jobs that only read or only write: write a job for each".into());
        }
        if self.reads_back() && (self.time.is_some() || self.extent != Extent::Once) {
            found.push(
                "verify reads back what one pass wrote: leave runtime, io_size and number_ios out".into(),
            );
        }
        let each_once = !self.access.random || self.has_map();
        if self.reads_back() && !(each_once && matches!(self.sizes, BlockSizes::One(_))) {
            found.push("verify reads back blocks that were written once: one bs, and the random map".into());
        }
        if self.reads_back() && self.names.are_shared() && self.jobs > 1 && self.offset_increment == 0 {
            found.push("verify is for files that one process writes: leave filename or numjobs out".into());
        }
    }
}
