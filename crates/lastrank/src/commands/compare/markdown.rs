//! `compare --markdown`: the answer as a table for the summary of a CI job.

use report::{confidence, fixed, words};
use results::RowRatios;
use tail::Interval;
use tail::congestion::{Comparison, QuantileRatio};
use words::comparison::Outcome;
use words::unsound::headline;

use super::single::Single;
use crate::values::{self, Values};

/// Most warnings of a summary.
const MOST_WARNINGS: usize = 5;

/// What a summary says besides its numbers.
pub(super) struct Summary<'a> {
    pub baseline: &'a Values,
    pub new: &'a Values,
    pub warnings: &'a [String],
    /// Of two runs: all rows beside each other.
    pub rows: Option<&'a RowRatios>,
    /// The condition of `--fail-if`, and whether it failed.
    pub judged: Option<(&'a str, bool)>,
}

impl Summary<'_> {
    /// Of two samples.
    pub fn of_samples(&self, found: &Comparison) -> String {
        let headline = found.headline();
        let (outcome, answer) = words::comparison::answer(self.rows, found);
        let mut text = self.head(outcome, &answer);
        text += &format!("|  | old | new | new / old ({} CI) |\n", confidence(headline.interval.level));
        text += "|:--|--:|--:|--:|\n";
        text += &self.files();
        let count = |n: usize| samples::units::count(n as u64);
        text += &row("values", [count(found.baseline.n), count(found.new.n), String::new()]);
        let factor = format!("**{}**", between(headline.value, &headline.interval));
        text += &row("times as long", [String::new(), String::new(), factor]);
        let unit = self.baseline.unit(found.baseline.median);
        let series = [self.baseline.series(), self.new.series()];
        let mut quantile = |name: &str, p: f64, ratio: String| {
            let [old, new] = [&series[0], &series[1]].map(|series| unit.show(series.measured(p)));
            text += &row(name, [old, new, ratio]);
        };
        let median = &found.robust.median_ratio;
        quantile("median", 0.5, between(median.value, &median.interval));
        if let Some(p99) = &found.p99_ratio {
            quantile("p99", 0.99, open(p99));
        }
        quantile(if self.baseline.seconds { "slowest" } else { "largest" }, 1.0, String::new());
        let advice = words::comparison::advice(found);
        text + &self.tail(&advice)
    }

    /// Of new values that are judged by themselves.
    pub fn of_singles(&self, found: &[Single], median: f64, level: f64) -> String {
        let slower = found.iter().filter(|single| single.interval.lower > 1.0).count();
        let (outcome, answer) = match slower {
            0 => (Outcome::Good, format!("None of {} new values is slower than the old ones", found.len())),
            slower => {
                (Outcome::Caution, format!("{slower} of {} new values slower than the old ones", found.len()))
            }
        };
        let mut text = self.head(outcome, &answer);
        text +=
            &format!("|  | old | new | new / old ({} interval) |\n|:--|--:|--:|--:|\n", confidence(level));
        text += &self.files();
        let unit = self.baseline.unit(median);
        for (at, single) in found.iter().enumerate() {
            let ratio = between(single.duration / median, &single.interval);
            let name = format!("value {} beside the median", at + 1);
            text += &row(&name, [unit.show(median), unit.show(single.duration), ratio]);
        }
        text + &self.tail(&[])
    }

    fn head(&self, outcome: Outcome, answer: &str) -> String {
        let wrong = headline(&values::unsound([self.baseline, self.new]));
        let failed = wrong.is_some() || self.judged.is_some_and(|(_, failed)| failed);
        let sign = match outcome {
            _ if failed => '✖',
            Outcome::Good => '✔',
            Outcome::Caution => '⚠',
        };
        format!("### {sign} {}\n\n", plain(&wrong.unwrap_or_else(|| format!("{answer}."))))
    }

    fn files(&self) -> String {
        row("file", [plain(&self.baseline.name), plain(&self.new.name), String::new()])
    }

    fn tail(&self, advice: &[String]) -> String {
        let mut text = String::from("\n");
        if let Some((condition, failed)) = self.judged {
            let word = if failed { "yes: failed" } else { "not shown: passed" };
            text += &format!("`{}`: **{word}**\n\n", condition.replace('`', "'"));
        }
        for took in [self.baseline, self.new].into_iter().filter_map(|arm| arm.took.as_ref()) {
            text += &format!("- {}\n", plain(took));
        }
        for warning in self.warnings.iter().take(MOST_WARNINGS) {
            text += &format!("- ⚠ {}\n", plain(warning));
        }
        for one in advice {
            text += &format!("- {}\n", plain(one));
        }
        text
    }
}

fn row(name: &str, cells: [String; 3]) -> String {
    format!("| {name} | {} |\n", cells.join(" | "))
}

fn between(value: f64, Interval { lower, upper, .. }: &Interval) -> String {
    format!("{} ({} to {})", fixed(value, 3), fixed(*lower, 3), fixed(*upper, 3))
}

fn open(ratio: &QuantileRatio) -> String {
    let end = |end: Option<f64>| end.map_or("open".into(), |end| fixed(end, 3));
    format!("{} ({} to {})", fixed(ratio.value, 3), end(ratio.lower), end(ratio.upper))
}

/// Text that Markdown shows as it is: names of files and columns come from outside.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for sign in samples::visible(text).chars() {
        match sign {
            '&' => shown += "&amp;",
            '<' => shown += "&lt;",
            // A mention of somebody, or of an issue.
            '@' => shown += "&#64;",
            '#' => shown += "&#35;",
            '\n' | '\r' => shown.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => shown.extend(['\\', sign]),
            sign => shown.push(sign),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_of_files_make_no_markup() {
        assert_eq!(plain("a|b.json"), "a\\|b.json");
        assert_eq!(plain("<img src=x>![x](y)"), "&lt;img src=x>\\!\\[x\\](y)");
        assert_eq!(plain("@all #1 `rm` _x_\n# y"), "&#64;all &#35;1 \\`rm\\` \\_x\\_ &#35; y");
    }
}
