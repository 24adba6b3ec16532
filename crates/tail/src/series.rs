//! Holds a series of values: the finite ones in time order, the number dropped, ties and the clock's tick.

use serde::{Deserialize, Serialize};

use crate::takers::Takers;
use crate::{Error, ordered};

/// Numbers of values dropped because they are not finite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Not a number.
    pub nan: usize,
    /// Plus or minus infinity.
    pub infinite: usize,
}

impl Dropped {
    /// Total number dropped.
    pub fn total(&self) -> usize {
        self.nan + self.infinite
    }
}

/// Finite values in time order and sorted, with facts about ties.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    values: Vec<f64>,
    sorted: Vec<f64>,
    /// The place in time of each of them, from 0.
    places: Vec<u32>,
    dropped: Dropped,
    distinct: usize,
    tick: Option<f64>,
    takers: Option<Takers>,
}

/// Fails where squares of most values, of which statistics are made, are none that a double holds with all its digits. A
/// single value may be as large as it likes: it is told as what moves a fit.
///
/// # Errors
/// The median of the magnitudes is beyond 1e150, or below 1e-150.
pub fn can_be_squared(values: &[f64]) -> Result<(), Error> {
    const LARGEST: f64 = 1e150;
    let mut magnitudes: Vec<f64> = values.iter().map(|x| x.abs()).filter(|x| *x > 0.0).collect();
    let middle = magnitudes.len() / 2;
    if magnitudes.is_empty() {
        return Ok(());
    }
    let (_, median, _) = magnitudes.select_nth_unstable_by(middle, f64::total_cmp);
    match (1.0 / LARGEST..=LARGEST).contains(median) {
        true => Ok(()),
        false => Err(Error::Scale { value: *median }),
    }
}

impl Series {
    /// Keeps the finite values of `raw` in order and counts the rest.
    pub fn clean(raw: &[f64]) -> Series {
        let mut dropped = Dropped::default();
        let mut values = raw.to_vec();
        let not_finite = raw.iter().filter(|x| !x.is_finite()).count();
        if not_finite > 0 {
            values.retain(|x| x.is_finite());
            dropped.nan = raw.iter().filter(|x| x.is_nan()).count();
            dropped.infinite = not_finite - dropped.nan;
        }
        let (sorted, places) = ordered::with_places(&values);
        let distinct =
            if sorted.is_empty() { 0 } else { 1 + sorted.windows(2).filter(|w| w[1] > w[0]).count() };
        let tick = if distinct < sorted.len() { tick(&sorted) } else { None };
        Series { values, sorted, places, dropped, distinct, tick, takers: None }
    }

    /// The same of values that several took in turns; `who` took each of `raw`: nobody where one took all.
    pub fn taken_by(raw: &[f64], who: &[u32]) -> Series {
        let of_finite: Vec<u32> =
            raw.iter().zip(who).filter(|(x, _)| x.is_finite()).map(|(_, who)| *who).collect();
        Series { takers: Takers::of(&of_finite), ..Series::clean(raw) }
    }

    /// Who took the values, where several did.
    pub fn takers(&self) -> Option<&Takers> {
        self.takers.as_ref()
    }

    /// Fails if no extreme-value distribution can be fitted: all values equal, too few, or too few distinct.
    pub fn require(&self, needed: usize, needed_distinct: usize) -> Result<(), Error> {
        if self.len() < needed {
            return Err(Error::TooFew { found: self.len(), needed });
        }
        if self.distinct == 1 {
            return Err(Error::Constant { count: self.len(), value: self.values[0] });
        }
        if self.distinct < needed_distinct {
            return Err(Error::TooFewDistinct { found: self.distinct, needed: needed_distinct });
        }
        Ok(())
    }

    /// The finite values in time order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The finite values in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The place in time of each of [`Series::sorted`], from 0; equal values in the order of time.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// A threshold or centre for a method, by linear interpolation of order statistics; NaN when empty. A quantile of the
    /// sample that is told is [`Series::measured`].
    pub fn quantile(&self, p: f64) -> f64 {
        sorted_quantile(&self.sorted, p)
    }

    /// The quantile of the sample as it is told ([`measured_quantile`]): a value that was measured; NaN when empty.
    pub fn measured(&self, p: f64) -> f64 {
        measured_quantile(&self.sorted, p)
    }

    /// Number of finite values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no finite value is left.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The numbers of dropped values.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Number of distinct values.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// The clock's tick: the largest step of which all differences are multiples. `None` without ties, or
    /// when no step well above rounding fits.
    pub fn tick(&self) -> Option<f64> {
        self.tick
    }

