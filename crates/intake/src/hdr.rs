//! HdrHistogram: its printed percentiles, and its log of compressed histograms (V2).

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::Unit;
use crate::bins::{BinLines, Collected};
use crate::error::shown;
use crate::histogram::Bin;

/// The fields of a line of percentiles, between blanks or, of CSV, commas.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split(|sign: char| sign.is_ascii_whitespace() || sign == ',');
    parts.map(|part| part.trim_matches('"')).filter(|part| !part.is_empty())
}

fn is_head(line: &str) -> bool {
    fields(line).eq(["Value", "Percentile", "TotalCount", "1/(1-Percentile)"])
}

pub(crate) fn are_percentiles(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| is_head(line))
}

/// A table of percentiles: a row says how many values are not above its own.
#[derive(Debug, Default)]
pub(crate) struct Percentiles {
    unit: Option<Unit>,
    is_csv: bool,
    stage: Stage,
    below: f64,
    count: u64,
    percentile: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Stage {
    #[default]
    Ahead,
    Within,
    Ended,
}

impl Percentiles {
    fn row(&mut self, line: &str, to: &mut Collected) -> Result<(), String> {
        let wrong = || format!("`{}` is no row of percentiles", shown(line));
        let all: Vec<&str> = fields(line).collect();
        let [value, percentile, count, ..] = all[..] else { return Err(wrong()) };
        let value: f64 = value.parse().map_err(|_| wrong())?;
        let percentile: f64 = percentile.parse().map_err(|_| wrong())?;
        let count: u64 = count.parse().map_err(|_| wrong())?;
        if all.len() > 4 || !value.is_finite() || !(0.0..=1.0).contains(&percentile) {
            return Err(wrong());
        }
        let new = count.checked_sub(self.count).filter(|_| value >= self.below);
        let new = new.ok_or_else(|| format!("`{}` is below the row before it", shown(line)))?;
        to.add("", self.unit, Bin { low: self.below, high: value, count: new })?;
        (self.below, self.count, self.percentile) = (value, count, percentile);
        Ok(())
    }

    /// `#[Max = 4.812, Total count = 100]` says how many values there are.
    fn footer(&mut self, line: &str) -> Result<(), String> {
        self.stage = Stage::Ended;
        let Some((_, total)) = line.rsplit_once('=').filter(|_| line.contains("otal")) else { return Ok(()) };
        let total: Option<f64> = total.trim().trim_end_matches(']').parse().ok();
        match total == Some(self.count as f64) {
            true => Ok(()),
            false => Err(format!("`{}`, and the rows above count {}", shown(line), self.count)),
        }
    }
}

impl BinLines for Percentiles {
    fn line(&mut self, line: &str, to: &mut Collected) -> Result<(), String> {
        let line = line.trim();
        if is_head(line) {
            if self.stage != Stage::Ahead {
                return Err("a second histogram begins: give one alone".into());
            }
            self.is_csv = line.contains(',');
            self.stage = Stage::Within;
            return to.name("", self.unit);
        }
        match self.stage {
            // wrk2 prints its table in milliseconds.
            Stage::Ahead if line == "Detailed Percentile spectrum:" => self.unit = Some(Unit::Ms),
            Stage::Within if line.starts_with("#[") => self.footer(line)?,
            Stage::Within if !line.is_empty() => self.row(line, to)?,
            Stage::Ended if line.starts_with("#[") => self.footer(line)?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _to: &mut Collected) -> Result<(), String> {
        let is_whole = self.stage == Stage::Ended || (self.is_csv && self.percentile >= 1.0);
        match is_whole {
            true => Ok(()),
            false => Err(format!("the table of percentiles is cut off at {}", self.percentile)),
        }
    }
}

/// The beginning of a histogram in a log: its mark in base64.
const MARK: &str = "HISTFAAA";

pub(crate) fn is_log(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| {
        line.starts_with("\"StartTimestamp\",\"Interval_Length\"")
            || line.rsplit_once(',').is_some_and(|(_, last)| last.starts_with(MARK))
    })
}

/// Intervals, each with its histogram.
#[derive(Debug, Default)]
pub(crate) struct Log {
    intervals: u64,
}

impl BinLines for Log {
    fn line(&mut self, line: &str, to: &mut Collected) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("\"StartTimestamp\"") {
            return Ok(());
        }
        let (tag, rest) = match line.strip_prefix("Tag=") {
            Some(tagged) => tagged.split_once(',').unwrap_or((tagged, "")),
            None => ("", line),
        };
        let parts: Vec<&str> = rest.split(',').collect();
        let [start, length, largest, packed] = parts[..] else {
            return Err(format!("`{}` is no interval: start, length, maximum, histogram", shown(line)));
        };
        if [start, length, largest].iter().any(|part| part.trim().parse::<f64>().is_err()) {
            return Err(format!("`{}` is no interval: start, length, maximum, histogram", shown(line)));
        }
        to.name(tag, None)?;
        histogram(packed.trim(), tag, to)?;
        self.intervals += 1;
        to.note = Some(match self.intervals {
            1 => "1 interval".into(),
            n => format!("{} intervals added up", samples::units::count(n)),
        });
        Ok(())
    }
}

