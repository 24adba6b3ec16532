//! What only `run` says: how it went, rates, typical and slow, the table, who stands out, what to do next.

use super::{neutral, sentence};
use crate::Judged::{Interval, Sentence};
use crate::{Asked, Clause, Judged, Number, Read, Slow};

/// A `p99` whose lower end alone is given.
fn at_least(read: &Read, asked: &Asked, at: usize) -> Judged {
    let stationary = asked.cell.is_stationary();
    let value = asked.quantile(0.99) + asked.distribution().rounding();
    if stationary { Interval("p99, lower end", read.not_below(at, value)) } else { Judged::Neutral }
}

fn together(_: &Read, asked: &Asked) -> Judged {
    Sentence(!asked.distribution().is_independent())
}

/// The number that would settle p99: of independent values at least 370.
fn would_settle(read: &Read, asked: &Asked) -> Judged {
    let n = asked.values.len();
    let needed = asked.distribution().worth(n, 0.99).map(|worth| 370.0 * n as f64 / worth);
    let said = read.number(0).map_or(0.0, |number| number.value + number.rounding);
    Sentence(needed.is_none_or(|needed| {
        said >= 0.5 * needed && (!asked.distribution().is_independent() || said >= 370.0)
    }))
}

pub(super) fn clauses() -> Vec<Clause> {
    let mut all = vec![
        neutral("title", "the-run: {*}"),
        neutral("typical", "A step takes {} (median)"),
        neutral("outcome", "{} operations, 0 errors, {*} moved"),
        neutral("rate", "over {} ranks"),
        neutral("rate", "{} writes/s"),
        neutral("rate", "{} GiB/s"),
        neutral("rate", "{} MiB/s"),
        neutral("rate", "{} KiB/s"),
        neutral("rate", "{}, {} writes/s"),
        neutral("typical", "A write takes {} (median)"),
        neutral("slow", "1 in 100 takes longer than {}"),
        neutral("slow", "1 in 100 took longer than {}"),
        neutral("slow", "the slowest took {}"),
        Clause {
            name: "p99, lower end",
            words: "but p99 is uncertain (at least {})",
            judge: |read, asked| at_least(read, asked, 0),
        },
        neutral("p99", "but p99 is uncertain"),
        neutral("p99", "{} are too few for an upper limit"),
        sentence(
            "slow ones together",
            "slow values cluster; {} {*} or more would give p99 an upper limit",
            |read, asked| match together(read, asked) {
                Sentence(true) => would_settle(read, asked),
                other => other,
            },
        ),
        sentence("slow ones together", "slow values cluster, too few for an upper limit", together),
        neutral("table", "ops/s {*}"),
        neutral("table", "median {*}"),
        neutral("picture", "writes/s  {*}"),
        neutral("picture", "fwrite  {*}"),
        neutral("next", "Next"),
        sentence("next", "about {} of them would settle p99", would_settle),
        sentence("next", "about {} are enough", would_settle),
        neutral("next", "lastrank fit run.parquet"),
        neutral("next", "lastrank report run.parquet -v"),
        neutral("next", "lastrank report run.parquet"),
        neutral("causes", "Causes of slow asynchronous operations are not watched"),
        neutral("next", "more of them: p99 needs at least 368 independent ones"),
        neutral("next", "lastrank fit run.parquet · lastrank compare run.parquet ANOTHER"),
        neutral("marks", "95% CI: of p99"),
        neutral("marks", "? too few to say how much larger it may be"),
        neutral("file", "Saved: run.parquet"),
        sentence("no slow rank", "No rank is found slower than the others", |_, _| Sentence(true)),
        sentence("no slow rank", "No rank is slower than the others", |_, _| Sentence(true)),
        sentence("slow rank", "Rank {} is slow: its median is {}, that of all {}", |read, asked| {
            Sentence(is_slow(read, asked))
        }),
    ];
    all.extend(rows());
    all.extend(steps());
    all
}

/// The rank of the first slot is the one that is slow, always or now and then, which is slower on average too.
fn is_slow(read: &Read, asked: &Asked) -> bool {
    asked.cell.slow_rank() == Some(read.value(0) as usize)
}

