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

    /// The unit in brackets at the end of a name: `LAT(ms)`, `time [us]`.
    pub(crate) fn of_name(name: &str) -> Option<Unit> {
        let inner = name.strip_suffix([')', ']'])?;
        let (_, word) = inner.rsplit_once(['(', '['])?;
        Unit::of_word(word.trim())
    }
}
