//! Counts of a cell against what is stated.

/// What is stated of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At most this share.
    AtMost(f64),
    /// At least this share.
    AtLeast(f64),
    /// Nothing is stated.
    Open,
}

/// A row of the table: so many of so many.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was counted.
    pub name: String,
    /// How often it was so.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// What is stated.
    pub bound: Bound,
}

/// Chance of a row that keeps its bound to be taken for one that does not.
const ERROR: f64 = 1e-3;

impl Row {
    /// The share; 0 of none.
    pub fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }

    /// Both ends of the exact interval of the share at 95 %.
    pub fn interval(&self) -> (f64, f64) {
        if self.of == 0 { (0.0, 1.0) } else { tail::special::clopper_pearson(self.count, self.of, 0.95) }
    }

    /// Whether the counts rule out what is stated.
    pub fn breaks(&self) -> bool {
        match self.bound {
            Bound::AtMost(share) => self.count > bound_above(self.of, share),
            Bound::AtLeast(share) => self.of - self.count > bound_above(self.of, 1.0 - share),
            Bound::Open => false,
        }
    }
}

/// The number of events of probability `share` among `of` that is exceeded once in a thousand cells.
pub fn bound_above(of: u64, share: f64) -> u64 {
    // The exact test: the lower end of the one-sided interval is above the share.
    (0..=of)
        .find(|count| {
            *count == of || tail::special::clopper_pearson(count + 1, of, 1.0 - 2.0 * ERROR).0 > share
        })
        .unwrap_or(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_breaks_its_bound_where_chance_hardly_does() {
        let row = |count, of, bound| Row { name: String::new(), count, of, bound };
        // Of 60 at 6 % a binomial is above 10 in one of 1 400.
        assert_eq!(bound_above(60, 0.06), 10);
        assert!(!row(10, 60, Bound::AtMost(0.06)).breaks() && row(11, 60, Bound::AtMost(0.06)).breaks());
        assert!(row(40, 60, Bound::AtLeast(0.95)).breaks() && !row(54, 60, Bound::AtLeast(0.95)).breaks());
        assert!(!row(60, 60, Bound::Open).breaks());
        assert_eq!(bound_above(0, 0.06), 0);
    }
}
