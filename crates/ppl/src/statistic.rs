//! Statistics that a program can ask for about samples.

/// A statistic of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The q-quantile, in seconds.
    Quantile(f64),
    /// The mean, in seconds.
    Mean,
    /// The maximum, in seconds.
    Slowest,
    /// How many there are.
    Count,
}

/// From when to its end the time of an operation counts. The two differ where it began later than meant: under `rate`
/// and `at`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Times {
    /// From when it was meant to begin: what whoever asked for it waits.
    #[default]
    Response,
    /// From when it began.
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

    /// Of a sample, in seconds; a batch counts as the mean of its operations.
    pub fn seconds(self, sample: &samples::Sample) -> f64 {
        match self {
            Times::Response => sample.seconds_each() + sample.late_ns as f64 * 1e-9,
            Times::Service => sample.seconds_each(),
        }
    }
}

impl Statistic {
    /// Of these durations, in seconds, which are reordered; `None`: there are none. A quantile is the least
    /// duration that so large a share of them does not exceed.
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
                let at = (q * count as f64).ceil() as usize;
                *durations.select_nth_unstable_by(at.clamp(1, count) - 1, f64::total_cmp).1
            }
        })
    }
}
