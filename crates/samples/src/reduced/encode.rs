//! [`Reduced`] as bytes: what is equal is the same bytes.

use super::bytes::ByteWriter;
use super::slowest::Slowest;
use super::steps::{StepTotals, Steps};
use super::{Reduced, ReducedSite};

/// How it begins.
pub(super) const MAGIC: &[u8; 4] = b"LRsu";
/// Rises with every change of the bytes.
pub(super) const VERSION: u8 = 1;

impl Reduced {
    /// As bytes: a magic word, a version, the sums, and the CRC-32 of all that.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter(MAGIC.to_vec());
        out.unsigned(VERSION);
        out.unsigned(self.further.timings);
        out.unsigned(self.further.failed);
        out.unsigned(self.further.bytes);
        out.unsigned(self.sites.len() as u64);
        for (key, site) in &self.sites {
            out.0.extend_from_slice(&key.to_be_bytes());
            site.encode(&mut out);
        }
        let sum = crc32fast::hash(&out.0);
        out.0.extend_from_slice(&sum.to_le_bytes());
        out.0
    }
}

impl ReducedSite {
    fn encode(&self, out: &mut ByteWriter) {
        out.unsigned(self.timings);
        out.unsigned(self.operations);
        out.unsigned(self.failed_as_expected);
        out.unsigned(self.errors.others);
        out.unsigned(self.errors.known.len() as u64);
        for (errno, count) in &self.errors.known {
            out.signed(*errno);
            out.unsigned(*count);
        }
        for sum in [self.bytes, self.total_ps, self.late_ns, self.queue_ns, self.blocked_ns] {
            out.unsigned(sum);
        }
        out.unsigned(self.least_ps);
        out.unsigned(self.most_ps);
        out.signed(self.begin_ns);
        out.signed(self.end_ns);
        let mut before = 0;
        out.unsigned(self.histogram.buckets().count() as u64);
        for (bucket, count) in self.histogram.buckets() {
            out.unsigned((bucket - before) as u64);
            out.unsigned(count);
            before = bucket;
        }
        self.encode_ranks(out);
        encode_steps(&self.steps, out);
        encode_slowest(&self.slowest, out);
    }

    fn encode_ranks(&self, out: &mut ByteWriter) {
        let mut before = 0;
        out.unsigned(self.ranks.len() as u64);
        for (rank, totals) in &self.ranks {
            out.unsigned(rank - before);
            out.unsigned(totals.timings);
            out.unsigned(totals.failed);
            out.unsigned(totals.bytes);
            out.unsigned(totals.total_ps);
            out.unsigned(totals.most_ps);
            before = *rank;
        }
    }
}

/// The length of the list, and one more than that where there is one. A column after the other: neighbours are alike.
fn encode_steps(steps: &Steps, out: &mut ByteWriter) {
    let Steps::All(all) = steps else { return out.unsigned(0_u8) };
    out.unsigned(all.len() as u64 + 1);
    let mut column = |value: &dyn Fn(&StepTotals) -> u64| {
        let mut before = 0;
        all.iter().for_each(|step| out.change(&mut before, value(step)));
    };
    column(&|step| step.longest_ps);
    column(&|step| step.ranks);
    column(&|step| step.failed);
    // From the smallest number on: wrapped, so that any two differ by what fits.
    column(&|step| step.begin_ns.wrapping_sub(i64::MIN) as u64);
    column(&|step| u64::from(step.last));
    all.iter().for_each(|step| out.signed(i128::from(step.end_ns) - i128::from(step.begin_ns)));
    let mut before = 0_u128;
    for step in all {
        out.signed(step.bytes.wrapping_sub(before) as i128);
        before = step.bytes;
    }
}

fn encode_slowest(slowest: &Slowest, out: &mut ByteWriter) {
    let (mut duration, mut start, mut bytes) = (0, 0, 0);
    out.unsigned(slowest.0.len() as u64);
    for slow in &slowest.0 {
        let sample = &slow.sample;
        out.change(&mut duration, sample.duration_ps);
        out.unsigned(sample.rank);
        out.unsigned(slow.iteration);
        out.change(&mut start, sample.start_ns);
        out.change(&mut bytes, sample.bytes);
        out.unsigned(sample.late_ns);
        out.unsigned(sample.queue_ns);
        out.unsigned(sample.blocked_ns);
        out.unsigned(sample.batch);
        out.unsigned(sample.cpu);
        out.unsigned(sample.causes);
    }
}
