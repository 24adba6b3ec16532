//! The state of a monitored stream, which can be stored and resumed.

use serde::{Deserialize, Serialize};

use super::calibration::Baseline;
use super::counted::BlockLimit;
use super::run_length::log_ratio;
use super::whitened::{self, Whitened};

/// The level of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The same as the baseline.
    #[default]
    Quiet,
    /// Slower; the alarm was reported.
    Slow,
    /// Faster; the notice was reported.
    Fast,
}

/// An event of the stream; each is reported once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// One run is slower than the spike threshold; while the level is slow, than that times the factor of the level.
    Spike {
        /// Number of the run, from 1.
        run: u64,
        /// Its duration.
        value: f64,
        /// The threshold.
        threshold: f64,
        /// Probability of a quiet run being that slow, by the fitted distribution.
        probability: f64,
    },
    /// The level is higher: a sustained slow-down.
    Slow {
        /// Run at which it was detected.
        run: u64,
        /// Run at which it began, estimated by the CUSUM.
        since: u64,
        /// CUSUM statistic.
        statistic: f64,
        /// Its threshold.
        threshold: f64,
        /// Median of the runs since, over the median of the baseline.
        factor: f64,
    },
    /// The level is lower.
    Fast {
        /// Run at which it was detected.
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
        /// Run at which it was detected.
        run: u64,
    },
    /// The new level lasted and is now the baseline.
    Rebaselined {
        /// Run at which the baseline was replaced.
        run: u64,
        /// Number of runs of the new baseline.
        runs: usize,
    },
}

/// The largest number of runs kept for the factor and for a new baseline.
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
    /// The current level.
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
    /// Number of runs in the current block, for counted thresholds.
    #[serde(default)]
    in_block: usize,
    /// The level that was told; `None` in states of earlier versions.
    #[serde(default)]
    told: Option<Told>,
}

/// A level that was told, as far as it is known by now.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Told {
    /// The run after which it began.
    since: u64,
    /// Median of the runs since, over that of the baseline.
    factor: f64,
    /// How many runs that is of.
    of: u64,
}

/// A level has recovered where the evidence for the baseline, and against half of the change that was told, is above this
/// share of the threshold of the alarm. Against all of it a lasting level of about half of it would recover and be told anew
/// every few runs; so it takes about twice as many runs to recover as to be told.
const RECOVERED: f64 = 0.5;

/// The level that was told is estimated again when it is of so many times the runs.
const AGAIN: f64 = 1.25;

/// Most that one run counts for where a new level is dated, in standard deviations of normal scores.
const FARTHEST: f64 = 3.0;

impl Baseline {
    /// A new monitor of this baseline.
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
            in_block: 0,
            told: None,
        }
    }
}

impl Watch {
    /// Takes one duration; values that are not finite are counted and skipped.
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

