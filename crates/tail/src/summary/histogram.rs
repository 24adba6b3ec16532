//! How are all values distributed, in bounded memory and with bounded relative error?

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Cells an octave: a cell is at most 1.6 % wide.
const CELLS: u32 = 64;

/// A log-linear histogram: each power of two is cut into 64 equal cells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Values that are not positive.
    below: u64,
    /// Count by cell.
    cells: BTreeMap<i32, u64>,
}

impl Histogram {
    /// Add `count` values.
    pub fn push(&mut self, value: f64, count: u64) {
        match cell(value) {
            Some(cell) => *self.cells.entry(cell).or_default() += count,
            None => self.below += count,
        }
    }

    /// Add another.
    pub fn merge(&mut self, other: &Histogram) {
        self.below += other.below;
        for (cell, count) in &other.cells {
            *self.cells.entry(*cell).or_default() += count;
        }
    }

    /// The middle of the cell that holds the order statistic of this index, from 0; 0 for values that are
    /// not positive.
    pub fn at(&self, index: u64) -> f64 {
        let mut seen = self.below;
        if index < seen {
            return 0.0;
        }
        for (cell, count) in &self.cells {
            seen += count;
            if index < seen {
                let (low, high) = ends(*cell);
                return 0.5 * (low + high);
            }
        }
        self.cells.last_key_value().map_or(0.0, |(cell, _)| ends(*cell).1)
    }

    /// Cells with their ends and counts, ascending.
    pub fn cells(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        self.cells.iter().map(|(cell, count)| {
            let (low, high) = ends(*cell);
            (low, high, *count)
        })
    }
}

/// Cell of a positive value: exponent and the leading bits of the fraction.
fn cell(value: f64) -> Option<i32> {
    if !(value >= f64::MIN_POSITIVE && value.is_finite()) {
        return None;
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let part = ((bits >> (52 - CELLS.trailing_zeros())) & u64::from(CELLS - 1)) as i32;
    Some(exponent * CELLS as i32 + part)
}

fn ends(cell: i32) -> (f64, f64) {
    let octave = 2f64.powi(cell.div_euclid(CELLS as i32));
    let part = f64::from(cell.rem_euclid(CELLS as i32));
    let width = octave / f64::from(CELLS);
    (octave + part * width, octave + (part + 1.0) * width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_cell() {
        for value in [1e-12, 0.3, 1.0, 1.5, 1.999, 2.0, 7e9] {
            let (low, high) = ends(cell(value).unwrap());
            assert!(low <= value && value < high && high / low < 1.016, "{value}: {low} {high}");
        }
        assert_eq!(cell(0.0), None);
    }
}
