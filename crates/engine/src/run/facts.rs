//! When the run began, how long it took, and by which clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use samples::units;
use serde_json::{Value, json};

use clock::{Clock, Description};

/// The run's clock and its wall time.
pub(super) struct Timing {
    pub(super) clock: Clock,
    pub(super) description: Option<Description>,
    started: SystemTime,
    since: Instant,
    elapsed_s: f64,
}

impl Timing {
    /// The run begins now. Without a description it is a simulation.
    pub(super) fn begin(clock: Clock, description: Option<Description>) -> Self {
        let (started, since) = (SystemTime::now(), Instant::now());
        Self { clock: clock.restarted(), description, started, since, elapsed_s: 0.0 }
    }

    /// The last rank has ended.
    pub(super) fn end(&mut self) {
        self.elapsed_s = self.since.elapsed().as_secs_f64();
        if let Some(description) = &mut self.description {
            self.clock.close(description);
        }
    }

    /// UTC start (RFC 3339), seconds, clock. A simulation starts at the epoch and takes as long as its
    /// slowest rank: nothing in its facts depends on the day.
    pub(super) fn facts(&self, virtual_s: f64) -> (String, f64, Value) {
        match &self.description {
            None => (units::utc(0), virtual_s, json!({ "kind": "virtual", "quantum_ps": 1 })),
            Some(description) => {
                let value = serde_json::to_value(description).unwrap_or(Value::Null);
                (units::utc(since_epoch(self.started)), self.elapsed_s, value)
            }
        }
    }
}

fn since_epoch(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
