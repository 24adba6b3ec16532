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
