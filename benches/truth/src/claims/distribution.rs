//! What `run` and `fit` both say: the verdict, what holds without a distribution, stretches.

use super::{neutral, sentence};
use crate::Judged::{Interval, Sentence};
use crate::{Asked, Clause, Course, Judged, Read};

/// A single number of how rare the longest value is has no interval: it is false where it is off by more than this factor.
const RARITY: f64 = 10.0;

/// A number of values that others are worth is false where it is off by more than this factor.
const WORTH: f64 = 2.0;

/// Once in how many values there is one like the longest, where so many of 100 series of as many have one.
fn once_in(of_100: f64, asked: &Asked) -> f64 {
    asked.values.len() as f64 / -(1.0 - of_100.min(99.0) / 100.0).ln()
}

/// So many of 100 series have a value like the longest.
fn rarity(read: &Read, asked: &Asked) -> Judged {
    let longest = asked.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let truth = 1.0 / asked.survival(longest);
    // The longest of n independent values is on average due once in n: what is far off that is luck, and not to be known.
    let said = once_in(read.value(0), asked);
    Sentence(!asked.is_gev() || (1.0 / RARITY..RARITY).contains(&(said / truth)))
}

/// So many or fewer of 100 series have a value like the longest.
fn rarity_at_least(read: &Read, asked: &Asked) -> Judged {
    let longest = asked.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let truth = 1.0 / asked.survival(longest);
    Sentence(!asked.is_gev() || once_in(read.value(0), asked) < RARITY * truth)
}

/// More of 100 series have one.
fn rarity_at_most(read: &Read, asked: &Asked) -> Judged {
    let longest = asked.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let truth = 1.0 / asked.survival(longest);
    Sentence(!asked.is_gev() || truth < RARITY * once_in(read.value(0), asked))
}

/// An interval of a quantile between two slots; without an end, the number of the other.
fn quantile(read: &Read, asked: &Asked, (lower, upper): (Option<usize>, Option<usize>), p: f64) -> bool {
    let (value, off) = (asked.quantile(p), asked.distribution().rounding());
    lower.is_none_or(|at| read.not_below(at, value + off))
        && upper.is_none_or(|at| read.not_above(at, value - off))
}

fn covers(read: &Read, asked: &Asked, name: &'static str, ends: (Option<usize>, Option<usize>)) -> Judged {
    let p = if name == "median" { 0.5 } else { 0.99 };
    // Of a level that moves there is no quantile to hold.
    if !asked.cell.is_stationary() { Judged::Neutral } else { Interval(name, quantile(read, asked, ends, p)) }
}

/// `400 values count as 120`.
fn count_as(read: &Read, asked: &Asked) -> Judged {
    if asked.distribution().is_independent() {
        return Sentence(false);
    }
    let n = asked.values.len();
    let truth = [0.5, 0.99].map(|p| asked.distribution().worth(n, p));
    let [Some(median), Some(slow)] = truth else { return Sentence(true) };
    let (least, most) = (median.min(slow) / WORTH, median.max(slow) * WORTH);
    Sentence((least..most).contains(&read.value(1)))
}

pub(super) fn clauses() -> Vec<Clause> {
    let mut all = verdicts();
    all.extend(intervals());
    all.extend([
        sentence("count as", "{} {what} count as {}", count_as),
        neutral("number of values", "{} {what}"),
        neutral("stretch", "Since {what} {}"),
        neutral("stretch", "From {what} {} to {}"),
        neutral("stretch", "its fit may be used"),
        neutral("stretch", "too few for a verdict"),
        neutral("stretch", "do not extrapolate"),
        neutral("stretch", "no fit may be used"),
        neutral("stretch", "The other {} {what} are in shorter parts"),
        sentence("stretch", "The other {} {what} are where the level still moves", |_, asked| {
            Sentence(asked.distribution().changes())
        }),
        sentence(
            "stretch",
            "The other {} {what} are in shorter parts, or where the level still moves",
            |_, asked| Sentence(asked.distribution().changes()),
        ),
        neutral("parts", "Parts: {what} {}-{}"),
        neutral("parts", "{}-{}"),
        neutral("parts", "Parts: {what} {}-{} (median {})"),
        neutral("parts", "{}-{} (median {})"),
        neutral("parts", "{}-{} (median {}) and {} earlier parts"),
        neutral("parts", "{}-{} and {} earlier parts"),
        neutral("parts", "`lastrank fit` gives a command for each"),
        neutral("parts", "`lastrank fit` gives a command for one of them"),
        neutral("parts", "`lastrank fit` gives commands for some of them"),
        neutral("sign", "✔"),
        neutral("sign", "✖"),
        neutral("sign", "⚠"),
        neutral("sign", "– "),
        neutral("sign", "→"),
    ]);
    all
}

