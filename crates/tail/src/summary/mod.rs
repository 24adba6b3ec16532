//! What must be kept of a billion durations so that their tail can still be fitted?
//!
//! The largest K exactly, with their times; the maxima of blocks of consecutive values; and a log-linear
//! histogram of all. Memory does not grow with the stream, and summaries of ranks merge into that of all.
//!
//! ```
//! let mut rank0 = tail::summary::Summary::new(100, 50)?;
//! let mut rank1 = rank0.clone();
//! (1..=1000u64).for_each(|i| rank0.push(i as f64 * 1e-6, i));
//! (1..=1000u64).for_each(|i| rank1.push(i as f64 * 2e-6, i));
//! rank0.merge(&rank1)?;
//! assert_eq!(rank0.count(), 2000);
//! assert_eq!(rank0.largest()[0].value, 2000e-6);
//! # Ok::<(), tail::Error>(())
//! ```

mod histogram;

pub use histogram::Histogram;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::assess::quantile_interval;
use crate::{Dropped, Error};

/// A value and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The value.
    pub value: f64,
    /// Its time, in whatever unit the caller counts.
    pub time: u64,
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The smallest value on top of the heap; of equals the latest, so that the earliest are kept.
impl Ord for Timed {
    fn cmp(&self, other: &Self) -> Ordering {
        other.value.total_cmp(&self.value).then(self.time.cmp(&other.time))
    }
}

/// A quantile, exact where it lies among the largest K.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// The probability.
    pub probability: f64,
    /// The order statistic ⌈n p⌉, or the middle of its histogram cell.
    pub value: f64,
    /// Whether it is an order statistic itself.
    pub exact: bool,
    /// Ends of the binomial interval; none where no order statistic reaches the coverage.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
}

/// A streaming summary.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Summary {
    keep: usize,
    block: usize,
    count: u64,
    dropped: Dropped,
    smallest: f64,
    top: Vec<Timed>,
    #[serde(skip)]
    heap: BinaryHeap<Timed>,
    blocks: Vec<f64>,
    open: Option<f64>,
    in_open: usize,
    histogram: Histogram,
}

impl Summary {
    /// Keep the `keep` largest values and the maxima of blocks of `block` values.
    ///
    /// # Errors
    /// [`Error::Parameter`] when either is 0.
    pub fn new(keep: usize, block: usize) -> Result<Summary, Error> {
        for (what, value) in [("values kept", keep), ("block length", block)] {
            if value == 0 {
                return Err(Error::Parameter { what, value: 0.0, must: "at least 1" });
            }
        }
        Ok(Summary {
            keep,
            block,
            count: 0,
            dropped: Dropped::default(),
            smallest: f64::INFINITY,
            top: Vec::new(),
            heap: BinaryHeap::new(),
            blocks: Vec::new(),
            open: None,
            in_open: 0,
            histogram: Histogram::default(),
        })
    }

    /// Take one value; what is not finite is counted and left out.
    pub fn push(&mut self, value: f64, time: u64) {
        if !value.is_finite() {
            if value.is_nan() {
                self.dropped.nan += 1;
            } else {
                self.dropped.infinite += 1;
            }
            return;
        }
        self.count += 1;
        self.smallest = self.smallest.min(value);
        self.histogram.push(value, 1);
        self.keep_if_large(Timed { value, time });
        self.open = Some(self.open.map_or(value, |open| open.max(value)));
        self.in_open += 1;
        if self.in_open == self.block {
            self.blocks.extend(self.open.take());
            self.in_open = 0;
        }
    }

    fn keep_if_large(&mut self, timed: Timed) {
        if self.heap.is_empty() && !self.top.is_empty() {
            // Read back from storage.
            self.heap = std::mem::take(&mut self.top).into();
        }
        if self.heap.len() < self.keep {
            self.heap.push(timed);
        } else if let Some(mut least) = self.heap.peek_mut()
            && timed < *least
        {
            *least = timed;
        }
    }

    /// Add the summary of another rank. An unfinished block of the other is left out of the maxima.
    ///
    /// # Errors
    /// [`Error::Lengths`] when blocks differ in length.
    pub fn merge(&mut self, other: &Summary) -> Result<(), Error> {
        if self.block != other.block {
            return Err(Error::Lengths {
                what: "blocks of two summaries",
                left: self.block,
                right: other.block,
            });
        }
        self.count += other.count;
        self.dropped.nan += other.dropped.nan;
        self.dropped.infinite += other.dropped.infinite;
        self.smallest = self.smallest.min(other.smallest);
        for timed in other.largest() {
            self.keep_if_large(timed);
        }
        // What either did not keep is known no further down than the shorter list.
        self.keep = self.keep.min(other.keep);
        while self.heap.len() > self.keep {
            self.heap.pop();
        }
        self.blocks.extend(&other.blocks);
        self.histogram.merge(&other.histogram);
        Ok(())
    }

    /// The state for storage: call before serialising, so that the largest values are written.
    pub fn settle(&mut self) {
        if !self.heap.is_empty() {
            self.top = self.largest();
            self.heap.clear();
        }
    }

    /// Finite values seen.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What was left out.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// The smallest value; infinite when there is none.
    pub fn smallest(&self) -> f64 {
        self.smallest
    }

    /// The largest values, largest first.
    pub fn largest(&self) -> Vec<Timed> {
        let mut all: Vec<Timed> = self.heap.iter().chain(&self.top).copied().collect();
        all.sort_unstable();
        all
    }

    /// Maxima of the complete blocks, in order.
    pub fn block_maxima(&self) -> &[f64] {
        &self.blocks
    }

    /// The histogram of all values.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// The quantile of probability `p` in (0, 1) with its binomial interval: no model, any law.
    pub fn quantile(&self, p: f64, level: f64) -> Option<Quantile> {
        if self.count == 0 || !(p > 0.0 && p < 1.0) {
            return None;
        }
        let n = self.count as usize;
        let largest = self.largest();
        // From the largest down where it is kept, else from the histogram.
        let at = |index: usize| -> (f64, bool) {
            match largest.get(n - 1 - index.min(n - 1)) {
                Some(timed) => (timed.value, true),
                None => (self.histogram.at(index as u64), false),
            }
        };
        let index = ((p * n as f64).ceil() as usize).clamp(1, n) - 1;
        let (value, exact) = at(index);
        let (lower, upper) = quantile_interval(n, p, level);
        Some(Quantile {
            probability: p,
            value,
            exact,
            lower: lower.map(|i| at(i).0),
            upper: upper.map(|i| at(i).0),
        })
    }

    /// The values above the lowest one kept, for a GPD fit beyond any threshold of at least that value.
    pub fn exceedances(&self, threshold: f64) -> Result<Vec<f64>, Error> {
        let largest = self.largest();
        let lowest = largest.last().map_or(f64::INFINITY, |t| t.value);
        if (largest.len() as u64) < self.count && threshold < lowest {
            return Err(Error::Parameter {
                what: "threshold",
                value: threshold,
                must: "at least the smallest value kept: keep more values",
            });
        }
        Ok(largest.into_iter().map(|t| t.value).filter(|v| *v > threshold).collect())
    }
}
