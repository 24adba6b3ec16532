//! Histograms that bpftrace and the tools of bcc print.

use crate::Unit;
use crate::bins::{BinLines, Collected};
use crate::error::shown;
use crate::histogram::Bin;

/// Whether a line is a row of bpftrace: `[2, 4)   17 |@@@   |`.
fn is_row(line: &str) -> bool {
    let line = line.trim();
    (line.starts_with('[') || line.starts_with("(...,")) && line.ends_with('|')
}

pub(crate) fn is_bpftrace(lines: &[&str], _file: &str) -> bool {
    lines.windows(2).any(|two| map_of(two[0]).is_some() && is_row(two[1]))
}

/// `@usecs:` and `@usecs[read, 3]:` begin a map.
fn map_of(line: &str) -> Option<&str> {
    let line = line.trim();
    line.strip_suffix(':').filter(|name| name.starts_with('@'))
}

/// The unit that the name of a map says, such as `@read_us`.
fn unit_of(map: &str) -> Option<Unit> {
    let name = map.trim_start_matches('@').split('[').next()?;
    name.rsplit('_').find_map(Unit::of_word)
}

/// `512`, `64K`, `1M`: powers of 1,024.
fn bound(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, power) = match text.char_indices().next_back()? {
        (at, 'K') => (&text[..at], 1),
        (at, 'M') => (&text[..at], 2),
        (at, 'G') => (&text[..at], 3),
        (at, 'T') => (&text[..at], 4),
        (at, 'P') => (&text[..at], 5),
        _ => (text, 0),
    };
    let number: i64 = digits.parse().ok()?;
    Some(number as f64 * 1024_f64.powi(power))
}

fn row(line: &str) -> Option<Bin> {
    let line = line.trim();
    let end = line.find([')', ']'])?;
    let (range, rest) = (line.get(1..end)?, line.get(end + 1..)?);
    let (count, picture) = rest.trim_start().split_once('|')?;
    let count = count.trim().parse().ok()?;
    let (low, high) = match range.split_once(',') {
        None => (bound(range)?, bound(range)?),
        Some((low, high)) => {
            let low = if low.trim() == "..." { f64::NEG_INFINITY } else { bound(low)? };
            (low, if high.trim() == "..." { f64::INFINITY } else { bound(high)? })
        }
    };
    picture.ends_with('|').then_some(Bin { low, high, count })
}

/// The maps of an output, each a series.
#[derive(Debug, Default)]
pub(crate) struct Bpftrace {
    map: Option<String>,
}

impl BinLines for Bpftrace {
    fn line(&mut self, line: &str, to: &mut Collected) -> Result<(), String> {
        if let Some(map) = map_of(line) {
            // Whether the later one counts on or was cleared before, its output does not say.
            if to.has(map) {
                return Err(format!("`{}` is printed a second time: keep the one that is meant", shown(map)));
            }
            self.map = Some(map.into());
            return Ok(());
        }
        if !is_row(line) {
            let is_cut = self.map.is_some() && line.trim_start().starts_with('[');
            if is_cut {
                return Err(format!("`{}` is no row of a histogram, or is cut off", shown(line.trim())));
            }
            self.map = None;
            return Ok(());
        }
        let Some(map) = &self.map else {
            return Err("a row of a histogram stands below no name of a map".into());
        };
        let bin = row(line).ok_or_else(|| format!("`{}` is no row of a histogram", shown(line.trim())))?;
        to.add(map, unit_of(map), bin)
    }
}

/// `     usecs               : count     distribution`: the unit of a table of bcc.
fn bcc_head(line: &str) -> Option<&str> {
    let (unit, rest) = line.split_once(':')?;
    rest.split_ascii_whitespace().eq(["count", "distribution"]).then(|| unit.trim())
}

pub(crate) fn is_bcc(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| bcc_head(line).is_some())
}

/// Tables of bcc, one an interval, each perhaps below what it is about: `disk = 'sda'`.
#[derive(Debug, Default)]
pub(crate) struct Bcc {
    heading: String,
    unit: Option<Option<Unit>>,
}

impl BinLines for Bcc {
    fn line(&mut self, line: &str, to: &mut Collected) -> Result<(), String> {
        let line = line.trim();
        if let Some(unit) = bcc_head(line) {
            let unit = Unit::of_word(unit);
            self.unit = Some(unit);
            return to.name(&self.heading, unit);
        }
        let Some(unit) = self.unit.filter(|_| line.contains("->")) else {
            if line.contains(" = ") {
                self.heading = line.into();
            } else if !line.is_empty() && self.unit.is_some() && line.ends_with('|') {
                return Err(format!("`{}` is no row of a histogram", shown(line)));
            }
            if line.is_empty() {
                self.unit = None;
            }
            return Ok(());
        };
        let wrong = || format!("`{}` is no row of a histogram, or is cut off", shown(line));
        let (range, rest) = line.split_once(':').ok_or_else(wrong)?;
        let (low, high) = range.split_once("->").ok_or_else(wrong)?;
        let (count, picture) = rest.split_once('|').ok_or_else(wrong)?;
        let whole = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        if !picture.ends_with('|') {
            return Err(wrong());
        }
        // Times are cut to whole ones before they are counted.
        let (low, high) = (whole(low)? as f64, whole(high)? as f64 + 1.0);
        to.add(&self.heading, unit, Bin { low, high, count: whole(count)? })
    }
}