    /// Number of occurrences of the smallest value.
    pub fn minimum_count(&self) -> usize {
        count_equal_to_first(&self.sorted)
    }
}

/// Number of occurrences of the first value of an ascending slice.
pub(crate) fn count_equal_to_first(sorted: &[f64]) -> usize {
    sorted.iter().take_while(|&&x| x == sorted[0]).count()
}

/// The `p` quantile of ascending values as it is told: the smallest that at least the share `p` of them does not exceed, which
/// is the value of rank ⌈p·n⌉ (Hyndman, Fan 1996, definition 1), so that it is a value that was measured; NaN of none.
///
/// The same as `samples::quantile_rank`, which this crate may not use; a test of `results` holds them together.
pub fn measured_quantile(sorted: &[f64], p: f64) -> f64 {
    let n = sorted.len();
    // 0.07 · 100 is a little more than 7.
    let rank = (p.clamp(0.0, 1.0) * n as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as usize;
    if n == 0 { f64::NAN } else { sorted[rank.clamp(1, n) - 1] }
}

/// A point within ascending values where a method begins or is centred, and an end of a bootstrap interval: by linear
/// interpolation of order statistics (Hyndman, Fan 1996, definition 7). No quantile of a sample is told by it: that is
/// [`measured_quantile`].
pub fn sorted_quantile(sorted: &[f64], p: f64) -> f64 {
    let n = sorted.len();
    if n == 0 {
        return f64::NAN;
    }
    let at = (p.clamp(0.0, 1.0)) * (n - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(n - 1);
    let part = at - below as f64;
    if part == 0.0 { sorted[below] } else { sorted[below] + part * (sorted[above] - sorted[below]) }
}

/// Euclid's algorithm on the gaps, with a tolerance for rounded decimal fractions.
fn tick(sorted: &[f64]) -> Option<f64> {
    let largest = sorted[0].abs().max(sorted[sorted.len() - 1].abs());
    let noise = 8.0 * f64::EPSILON * largest;
    let mut step = f64::INFINITY;
    for pair in sorted.windows(2) {
        let gap = pair[1] - pair[0];
        if gap > noise && gap < step {
            step = gap;
        }
    }
    if !step.is_finite() {
        return None;
    }
    let origin = sorted[0];
    for &x in sorted {
        let mut rest = x - origin;
        // The remainder replaces the step until it is within rounding error.
        loop {
            rest -= step * (rest / step).round();
            let rounding = noise.max(step * 1e-7);
            if rest.abs() <= rounding {
                break;
            }
            step = rest.abs();
            rest = x - origin;
            if step < 64.0 * noise {
                return None;
            }
        }
    }
    // The mean step over the range is closer to the truth than one rounded gap.
    let range = sorted[sorted.len() - 1] - origin;
    Some(range / (range / step).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_finite_are_counted_and_left_out() {
        let series = Series::clean(&[1.0, f64::NAN, 3.0, f64::INFINITY, 2.0, f64::NEG_INFINITY]);
        assert_eq!(series.values(), [1.0, 3.0, 2.0]);
        assert_eq!(series.sorted(), [1.0, 2.0, 3.0]);
        assert_eq!(series.dropped(), Dropped { nan: 1, infinite: 2 });
    }

    #[test]
    fn the_tick_is_found_in_rounded_decimals() {
        let series = Series::clean(&[4.03, 3.83, 3.65, 3.88, 4.01, 3.83]);
        assert!((series.tick().unwrap() - 0.01).abs() < 1e-12);
        let series = Series::clean(&[41.0, 123.0, 123.0, 205.0, 410.0]);
        assert_eq!(series.tick(), Some(41.0));
    }

    #[test]
    fn there_is_no_tick_without_ties() {
        assert_eq!(Series::clean(&[0.1, 0.25, 0.3]).tick(), None);
        assert_eq!(Series::clean(&[]).tick(), None);
    }

    #[test]
    fn degenerate_data_are_refused_with_their_reason() {
        assert_eq!(Series::clean(&[2.0; 9]).require(5, 4), Err(Error::Constant { count: 9, value: 2.0 }));
        assert_eq!(Series::clean(&[1.0, 2.0]).require(5, 4), Err(Error::TooFew { found: 2, needed: 5 }));
        let two = Series::clean(&[1.0, 2.0, 1.0, 2.0, 1.0]);
        assert_eq!(two.require(5, 4), Err(Error::TooFewDistinct { found: 2, needed: 4 }));
    }
}
