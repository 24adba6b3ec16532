//! The bins of fio: of JSON+ and of its histogram logs, both in nanoseconds.

use serde_json::Value;

use crate::Unit;
use crate::bins::{BinLines, Collected};
use crate::error::shown;
use crate::histogram::Bin;

/// Slots in which the widths of bins stay the same.
const GROUP: u64 = 64;

/// Bins of a log that leaves none out: 29 groups.
const ALL: u64 = 29 * GROUP;

/// The first number of a bin, which is that after the last one of the bin before.
fn first(bin: u64) -> u64 {
    match bin / GROUP {
        0 | 1 => bin,
        group => (GROUP + bin % GROUP) << (group - 1),
    }
}

/// The bin that fio names by the number in its middle.
fn around(middle: u64) -> Option<Bin> {
    let width = match middle {
        m if m < 2 * GROUP => return Some(exactly(m)),
        m => 1_u64 << (m.ilog2() - GROUP.ilog2()),
    };
    let low = middle.checked_sub(width / 2)?;
    // In the middle of what begins at a multiple of its width.
    (low % width == 0).then(|| Bin { low: low as f64, high: low.saturating_add(width - 1) as f64, count: 0 })
}

fn exactly(number: u64) -> Bin {
    Bin { low: number as f64, high: number as f64, count: 0 }
}

/// Each job's reads, writes, trims: their completion, submission and total latencies.
pub(crate) fn json_plus(document: &Value, to: &mut Collected) -> Result<(), String> {
    let jobs = document["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    for job in jobs {
        let name = job["jobname"].as_str().unwrap_or_default();
        for direction in ["read", "write", "trim", "sync"] {
            for (kind, words) in [("clat_ns", "clat"), ("lat_ns", "lat"), ("slat_ns", "slat")] {
                let series = format!("{name} {direction} {words}");
                let Some(bins) = job[direction][kind]["bins"].as_object() else { continue };
                for (middle, count) in bins {
                    let wrong = || format!("{series}: `{}: {count}` is no bin of fio", shown(middle));
                    let bin = middle.parse().ok().and_then(around).ok_or_else(wrong)?;
                    let count = count.as_u64().ok_or_else(wrong)?;
                    to.add(&series, Some(Unit::Ns), Bin { count, ..bin })?;
                }
            }
        }
    }
    Ok(())
}

/// Time, direction, block size and the counts of bins, of which a coarser log joins 2, 4, … 64.
fn parts(line: &str) -> Option<(&'static str, u64, Vec<u64>)> {
    let mut fields = line.split(',').map(|field| field.trim().parse::<u64>());
    let (_time, direction, _size) = (fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?);
    let counts: Vec<u64> = fields.collect::<Result<_, _>>().ok()?;
    let series = ["read", "write", "trim"].get(usize::try_from(direction).ok()?)?;
    let joined = (0..=6).map(|coarse| 1 << coarse).find(|joined| ALL / joined == counts.len() as u64)?;
    Some((series, joined, counts))
}

pub(crate) fn is_log(lines: &[&str], _file: &str) -> bool {
    lines.first().is_some_and(|line| parts(line).is_some())
}

/// A line of counts for each interval and direction.
#[derive(Debug, Default)]
pub(crate) struct HistogramLog {
    joined: Option<u64>,
}

impl BinLines for HistogramLog {
    fn line(&mut self, line: &str, to: &mut Collected) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        let found = parts(line).filter(|(_, joined, _)| *self.joined.get_or_insert(*joined) == *joined);
        let Some((series, joined, counts)) = found else {
            return Err(format!(
                "`{}` has not the counts that the first line has, or is cut off",
                shown(line)
            ));
        };
        to.name(series, Some(Unit::Ns))?;
        for (at, count) in (0..).zip(counts) {
            let (low, high) = (first(at * joined), first((at + 1) * joined) - 1);
            // The last bin takes whatever is longer.
            let high = if (at + 1) * joined >= ALL { f64::INFINITY } else { high as f64 };
            to.add(series, Some(Unit::Ns), Bin { low: low as f64, high, count })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_one_another_and_their_middles_lead_back() {
        for at in 0..ALL - 1 {
            let (low, next) = (first(at), first(at + 1));
            assert!(next > low);
            let middle = low + (next - low) / 2;
            let found = around(middle).unwrap();
            assert_eq!((found.low, found.high), (low as f64, (next - 1) as f64), "{at}");
        }
        assert!(around(1001).is_none() && around(0).is_some() && around(u64::MAX).is_none());
        assert!(around(u64::MAX - (1 << 56) + 1).is_some());
    }
}
