//! What `watch`, `scale` and `plan-runs` say.

use super::{neutral, sentence};
use crate::Judged::{Interval, Rate, Sentence};
use crate::{Asked, Clause};

/// The clauses of a baseline of `watch`: accepted with its rates, or refused.
pub(super) fn watch() -> Vec<Clause> {
    let mut all = vec![
        neutral("accepted", "Accepted"),
        Clause {
            name: "spike",
            words: "false spikes beside those stated: {}",
            judge: |read, _| Rate("false spikes", read.value(0)),
        },
        Clause {
            name: "changes",
            words: "false changes of level beside those stated: {}",
            judge: |read, _| Rate("false changes of level", read.value(0)),
        },
        sentence("refused: its level moves", "its level moves (", |_, asked| {
            Sentence(asked.distribution().changes())
        }),
        neutral(
            "refused",
            "), so no false-alarm rate holds for later values; measure it again on an idle machine (check: lastrank machine), \
             or take the part without a change (--values FROM-TO)",
        ),
        sentence(
            "refused: dependent",
            "its values depend on each other in a way that no simple memory explains (",
            |_, asked| {
                // An autoregression is a simple memory.
                Sentence(!asked.distribution().is_independent() && !asked.distribution().is_stationary())
            },
        ),
        neutral(
            "refused",
            "), so no false-alarm rate holds; measure them further apart in time, or watch one number of each run of a directory: \
             --statistic p99 --per run",
        ),
        sentence("refused: dependent, no distribution", "its values depend on each other (", |_, asked| {
            Sentence(!asked.distribution().is_independent())
        }),
        sentence(
            "refused: dependent, no distribution",
            "), and no GEV describes the baseline ({*}), so limits can be neither counted nor fitted; measure them further apart in time, or \
             watch one number of each run of a directory: --statistic p99 --per run",
            |_, asked| Sentence(!asked.distribution().is_gev()),
        ),
        neutral("refused", "), and one distribution does not describe the baseline ("),
        neutral(
            "refused",
            "), so limits can be neither counted nor fitted; measure single values further apart in time, or watch one number \
             a run: --statistic p99 --per run",
        ),
        neutral(
            "refused",
            "), and the quiet runs are few different values, which show no distribution, so limits can be neither counted nor \
             fitted; measure them further apart in time, or watch one number of each run of a directory: --statistic p99 --per run",
        ),
        neutral("refused", "one distribution does not describe the baseline ("),
        sentence("refused: too few to count", "no GEV describes the baseline ({*}), and {*}", |_, asked| {
            Sentence(!asked.distribution().is_gev() || asked.distribution().phi > 0.0)
        }),
    ];
    all.push(neutral(
        "refused",
        "), and {} values are too few to count a rate of {}; measure at least {}, or --false-alarm-rate {}",
    ));
    all
}

/// The clauses of the answer of `scale`, and its intervals.
pub(super) fn scale() -> Vec<Clause> {
    vec![
        neutral("answer", "The slowest of {} ranks takes {} (median)"),
        neutral("answer", "1 in 100 takes longer than {}"),
        neutral("answer", "Read the warnings"),
        neutral("refused", "No prediction of the slowest of {} ranks: these steps do not support one"),
        Clause {
            name: "median",
            words: "median of the slowest: {} to {}",
            judge: |read, asked| slowest(read, asked, 0.5),
        },
        Clause {
            name: "p99",
            words: "p99 of the slowest: {} to {}",
            judge: |read, asked| slowest(read, asked, 0.99),
        },
        sentence("not independent", "The steps are not a steady, independent series", |_, asked| {
            Sentence(!asked.distribution().is_independent())
        }),
        neutral(
            "warning",
            "The prediction is for {} times {*} measured, so it may be off by several percent. Measure at least three sizes",
        ),
        neutral(
            "warning",
            "The ranks are assumed independent. Ranks that share servers or network make the real times shorter",
        ),
        neutral(
            "warning",
            "Only one in {} of the measured steps exceeds that median, and {} were measured: it is extrapolated",
        ),
        neutral("warning", "{} steps are few: measure at least {}"),
        sentence(
            "no maximum",
            "The fit has no interior maximum: nothing can be predicted from it",
            |_, _| Sentence(true),
        ),
    ]
}

/// How many times as many ranks are asked for as were measured.
pub const TIMES: f64 = 8.0;

fn slowest(read: &crate::Read, asked: &Asked, p: f64) -> crate::Judged {
    let ranks = TIMES * asked.cell.ranks as f64;
    let truth = asked.distribution().quantile(p.powf(1.0 / ranks));
    Interval(if p == 0.5 { "median of the slowest" } else { "p99 of the slowest" }, read.holds((0, 1), truth))
}

/// The clauses of the answer of `plan-runs`.
pub(super) fn plan() -> Vec<Clause> {
    vec![
        neutral("answer", "{} values are needed ({} to {} by what this pilot knows)"),
        neutral("answer", "{} values are needed"),
        neutral("answer", "{} more than the {} measured"),
        neutral("answer", "the {} measured are enough"),
        Clause {
            name: "runs needed",
            words: "runs that are needed beside the truth: {} to {}",
            judge: |read, _| Interval("runs needed", read.holds((0, 1), 1.0)),
        },
    ]
}
