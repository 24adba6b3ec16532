//! What only `fit` says: the distribution, its levels, advice.

use super::{neutral, sentence};
use crate::Judged::{Interval, Sentence};
use crate::{Asked, Clause, Course, Judged, Read};

/// The interval of a level that is exceeded once in so many values.
fn level(read: &Read, asked: &Asked) -> Judged {
    let period = read.value(0);
    let truth = asked.quantile(1.0 - 1.0 / period);
    let name = match period {
        10.0 => "level of 10",
        100.0 => "level of 100",
        1000.0 => "level of 1000",
        _ => "other level",
    };
    if !asked.cell.is_stationary() { Judged::Neutral } else { Interval(name, read.holds((2, 3), truth)) }
}

fn space_runs(_: &Read, asked: &Asked) -> Judged {
    Sentence(!asked.distribution().is_independent())
}

fn changes(_: &Read, asked: &Asked) -> Judged {
    Sentence(asked.distribution().changes() || matches!(asked.distribution().course, Course::Bursts { .. }))
}

pub(super) fn clauses() -> Vec<Clause> {
    let mut all = vec![
        neutral("title", "the values"),
        neutral("law", "GEV fit: location {}, scale {}, shape {}"),
        Clause { name: "level", words: "Once in {} {what}: {} ({} to {}, 95%)", judge: level },
        neutral("level", "Once in {} {what}: {}"),
        neutral("law", "GEV fit: location {}, scale {}, shape {} ± {}"),
        neutral("law", "GEV fit to steps of that width: location {}, scale {}, shape {} ± {}"),
        neutral("law", "GEV fit to steps of that width: location {}, scale {}, shape {}"),
        neutral("extrapolated", "extrapolated"),
        neutral("all tables", "All tables: -v"),
        neutral(
            "single values",
            "These are single values, not maxima: `lastrank fit FILE --model gpd` fits those beyond a threshold",
        ),
        neutral(
            "single values",
            "If each is one measurement, not the largest of several: `lastrank fit FILE --model gpd` fits those beyond a threshold",
        ),
    ];
    all.extend(advice());
    all
}

fn advice() -> Vec<Clause> {
    vec![
        sentence(
            "space the runs",
            "Look for what ties neighbours together; `lastrank fit FILE --block N` fits the largest of every N",
            space_runs,
        ),
        sentence(
            "space the runs",
            "Intervals of a fit to all values are about {} times too narrow: `lastrank fit FILE --block N` fits the largest of every N",
            space_runs,
        ),
        sentence(
            "find what comes back",
            "Find what comes back after every {} values: parts that take turns (`--by`), a timer, a cache that fills",
            |_, asked| Sentence(!asked.distribution().is_independent()),
        ),
        sentence(
            "warm-up",
            "Discard the warm-up, or fit with the time as covariate; look for heat, filling or a growing load",
            |_, asked| Sentence(asked.distribution().changes()),
        ),
        sentence(
            "fit each stretch",
            "Look at the time series, find what changed, and fit each stretch on its own",
            changes,
        ),
        sentence(
            "fit each mode",
            "Fit each kind (cache or disk, path, time of day) on its own: `lastrank fit FILE -o fit.html` draws the density",
            |_, asked| {
                Sentence(matches!(
                    asked.distribution().course,
                    Course::Modes { .. }
                        | Course::Step { .. }
                        | Course::Bursts { .. }
                        | Course::Periodic { .. }
                ))
            },
        ),
        sentence(
            "explain slow values",
            "Look for what happens every {} values (a flush, a timer, another job), and fit the values with it and those \
             without on their own",
            |_, asked| Sentence(matches!(asked.distribution().course, Course::Periodic { .. })),
        ),
        sentence(
            "explain slow values",
            "Look at when the slow values come, and find what makes them cluster or come so evenly",
            |_, asked| Sentence(!asked.distribution().is_independent()),
        ),
        neutral("record more digits", "Record the values with more digits, then fit again"),
        neutral(
            "keep the order",
            "Keep the values in the order in which they were measured: it tells changes and clusters",
        ),
        neutral("measure more", "Measure at least {} more values"),
        neutral(
            "vary the parts",
            "If each value is the slowest of several parallel parts, measure with other numbers of parts, too: one number alone \
             does not test that",
        ),
        neutral(
            "do not extrapolate",
            "Do not predict rarer {what} with this fit; if each is one measurement, not the largest of several, `lastrank fit FILE --model gpd` fits the tail alone",
        ),
    ]
}
