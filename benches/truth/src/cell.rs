//! Counts of a cell against what is stated.

/// What is stated of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At most this share.
    AtMost(f64),
    /// At least this share.
    AtLeast(f64),
    /// A mean between these.
    Between(f64, f64),
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
    /// Of a mean: it, and its standard error.
    pub mean: Option<(f64, f64)>,
    /// What is stated.
    pub bound: Bound,
}

/// Chance of a row that keeps its bound to be taken for one that does not.
const ERROR: f64 = 1e-3;

/// Fewest values of a mean that are told to be outside.
const FEWEST: u64 = 20;

/// Standard errors that a mean is beyond its bound by chance about as rarely.
const ERRORS: f64 = 3.1;

impl Row {
    /// A row of a share.
    pub fn share_of(name: &str, (count, of): (u64, u64), bound: Bound) -> Row {
        Row { name: name.into(), count, of, mean: None, bound }
    }

    /// A row of a mean.
    pub fn mean_of(name: &str, values: &[f64], bound: Bound) -> Row {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let error = (square / (n * (n - 1.0).max(1.0))).sqrt();
        let of = values.len() as u64;
        Row { name: name.into(), count: of, of, mean: Some((mean, error)), bound }
    }

    /// The share; 0 of none.
    pub fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }

    /// Both ends of the exact interval of the share at 95%.
    pub fn interval(&self) -> (f64, f64) {
        if self.of == 0 { (0.0, 1.0) } else { tail::special::clopper_pearson(self.count, self.of, 0.95) }
    }

    /// Whether the counts rule out what is stated.
    pub fn breaks(&self) -> bool {
        match self.bound {
            Bound::AtMost(share) => self.count > bound_above(self.of, share),
            Bound::AtLeast(share) => self.of - self.count > bound_above(self.of, 1.0 - share),
            Bound::Between(least, most) => {
                let is_outside =
                    |(mean, error): (f64, f64)| mean < least - ERRORS * error || mean > most + ERRORS * error;
                self.of >= FEWEST && self.mean.is_some_and(is_outside)
            }
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
        let row = |count, of, bound| Row::share_of("", (count, of), bound);
        // Of 60 at 6% a binomial is above 10 in one of 1 400.
        assert_eq!(bound_above(60, 0.06), 10);
        assert!(!row(10, 60, Bound::AtMost(0.06)).breaks() && row(11, 60, Bound::AtMost(0.06)).breaks());
        assert!(row(40, 60, Bound::AtLeast(0.95)).breaks() && !row(54, 60, Bound::AtLeast(0.95)).breaks());
        assert!(!row(60, 60, Bound::Open).breaks());
        assert_eq!(bound_above(0, 0.06), 0);
    }
}