/// The tick of a coarse clock; a few equal values of a finer one can look like a multiple of it.
fn rounded(read: &Read, asked: &Asked) -> Judged {
    let Course::Tick { ticks } = asked.distribution().course else { return Sentence(false) };
    let tick = ticks * asked.distribution().base.deviation();
    Sentence(read.number(0).is_some_and(|said| said.is(tick)))
}

fn verdicts() -> Vec<Clause> {
    vec![
        neutral("do not extrapolate", "Do not extrapolate"),
        sentence("no distribution of maxima", "no GEV distribution describes these values", |_, asked| {
            Sentence(!asked.is_gev())
        }),
        sentence(
            "no distribution of maxima",
            "the GEV distribution does not fit these values",
            |_, asked| Sentence(!asked.is_gev()),
        ),
        sentence("another distribution", "a {*} distribution fits better than the GEV", |_, asked| {
            Sentence(!asked.is_gev())
        }),
        sentence(
            "natural",
            "The slow {what} look natural: about {} of 100 {*} like this one have a {what} over {}, the slowest here",
            rarity,
        ),
        sentence(
            "natural",
            "The slow {what} look natural: more than {} of 100 {*} like this one have a {what} over {}, the slowest here",
            rarity_at_most,
        ),
        sentence(
            "natural",
            "The slow {what} look natural: about {} or fewer of 100 {*} like this one have a {what} over {}, the slowest here",
            rarity_at_least,
        ),
        sentence(
            "no mean",
            "the tail has no limit in sight (shape {}, so that the mean is infinite)",
            // Each distribution of the plan has a mean.
            |_, _| Sentence(false),
        ),
        neutral(
            "too few",
            "{} {what} are too few to say how rare slower ones are; 100 are enough for a verdict",
        ),
        neutral("usable with care", "Usable with care"),
        sentence("usable with care", "these {what} are not repetitions of one experiment", |_, asked| {
            Sentence(!asked.distribution().is_independent())
        }),
        neutral("quote", "Quote each part by itself"),
        neutral("quote", "`lastrank fit FILE --values FROM-TO` looks at a part"),
        neutral("quote", "`lastrank fit run.parquet --values FROM-TO` looks at a part"),
        neutral("quote", "Quote each kind by itself"),
        neutral("quote", "Quote what was measured"),
        neutral("quote", "What was measured holds, rarer {what} cannot be predicted"),
        neutral("too few", "{} {what} are too few to tell whether the level changed"),
        neutral("not usable", "Not usable to predict rarer {what}"),
        sentence("no distribution of maxima", "no GEV distribution describes these", |_, asked| {
            Sentence(!asked.is_gev())
        }),
        sentence("no distribution of maxima", "the GEV distribution does not fit these", |_, asked| {
            Sentence(!asked.is_gev())
        }),
        sentence(
            "rounded",
            "No verdict: the {what} are rounded to {}, so only {} differ. Record more digits",
            rounded,
        ),
        neutral("rounded", "No verdict: the {what} are rounded, so only {} differ. Record more digits"),
        sentence("rounded", "The {what} are rounded to {}: what is fitted are steps of that width", rounded),
        sentence(
            "sorted",
            "The {what} are sorted: whether they changed or came in clusters cannot be seen",
            |_, _| Sentence(false),
        ),
        sentence(
            "one value",
            "One value, {}, moves the fit by {} standard errors: find out what it was before you rely on predictions",
            |_, asked| Sentence(!asked.is_gev()),
        ),
        neutral("not known", "How rare slower ones are is not known: {*}."),
    ]
}

fn intervals() -> Vec<Clause> {
    vec![
        neutral("without a distribution", "Measured"),
        Clause {
            name: "median",
            words: "median {} (95%: {} to {})",
            judge: |read, asked| covers(read, asked, "median", (Some(1), Some(2))),
        },
        Clause {
            name: "median",
            words: "median {} (95%: {} or more)",
            judge: |read, asked| covers(read, asked, "median", (Some(1), None)),
        },
        Clause {
            name: "median",
            words: "median {} (95%: up to {})",
            judge: |read, asked| covers(read, asked, "median", (None, Some(1))),
        },
        neutral("median", "median {} (no interval: too few independent values)"),
        Clause {
            name: "p99",
            words: "p99 {} ({} to {})",
            judge: |read, asked| covers(read, asked, "p99", (Some(1), Some(2))),
        },
        Clause {
            name: "p99, lower end",
            words: "p99 {} ({} or more)",
            judge: |read, asked| covers(read, asked, "p99, lower end", (Some(1), None)),
        },
        Clause {
            name: "p99, upper end",
            words: "p99 {} (up to {})",
            judge: |read, asked| covers(read, asked, "p99, upper end", (None, Some(1))),
        },
        neutral("p99", "p99 {} (no interval: too few independent values)"),
    ]
}