/// Most bytes that a histogram unpacks to.
const MOST_BYTES: u64 = 64 << 20;

/// Bytes before the counts.
const HEAD: usize = 40;

/// Adds the bins of a histogram in base64.
fn histogram(text: &str, series: &str, to: &mut Collected) -> Result<(), String> {
    let bytes = base64(text).ok_or("its histogram is no base64, or is cut off")?;
    if number(&bytes, 0) != Some(0x1c84_9314) {
        return Err("its histogram is none of the second version (HISTFAAA…): log it anew by a library from 2015 or later".into());
    }
    let length = number(&bytes, 4).ok_or("its histogram is cut off")? as usize;
    let packed = bytes.get(8..8 + length).ok_or("its histogram is cut off")?;
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(packed).take(MOST_BYTES).read_to_end(&mut plain);
    read.map_err(|error| format!("its histogram cannot be unpacked ({error})"))?;
    let word = |at: usize| number(&plain, at).ok_or("its histogram is cut off");
    if word(0)? != 0x1c84_9313 {
        return Err("its histogram holds another kind of counts than whole values (V2)".into());
    }
    let counts = plain.get(HEAD..HEAD + word(4)? as usize).ok_or("its histogram is cut off")?;
    let digits = word(12)?;
    let lowest = u64::from(word(16)?) << 32 | u64::from(word(20)?);
    let ratio = f64::from_bits(u64::from(word(32)?) << 32 | u64::from(word(36)?));
    if !(1..=5).contains(&digits) || lowest == 0 || word(8)? != 0 || !(ratio > 0.0 && ratio.is_finite()) {
        return Err("its histogram has settings that no histogram of whole values has".into());
    }
    let layout = Slots::new(digits, lowest);
    let mut at = 0_u64;
    let mut counts = counts;
    while let Some(word) = zigzag(&mut counts)? {
        if word < 0 {
            at = at.checked_add(word.unsigned_abs()).ok_or("its histogram is damaged")?;
            continue;
        }
        let (low, high) = layout.bounds(at).ok_or("its histogram is damaged")?;
        let bin = Bin { low: low as f64 * ratio, high: high as f64 * ratio, count: word.unsigned_abs() };
        to.add(series, None, bin)?;
        at += 1;
    }
    Ok(())
}

/// Four bytes, the highest first.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