/// It is the one that is last more often than others.
fn is_last(read: &Read, asked: &Asked, at: usize) -> bool {
    asked.cell.slow_rank() == Some(read.value(at) as usize)
}

/// By how much the slow rank is slower, in percent.
fn slower_by(read: &Read, asked: &Asked) -> Judged {
    match asked.cell.slow {
        Slow::Always(factor) => {
            Interval("factor of the slow rank", read.holds((1, 2), 100.0 * (factor - 1.0)))
        }
        Slow::Bursts(..) | Slow::None => Judged::Neutral,
    }
}

/// What is said of ranks that differ.
fn steps() -> Vec<Clause> {
    let by = |words| Clause { name: "slow rank", words, judge: slower_by };
    vec![
        sentence("slow rank", "Rank {} is", |read, asked| Sentence(is_slow(read, asked))),
        by("{}% slower than the others ({} to {}%)"),
        by("{}% slower than the other ({} to {}%)"),
        neutral("last rank", "and was last in {}% of the steps"),
        sentence("slow rank", "{} ranks are slower than the others, most of all rank {}", |_, _| {
            Sentence(false)
        }),
        sentence("last rank", "Rank {} was last in {} of the {} slowest steps", |read, asked| {
            Sentence(is_last(read, asked, 0))
        }),
        neutral("last rank", "there {} later than the others"),
        neutral("last rank", "there {} later than the other"),
        sentence(
            "last rank",
            "Rank {} was last in {}% of the {what} ({} to {}%); an equal share is {}% (p {*})",
            |read, asked| Sentence(is_last(read, asked, 0)),
        ),
        neutral("picture", "write  {*}"),
    ]
}

/// The interval of p99 in a row of the table whose cells are in the slot: the cell before its ends is the quantile, in whose
/// unit they are.
fn in_table(cells: &str, asked: &Asked, truth: f64) -> Judged {
    if !asked.cell.is_stationary() {
        return Judged::Neutral;
    }
    let cells: Vec<&str> = cells.split("  ").map(str::trim).collect();
    let is_ends = |cell: &&str| {
        cell.contains('–') && cell.len() > 3 || cell.ends_with(" or more") || cell.starts_with("up to ")
    };
    let Some(at) = cells.iter().position(is_ends).filter(|at| *at > 0) else {
        return Judged::Neutral;
    };
    let Some((quantile, _)) = Number::at(cells[at - 1]) else { return Judged::Neutral };
    let in_unit = |end: Number| {
        let apart = |unit: &f64| (end.value * unit / quantile.value).ln().abs();
        let unit =
            [1e-9, 1e-6, 1e-3, 1.0].into_iter().min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap_or(1.0);
        Number { value: end.value * unit, rounding: end.rounding * unit }
    };
    let number = |text: &str| Number::at(text).map(|(end, _)| in_unit(end));
    let (lower, upper, name) = match (cells[at].split_once('–'), cells[at].strip_prefix("up to ")) {
        (Some((lower, upper)), _) => (number(lower), number(upper), "p99"),
        (None, Some(upper)) => (None, number(upper), "p99, upper end"),
        (None, None) => (number(cells[at]), None, "p99, lower end"),
    };
    let off = asked.distribution().rounding();
    let above = lower.is_none_or(|end| end.value <= truth + off || end.is(truth + off));
    let below = upper.is_none_or(|end| end.value >= truth - off || end.is(truth - off));
    Interval(name, above && below)
}

fn rows() -> Vec<Clause> {
    let row = |words, judge| Clause { name: "row", words, judge };
    vec![
        row("fwrite 8 KiB  {*}", |read, asked| {
            in_table(read.words(0), asked, asked.distribution().quantile(0.99))
        }),
        row("write / fwrite 8 KiB  {*}", |read, asked| {
            in_table(read.words(0), asked, asked.distribution().quantile(0.99))
        }),
        row("write (slowest of {})  {*}", |read, asked| in_table(read.words(1), asked, asked.quantile(0.99))),
    ]
}
