//! The picture of a first screen: over time the quantity that its headline is about.

use results::{AnswerValue, ResultRow};

use super::answer;
use super::number::{three, time};
use super::{paint, trust};
use crate::table::width;
use crate::{Report, words};

/// Columns of a picture.
const PICTURE: usize = 32;

/// Fewest columns in which a picture says something.
const FEWEST: usize = 8;

/// Fewest values whose course is shown.
const FEWEST_VALUES: usize = 8;

/// Values over time, put together into bars of equal width.
struct Bars {
    values: Vec<f64>,
    /// How many of the values that came in are in a bar.
    each: usize,
}

impl Bars {
    /// The means of so many values that there are at most `most` bars; what is left at the end is one of its own, unless it is
    /// less than half a bar.
    fn of(values: &[f64], most: usize) -> Bars {
        let each = values.len().div_ceil(most.max(1)).max(1);
        let mut parts: Vec<&[f64]> = values.chunks(each).collect();
        if parts.len() > 1 && parts.last().is_some_and(|last| 2 * last.len() < each) {
            parts.pop();
        }
        let mean = |part: &&[f64]| part.iter().sum::<f64>() / part.len() as f64;
        Bars { values: parts.iter().map(mean).collect(), each }
    }

    fn range(&self, shown: &dyn Fn(f64) -> String) -> String {
        let least = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.values.iter().copied().fold(0.0, f64::max);
        format!("{} to {}", shown(least), shown(most))
    }

    /// Bars from 0 to the largest; only of 0 there is none.
    fn picture(&self) -> String {
        const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let most = self.values.iter().copied().fold(0.0, f64::max);
        let bar = |value: f64| (8.0 * value / most).ceil().clamp(0.0, 8.0) as usize;
        self.values.iter().map(|value| if most > 0.0 { BARS[bar(*value)] } else { ' ' }).collect()
    }
}

/// The rate of the operation, `writes/s  ▁▂▅█▃▁  21 300 to 64 300 in bins of 50.0 ms`; where ranks meet or the program pauses
/// the times that the headline is about, `write  ▂▂▃▂  12.9 ms to 15.1 ms, each of 13 steps`.
pub(super) fn line(report: &Report, columns: usize) -> Option<String> {
    let row = answer::operation(report)?;
    let is_step = report.numbers.parts.first().is_some_and(|part| part.value == AnswerValue::Step);
    if is_step || row.series_counts_pauses() {
        return times(report, columns);
    }
    rate(row, columns)
}

fn rate(row: &ResultRow, columns: usize) -> Option<String> {
    let series = row.series.as_ref()?;
    let name = format!("{}/s", words::operation::plural(&row.operation));
    let trend = trust::trend(row.steady.as_ref());
    Some(drawn(&name, &series.rates_to_the_end(), columns, &|bars| {
        let range = bars.range(&three);
        let bins = format!(" in bins of {}", time(bars.each as f64 * series.bin_seconds));
        [format!("{range}{bins}{trend}"), format!("{range}{trend}"), range]
    }))
}

fn times(report: &Report, columns: usize) -> Option<String> {
    let subject = &answer::subject(report)?.subject;
    let values = subject.values();
    if values.len() < FEWEST_VALUES {
        return None;
    }
    let what = subject.value_name();
    Some(drawn(&subject.name, &values, columns, &|bars| {
        let range = bars.range(&time);
        let each = match bars.each {
            1 => format!(", one {what} each"),
            n => format!(", mean of {n} {what}s each"),
        };
        [format!("{range}{each}"), range.clone(), range]
    }))
}

/// On a narrow screen the words make way for the bars.
fn drawn(name: &str, values: &[f64], columns: usize, texts: &dyn Fn(&Bars) -> [String; 3]) -> String {
    let room = |text: &str| columns.saturating_sub(width(name) + width(text) + 6).min(PICTURE);
    // The words tell of the bars, and leave the room for them.
    let found = (0..3).find_map(|at| {
        let mut most = PICTURE;
        while most >= FEWEST {
            let bars = Bars::of(values, most);
            let text = texts(&bars)[at].clone();
            if room(&text) >= bars.values.len() {
                return Some(format!("  {name}  {}  {text}", bars.picture()));
            }
            most -= 1;
        }
        None
    });
    let line = found.unwrap_or_else(|| {
        let [.., shortest] = texts(&Bars::of(values, PICTURE));
        format!("  {name}  {shortest}")
    });
    paint::cut(&line, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(values: &[f64], columns: usize) -> String {
        Bars::of(values, columns).picture()
    }

    #[test]
    fn bars_are_of_equal_width_and_a_stall_has_none() {
        assert_eq!(picture(&[0.0, 4.0, 8.0, 8.0], 4), " ▄██");
        assert_eq!(picture(&[1.0, 1.0, 2.0, 2.0], 2), "▄█");
        assert_eq!(picture(&[0.0], 9), " ");
        let bars = Bars::of(&[1.0, 3.0, 5.0, 7.0, 9.0], 2);
        assert_eq!((bars.each, bars.values.as_slice()), (3, [3.0, 8.0].as_slice()));
        let bars = Bars::of(&[2.0; 7], 2);
        assert_eq!((bars.each, bars.values.len()), (4, 2));
        assert_eq!(Bars::of(&[1.0; 9], 2).values.len(), 2);
    }

    #[test]
    fn the_range_is_that_of_the_bars_that_are_drawn() {
        let values: Vec<f64> = (0..320).map(|at| f64::from(at % 2)).collect();
        let line = drawn("reads/s", &values, 80, &|bars| {
            let range = bars.range(&three);
            [format!("{range} in bins of {}", bars.each), range.clone(), range]
        });
        assert!(line.contains("0.500 to 0.500 in bins of 10"), "{line}");
    }
}
