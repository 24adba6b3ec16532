//! Computes the statistics of samples that a program can refer to.

/// A statistic of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The q-quantile, in seconds.
    Quantile(f64),
    /// The mean, in seconds.
    Mean,
    /// The maximum, in seconds.
    Slowest,
    /// The number of samples.
    Count,
}

/// From which start the time of an operation counts. The two differ if it began later than intended, under
/// `rate` and `at`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Times {
    /// From its intended start: the time that a client waits.
    #[default]
    Response,
    /// From its actual start.
    Service,
}

impl Times {
    /// The time with this name in a program.
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "response" => Some(Times::Response),
            "service" => Some(Times::Service),
            _ => None,
        }
    }

    /// The time of a sample in seconds; for a batch, the mean of its operations.
    pub fn seconds(self, sample: &samples::Sample) -> f64 {
        match self {
            Times::Response => sample.response_seconds_each(),
            Times::Service => sample.seconds_each(),
        }
    }
}

impl Statistic {
    /// The statistic of `durations` in seconds, which are reordered; `None` if empty. The q-quantile is the
    /// smallest duration that at least the share q does not exceed.
    pub fn of(self, durations: &mut [f64]) -> Option<f64> {
        let count = durations.len();
        if count == 0 {
            return (self == Statistic::Count).then_some(0.0);
        }
        Some(match self {
            Statistic::Count => count as f64,
            Statistic::Mean => durations.iter().sum::<f64>() / count as f64,
            Statistic::Slowest => durations.iter().copied().fold(0.0, f64::max),
            Statistic::Quantile(q) => {
                let at = samples::quantile_rank(count, q)?;
                *durations.select_nth_unstable_by(at, f64::total_cmp).1
            }
        })
    }
}
