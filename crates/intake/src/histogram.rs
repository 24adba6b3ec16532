//! Counts of bins: what files hold that kept no single values, and what can be said of them.
//!
//! A value lies somewhere in its bin. The value of rank r is therefore not below the r-th of the lower bounds and not
//! above the r-th of the upper bounds, each bound as often as its bin counts; this holds of bins that overlap, too.

use crate::Unit;

/// Values that were counted: how many lie between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// No value of it is below; minus infinity where the format names no bound.
    pub low: f64,
    /// No value of it is above; infinity where the format names no bound.
    pub high: f64,
    /// Its values.
    pub count: u64,
}

/// The bins of one series of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Those that hold values, by their lower bounds.
    pub bins: Vec<Bin>,
    /// Values of all bins.
    pub count: u64,
    /// The unit of the bounds, where the file says it.
    pub unit: Option<Unit>,
    /// The series; empty where a file has one only.
    pub series: String,
    /// The format.
    pub format: &'static str,
    /// What keeps the single values.
    pub out: &'static str,
    /// One line that says what was taken.
    pub told: String,
}

impl Histogram {
    /// Bounds of the value of a rank, from 1 to [`Histogram::count`].
    ///
    /// ```
    /// # use intake::{Error, Wanted, read_from};
    /// let text = "@usecs:\n[1]   2 |@@ |\n[2, 4)   6 |@@@@@@|\n";
    /// let Err(Error::Binned { histogram, .. }) = read_from(text.as_bytes(), "t", &Wanted::default()) else { panic!() };
    /// assert_eq!(histogram.rank(2), Some([1.0, 1.0]));
    /// assert_eq!(histogram.rank(3), Some([2.0, 4.0]));
    /// assert_eq!(histogram.rank(9), None);
    /// ```
    pub fn rank(&self, rank: u64) -> Option<[f64; 2]> {
        let reach = |bounds: &[(f64, u64)]| {
            let mut below = 0_u64;
            let holds = |(_, count): &&(f64, u64)| {
                below += count;
                below >= rank
            };
            bounds.iter().find(holds).map(|(bound, _)| *bound)
        };
        if rank == 0 {
            return None;
        }
        let of = |bound: fn(&Bin) -> f64| {
            let mut all: Vec<(f64, u64)> = self.bins.iter().map(|bin| (bound(bin), bin.count)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            reach(&all)
        };
        Some([of(|bin| bin.low)?, of(|bin| bin.high)?])
    }

    /// Bounds of the smallest value that a share of all values does not exceed.
    pub fn quantile(&self, share: f64) -> Option<[f64; 2]> {
        let rank = (share * self.count as f64).ceil().clamp(1.0, self.count.max(1) as f64);
        self.rank(rank as u64)
    }
}
