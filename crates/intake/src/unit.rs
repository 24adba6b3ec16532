//! Units of time as formats and values name them.

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// Its length in seconds.
    pub fn seconds(self) -> f64 {
        match self {
            Unit::Ns => 1e-9,
            Unit::Us => 1e-6,
            Unit::Ms => 1e-3,
            Unit::S => 1.0,
        }
    }

    /// Its symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "µs",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// The unit that a word means, as tools write it; none of any other word.
    pub fn of_word(word: &str) -> Option<Unit> {
        Some(match word {
            "ns" | "nsec" | "nsecs" | "nanoseconds" => Unit::Ns,
            "us" | "usec" | "usecs" | "µs" | "μs" | "microseconds" => Unit::Us,
            "ms" | "msec" | "msecs" | "milliseconds" => Unit::Ms,
            "s" | "sec" | "secs" | "seconds" => Unit::S,
            _ => return None,
        })
    }

    /// The unit at the end of a name: `LAT(ms)`, `time [us]`, `latency_ms`, `durationMs`; none of a rate.
    pub(crate) fn of_name(name: &str) -> Option<Unit> {
        if let Some(inner) = name.strip_suffix([')', ']']) {
            let (_, word) = inner.rsplit_once(['(', '['])?;
            return Unit::of_word(word.trim());
        }
        const OF_CAMELS: [(&str, Unit); 6] = [
            ("Ns", Unit::Ns),
            ("Nanos", Unit::Ns),
            ("Us", Unit::Us),
            ("Micros", Unit::Us),
            ("Ms", Unit::Ms),
            ("Millis", Unit::Ms),
        ];
        let camel = OF_CAMELS.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit)));
        if let Some((stem, unit)) = camel.filter(|(stem, _)| stem.ends_with(|c: char| c.is_ascii_lowercase()))
        {
            return Some(unit).filter(|_| !stem.ends_with("Per"));
        }
        let (stem, word) = name.rsplit_once(['_', '-', '.', ' '])?;
        let stem = stem.to_lowercase();
        let is_rate = ["per", "/"].iter().any(|end| stem.ends_with(end));
        // A single letter may mean anything: `class_s`.
        let is_time = ["time", "duration", "latency", "elapsed", "delay", "wait"].iter();
        let is_meant = word.len() > 1 || is_time.clone().any(|of_time| stem.contains(of_time));
        Unit::of_word(&word.to_lowercase()).filter(|_| !stem.is_empty() && !is_rate && is_meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_a_unit() {
        let units = [
            ("LAT(ms)", Unit::Ms),
            ("time [us]", Unit::Us),
            ("latency_ms", Unit::Ms),
            ("lat-us", Unit::Us),
            ("duration_seconds", Unit::S),
            ("elapsed_s", Unit::S),
            ("requests.latency_ns", Unit::Ns),
            ("durationMs", Unit::Ms),
        ];
        for (name, unit) in units {
            assert_eq!(Unit::of_name(name), Some(unit), "{name}");
        }
        for name in
            ["ops_per_s", "bytes/ms", "class_s", "ms", "_ms", "rows", "operationsPerMs", "Items", "MS", "a_m"]
        {
            assert_eq!(Unit::of_name(name), None, "{name}");
        }
    }
}
