//! One number of the durations of a run: a quantile, the mean, the largest.

use anyhow::bail;

/// What of a run's durations counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    Quantile(f64),
    Mean,
    Max,
}

impl Statistic {
    /// As the option `option` says.
    ///
    /// # Errors
    /// Another word, with the words there are.
    pub fn of(option: &str, word: &str) -> anyhow::Result<Self> {
        Ok(match word {
            "median" | "p50" => Self::Quantile(0.5),
            "p90" => Self::Quantile(0.9),
            "p99" => Self::Quantile(0.99),
            "p999" | "p99.9" => Self::Quantile(0.999),
            "mean" => Self::Mean,
            "max" => Self::Max,
            _ => bail!("{option} {word}: one of median, p90, p99, p999, mean, max"),
        })
    }

    /// `median`, `p99`, `maximum`.
    pub fn name(self) -> String {
        match self {
            Self::Quantile(0.5) => "median".into(),
            Self::Quantile(p) => format!("p{}", (p * 1000.0).round() / 10.0),
            Self::Mean => "mean".into(),
            Self::Max => "maximum".into(),
        }
    }

    /// Of the values of one run; the quantile is a value that was measured. None of no values.
    pub fn of_values(self, mut values: Vec<f64>) -> Option<f64> {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        match self {
            Self::Quantile(p) => samples::quantile_rank(n, p).map(|at| values[at]),
            Self::Mean => (n > 0).then(|| values.iter().sum::<f64>() / n as f64),
            Self::Max => values.last().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Statistic;

    #[test]
    fn a_quantile_is_a_measured_value() {
        let of = |word: &str| Statistic::of("--value", word).unwrap();
        let values = || vec![4.0, 1.0, 3.0, 2.0];
        let found = ["median", "p99", "mean", "max"].map(|word| of(word).of_values(values()));
        assert_eq!(found, [Some(2.0), Some(4.0), Some(2.5), Some(4.0)]);
        assert_eq!((of("p99").of_values(vec![]), of("p999").name().as_str()), (None, "p99.9"));
        assert!(Statistic::of("--value", "p98").is_err());
    }
}
