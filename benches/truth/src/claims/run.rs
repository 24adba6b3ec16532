//! What only `run` says: how it went, rates, typical and slow, the table, who stands out, what to do next.

use super::{neutral, sentence};
use crate::Judged::{Interval, Sentence};
use crate::{Asked, Clause, Judged, Number, Read};

/// A `p99` whose lower end alone is given.
fn at_least(read: &Read, asked: &Asked, at: usize) -> Judged {
    let stationary = asked.law.is_stationary();
    let value = asked.law.quantile(0.99) + asked.law.rounding();
    if stationary { Interval("p99, lower end", read.not_below(at, value)) } else { Judged::Neutral }
}

fn together(_: &Read, asked: &Asked) -> Judged {
    Sentence(!asked.law.is_independent())
}

/// The number that would settle p99: of independent values at least 370.
fn would_settle(read: &Read, asked: &Asked) -> Judged {
    let n = asked.values.len();
    let needed = asked.law.worth(n, 0.99).map(|worth| 370.0 * n as f64 / worth);
    let said = read.number(0).map_or(0.0, |number| number.value + number.rounding);
    Sentence(
        needed.is_none_or(|needed| said >= 0.5 * needed && (!asked.law.is_independent() || said >= 370.0)),
    )
}

pub(super) fn clauses() -> Vec<Clause> {
    let mut all = vec![
        neutral("title", "the-run · {*}"),
        neutral("outcome", "{} operations, 0 errors, {*} moved"),
        neutral("rate", "{} fwrite/s over {} ranks"),
        neutral("rate", "{} fwrite/s"),
        neutral("rate", "{} GiB/s"),
        neutral("rate", "{} MiB/s"),
        neutral("rate", "{} KiB/s"),
        neutral("rate", "{}, {} fwrite/s"),
        neutral("typical", "One fwrite usually takes {}"),
        neutral("slow", "1 in 100 takes longer than {}"),
        neutral("slow", "1 in 100 took longer than {} here"),
        neutral("slow", "the slowest took {}"),
        Clause {
            name: "p99, lower end",
            words: "but p99 may be {} or more",
            judge: |read, asked| at_least(read, asked, 0),
        },
        neutral("p99", "but p99 may be anything"),
        neutral("p99", "{} are too few for an upper end"),
        sentence(
            "slow ones together",
            "slow ones come together, and {} count as {}, too few for an upper end",
            together,
        ),
        neutral("table", "/s {*}"),
        neutral("table", "p50 {*}"),
        neutral("picture", "fwrite/s  {*}"),
        neutral("picture", "fwrite  {*}"),
        neutral("next", "Next"),
        sentence("next", "about {} of them would settle p99", would_settle),
        neutral("next", "more of them: p99 needs at least 368 independent ones"),
        neutral("next", "lastrank fit run.parquet · lastrank compare run.parquet ANOTHER"),
        neutral("all tables", "all tables: -v"),
        neutral("file", "Run:  run.parquet"),
        neutral("ranks", "No rank stands out"),
        sentence("slow rank", "Rank {} is slow: its median is {}, that of all {}", |_, _| Sentence(false)),
    ];
    all.extend(rows());
    all
}

/// The ends of an interval in a table are in the unit of the quantile before them.
fn in_unit_of(read: &Read, quantile: usize, end: usize) -> Option<Number> {
    let (value, end) = (read.number(quantile)?.value, read.number(end)?);
    let units = [1e-9, 1e-6, 1e-3, 1.0];
    let apart = |unit: &f64| (end.value * unit / value).ln().abs();
    let unit = units.into_iter().min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
    Some(Number { value: end.value * unit, rounding: end.rounding * unit })
}

/// The interval of p99 in a row of the table: rate, bytes a second, p50, p99, ends.
fn in_table(read: &Read, asked: &Asked, ends: [Option<usize>; 2]) -> Judged {
    if !asked.law.is_stationary() {
        return Judged::Neutral;
    }
    let [lower, upper] = ends.map(|end| end.and_then(|end| in_unit_of(read, 3, end)));
    let (value, off) = (asked.law.quantile(0.99), asked.law.rounding());
    let above = lower.is_none_or(|end| end.value <= value + off || end.is(value + off));
    let below = upper.is_none_or(|end| end.value >= value - off || end.is(value - off));
    let name = match ends {
        [Some(_), Some(_)] => "p99",
        [Some(_), None] => "p99, lower end",
        [None, _] => "p99, upper end",
    };
    Interval(name, above && below)
}

fn rows() -> Vec<Clause> {
    let row = |words, judge| Clause { name: "row", words, judge };
    vec![
        row("fwrite 8 KiB  {}  {}  {}  {}", |_, _| Judged::Neutral),
        row("fwrite 8 KiB  {}  {}  {}?  {}", |_, _| Judged::Neutral),
        row("fwrite 8 KiB  {}  {}  {}  {}  {}–{}  {*}", |read, asked| {
            in_table(read, asked, [Some(4), Some(5)])
        }),
        row("fwrite 8 KiB  {}  {}  {}  {}?  {} or more  {*}", |read, asked| {
            in_table(read, asked, [Some(4), None])
        }),
        row("fwrite 8 KiB  {}  {}  {}  {}  up to {}  {*}", |read, asked| {
            in_table(read, asked, [None, Some(4)])
        }),
        row("fwrite 8 KiB  {}  {}  {}  {}?  open  {*}", |_, _| Judged::Neutral),
    ]
}
