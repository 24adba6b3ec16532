//! Raises alarms on a stream of durations, with a stated rate of false alarms.
//!
//! A spike alarm tests whether one run is too slow for the baseline; a CUSUM tests whether a series of runs
//! is (Page 1954). Both are calibrated for the error of the estimated baseline. If no distribution describes the
//! baseline, both use counted thresholds; if no rate can be stated, the baseline is refused. One event is one
//! alarm: the state latches until the level recovers, or until a lasting new level becomes the baseline.
//!
//! ```
//! use tail::alarm::{Baseline, Event, AlarmOptions};
//!
//! let distribution = tail::Gev::new(10.0, 0.2, 0.0)?;
//! let mut random = tail::Xoshiro::new(1);
//! let quiet: Vec<f64> = (0..400).map(|_| distribution.sample(&mut random)).collect();
//! let mut watch = Baseline::new(&quiet, &AlarmOptions::default())?.watch();
//! let events: Vec<Event> = (0..60).flat_map(|_| watch.push(1.1 * distribution.sample(&mut random))).collect();
//! assert!(matches!(events[0], Event::Slow { .. } | Event::Spike { .. }));
//! # Ok::<(), tail::alarm::BaselineError>(())
//! ```

mod anchored;
mod baselines;
mod calibration;
mod counted;
mod grounds;
mod options;
mod refusal;
mod run_length;
mod simulated;
mod watch;
mod whitened;

pub use calibration::{Baseline, BaselineWarning};
pub use counted::{BlockLimit, CountedThresholds};
pub use options::{AlarmOptions, SpikeThreshold};
pub use refusal::{BaselineError, NoDistribution, Refusal};
pub use watch::{Event, Level, Watch};
