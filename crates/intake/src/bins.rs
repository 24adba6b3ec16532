//! Gathers the bins of a file by series.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use crate::error::{listed, shown};
use crate::histogram::{Bin, Histogram};
use crate::{Unit, Wanted};

/// Most bins of a file that hold values.
const MOST_BINS: usize = 1 << 22;

/// Most series of a file.
const MOST_SERIES: usize = 1 << 16;

/// A bound as a key.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bound(f64);

impl Eq for Bound {}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Bound) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bound {
    fn cmp(&self, other: &Bound) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[derive(Debug, Default)]
struct Counted {
    unit: Option<Unit>,
    bins: BTreeMap<(Bound, Bound), u64>,
    count: u64,
}

/// Gathers the bins of a file by series; the same bins of a series are added up.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    order: Vec<String>,
    series: HashMap<String, Counted>,
    origins: HashMap<String, String>,
    bins: usize,
    /// Said with what was taken.
    pub note: Option<String>,
}

impl Collected {
    /// Whether the file has this series already.
    pub fn has(&self, series: &str) -> bool {
        self.series.contains_key(series)
    }

    /// A series that may have no values.
    pub fn name(&mut self, series: &str, unit: Option<Unit>) -> Result<(), String> {
        if self.has(series) {
            return Ok(());
        }
        if self.order.len() == MOST_SERIES {
            return Err("it holds too many series".into());
        }
        self.order.push(series.into());
        self.series.insert(series.into(), Counted { unit, ..Counted::default() });
        Ok(())
    }

    /// Refuses a series that another origin has given before.
    pub fn of_origin(&mut self, series: &str, origin: &str) -> Result<(), String> {
        match self.origins.entry(series.into()).or_insert_with(|| origin.into()) {
            known if known == origin => Ok(()),
            _ => Err(format!("`{}` comes from several resources: keep one of them", shown(series))),
        }
    }

    /// Forgets the values of a series, of which better ones follow.
    pub fn forget(&mut self, series: &str) {
        if let Some(counted) = self.series.get_mut(series) {
            self.bins -= counted.bins.len();
            *counted = Counted { unit: counted.unit, ..Counted::default() };
        }
    }

    /// Adds to a bin of a series.
    pub fn add(&mut self, series: &str, unit: Option<Unit>, bin: Bin) -> Result<(), String> {
        self.name(series, unit)?;
        if bin.low.is_nan() || bin.high.is_nan() || bin.low > bin.high {
            return Err(format!("no bin reaches from {} to {}", bin.low, bin.high));
        }
        let Some(counted) = self.series.get_mut(series).filter(|_| bin.count > 0) else { return Ok(()) };
        counted.count = counted.count.checked_add(bin.count).ok_or("it counts more values than 2^64")?;
        // Zero has one key, whatever its sign.
        let key = (Bound(bin.low + 0.0), Bound(bin.high + 0.0));
        let known = counted.bins.len();
        *counted.bins.entry(key).or_default() += bin.count;
        self.bins += counted.bins.len() - known;
        match self.bins > MOST_BINS {
            true => Err("it holds more bins than are read".into()),
            false => Ok(()),
        }
    }

    /// The series that is wanted.
    pub fn finish(
        mut self,
        wanted: &Wanted,
        format: &'static str,
        out: &'static str,
    ) -> Result<Histogram, String> {
        let all = || listed(self.order.iter().map(String::as_str));
        let with_values: Vec<&String> =
            self.order.iter().filter(|name| self.series[*name].count > 0).collect();
        let chosen = match (&wanted.column, &with_values[..]) {
            (Some(asked), _) if self.has(asked) => asked.clone(),
            (Some(asked), _) => return Err(format!("it has no series `{}`; it has {}", shown(asked), all())),
            (None, []) => return Err(format!("{format}: all of its bins are empty")),
            (None, [only]) => (*only).clone(),
            (None, several) => {
                let names = listed(several.iter().map(|name| name.as_str()));
                return Err(format!("{format} holds several series: choose one with --column: {names}"));
            }
        };
        let others = self.order.len() - 1;
        let Some(counted) = self.series.remove(&chosen).filter(|counted| counted.count > 0) else {
            return Err(format!("{format}: the bins of `{}` are empty", shown(&chosen)));
        };
        let bins: Vec<Bin> = counted
            .bins
            .into_iter()
            .map(|((low, high), count)| Bin { low: low.0, high: high.0, count })
            .collect();
        let told = told(&(format, chosen.as_str(), counted.unit), &bins, others, self.note.as_deref());
        Ok(Histogram { bins, count: counted.count, unit: counted.unit, series: chosen, format, out, told })
    }
}

fn told(
    (format, series, unit): &(&str, &str, Option<Unit>),
    bins: &[Bin],
    others: usize,
    note: Option<&str>,
) -> String {
    let count = samples::units::count;
    let values: u64 = bins.iter().map(|bin| bin.count).sum();
    let mut text = format!("{format}: {}", if series.is_empty() { "values".into() } else { shown(series) });
    if let Some(unit) = unit {
        text += &format!(" in {}", unit.symbol());
    }
    let plural = |n: u64, one: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{} {one}s", count(n)),
    };
    text += &format!(", {} in {}", plural(values, "value"), plural(bins.len() as u64, "bin"));
    let mut left_out: Vec<String> = note.into_iter().map(Into::into).collect();
    match others {
        0 => {}
        1 => left_out.push("1 other series".into()),
        others => left_out.push(format!("{} other series", count(others as u64))),
    }
    if !left_out.is_empty() {
        text += &format!(" ({})", left_out.join("; "));
    }
    text
}

/// Reads lines that count the values of bins.
pub(crate) trait BinLines {
    /// The next line, as it is.
    fn line(&mut self, line: &str, to: &mut Collected) -> Result<(), String>;

    /// After the last line: what is missing.
    fn end(&mut self, _to: &mut Collected) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Values in bins of any widths, which may overlap, against the sorted values themselves.
        #[test]
        fn the_value_of_each_rank_is_within_its_bounds(
            values in prop::collection::vec((0_u32..1000, 0_u32..50, 0_u32..50), 1..60),
        ) {
            let mut to = Collected::default();
            for (value, below, above) in &values {
                let (low, high) = (f64::from(*value) - f64::from(*below), f64::from(value + above));
                to.add("", None, Bin { low, high, count: 1 }).unwrap();
            }
            let found = to.finish(&Wanted::default(), "test", "").unwrap();
            let mut sorted: Vec<u32> = values.iter().map(|(value, ..)| *value).collect();
            sorted.sort_unstable();
            prop_assert_eq!(found.count, sorted.len() as u64);
            for (at, value) in sorted.iter().enumerate() {
                let [low, high] = found.rank(at as u64 + 1).unwrap();
                prop_assert!(low <= f64::from(*value) && f64::from(*value) <= high);
            }
            prop_assert_eq!(found.rank(0), None);
            prop_assert_eq!(found.rank(found.count + 1), None);
        }
    }

    #[test]
    fn bins_that_are_none_and_counts_without_end_are_refused() {
        let mut to = Collected::default();
        assert!(to.add("", None, Bin { low: 2.0, high: 1.0, count: 1 }).is_err());
        assert!(to.add("", None, Bin { low: f64::NAN, high: 1.0, count: 1 }).is_err());
        to.add("", None, Bin { low: 0.0, high: 1.0, count: u64::MAX }).unwrap();
        assert!(to.add("", None, Bin { low: 1.0, high: 2.0, count: 1 }).is_err());
    }
}
