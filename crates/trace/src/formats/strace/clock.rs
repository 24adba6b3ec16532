//! The times of lines where the clock of the traced system was set back: the lines of a thread are in the order of its calls,
//! whatever their times say.

use crate::maps::HashMap;

const DAY: u64 = 86_400_000_000_000;

/// Makes times that do not go back.
#[derive(Default)]
pub struct SteppedClock {
    /// The latest time that was given to a line of each thread.
    latest: HashMap<u32, u64>,
    /// The time that stood in the line before.
    before: u64,
    /// What is added to times, since the clock went back.
    added: u64,
    steps: u64,
    /// The largest step.
    largest: u64,
}

impl SteppedClock {
    /// The time of a line of a thread, in nanoseconds, in which `time` stands.
    pub fn time(&mut self, thread: u32, time: u64) -> u64 {
        // The clock was set forward again, or only one line was wrong.
        if self.added > 0 && time.saturating_sub(self.before) >= self.added {
            self.added = 0;
        }
        self.before = time;
        let latest = self.latest.entry(thread).or_default();
        let mut now = time.saturating_add(self.added);
        if now < *latest {
            let back = *latest - now;
            // `strace -tt` tells the time of day: after midnight it begins again.
            let is_midnight =
                *latest / DAY == now / DAY && *latest % DAY > DAY / 2 && back > DAY / 2 && time < DAY;
            let step = if is_midnight { DAY } else { back };
            if !is_midnight {
                self.steps += 1;
                self.largest = self.largest.max(back);
            }
            self.added = self.added.saturating_add(step);
            now = now.saturating_add(step);
        }
        *latest = now;
        now
    }

    /// What to say of steps back.
    pub fn note(&self) -> Option<String> {
        let times = match self.steps {
            0 => return None,
            1 => "once".to_owned(),
            steps => format!("{steps} times"),
        };
        let (seconds, rest) = (self.largest / 1_000_000_000, self.largest % 1_000_000_000);
        let rest = format!("{rest:09}");
        let rest = rest.trim_end_matches('0');
        let point = if rest.is_empty() { "" } else { "." };
        let most = if self.steps > 1 { "at most " } else { "" };
        Some(format!(
            "the clock went back {times}, by {most}{seconds}{point}{rest} s: calls of a thread have the order of their lines, \
             and pauses there are too short or too long"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_thread_never_go_back_and_years_are_not_made_up() {
        let mut clock = SteppedClock::default();
        let times: Vec<u64> = [100, 110, 40, 50, 200].map(|time| clock.time(1, time * 1_000_000)).to_vec();
        assert_eq!(times, [100, 110, 110, 120, 200].map(|time: u64| time * 1_000_000));
        assert!(clock.note().unwrap().starts_with("the clock went back once, by 0.07 s: "));
    }

    #[test]
    fn threads_may_overlap_and_a_day_may_end() {
        let mut clock = SteppedClock::default();
        assert_eq!((clock.time(1, 9), clock.time(2, 8), clock.time(1, 9)), (9, 8, 9));
        assert_eq!(clock.time(1, DAY - 5), DAY - 5);
        assert_eq!(clock.time(1, 7), DAY + 7);
        assert_eq!(clock.note(), None);
    }
}
