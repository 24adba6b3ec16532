//! Two large runs compared by what their footers keep: no sample is read.

use std::path::Path;

use report::{KeptSubject, Subject};
use results::{KeptRow, ResultRow};
use samples::{Histogram, Run, histogram};
use tail::congestion::{Bucket, CompareOptions, Comparison, SUMMED_LEVEL, Summed, compare_summed};

use crate::cli::{Choice, CompareArgs};
use crate::kept_answer;
use crate::values::Values;

/// What the footer of one run says.
struct Side {
    run: Run,
    subject: KeptSubject,
    rows: Vec<ResultRow>,
    buckets: Vec<Bucket>,
    sums: samples::Reduced,
}

/// Both samples, without their values, and how they compare; `None` where the samples must be read: where somebody wishes
/// so or asks for what is made of them, where a footer does not have it all, or where histograms leave the answer in doubt.
pub(super) fn of(args: &CompareArgs, is_of_new: bool) -> Option<([Values; 2], Comparison)> {
    let options = CompareOptions::default();
    let is_usual = args.level == SUMMED_LEVEL && args.seed == options.seed && is_default(&args.choice);
    if args.exact || is_of_new || args.markdown || args.output.is_some() || !is_usual {
        return None;
    }
    let files = [args.quiet.as_path(), args.new.as_path()];
    let [old, new] = [Side::of(files[0])?, Side::of(files[1])?];
    if !old.subject.is_alike(&new.subject) {
        return None;
    }
    let identical = old.sums == new.sums;
    let found = compare_summed([&old.summed()?, &new.summed()?], identical).ok()??;
    // As where the samples are read, the second run is asked for what the first is about.
    let subject = old.subject.subject();
    let other = Subject { share: None, runner_up: None, ..new.subject.subject() };
    Some(([old.values(subject, files[0]), new.values(other, files[1])], found))
}

/// Whether nobody chose anything.
fn is_default(choice: &Choice) -> bool {
    let is_of_tables = !choice.filters.is_empty()
        || choice.missing.is_some()
        || choice.decimal.is_some()
        || choice.thousands.is_some()
        || choice.skip > 0
        || choice.no_header
        || choice.failed;
    let is_chosen = choice.column.is_some() || choice.label.is_some() || choice.gate || choice.unit.is_some();
    !is_of_tables && !is_chosen
}

impl Side {
    fn of(file: &Path) -> Option<Side> {
        let (run, kept) = kept_answer::compared(file)?;
        run.facts.judgements.as_ref()?;
        let sums = store::reduced(file)?;
        let mut counts = Histogram::default();
        for site in kept.subject.sites() {
            counts.merge(&sums.site(run.sites.get(*site as usize)?)?.histogram);
        }
        let buckets = counts.buckets().map(|(at, count)| {
            let (low, high) = histogram::edges(at);
            Bucket { low: low as f64 * 1e-12, high: (high as f64 + 1.0) * 1e-12, count }
        });
        let buckets = buckets.collect();
        let is_whole = counts.count() == kept.subject.arm.arm.n as u64;
        let rows = kept.rows.into_iter().map(KeptRow::row).collect();
        is_whole.then_some(Side { run, subject: kept.subject, rows, buckets, sums })
    }

    fn summed(&self) -> Option<Summed<'_>> {
        let row = self.subject.row(&self.rows)?;
        let ends = |p: f64| row.interval(p).map(results::QuantileInterval::ends);
        Some(Summed {
            kept: &self.subject.arm,
            buckets: &self.buckets,
            p50: ends(0.5)?,
            p99: Some(ends(0.99)?),
        })
    }

    fn values(self, subject: Subject, file: &Path) -> Values {
        Values { rows: Some(self.rows), ..Values::of_subject(subject, self.run, file) }
    }
}
