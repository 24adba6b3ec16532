//! [`Reduced`] from bytes that anybody may have written.

use std::collections::BTreeMap;

use super::bytes::ByteReader;
use super::encode::{MAGIC, VERSION};
use super::errors::MOST_ERRNOS;
use super::site::MOST_RANKS;
use super::slowest::Slowest;
use super::steps::{StepTotals, Steps};
use super::{
    ErrorCounts, FurtherSites, MOST_SITES, MOST_SLOW, MOST_STEPS, RankTotals, Reduced, ReducedSite,
    SlowSample,
};
use crate::Histogram;

/// Why bytes are no [`Reduced`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReducedError {
    /// They begin as something else.
    Foreign,
    /// A newer version wrote them.
    Newer,
    /// They are not those that were written.
    Damaged,
}

impl Reduced {
    /// From what [`Reduced::encode`] gave.
    ///
    /// # Errors
    /// A [`ReducedError`] for anything else.
    pub fn decode(bytes: &[u8]) -> Result<Self, ReducedError> {
        let body = bytes.strip_prefix(MAGIC.as_slice()).ok_or(ReducedError::Foreign)?;
        let (body, sum) = body.split_last_chunk::<4>().ok_or(ReducedError::Damaged)?;
        if crc32fast::hash(&bytes[..bytes.len() - 4]) != u32::from_le_bytes(*sum) {
            return Err(ReducedError::Damaged);
        }
        let mut input = ByteReader(body);
        match input.unsigned::<u8>() {
            Some(VERSION) => {}
            Some(_) => return Err(ReducedError::Newer),
            None => return Err(ReducedError::Damaged),
        }
        all(&mut input).filter(|_| input.0.is_empty()).ok_or(ReducedError::Damaged)
    }
}

fn all(input: &mut ByteReader) -> Option<Reduced> {
    let further =
        FurtherSites { timings: input.unsigned()?, failed: input.unsigned()?, bytes: input.wide()? };
    let mut found = Reduced { sites: BTreeMap::new(), further };
    for _ in 0..at_most(input.length()?, MOST_SITES)? {
        let (key, rest) = input.0.split_first_chunk::<16>()?;
        input.0 = rest;
        let key = u128::from_be_bytes(*key);
        if found.sites.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return None;
        }
        found.sites.insert(key, site(input)?);
    }
    Some(found)
}

fn at_most(length: usize, most: usize) -> Option<usize> {
    (length <= most).then_some(length)
}

fn site(input: &mut ByteReader) -> Option<ReducedSite> {
    Some(ReducedSite {
        timings: input.unsigned()?,
        operations: input.wide()?,
        failed_as_expected: input.unsigned()?,
        errors: errors(input)?,
        bytes: input.wide()?,
        total_ps: input.wide()?,
        late_ns: input.wide()?,
        queue_ns: input.wide()?,
        blocked_ns: input.wide()?,
        least_ps: input.unsigned()?,
        most_ps: input.unsigned()?,
        begin_ns: input.signed()?,
        end_ns: input.signed()?,
        histogram: histogram(input)?,
        ranks: ranks(input)?,
        steps: steps(input)?,
        slowest: slowest(input)?,
    })
}

fn errors(input: &mut ByteReader) -> Option<ErrorCounts> {
    let others = input.unsigned()?;
    let mut known = BTreeMap::new();
    for _ in 0..at_most(input.length()?, MOST_ERRNOS)? {
        let errno: i32 = input.signed()?;
        if known.last_key_value().is_some_and(|(last, _)| *last >= errno) {
            return None;
        }
        known.insert(errno, input.unsigned()?);
    }
    Some(ErrorCounts { known, others })
}

fn histogram(input: &mut ByteReader) -> Option<Histogram> {
    let length = input.length()?;
    let mut buckets = Vec::with_capacity(length);
    let mut at = 0_u32;
    for _ in 0..length {
        at = at.checked_add(input.unsigned()?)?;
        buckets.push((at, input.unsigned()?));
    }
    Histogram::of_buckets(buckets)
}

fn ranks(input: &mut ByteReader) -> Option<BTreeMap<u32, RankTotals>> {
    let mut found = BTreeMap::new();
    let mut rank = 0_u32;
    for _ in 0..at_most(input.length()?, MOST_RANKS)? {
        rank = rank.checked_add(input.unsigned()?)?;
        let totals = RankTotals {
            timings: input.unsigned()?,
            failed: input.unsigned()?,
            bytes: input.wide()?,
            total_ps: input.wide()?,
            most_ps: input.unsigned()?,
        };
        if found.insert(rank, totals).is_some() {
            return None;
        }
    }
    Some(found)
}

fn steps(input: &mut ByteReader) -> Option<Steps> {
    let Some(length) = input.unsigned::<usize>()?.checked_sub(1) else { return Some(Steps::LeftOut) };
    if length > MOST_STEPS || length > input.0.len() {
        return None;
    }
    let mut all = vec![StepTotals::NONE; length];
    let mut column = |set: &dyn Fn(&mut StepTotals, u64)| {
        let mut before = 0;
        all.iter_mut().try_for_each(|step| {
            set(step, input.change(&mut before)?);
            Some(())
        })
    };
    column(&|step, value| step.longest_ps = value)?;
    column(&|step, value| step.ranks = value)?;
    column(&|step, value| step.failed = value)?;
    column(&|step, value| step.begin_ns = (value as i64).wrapping_add(i64::MIN))?;
    let mut last = 0;
    for step in &mut all {
        step.last = u32::try_from(input.change(&mut last)?).ok()?;
    }
    for step in &mut all {
        let end = i128::from(step.begin_ns).checked_add(input.signed::<i128>()?)?;
        step.end_ns = i64::try_from(end).ok()?;
    }
    let mut bytes = 0_u128;
    for step in &mut all {
        bytes = bytes.wrapping_add(input.signed::<i128>()? as u128);
        step.bytes = bytes;
    }
    Some(Steps::All(all))
}

fn slowest(input: &mut ByteReader) -> Option<Slowest> {
    let length = at_most(input.length()?, MOST_SLOW)?;
    let mut all: Vec<SlowSample> = Vec::with_capacity(length);
    let (mut duration, mut start, mut bytes) = (0, 0, 0);
    for _ in 0..length {
        let mut slow = SlowSample::default();
        slow.sample.duration_ps = input.change(&mut duration)?;
        slow.sample.rank = input.unsigned()?;
        slow.iteration = input.unsigned()?;
        slow.sample.start_ns = input.change(&mut start)?;
        slow.sample.bytes = input.change(&mut bytes)?;
        slow.sample.late_ns = input.unsigned()?;
        slow.sample.queue_ns = input.unsigned()?;
        slow.sample.blocked_ns = input.unsigned()?;
        slow.sample.batch = input.unsigned()?;
        slow.sample.cpu = input.unsigned()?;
        slow.sample.causes = input.unsigned()?;
        if all.last().is_some_and(|last| last.order() >= slow.order()) {
            return None;
        }
        all.push(slow);
    }
    Some(Slowest(all))
}
