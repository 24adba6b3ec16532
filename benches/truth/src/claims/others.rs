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
        sentence("refused: its level moves", "its level moves (", |_, asked| Sentence(asked.law().changes())),
        neutral(
            "refused",
            "), so no rate of false alarms holds for later runs; measure a steady one, or take the steady part of it",
        ),
        sentence(
            "refused: dependent",
            "its runs depend on each other in a way that no simple memory explains (",
            |_, asked| {
                // An autoregression is a simple memory.
                Sentence(!asked.law().is_independent() && !asked.law().is_stationary())
            },
        ),
        neutral(
            "refused",
            "), so no rate of false alarms holds; space the runs further apart, or take one value for each stretch that \
             belongs together",
        ),
        neutral("refused", "one law does not describe the quiet runs ("),
        sentence(
            "refused: too few to count",
            "no GEV describes the quiet runs ({*}), and {*}",
            |_, asked| Sentence(!asked.law().is_gev() || asked.law().phi > 0.0),
        ),
    ];
    all.push(neutral("refused", "), and {} runs are too few to count a rate of {}; measure at least {}, or ask for a rate of {} or more"));
    all
}

/// The clauses of the answer of `scale`, and its intervals.
pub(super) fn scale() -> Vec<Clause> {
    vec![
        neutral("answer", "The slowest of {} ranks takes {} (median)"),
        neutral("answer", "1 in 100 takes longer than {}"),
        neutral("answer", "Read the warnings"),
        neutral("refused", "No prediction of the slowest of {} ranks: these runs do not support one"),
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
        sentence("not independent", "The runs are not independent draws of one law", |_, asked| {
            Sentence(!asked.law().is_independent())
        }),
        neutral(
            "warning",
            "From one size to one {} times {*}: the law of larger maxima is not the fitted one yet, by up to several percent. Measure at least three sizes",
        ),
        neutral(
            "warning",
            "The parts are taken as independent; parts that share servers or network make this too pessimistic",
        ),
        neutral("warning", "The median there is exceeded once in {} runs here: far outside {} runs"),
        neutral("warning", "Only {} runs were measured: at least {} are advised"),
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
    let truth = asked.law().quantile(p.powf(1.0 / ranks));
    Interval(if p == 0.5 { "median of the slowest" } else { "p99 of the slowest" }, read.holds((0, 1), truth))
}

/// The clauses of the answer of `plan-runs`.
pub(super) fn plan() -> Vec<Clause> {
    vec![
        neutral("answer", "{} runs are needed ({} to {} by what this pilot knows)"),
        neutral("answer", "{} runs are needed"),
        neutral("answer", "{} more than measured"),
        neutral("answer", "enough are measured"),
        Clause {
            name: "runs needed",
            words: "runs that are needed beside the truth: {} to {}",
            judge: |read, _| Interval("runs needed", read.holds((0, 1), 1.0)),
        },
    ]
}
