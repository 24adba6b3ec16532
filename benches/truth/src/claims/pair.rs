//! What `compare` and `ab` say of two runs or two arms.

use super::{neutral, sentence};
use crate::Judged::{Interval, Sentence};
use crate::{Asked, Clause, Judged, Read};

fn slower(_: &Read, asked: &Asked) -> Judged {
    Sentence(asked.cell.factor > 1.0)
}

fn faster(_: &Read, asked: &Asked) -> Judged {
    Sentence(asked.cell.factor < 1.0)
}

/// An interval of the factor between two slots.
fn holds(read: &Read, asked: &Asked, name: &'static str, ends: (usize, usize)) -> Judged {
    Interval(name, read.holds(ends, asked.cell.factor))
}

fn interval(words: &'static str, judge: fn(&Read, &Asked) -> Judged) -> Clause {
    Clause { name: "factor", words, judge }
}

/// The clauses of the first screen of `compare`.
pub(super) fn compare() -> Vec<Clause> {
    vec![
        neutral("sign", "="),
        neutral("sign", "≠"),
        neutral("sign", "?"),
        neutral("sign", "✔"),
        neutral("sign", "✖"),
        neutral("sign", "⚠"),
        neutral("sign", "→"),
        neutral("sign", "–"),
        neutral("no difference", "No difference is shown"),
        neutral("no difference", "No difference: both are the same values"),
        neutral("undecided", "Undecided"),
        neutral("undecided", "too few values to tell"),
        neutral("undecided", "too few runs to tell"),
        neutral("undecided", "but of pairs of equal samples {} in 100 differ as much"),
        sentence("level moves", "both levels move within the run", |_, asked| {
            Sentence(asked.distribution().changes())
        }),
        sentence("level moves", "the level of the baseline moves within the run", |_, asked| {
            Sentence(asked.distribution().changes())
        }),
        sentence("level moves", "the level of the new values moves within the run", |_, asked| {
            Sentence(asked.distribution().changes())
        }),
        sentence("other difference", "The values differ, but not in what is typical", |_, asked| {
            Sentence(asked.cell.factor != 1.0)
        }),
        neutral("negligible", "too little to matter"),
        interval("{} times as long ({}%: {} to {})", |read, asked| holds(read, asked, "factor", (2, 3))),
        sentence("slower", "{}% slower", slower),
        sentence("slower", "{} times as slow", slower),
        sentence("slower", "Slower", slower),
        sentence("faster", "{}% faster", faster),
        sentence("faster", "{} times faster", faster),
        sentence("faster", "Faster", faster),
        neutral("as fast", "As fast"),
        // All pairs of the harness differ by one factor.
        sentence("not one factor", "at the median, not by one factor", |_, _| Sentence(false)),
        interval("p50 {} ({}–{})", |read, asked| holds(read, asked, "factor of p50", (1, 2))),
        interval("p50 {} ({} or more)", |read, asked| {
            Interval("factor of p50", read.not_below(1, asked.cell.factor))
        }),
        interval("p50 {} (up to {})", |read, asked| {
            Interval("factor of p50", read.not_above(1, asked.cell.factor))
        }),
        interval("p99 {} ({}–{})", |read, asked| holds(read, asked, "factor of p99", (1, 2))),
        interval("p99 {} ({} or more)", |read, asked| {
            Interval("factor of p99", read.not_below(1, asked.cell.factor))
        }),
        interval("p99 {} (up to {})", |read, asked| {
            Interval("factor of p99", read.not_above(1, asked.cell.factor))
        }),
        neutral("factor", "p99 {} (too few)"),
        neutral("trusted", "By the GEV fit, with one factor between baseline and new values"),
        neutral(
            "trusted",
            "From all pairs of values, without a distribution; the interval allows for correlated values",
        ),
        neutral("trusted", "From all pairs of values, without a distribution"),
        neutral("trusted", "By the quantiles, without a distribution"),
        neutral(
            "trusted",
            "By the mean logarithms, without a distribution: the values are rounded, or few different ones",
        ),
        neutral(
            "advice",
            "One run a side does not show how much runs differ; lastrank ab, or directories of runs, do",
        ),
        neutral("arm", "baseline"),
        neutral("arm", "new"),
        neutral("arm", "values"),
        neutral("arm", "median"),
        neutral("arm", "baseline  {}  {}  one"),
        neutral("arm", "new  {}  {}  other"),
        neutral("advice", "About {} values of each would tell a factor from a constant amount"),
        neutral("all tables", "All tables: -v"),
    ]
}

/// The clauses of the answer of `ab`.
pub(super) fn ab() -> Vec<Clause> {
    let ends = |read: &Read, asked: &Asked| holds(read, asked, "factor", (2, 3));
    vec![
        sentence("same", "B takes as long as A within {}%", |read, asked| {
            Sentence((asked.cell.factor.ln()).abs() <= (1.0 + read.value(0) / 100.0).ln() + 1e-12)
        }),
        interval("{} times ({}% interval {} to {})", ends),
        sentence("slower", "B is slower", slower),
        sentence("faster", "B is faster", faster),
        interval("{} times as long as A ({}% interval {} to {})", ends),
        neutral("not decided", "Undecided"),
        interval("B takes {} times as long as A ({}% interval {} to {})", ends),
    ]
}
