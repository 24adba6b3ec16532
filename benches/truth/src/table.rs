//! The table, and the rows that break what is stated.

use std::collections::BTreeMap;

use crate::{Bound, Cell, Known, Row, Screen, Study, full};

/// Coverage that each printed interval has by itself.
const COVERAGE: f64 = 0.95;

/// The share of baselines of one stationary distribution that `watch` may refuse.
const REFUSED: f64 = 0.05;

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
        let covered = self.cell.is_stationary() && self.cell.distribution.phi <= 0.6;
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
        let accepts = self.cell.screen == Screen::Watch && covered;
        if refused > 0 || accepts {
            let most = if accepts { Bound::AtMost(REFUSED) } else { Bound::Open };
            rows.push(Row::share_of("refused", (refused, screens + outcome.refused), most));
        }
        rows
    }
}

/// The head of the table.
pub const HEAD: &str =
    "| screen, distribution, values | row | stated | counted | 95% | of | |\n|---|---|--:|--:|--:|--:|---|\n";

/// The table of all studies.
pub fn markdown(studies: &[Study]) -> String {
    HEAD.to_owned() + &studies.iter().map(rows).collect::<String>()
}

/// The rows of one study.
pub fn rows(study: &Study) -> String {
    let mut text = String::new();
    for row in study.rows() {
        let (lower, upper) = row.interval();
        let stated = match row.bound {
            Bound::AtMost(share) => format!("≤ {:.0}%", 100.0 * share),
            Bound::AtLeast(share) => format!("≥ {:.0}%", 100.0 * share),
            Bound::Between(least, most) => format!("{least} to {most}"),
            Bound::Open => String::new(),
        };
        let counted = match row.mean {
            Some((mean, error)) => {
                format!("{mean:.2} | {:.2} to {:.2}", mean - 1.96 * error, mean + 1.96 * error)
            }
            None => {
                format!("{:.1}% | {:.1} to {:.1}", 100.0 * row.share(), 100.0 * lower, 100.0 * upper)
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
    text
}

/// Counts by cell and row, a line each, for a later table beside this one.
pub fn counts(studies: &[Study]) -> String {
    let line = |study: &Study, row: &Row| {
        format!("{}\t{}\t{:.2}\t{}\n", study.cell.name(), row.name, in_percent(row), row.of)
    };
    studies
        .iter()
        .flat_map(|study| study.rows().iter().map(|row| line(study, row)).collect::<Vec<_>>())
        .collect()
}

/// A share in percent, or a mean.
fn in_percent(row: &Row) -> f64 {
    row.mean.map_or(100.0 * row.share(), |(mean, _)| mean)
}

/// Fewest values behind a row of the page.
const FEWEST: u64 = 20;

const PAGE_HEAD: &str = "| quantity | nominal | accepted | simulated | standard error | samples | note |\n\
                         |---|--:|--:|--:|--:|--:|---|\n";

/// The rows of a study on the calibration page, in its columns; `before` is what [`counts`] gave of an earlier state.
fn page_rows(study: &Study, before: &str) -> String {
    let cell = study.cell.name();
    let rows = study.rows();
    let shown = rows.iter().filter(|row| row.of >= FEWEST && !row.name.starts_with("false: "));
    shown.map(|row| page_row(&cell, row, &note(study, row, before))).collect()
}

fn page_row(cell: &str, row: &Row, note: &str) -> String {
    let (nominal, accepted) = match row.bound {
        Bound::AtMost(share) => (100.0 * share, format!("0 to {:.0}", 100.0 * share)),
        Bound::AtLeast(share) => (100.0 * share, format!("{:.0} to 100", 100.0 * share)),
        Bound::Between(least, most) => (1.0, format!("{least} to {most}")),
        Bound::Open => (0.0, "–".to_owned()),
    };
    let of = row.of as f64;
    // Of none or all the error is that of half an event.
    let share = row.share().clamp(0.5 / of, 1.0 - 0.5 / of);
    let (simulated, error) = match row.mean {
        Some((mean, error)) => (format!("{mean:.2}"), format!("{error:.3}")),
        None => (
            format!("{:.1}", 100.0 * row.share()),
            format!("{:.2}", 100.0 * (share * (1.0 - share) / of).sqrt()),
        ),
    };
    format!(
        "| {cell}: {} | {nominal:.0} | {accepted} | {simulated} | {error} | {} | {note} |\n",
        row.name, row.of
    )
}

fn note(study: &Study, row: &Row, before: &str) -> String {
    let cell = study.cell.name();
    let mut notes = Vec::new();
    if row.breaks() {
        notes.push("not as stated".to_owned());
    }
    let line = before.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let same = line.into_iter().find(|parts| parts.len() == 4 && parts[0] == cell && parts[1] == row.name);
    notes
        .extend(same.map(|parts| format!("{} before", parts[2].trim_end_matches('0').trim_end_matches('.'))));
    if row.name == FALSE {
        let mut wrong: Vec<_> = study.outcome.sentences.iter().filter(|(_, count)| count.wrong > 0).collect();
        wrong.sort_by_key(|(_, count)| std::cmp::Reverse(count.wrong));
        let share = |wrong: u64| 100.0 * wrong as f64 / study.outcome.screens as f64;
        notes.extend(wrong.iter().take(3).map(|(name, count)| format!("{name} {:.1}", share(count.wrong))));
    }
    notes.join("; ")
}

/// The page with these studies in its table, between two marks: their rows in place of those of the same cells, in the order
/// of the plan; cells of the page that the plan has not are left out.
///
/// # Errors
/// Where the marks are missing.
pub fn with_table(page: &str, studies: &[Study], before: &str) -> Result<String, String> {
    let (head, table, foot) = parts(page)?;
    let old = of_cells(table);
    let new: Vec<(String, String)> =
        studies.iter().map(|study| (study.cell.name(), page_rows(study, before))).collect();
    let rows = full().into_iter().map(|cell| cell.name()).filter_map(|name| {
        let counted = new.iter().find(|(of, _)| *of == name).map(|(_, rows)| rows);
        counted.or_else(|| old.get(&name)).cloned()
    });
    let table = PAGE_HEAD.to_owned() + &rows.collect::<String>();
    Ok(format!("{head}{}{table}{}{foot}", MARKS[0], MARKS[1]))
}

/// Whether the page has a cell with as many draws as it is to have.
///
/// # Errors
/// Where the marks are missing.
pub fn has(page: &str, cell: &Cell) -> Result<bool, String> {
    let (_, table, _) = parts(page)?;
    let rows = of_cells(table).remove(&cell.name()).unwrap_or_default();
    let asked = rows.lines().find(|row| row.contains(FALSE)).and_then(|row| row.split(" | ").nth(5));
    Ok(asked.and_then(|of| of.trim().parse::<usize>().ok()).is_some_and(|of| of >= cell.draws))
}

const MARKS: [&str; 2] = ["<!-- first screens: begin -->\n", "<!-- first screens: end -->\n"];

fn parts(page: &str) -> Result<(&str, &str, &str), String> {
    let found = page.split_once(MARKS[0]).and_then(|(head, rest)| {
        let (table, foot) = rest.split_once(MARKS[1])?;
        Some((head, table, foot))
    });
    found.ok_or_else(|| format!("the page has no lines {} and {}", MARKS[0].trim(), MARKS[1].trim()))
}

/// The rows of each cell in a table of the page.
fn of_cells(table: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for row in table.lines() {
        if let Some((name, _)) = row.strip_prefix("| ").and_then(|row| row.split_once(": ")) {
            *found.entry(name.to_owned()).or_default() += &format!("{row}\n");
        }
    }
    found
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
                    found.push(format!(
                        "{cell}: {}: {share} is outside {:?}; {}",
                        row.name,
                        row.bound,
                        examples.join(" | ")
                    ));
                }
                (false, Some(one)) => found.push(format!(
                    "{cell}: {}: {share} is as stated ({:.0}% before): take it off the list of what is known",
                    row.name,
                    100.0 * one.measured
                )),
                (true, Some(_)) | (false, None) => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Base, Count, Distribution, Outcome};

    fn row(cell: &Cell, of: usize) -> String {
        format!("| {}: {FALSE} | 6 | 0 to 6 | 1.0 | 0.5 | {of} |  |\n", cell.name())
    }

    #[test]
    fn rows_of_other_cells_stay_and_a_cell_of_fewer_draws_is_missing() {
        let plan = full();
        let [first, second, third] = [plan[0], plan[1], plan[2]];
        assert_eq!(first.screen, Screen::Fit);
        let old = format!("{PAGE_HEAD}{}{}", row(&first, 7), row(&third, third.draws));
        let page = format!("above\n{}{old}{}below\n", MARKS[0], MARKS[1]);
        assert_eq!([first, second, third].map(|cell| has(&page, &cell).unwrap()), [false, false, true]);
        let sentences = [("jump", Count { said: 40, wrong: 2 })].into();
        let outcome = Outcome { screens: 40, with_a_false_one: 2, sentences, ..Outcome::default() };
        let new = with_table(&page, &[Study { cell: second, outcome }], "").unwrap();
        let names: Vec<&str> = new.lines().filter(|line| line.contains(FALSE)).collect();
        let [a, b, c] = names[..] else { panic!("{new}") };
        assert!(a.contains(" | 7 | ") && b.contains(" | 5.0 | ") && b.contains("jump 5.0"), "{new}");
        assert_eq!(format!("{c}\n"), row(&third, third.draws));
        assert!(new.starts_with("above\n") && new.ends_with("below\n"), "{new}");
        assert!(with_table("no marks", &[], "").is_err());
    }

    #[test]
    fn of_baselines_of_one_distribution_one_in_twenty_may_be_refused() {
        let distribution = Distribution::of(Base::Gev(0.1)).ar(0.6);
        let refused = |screen: Screen, distribution: Distribution, said: u64| {
            let sentences = [("refused: dependent", Count { said, wrong: said })].into();
            let outcome = Outcome { screens: 200, with_a_false_one: 0, sentences, ..Outcome::default() };
            let study = Study { cell: Cell::of(screen, distribution, 400, (200, 0)), outcome };
            let rows = study.rows();
            rows.into_iter().find(|row| row.name == "refused").map(|row| (row.count, row.breaks()))
        };
        assert_eq!(refused(Screen::Watch, distribution, 0), Some((0, false)));
        assert_eq!(refused(Screen::Watch, distribution, 10), Some((10, false)));
        assert_eq!(refused(Screen::Watch, distribution, 30), Some((30, true)));
        // Nothing is stated of what changes, or of other screens.
        assert_eq!(refused(Screen::Watch, distribution.ar(0.9), 30), Some((30, false)));
        assert_eq!(refused(Screen::Scale, distribution, 30), Some((30, false)));
    }
}
