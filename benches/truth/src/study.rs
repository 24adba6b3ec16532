//! Asks for the screens of many draws and counts what they say.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tail::Xoshiro;
use tail::assess::AssessOptions;

use crate::{Asked, Cell, Judged, Said, Screen, ask, claims, ranks};

/// How often a clause was said, and how often it was false.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    /// Screens with it.
    pub said: u64,
    /// Screens on which it was false.
    pub wrong: u64,
}

/// What came of a cell.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Screens.
    pub screens: u64,
    /// Screens with a false sentence.
    pub with_a_false_one: u64,
    /// Draws that were refused, with no screen.
    pub refused: u64,
    /// Screens that say none of what there is to find.
    pub missed: u64,
    /// Sentences by name.
    pub sentences: BTreeMap<&'static str, Count>,
    /// Intervals by name: how many there are, and how many do not hold their value.
    pub intervals: BTreeMap<&'static str, Count>,
    /// Rates beside those stated, one a screen.
    pub rates: BTreeMap<&'static str, Vec<f64>>,
    /// A false clause of each name.
    pub examples: BTreeMap<&'static str, String>,
}

/// A cell with what came of it.
#[derive(Clone, Debug)]
pub struct Study {
    /// The cell.
    pub cell: Cell,
    /// The outcome.
    pub outcome: Outcome,
}

impl Outcome {
    fn add(&mut self, said: &[Said], expected: &[&str]) {
        self.screens += 1;
        let mut by_name: BTreeMap<&'static str, bool> = BTreeMap::new();
        let mut holding: BTreeMap<&'static str, bool> = BTreeMap::new();
        for one in said {
            match one.judged {
                Judged::Neutral => {}
                Judged::Sentence(is_true) => {
                    *by_name.entry(one.name).or_insert(true) &= is_true;
                    if !is_true {
                        self.examples.entry(one.name).or_insert_with(|| one.text.clone());
                    }
                }
                Judged::Rate(name, value) => self.rates.entry(name).or_default().push(value),
                // What a screen says twice is one claim.
                Judged::Interval(name, holds) => *holding.entry(name).or_insert(true) &= holds,
            }
        }
        for (name, holds) in holding {
            let count = self.intervals.entry(name).or_default();
            count.said += 1;
            count.wrong += u64::from(!holds);
        }
        for (name, is_true) in &by_name {
            let count = self.sentences.entry(name).or_default();
            count.said += 1;
            count.wrong += u64::from(!is_true);
        }
        self.with_a_false_one += u64::from(by_name.values().any(|is_true| !is_true));
        let found = said.iter().any(|one| expected.contains(&one.name));
        self.missed += u64::from(!expected.is_empty() && !found);
    }

    fn join(mut self, other: Outcome) -> Outcome {
        self.screens += other.screens;
        self.with_a_false_one += other.with_a_false_one;
        self.refused += other.refused;
        self.missed += other.missed;
        let both = [(&mut self.sentences, other.sentences), (&mut self.intervals, other.intervals)];
        for (into, from) in both {
            for (name, count) in from {
                let sum = into.entry(name).or_default();
                sum.said += count.said;
                sum.wrong += count.wrong;
            }
        }
        for (name, values) in other.rates {
            self.rates.entry(name).or_default().extend(values);
        }
        for (name, text) in other.examples {
            self.examples.entry(name).or_insert(text);
        }
        self
    }
}

/// The text of one draw of a cell, and the values that it is about.
pub fn draw(cell: &Cell, at: u64) -> (Vec<f64>, Result<String, String>) {
    // The same draws whatever else is in the plan.
    let salt = cell
        .name()
        .replace('%', " %")
        .bytes()
        .fold(cell.seed, |sum, byte| sum.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
    let mut random = Xoshiro::stream(salt, at);
    let options = AssessOptions { bootstrap: cell.refits, ..AssessOptions::default() };
    match cell.screen {
        Screen::Fit => {
            let values = cell.distribution.draw(cell.n, &mut random);
            let text = ask::fit(&values, &options);
            (values, text)
        }
        Screen::Run | Screen::Gate => {
            let of_rank = ranks::of_ranks(cell, &mut random);
            let meet = cell.screen == Screen::Gate;
            let text = ask::run(&of_rank, meet, &options);
            let slowest = |step: usize| of_rank.iter().map(|values| values[step]).fold(0.0, f64::max);
            (if meet { (0..cell.n).map(slowest).collect() } else { of_rank.concat() }, Ok(text))
        }
        Screen::Compare => {
            let both = ranks::pair(cell, &mut random);
            let text = ask::compare(&both);
            (both.concat(), text)
        }
        Screen::Ab => (Vec::new(), ask::ab(at, |b| ranks::of_arm(cell, b, &mut random))),
        Screen::Watch => {
            let values = cell.distribution.draw(cell.n, &mut random);
            let text = ask::watch(&values, |n| cell.distribution.draw(n, &mut random));
            (values, text)
        }
        Screen::Scale => {
            let of_rank = ranks::of_ranks(cell, &mut random);
            let slowest = |step: usize| of_rank.iter().map(|values| values[step]).fold(0.0, f64::max);
            let values: Vec<f64> = (0..cell.n).map(slowest).collect();
            let text = ask::scale(&values, cell.ranks);
            (values, text)
        }
        Screen::Plan => {
            let values = cell.distribution.draw(cell.n, &mut random);
            let text = ask::plan(&values, &cell.distribution);
            (values, text)
        }
    }
}

/// Tries a cell.
///
/// # Errors
/// Where a screen has words that are not registered.
pub fn run(cell: &Cell) -> Result<Study, String> {
    let registry = claims::of(cell.screen);
    let one = |at: u64| -> Result<Outcome, String> {
        let (values, text) = draw(cell, at);
        let mut outcome = Outcome::default();
        let Ok(text) = text else {
            outcome.refused = 1;
            return Ok(outcome);
        };
        let asked = Asked { cell, values: &values };
        let said =
            registry.read(&text, &asked).map_err(|why| format!("{} (draw {at}): {why}", cell.name()))?;
        outcome.add(&said, cell.expected());
        Ok(outcome)
    };
    let draws = 0..cell.draws as u64;
    let outcome = draws.into_par_iter().map(one).try_reduce(Outcome::default, |a, b| Ok(a.join(b)))?;
    Ok(Study { cell: *cell, outcome })
}