        let threshold = self.spike_threshold();
        let above = value > threshold;
        if above && !self.spiking {
            events.push(Event::Spike {
                run: self.runs,
                value,
                threshold,
                probability: self.baseline.chance(value),
            });
        }
        self.spiking = above;
        if self.baseline.counted.is_some() {
            events.extend(self.count(value));
        } else {
            events.extend(self.weigh(value));
        }
        events
    }

    /// What a spike is above. A slow level is told once, and its runs are no spikes; one that stands out of it is.
    fn spike_threshold(&self) -> f64 {
        let told = self.told.filter(|_| self.level == Level::Slow);
        self.baseline.spike.value * told.map_or(1.0, |told| told.factor.max(1.0))
    }

    /// Counts a run in its block, and judges the level if the block is full.
    fn count(&mut self, value: f64) -> Option<Event> {
        let counted = self.baseline.counted.as_ref()?;
        let (block, slow, fast) = (counted.block, counted.slow, counted.fast);
        self.cusum[0] += f64::from(u8::from(value > slow.value));
        self.cusum[1] += f64::from(u8::from(value < fast.value));
        self.in_block += 1;
        if self.in_block < block {
            return None;
        }
        let since = self.runs - block as u64;
        let [above, below, _] = self.cusum;
        self.in_block = 0;
        self.cusum = [0.0; 3];
        let far = |limit: BlockLimit, count: f64| count >= limit.count as f64;
        let quiet = self.baseline.n;
        let back = |limit: BlockLimit, count: f64| count <= limit.recovered(block, quiet) as f64;
        match self.level {
            Level::Quiet if far(slow, above) => {
                let (statistic, threshold) = (above, slow.count as f64);
                let factor = self.tell(Level::Slow, since);
                Some(Event::Slow { run: self.runs, since: since + 1, statistic, threshold, factor })
            }
            Level::Quiet if far(fast, below) => {
                let (statistic, threshold) = (below, fast.count as f64);
                let factor = self.tell(Level::Fast, since);
                Some(Event::Fast { run: self.runs, since: since + 1, statistic, threshold, factor })
            }
            Level::Slow if back(slow, above) => self.recover(),
            Level::Fast if back(fast, below) => self.recover(),
            Level::Quiet => None,
            Level::Slow | Level::Fast => self.rebaseline(self.runs - self.zero[0].max(self.zero[1])),
        }
    }

    fn recover(&mut self) -> Option<Event> {
        self.latch(Level::Quiet);
        Some(Event::Recovered { run: self.runs })
    }

    /// Adds the evidence of a run to the CUSUMs.
    fn weigh(&mut self, value: f64) -> Option<Event> {
        let x = self.whiten(value);
        let factor = self.baseline.options.factor;
        let cap = self.baseline.cap;
        let slow = log_ratio(&self.baseline.distribution, x, factor, cap);
        let fast = log_ratio(&self.baseline.distribution, x, 1.0 / factor, cap);
        let (h, h_fast) = (self.baseline.cusum, self.baseline.cusum_fast);
        match self.level {
            Level::Quiet => {
                self.step(0, slow);
                self.step(1, fast);
                if self.cusum[0] > h {
                    let (since, statistic) = (self.began(self.zero[0], 1.0), self.cusum[0]);
                    let factor = self.tell(Level::Slow, since);
                    let since = since + 1;
                    return Some(Event::Slow { run: self.runs, since, statistic, threshold: h, factor });
                }
                if self.cusum[1] > h_fast {
                    let (since, statistic) = (self.began(self.zero[1], -1.0), self.cusum[1]);
                    let factor = self.tell(Level::Fast, since);
                    let (since, threshold) = (since + 1, h_fast);
                    return Some(Event::Fast { run: self.runs, since, statistic, threshold, factor });
                }
                None
            }
            Level::Slow | Level::Fast => {
                let half = self.told_factor().sqrt();
                let (near, own) = match self.level {
                    Level::Slow => (half, h),
                    _ => (1.0 / half, h_fast),
                };
                self.step(2, -log_ratio(&self.baseline.distribution, x, near, cap));
                if self.cusum[2] > RECOVERED * own {
                    return self.recover();
                }
                self.rebaseline(self.runs - self.zero[0].max(self.zero[1]))
            }
        }
    }

    /// Latches a level that began after the run `since`; its factor.
    fn tell(&mut self, level: Level, since: u64) -> f64 {
        let factor = self.factor_since(since);
        self.latch(level);
        self.told = Some(Told { since, factor, of: self.runs - since });
        factor
    }

    /// The change of the level that was told, above 1 for either side, between half of the one that is looked for and all of
    /// it. What is told by a run of luck, or is less than what is looked for, is not yet known when it is told: it is
    /// estimated again where nothing speaks for the baseline.
    fn told_factor(&mut self) -> f64 {
        let most = self.baseline.options.factor;
        let Some(told) = self.told else { return most };
        let runs = self.runs - told.since;
        if self.cusum[2] == 0.0 && runs as f64 >= AGAIN * told.of as f64 {
            self.told = Some(Told { factor: self.factor_since(told.since), of: runs, ..told });
        }
        let factor = self.told.map_or(most, |told| told.factor);
        let change = if self.level == Level::Slow { factor } else { 1.0 / factor };
        change.clamp(most.sqrt(), most)
    }

    /// Whether the system is slow or spiking: what an exit status reports.
    pub fn alarmed(&self) -> bool {
        self.level == Level::Slow || self.spiking
    }

    /// How many times the baseline's the median of the latest runs is (of all, up to some thousands), and their number; `None`
    /// of none.
    pub fn overall(&self) -> Option<(f64, usize)> {
        let runs = self.recent.len();
        (runs > 0).then(|| (self.factor_since(self.runs.saturating_sub(runs as u64)), runs))
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
        // Runs that cannot be a baseline are tried again when a quarter of them is new.
        if (lasting - wanted as u64) % (wanted as u64 / 4) >= self.looked_each() {
            return None;
        }
        let values = &self.recent[self.recent.len() - wanted..];
        let mut options = self.baseline.options;
        // So few values support no smaller false-alarm rate.
        options.false_alarms = options.false_alarms.max(0.1 / wanted as f64);
        options.relax = true;
        let baseline = Baseline::new(values, &options).ok()?;
        self.baseline = baseline;
        self.last_score = None;
        self.spiking = false;
        self.in_block = 0;
        self.latch(Level::Quiet);
        Some(Event::Rebaselined { run: self.runs, runs: wanted })
    }

    /// Number of runs between two judgements of the level.
    fn looked_each(&self) -> u64 {
        self.baseline.counted.as_ref().map_or(1, |counted| counted.block as u64)
    }

    /// The value without the part that the previous one predicts (AR(1) of the scores), on the scale of the distribution.
    fn whiten(&mut self, value: f64) -> f64 {
        let Baseline { distribution, ar1, .. } = self.baseline;
        if ar1 == 0.0 {
            return value;
        }
        let score = whitened::score(&distribution, value);
        let left = Whitened { distribution, ar1 }.left(score, self.last_score);
        self.last_score = Some(score);
        left
    }

    /// After which run the level changed: from there on the normal scores are highest (`sign` 1) or lowest (-1) by the likelihood of
    /// a step of any size. The CUSUM looks for a small step, and begins long before a large one.
    fn began(&self, zero: u64, sign: f64) -> u64 {
        let window = ((self.runs - zero) as usize).clamp(1, self.recent.len());
        let (mut sum, mut most, mut runs) = (0.0, 0.0, window);
        for (number, value) in (1_u32..).zip(self.recent[self.recent.len() - window..].iter().rev()) {
            // A single far value is no level.
            sum += sign * whitened::score(&self.baseline.distribution, *value).clamp(-FARTHEST, FARTHEST);
            let gain = if sum > 0.0 { sum * sum / f64::from(number) } else { 0.0 };
            if gain > most {
                (most, runs) = (gain, number as usize);
            }
        }
        self.runs - runs as u64
    }

    fn factor_since(&self, zero: u64) -> f64 {
        let since = ((self.runs - zero) as usize).clamp(1, self.recent.len());
        let mut values = self.recent[self.recent.len() - since..].to_vec();
        values.sort_unstable_by(f64::total_cmp);
        crate::series::measured_quantile(&values, 0.5) / self.baseline.median()
    }
}
