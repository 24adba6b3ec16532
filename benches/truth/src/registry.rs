//! The registry: every clause that a screen can have, each with what decides whether it is true.

use crate::template::{Found, Template};
use crate::{Cell, Distribution, Number, Screen, Slow};

/// What was asked about: the truth, and the values that were drawn of it.
pub struct Asked<'a> {
    /// The cell: its distribution, its ranks, how two runs differ.
    pub cell: &'a Cell,
    /// What the screen is about, in the order in which it came.
    pub values: &'a [f64],
}

impl Asked<'_> {
    /// The distribution of one series.
    pub fn distribution(&self) -> &Distribution {
        &self.cell.distribution
    }

    /// How many ranks each value is the slowest of.
    fn slowest_of(&self) -> f64 {
        if self.cell.screen == Screen::Gate { self.cell.ranks as f64 } else { 1.0 }
    }

    /// The value that a share `p` of what the screen is about is below in the long run.
    pub fn quantile(&self, p: f64) -> f64 {
        self.distribution().quantile(p.powf(1.0 / self.slowest_of()))
    }

    /// The share of slower values in the long run.
    pub fn survival(&self, x: f64) -> f64 {
        -(self.slowest_of() * (-self.distribution().survival(x)).ln_1p()).exp_m1()
    }

    /// Whether what the screen is about is a GEV.
    pub fn is_gev(&self) -> bool {
        self.distribution().is_gev() && self.cell.slow == Slow::None
    }
}

/// What a clause is worth on data of a known distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judged {
    /// It claims nothing about the distribution: it describes the values, or says what to do.
    Neutral,
    /// A sentence about the distribution: whether it is true.
    Sentence(bool),
    /// An interval: whether it holds the value that it is for. Its row has this name.
    Interval(&'static str, bool),
    /// A number that is right on average over draws: what it is beside the truth. Its row has this name.
    Rate(&'static str, f64),
}

/// What the slots of a clause held.
pub struct Read(Vec<Found>);

impl Read {
    /// The number of a slot; none where a dash or words stand.
    pub fn number(&self, at: usize) -> Option<Number> {
        match self.0.get(at) {
            Some(Found::Number(number)) => *number,
            Some(Found::Words(_)) | None => None,
        }
    }

    /// The value of a number; NaN where there is none, which no comparison takes for true.
    pub fn value(&self, at: usize) -> f64 {
        self.number(at).map_or(f64::NAN, |number| number.value)
    }

    /// The words of a slot.
    pub fn words(&self, at: usize) -> &str {
        match self.0.get(at) {
            Some(Found::Words(words)) => words,
            Some(Found::Number(_)) | None => "",
        }
    }

    /// Whether the interval between two slots holds a value, as its ends are rounded.
    pub fn holds(&self, (lower, upper): (usize, usize), value: f64) -> bool {
        self.not_below(lower, value) && self.not_above(upper, value)
    }

    /// Whether a value is at least the number of the slot.
    pub fn not_below(&self, lower: usize, value: f64) -> bool {
        self.number(lower).is_some_and(|end| end.value <= value || end.is(value))
    }

    /// Whether a value is at most the number of the slot.
    pub fn not_above(&self, upper: usize, value: f64) -> bool {
        self.number(upper).is_some_and(|end| end.value >= value || end.is(value))
    }
}

/// A clause: its name, its words with slots, and what decides whether it is true.
pub struct Clause {
    /// What it claims, for tables; clauses that claim the same have the same name.
    pub name: &'static str,
    /// Its words.
    pub words: &'static str,
    /// Decides.
    pub judge: fn(&Read, &Asked) -> Judged,
}

/// A clause on a screen.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// Its worth.
    pub judged: Judged,
}

/// All clauses.
pub struct Registry {
    clauses: Vec<(Clause, Template)>,
}

impl Registry {
    /// Of these clauses.
    ///
    /// # Panics
    /// If two of them have the same words.
    pub fn of(clauses: Vec<Clause>) -> Registry {
        let mut words: Vec<&str> = clauses.iter().map(|clause| clause.words).collect();
        words.sort_unstable();
        if let Some(twice) = words.windows(2).find(|pair| pair[0] == pair[1]) {
            panic!("registered twice: {}", twice[0]);
        }
        Registry {
            clauses: clauses
                .into_iter()
                .map(|clause| (Template::new(clause.words), clause))
                .map(|(t, c)| (c, t))
                .collect(),
        }
    }

    /// The clauses, as they were registered.
    pub fn clauses(&self) -> impl Iterator<Item = &Clause> {
        self.clauses.iter().map(|(clause, _)| clause)
    }

    /// Takes a screen apart and judges each clause.
    ///
    /// # Errors
    /// Where words on it are not registered, or two clauses claim the same words.
    pub fn read(&self, screen: &str, asked: &Asked) -> Result<Vec<Said>, String> {
        let mut said = Vec::new();
        for line in screen.lines() {
            let line = &with_two_blanks(line);
            let mut rest = line.as_str();
            loop {
                rest = rest.trim_start_matches([' ', ';', ',', '.', ':']);
                if rest.is_empty() {
                    break;
                }
                let (clause, end, found) =
                    self.longest(rest).map_err(|why| format!("{why}\nin the line: {line}"))?;
                let judged = (clause.judge)(&Read(found), asked);
                said.push(Said { name: clause.name, text: rest[..end].to_owned(), judged });
                rest = &rest[end..];
            }
        }
        Ok(said)
    }

    /// The clause that takes most of the beginning of a text.
    fn longest(&self, text: &str) -> Result<(&Clause, usize, Vec<Found>), String> {
        let mut best: Option<(&Clause, usize, Vec<Found>)> = None;
        for (clause, template) in &self.clauses {
            let Some((end, found)) = template.matched(text) else { continue };
            match &best {
                Some((other, length, _)) if *length == end => {
                    return Err(format!(
                        "both `{}` and `{}` are registered for: {text}",
                        other.words, clause.words
                    ));
                }
                Some((_, length, _)) if *length > end => {}
                _ => best = Some((clause, end, found)),
            }
        }
        best.ok_or_else(|| {
            format!("no clause is registered for: {text}\n(register it in benches/truth/src/claims with what decides its truth)")
        })
    }
}

/// The line with runs of blanks, which part columns, as two.
fn with_two_blanks(line: &str) -> String {
    let mut text = String::new();
    for letter in line.chars() {
        if letter != ' ' || !text.ends_with("  ") {
            text.push(letter);
        }
    }
    text
}
