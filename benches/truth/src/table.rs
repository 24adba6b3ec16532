//! The table, and the rows that break what is stated.

use crate::{Bound, Known, Row, Study};

/// Coverage that each printed interval has by itself.
const COVERAGE: f64 = 0.95;

/// Rates of false alarms keep those stated within a quarter.
const RATES: Bound = Bound::Between(0.75, 1.25);

/// The name of the row of screens with a false sentence.
pub const FALSE: &str = "screens with a false sentence";

/// The name of the row of screens that miss what there is to find.
pub const MISSED: &str = "screens that miss it";

impl Study {
    /// Its rows.
    pub fn rows(&self) -> Vec<Row> {
        let outcome = &self.outcome;
        let stated = self.cell.stated().map_or(Bound::Open, Bound::AtMost);
        let screens = outcome.screens;
        let mut rows = vec![Row::share_of(FALSE, (outcome.with_a_false_one, screens), stated)];
        for (name, count) in outcome.sentences.iter().filter(|(_, count)| count.wrong > 0) {
            rows.push(Row::share_of(&format!("false: {name}"), (count.wrong, screens), Bound::Open));
        }
        if !self.cell.expected().is_empty() {
            rows.push(Row::share_of(MISSED, (outcome.missed, screens), Bound::Open));
        }
        let covered = self.cell.is_stationary() && self.cell.law.phi <= 0.6;
        let least = if covered { Bound::AtLeast(COVERAGE) } else { Bound::Open };
        for (name, count) in &outcome.intervals {
            rows.push(Row::share_of(
                &format!("interval: {name}"),
                (count.said - count.wrong, count.said),
                least,
            ));
        }
        for (name, values) in &outcome.rates {
            rows.push(Row::mean_of(&format!("{name}, beside those stated"), values, RATES));
        }
        let refused = outcome.sentences.iter().filter(|(name, _)| name.starts_with("refused"));
        let refused = outcome.refused + refused.map(|(_, count)| count.said).sum::<u64>();
        if refused > 0 {
            rows.push(Row::share_of("refused", (refused, screens + outcome.refused), Bound::Open));
        }
        rows
    }
}

/// The table of all studies.
pub fn markdown(studies: &[Study]) -> String {
    let mut text = String::from(
        "| screen, law, values | row | stated | counted | 95 % | of | |\n|---|---|--:|--:|--:|--:|---|\n",
    );
    for study in studies {
        for row in study.rows() {
            let (lower, upper) = row.interval();
            let stated = match row.bound {
                Bound::AtMost(share) => format!("≤ {:.0} %", 100.0 * share),
                Bound::AtLeast(share) => format!("≥ {:.0} %", 100.0 * share),
                Bound::Between(least, most) => format!("{least} to {most}"),
                Bound::Open => String::new(),
            };
            let counted = match row.mean {
                Some((mean, error)) => {
                    format!("{mean:.2} | {:.2} to {:.2}", mean - 1.96 * error, mean + 1.96 * error)
                }
                None => {
                    format!("{:.1} % | {:.1} to {:.1}", 100.0 * row.share(), 100.0 * lower, 100.0 * upper)
                }
            };
            text += &format!(
                "| {} | {} | {stated} | {counted} | {} | {} |\n",
                study.cell.name(),
                row.name,
                row.of,
                if row.breaks() { "**outside**" } else { "" }
            );
        }
    }
    text
}

/// What is not as stated and not known, and what is known and is as stated by now.
pub fn failures(studies: &[Study], known: &[Known]) -> Vec<String> {
    let mut found = Vec::new();
    for study in studies {
        let cell = study.cell.name();
        for row in study.rows() {
            let expected = known.iter().find(|one| one.cell == cell && one.row == row.name);
            let share = format!("{} of {}", row.count, row.of);
            match (row.breaks(), expected) {
                (true, None) => {
                    let examples: Vec<String> =
                        study.outcome.examples.iter().map(|(name, text)| format!("{name}: {text}")).collect();
                    found.push(format!("{cell}: {}: {share} is outside {:?}; {}", row.name, row.bound, examples.join(" | ")));
                }
                (false, Some(one)) => found.push(format!(
                    "{cell}: {}: {share} is as stated ({:.0} % before): take it off the list of what is known",
                    row.name,
                    100.0 * one.measured
                )),
                (true, Some(_)) | (false, None) => {}
            }
        }
    }
    found
}
