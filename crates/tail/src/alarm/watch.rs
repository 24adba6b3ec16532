//! The state of a monitored stream, which can be stored and resumed.

use serde::{Deserialize, Serialize};

use super::calibration::Baseline;
use super::run_length::log_ratio;

/// Where the level of the stream stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As the baseline.
    #[default]
    Quiet,
    /// Slower, alarm given.
    Slow,
    /// Faster, notice given.
    Fast,
}

/// An event of the stream; each is reported once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// One run is slower than any quiet one should be.
    Spike {
        /// Number of the run, from 1.
        run: u64,
        /// Its duration.
        value: f64,
        /// The threshold.
        threshold: f64,
        /// Probability of a quiet run being that slow, by the fitted law.
        probability: f64,
    },
    /// The level is up: sustained slow-down.
    Slow {
        /// Run at which it was found.
        run: u64,
        /// Run at which it began, by the CUSUM.
        since: u64,
        /// CUSUM statistic.
        statistic: f64,
        /// Its threshold.
        threshold: f64,
        /// Median of the runs since, over the median of the baseline.
        factor: f64,
    },
    /// The level is down.
    Fast {
        /// Run at which it was found.
        run: u64,
        /// Run at which it began.
        since: u64,
        /// CUSUM statistic.
        statistic: f64,
        /// Its threshold.
        threshold: f64,
        /// Median of the runs since, over the median of the baseline.
        factor: f64,
    },
    /// The level is that of the baseline again.
    Recovered {
        /// Run at which it was found.
        run: u64,
    },
    /// The new level lasted and is the baseline now.
    Rebaselined {
        /// Run at which it was taken.
        run: u64,
        /// Runs it was made of.
        runs: usize,
    },
}

/// Most runs remembered for the factor and for a new baseline.
const MEMORY: usize = 4096;

/// The state of a monitor: push durations, get events; serialise it to resume later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// The baseline.
    pub baseline: Baseline,
    /// Runs seen.
    pub runs: u64,
    /// Values that were not finite and were skipped.
    pub skipped: u64,
    /// Where the level stands.
    pub level: Level,
    /// CUSUM towards slow, towards fast, and back to the baseline.
    pub cusum: [f64; 3],
    /// Last run at which each CUSUM was 0.
    zero: [u64; 3],
    /// Whether the last run was a spike: a spike lasts until a run is below the threshold.
    spiking: bool,
    /// Whitened score of the last run.
    last_score: Option<f64>,
    /// The latest runs, newest last.
    recent: Vec<f64>,
}

impl Baseline {
    /// A monitor that has seen nothing yet.
    pub fn watch(self) -> Watch {
        Watch {
            baseline: self,
            runs: 0,
            skipped: 0,
            level: Level::Quiet,
            cusum: [0.0; 3],
            zero: [0; 3],
            spiking: false,
            last_score: None,
            recent: Vec::new(),
        }
    }
}

impl Watch {
    /// Take one duration; values that are not finite are counted and skipped.
    pub fn push(&mut self, value: f64) -> Vec<Event> {
        let mut events = Vec::new();
        if !value.is_finite() {
            self.skipped += 1;
            return events;
        }
        self.runs += 1;
        if self.recent.len() >= MEMORY {
            self.recent.drain(..MEMORY / 2);
        }
        self.recent.push(value);

        let threshold = self.baseline.spike.value;
        let above = value > threshold;
        if above && !self.spiking && self.level != Level::Slow {
            events.push(Event::Spike {
                run: self.runs,
                value,
                threshold,
                probability: self.baseline.law.survival(value),
            });
        }
        self.spiking = above;

        let x = self.whiten(value);
        let factor = self.baseline.options.factor;
        let cap = self.baseline.cap;
        let slow = log_ratio(&self.baseline.law, x, factor, cap);
        let fast = log_ratio(&self.baseline.law, x, 1.0 / factor, cap);
        let (h, h_fast) = (self.baseline.cusum, self.baseline.cusum_fast);
        match self.level {
            Level::Quiet => {
                self.step(0, slow);
                self.step(1, fast);
                if self.cusum[0] > h {
                    events.push(Event::Slow {
                        run: self.runs,
                        since: self.zero[0] + 1,
                        statistic: self.cusum[0],
                        threshold: h,
                        factor: self.factor_since(self.zero[0]),
                    });
                    self.latch(Level::Slow);
                } else if self.cusum[1] > h_fast {
                    events.push(Event::Fast {
                        run: self.runs,
                        since: self.zero[1] + 1,
                        statistic: self.cusum[1],
                        threshold: h_fast,
                        factor: self.factor_since(self.zero[1]),
                    });
                    self.latch(Level::Fast);
                }
            }
            Level::Slow | Level::Fast => {
                let back = if self.level == Level::Slow { -slow } else { -fast };
                self.step(2, back);
                let lasting = self.runs - self.zero[0].max(self.zero[1]);
                if self.cusum[2] > h {
                    events.push(Event::Recovered { run: self.runs });
                    self.latch(Level::Quiet);
                } else if let Some(event) = self.rebaseline(lasting) {
                    events.push(event);
                }
            }
        }
        events
    }

    /// Whether the system is slow or spiking: what an exit status reports.
    pub fn alarmed(&self) -> bool {
        self.level == Level::Slow || self.spiking
    }

    fn step(&mut self, which: usize, by: f64) {
        self.cusum[which] = (self.cusum[which] + by).max(0.0);
        if self.cusum[which] == 0.0 {
            self.zero[which] = self.runs;
        }
    }

    fn latch(&mut self, level: Level) {
        self.level = level;
        self.cusum = [0.0; 3];
        self.zero = [self.runs; 3];
    }

    /// A lasting new level becomes the baseline, from runs after the alarm.
    fn rebaseline(&mut self, lasting: u64) -> Option<Event> {
        let wanted = self.baseline.options.rebaseline;
        if wanted < 50 || lasting < wanted as u64 || self.recent.len() < wanted {
            return None;
        }
        let values = &self.recent[self.recent.len() - wanted..];
        let mut options = self.baseline.options;
        // So few values cannot support a smaller probability of false alarms.
        options.false_alarms = options.false_alarms.max(0.1 / wanted as f64);
        let baseline = Baseline::new(values, &options).ok()?;
        self.baseline = baseline;
        self.last_score = None;
        self.spiking = false;
        self.latch(Level::Quiet);
        Some(Event::Rebaselined { run: self.runs, runs: wanted })
    }

    /// The value without the part that the previous one predicts (AR(1) of the scores), on the scale of the law.
    fn whiten(&mut self, value: f64) -> f64 {
        let phi = self.baseline.ar1;
        if phi == 0.0 {
            return value;
        }
        let law = self.baseline.law;
        // Normal scores follow the autoregression; far tails are cut where a score would be infinite.
        let p = law.survival(value).clamp(1e-15, 1.0 - 1e-15);
        let score = crate::special::normal_upper_quantile(p);
        let white = match self.last_score {
            Some(last) => (score - phi * last) / (1.0 - phi * phi).sqrt(),
            None => score,
        };
        self.last_score = Some(score);
        law.upper_quantile(crate::special::normal_cdf(-white).clamp(1e-300, 1.0 - 1e-16))
    }

    fn factor_since(&self, zero: u64) -> f64 {
        let since = ((self.runs - zero) as usize).clamp(1, self.recent.len());
        let mut values = self.recent[self.recent.len() - since..].to_vec();
        values.sort_unstable_by(f64::total_cmp);
        crate::series::sorted_quantile(&values, 0.5) / self.baseline.law.quantile(0.5)
    }
}
