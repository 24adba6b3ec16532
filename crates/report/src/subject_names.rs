//! What the analysed samples are called in titles and on axes.

use crate::subject::Subject;

impl Subject {
    /// `T, the slowest of 16 ranks` or `every write`; of batches also that it is of their means.
    pub fn describe(&self) -> String {
        let of = match (self.gate, self.ranks.len()) {
            (true, 1) => format!("{} on the one rank", self.name),
            (true, m) => format!("{}: the slowest of {m} ranks", self.name),
            (false, _) => format!("every {}", self.name),
        };
        let of = if self.from_schedule { format!("{of}, from its scheduled start") } else { of };
        match self.batch {
            (_, 0 | 1) => of,
            (least, most) if least == most => format!("{of}, means of batches of {}", count(most)),
            (least, most) => format!("{of}, means of batches of {} to {}", count(least), count(most)),
        }
    }

    /// What an axis of durations is called.
    pub fn axis_name(&self) -> String {
        // A longer name is wider than a small figure.
        let of = if self.name.chars().count() > 24 { String::new() } else { format!(" of {}", self.name) };
        match (self.keys.is_empty(), self.gate && self.ranks.len() > 1) {
            (true, _) => "value".to_owned(),
            (false, true) => format!("T{of}, the slowest rank"),
            (false, false) if self.from_schedule => format!("response time{of}"),
            (false, false) => format!("duration{of}"),
        }
    }
}

fn count(operations: u32) -> String {
    samples::units::count(u64::from(operations))
}
