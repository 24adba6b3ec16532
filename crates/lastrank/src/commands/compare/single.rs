//! A new run that is judged by itself.

use serde_json::{Value, json};
use tail::Interval;

/// What one new run by itself says of k.
pub(super) struct Single {
    pub duration: f64,
    pub interval: Interval,
}

impl Single {
    pub fn object(&self) -> Value {
        json!({"duration": self.duration, "interval": self.interval})
    }
}

/// The median of the values themselves, as all else tells it; `None` of none.
pub(super) fn measured_median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    samples::quantile_rank(sorted.len(), 0.5).map(|at| sorted[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_few_values_is_one_of_them() {
        let few = [675.0, 148.0, 150.6, 161.2, f64::NAN, 198.1, 356.2, 653.4, 659.6];
        assert_eq!(measured_median(&few), Some(198.1));
        assert_eq!(measured_median(&[f64::NAN]), None);
    }
}
