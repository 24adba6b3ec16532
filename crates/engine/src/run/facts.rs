//! When did the run begin, how long did it take, by which clock?

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::clock::{Clock, Description};

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
            None => (rfc3339(UNIX_EPOCH), virtual_s, json!({ "kind": "virtual", "quantum_ps": 1 })),
            Some(description) => {
                let value = serde_json::to_value(description).unwrap_or(Value::Null);
                (rfc3339(self.started), self.elapsed_s, value)
            }
        }
    }
}

/// A moment as `2026-01-31T12:00:00Z`.
fn rfc3339(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days, in eras of 400 years that begin on 1 March (Neri and Schneider 2022).
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn moments_are_written_as_the_calendar_has_them() {
        let shown = [0, 951_782_399, 951_782_400, 4_102_444_799]
            .map(|s| rfc3339(UNIX_EPOCH + Duration::from_secs(s)));
        assert_eq!(
            shown,
            ["1970-01-01T00:00:00Z", "2000-02-28T23:59:59Z", "2000-02-29T00:00:00Z", "2099-12-31T23:59:59Z"]
        );
    }
}
