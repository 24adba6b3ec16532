//! A row of a run's result: counts, rates, depth and quantiles of an operation or block, over all ranks.

use std::collections::BTreeMap;

use samples::SiteKind;
use serde::Serialize;

use crate::interval::QuantileInterval;
use crate::iterations::Iterations;
use crate::of_ranks::RankResult;
use crate::quantiles::Quantiles;
use crate::rate::KeptRate;
use crate::safe::{SYNCS, Safe};
use crate::series::Series;
use crate::steady::Steadiness;
use crate::steps::Steps;
use crate::together::Together;
use crate::wall::AtWall;

/// What was measured under one path of labels with one operation; places of the program that agree in both are one row.
///
/// Times are on the common clock of the ranks. A number that does not exist is `None`: all but the counts of a row
/// whose operations all failed, and rates of a block that sums times inside its calls (`ctime`).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ResultRow {
    /// The innermost label around it.
    pub label: Option<String>,
    /// All labels around it, outermost first.
    pub labels: Vec<String>,
    /// `fwrite`, …; of a block `time`, `ctime` or `phase`.
    pub operation: String,
    /// Operation, block or wait.
    pub kind: SiteKind,
    /// Lines of the program, ascending.
    pub lines: Vec<u32>,
    /// How many ranks took part; `None` of a run that counts.
    pub ranks: Option<usize>,
    /// Timings that succeeded: what quantiles are of.
    pub timings: u64,
    /// Operations that succeeded: more than timings where a kernel times batches. `None` of a run that counts.
    pub operations: Option<u64>,
    /// Operations in each timing; `None` where timings differ in it.
    pub operations_per_timing: Option<u32>,
    /// Timings that failed, unless as the program expects.
    pub errors: u64,
    /// Timings that failed with the errno that the program expects (`expect errno == …`).
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_as_expected: u64,
    /// How many failed with each errno.
    pub errors_by_errno: BTreeMap<i32, u64>,
    /// Bytes as the calls returned them, failed ones too.
    pub bytes: u64,
    /// Those of them that belong to operations that failed, as a read with wrong content: no rate counts them.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes_of_failed: u64,
    /// Wall time: the union, over the passes of the block around it, of the time from the first begin of the block to its
    /// last end over the ranks that took part. Without a block from the first begin of an operation to the last end.
    pub wall_seconds: Option<f64>,
    /// Uncertainty of the wall time from the comparison of the ranks' clocks; 0 if they share one clock.
    pub wall_uncertainty_seconds: Option<f64>,
    /// Time in which at least one of its operations was under way.
    pub busy_seconds: Option<f64>,
    /// From the first begin to the last end, with the pauses between passes.
    pub span_seconds: Option<f64>,
    /// Successful operations by wall time.
    pub operations_per_second: Option<f64>,
    /// Bytes by wall time.
    pub bytes_per_second: Option<f64>,
    /// Operations under way on average over the wall time.
    pub achieved_depth: Option<f64>,
    /// Mean of one operation.
    pub mean_seconds: Option<f64>,
    /// Standard deviation of one operation; in batches of the means of batches. `None` of fewer than two timings, of batches
    /// that differ, and of a run that counts.
    pub sd_seconds: Option<f64>,
    /// Quantiles of the durations, of one operation each; in batches of the means of batches.
    pub quantiles_seconds: Option<Quantiles>,
    /// Mean of one operation from the intended start on, under `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_mean_seconds: Option<f64>,
    /// Quantiles from the intended start on, under `rate`.
    pub response_quantiles_seconds: Option<Quantiles>,
    /// The quantiles again, with their intervals, as far as the values reach; of durations, or under `rate` of
    /// responses. Empty where there are no quantiles.
    pub intervals: Vec<QuantileInterval>,
    /// Of a block, and of what a program declares as its gate: the steps over all ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Steps>,
    /// Of writes that calls next to them made durable again and again: when they were safe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safe: Option<Safe>,
    /// Fewest and most bytes of an operation that succeeded; `None` where there is none.
    pub bytes_per_operation: Option<[u64; 2]>,
    /// Each rank alone; empty of a single rank.
    pub per_rank: Vec<RankResult>,
    /// What all ranks had done when the first of them was through; `None` of a single rank, and of fewer than ten
    /// operations of a rank in a pass.
    pub at_wall: Option<AtWall>,
    /// What was done while all ranks were at work, without what some did before or after; `None` of a single rank.
    pub together: Option<Together>,
    /// Passes of the labelled block around it, each for itself; `None` without such a block or of one pass.
    pub iterations: Option<Iterations>,
    /// Under `rate`: what was asked for and what came of it.
    pub rate: Option<KeptRate>,
    /// How it went over time; `None` of too few operations, and of blocks.
    pub series: Option<Series>,
    /// Whether its rate settled; `None` of a series that is too short to say.
    pub steady: Option<Steadiness>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ResultRow {
    /// The time in which at least one of its operations was under way, in seconds; the sum of their durations in a run that
    /// counts, which knows no other.
    pub fn time_at_work(&self) -> f64 {
        let sum = || self.mean_seconds.map_or(0.0, |mean| mean * self.timings as f64);
        self.busy_seconds.unwrap_or_else(sum)
    }

    /// Bytes of the operations that succeeded: what rates are of.
    pub fn good_bytes(&self) -> u64 {
        self.bytes - self.bytes_of_failed
    }

    /// Bytes that succeeded by the time in which an operation was under way on any rank; `None` of none, or of no time.
    pub fn bytes_per_busy_second(&self) -> Option<f64> {
        let busy = self.busy_seconds.filter(|busy| *busy > 0.0 && self.good_bytes() > 0)?;
        Some(self.good_bytes() as f64 / busy)
    }

    /// Whether the series goes on over pauses between passes, which the rates of the whole leave out, so that its rates are
    /// lower.
    pub fn series_counts_pauses(&self) -> bool {
        self.wall_seconds.zip(self.span_seconds).is_some_and(|(wall, span)| wall < 0.9 * span)
    }

    /// `write / fwrite`, the label of a block, or an operation without a label.
    pub fn name(&self) -> String {
        match (self.kind, &self.label) {
            (SiteKind::Operation | SiteKind::Barrier, Some(label)) => format!("{label} / {}", self.operation),
            (SiteKind::Time | SiteKind::CommandTime | SiteKind::Phase, Some(label)) => label.clone(),
            (_, None) => self.operation.clone(),
        }
    }

    /// Whether it is a block, not one command or a wait.
    pub fn is_block(&self) -> bool {
        match self.kind {
            SiteKind::Time | SiteKind::CommandTime | SiteKind::Phase => true,
            SiteKind::Operation | SiteKind::Barrier => false,
        }
    }

    /// Whether it makes what was written durable.
    pub fn is_sync(&self) -> bool {
        self.kind == SiteKind::Operation && SYNCS.contains(&self.operation.as_str())
    }

    /// Whether `wanted` names it: its innermost label, its operation, or `label/operation`.
    pub fn is_called(&self, wanted: &str) -> bool {
        let label = self.label.as_deref().unwrap_or_default();
        let both = || {
            wanted
                .rsplit_once('/')
                .is_some_and(|(l, operation)| l.trim() == label && operation.trim() == self.operation)
        };
        let alone = if self.is_block() { label } else { self.operation.as_str() };
        !wanted.is_empty() && (wanted == alone || both())
    }

    /// The quantiles that an answer is about: from the intended start on under `rate`, else of durations.
    pub fn headline(&self) -> Option<&Quantiles> {
        self.response_quantiles_seconds.as_ref().or(self.quantiles_seconds.as_ref())
    }

    /// The interval of one of them.
    pub fn interval(&self, probability: f64) -> Option<&QuantileInterval> {
        self.intervals.iter().find(|one| one.probability == probability)
    }
}
