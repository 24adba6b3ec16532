//! The steps of a gate by the common clock, from the first begin to the last end over ranks.

use samples::{CommonClock, Run, gates_by_clock};
use serde::Serialize;

use crate::subject::Subject;
use crate::summary::Summary;

/// The steps of a gate by the ranks' common clock, beside T, which is the longest duration.
///
/// Where ranks begin together (behind a barrier) both are the same but for the ranks' skew; where they do not, this
/// is what the step cost as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByClock {
    /// From the first begin to the last end of each step, in seconds.
    pub whole: Summary,
    /// How far the ranks' clocks may be off one another, in seconds; 0 of ranks that read one clock.
    pub uncertainty_s: f64,
}

impl ByClock {
    /// Of the steps of a gate of several ranks; none of anything else.
    pub(crate) fn of(run: &Run, subject: &Subject) -> Option<ByClock> {
        if !subject.gate || subject.ranks.len() < 2 {
            return None;
        }
        let clock = CommonClock::of(&run.facts);
        let gates = gates_by_clock(subject.samples(run), &clock);
        // Steps in which an operation failed are no part of T either.
        let whole: Vec<f64> = subject
            .steps
            .iter()
            .filter_map(|step| Some(gates.get(step.iteration as usize)?.seconds))
            .collect();
        let uncertainty = subject.ranks.iter().map(|rank| clock.uncertainty_ns(*rank)).max().unwrap_or(0);
        Some(ByClock { whole: Summary::of(&whole)?, uncertainty_s: uncertainty as f64 * 1e-9 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::ClockOffset;

    #[test]
    fn a_clock_that_is_ahead_is_set_right_and_its_uncertainty_told() {
        let mut run = samples::example::parallel_write(4, 30, 3);
        let subject = Subject::choose(&run, None, None).unwrap();
        let straight = ByClock::of(&run, &subject).unwrap();
        assert_eq!((straight.whole.n, straight.uncertainty_s), (30, 0.0));
        let longest = Summary::of(&subject.values()).unwrap();
        assert!(straight.whole.median >= longest.median && straight.whole.min >= longest.min);

        run.samples
            .iter_mut()
            .filter(|sample| sample.rank == 2)
            .for_each(|sample| sample.start_ns += 5_000_000);
        let ahead = |rank| ClockOffset {
            offset_ns: if rank == 2 { 5_000_000 } else { 0 },
            uncertainty_ns: 300 * rank as u64,
            at_ns: 0,
        };
        run.facts.clock_offsets = vec![(0..4).map(ahead).collect()];
        let found = ByClock::of(&run, &subject).unwrap();
        assert_eq!(found.whole, straight.whole);
        assert!((found.uncertainty_s - 900e-9).abs() < 1e-15);
    }

    #[test]
    fn a_single_rank_has_no_common_clock() {
        let run = samples::example::parallel_write(1, 30, 3);
        let subject = Subject::choose(&run, None, Some(true)).unwrap();
        assert_eq!(ByClock::of(&run, &subject), None);
    }

    #[test]
    fn the_table_has_a_row_for_steps_that_do_not_begin_together() {
        let together = samples::example::parallel_write(4, 30, 3);
        let mut apart = together.clone();
        apart.samples.iter_mut().for_each(|sample| sample.start_ns += 1_000_000_000 * u64::from(sample.rank));
        let row = |run: &Run| {
            let report = crate::build(run, &crate::ReportOptions::default());
            report
                .terminal_text()
                .lines()
                .find(|line| line.contains("from the first begin"))
                .map(str::to_owned)
        };
        assert_eq!(row(&together), None);
        let row = row(&apart).expect("a row");
        assert!(row.contains("3.0") && row.contains(" s "), "{row}");
    }
}