/// The next signed number of at most nine bytes of seven bits; the ninth has eight. None at the end.
fn zigzag(bytes: &mut &[u8]) -> Result<Option<i64>, String> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut word = 0_u64;
    for at in 0..9 {
        let (first, rest) = bytes.split_first().ok_or("its histogram is cut off")?;
        *bytes = rest;
        let last = at == 8;
        word |= u64::from(if last { *first } else { first & 0x7f }) << (7 * at);
        if last || first & 0x80 == 0 {
            break;
        }
    }
    Ok(Some((word >> 1) as i64 ^ -((word & 1) as i64)))
}

/// Which values the slots of a histogram hold: halves of ever larger buckets, each of so many slots of equal width.
struct Slots {
    half: u32,
    unit: u32,
}

impl Slots {
    fn new(digits: u32, lowest: u64) -> Slots {
        // As many slots as tell numbers of so many digits apart.
        let slots = (2 * 10_u64.pow(digits)).next_power_of_two();
        Slots { half: slots.ilog2() - 1, unit: lowest.ilog2() }
    }

    /// The smallest and the largest whole number of a slot.
    fn bounds(&self, slot: u64) -> Option<(u64, u64)> {
        let half = 1_u64 << self.half;
        let bucket = slot >> self.half;
        let (shift, within) = match bucket {
            0 | 1 => (self.unit, slot),
            _ => (u32::try_from(bucket - 1).ok()?.checked_add(self.unit)?, (slot & (half - 1)) + half),
        };
        let is_in_range = shift.saturating_add(self.half + 1) < 64;
        is_in_range.then(|| (within << shift, (within << shift) + ((1 << shift) - 1)))
    }
}

/// The bytes of a text in base64.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let six = |sign: &u8| {
        Some(match sign {
            b'A'..=b'Z' => sign - b'A',
            b'a'..=b'z' => sign - b'a' + 26,
            b'0'..=b'9' => sign - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        })
    };
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for four in text.chunks(4) {
        if four.len() == 1 {
            return None;
        }
        let mut word = 0_u32;
        for at in 0..4 {
            word = word << 6 | u32::from(four.get(at).map_or(Some(0), six)?);
        }
        bytes.extend_from_slice(&word.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_one_another_and_widen_by_doubling() {
        for (digits, lowest) in [(1, 1), (2, 1), (3, 1000), (5, 1)] {
            let slots = Slots::new(digits, lowest);
            let mut next = 0;
            for slot in 0..100_000 {
                let Some((low, high)) = slots.bounds(slot) else { break };
                assert_eq!(low, next, "{digits} {lowest} {slot}");
                assert!((high - low) as f64 <= high as f64 / 10_f64.powi(digits as i32) + lowest as f64);
                next = high + 1;
            }
        }
    }

    #[test]
    fn slots_beyond_all_numbers_are_none() {
        let slots = Slots::new(3, 1 << 20);
        for slot in [u64::MAX, u64::MAX / 2, 1 << 42, 1 << 20] {
            assert_eq!(slots.bounds(slot), None, "{slot}");
        }
    }

    #[test]
    fn base64_is_bytes() {
        assert_eq!(base64("").unwrap(), b"");
        assert_eq!(base64("Zg==").unwrap(), b"f");
        assert_eq!(base64("Zm8=").unwrap(), b"fo");
        assert_eq!(base64("Zm9vYmE").unwrap(), b"fooba");
        assert_eq!(base64("Zm9vYmFy").unwrap(), b"foobar");
        assert!(base64("Z").is_none() && base64("Zm 8").is_none());
    }

    #[test]
    fn signed_numbers_are_read_to_their_end() {
        let all = |mut bytes: &[u8]| {
            let mut found = Vec::new();
            while let Some(word) = zigzag(&mut bytes).unwrap() {
                found.push(word);
            }
            found
        };
        assert_eq!(all(&[0, 1, 2, 3, 0x80, 1]), [0, -1, 1, -2, 64]);
        assert_eq!(all(&[0xff; 9]), [i64::MIN]);
        assert!(zigzag(&mut &[0x80][..]).is_err());
    }
}
