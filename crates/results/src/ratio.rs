//! Compares the rows of two runs: factors of quantiles and rates, and whether the work is the same.

use samples::SiteKind;
use serde::Serialize;
pub use tail::congestion::QuantileRatio;

use crate::choice::LAYING_OUT;
use crate::interval::QuantileInterval;
use crate::row::ResultRow;
use crate::safe::Safe;

/// Depths whose ratio is larger are not the same work.
const SAME_DEPTH: f64 = 1.1;

/// A row of one run beside that of another with the same labels and operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowRatio {
    /// `write / fwrite`.
    pub name: String,
    /// Operation, block or wait.
    pub kind: SiteKind,
    /// Medians of the old and of the new run, in seconds.
    pub p50_seconds: [f64; 2],
    /// Their ratio.
    pub p50: QuantileRatio,
    /// Ratio of the 99% quantiles; `None` where a run has too few values.
    pub p99: Option<QuantileRatio>,
    /// Operations a second of the old and of the new run; `None` where they are not known.
    pub operations_per_second: Option<[f64; 2]>,
    /// Operations a second, new by old; `None` where they are not known.
    pub rate: Option<f64>,
    /// Bytes a second of the old and of the new run; `None` of operations that move none.
    pub bytes_per_second: Option<[f64; 2]>,
    /// Whether the quantiles are of the time from the begin of a write until its data are safe.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub until_safe: bool,
    /// Whether it makes what was written safe.
    #[serde(skip)]
    pub makes_safe: bool,
    /// Whether it makes the files that the load is on, which nobody asked to compare.
    #[serde(skip)]
    pub is_aside: bool,
    /// The differences in the work; empty if it is the same.
    pub other_work: Vec<OtherWork>,
}

/// Why a row of one run is not the same work as that of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherWork {
    /// Other numbers of ranks.
    Ranks,
    /// Operations of other sizes.
    Sizes,
    /// More in flight at a time than in the other run.
    Depth,
    /// More in flight at a time, since more was asked for.
    AskedDepth,
    /// Another rate was asked for.
    Rate,
}

impl OtherWork {
    /// Whether it was asked for, so that times of the two are no comparison of systems. The depth that is reached may be what
    /// a slower system comes to.
    pub fn is_asked(self) -> bool {
        match self {
            OtherWork::Ranks | OtherWork::Sizes | OtherWork::AskedDepth | OtherWork::Rate => true,
            OtherWork::Depth => false,
        }
    }
}

/// Two runs, row by row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RowRatios {
    /// Rows that both have, those that take the most time first.
    pub rows: Vec<RowRatio>,
    /// Names of rows that only the old run has.
    pub only_old: Vec<String>,
    /// Names of rows that only the new run has.
    pub only_new: Vec<String>,
    /// The name of the row whose values are compared, where somebody said it.
    #[serde(skip)]
    pub subject: Option<String>,
}

impl RowRatios {
    /// The row whose values are compared.
    pub fn of_subject(&self) -> Option<&RowRatio> {
        let name = self.subject.as_ref()?;
        self.rows.iter().find(|row| row.name == *name && row.kind != SiteKind::Barrier)
    }

    /// Gives the row whose values are compared the ratios of the comparison: one ratio has one interval. Only where it is of
    /// the same values, whose medians are these.
    pub fn compared(&mut self, medians: [f64; 2], p50: QuantileRatio, p99: Option<QuantileRatio>) {
        /// Medians that differ by less are those of the same values.
        const SAME: f64 = 0.005;
        let is_it = |row: &RowRatio| {
            let same = |(a, b): (f64, f64)| (a / b - 1.0).abs() < SAME;
            row.p50_seconds.into_iter().zip(medians).all(same)
        };
        let Some(name) = self.subject.clone() else { return };
        let mut rows = self.rows.iter_mut().filter(|row| row.name == name && row.kind != SiteKind::Barrier);
        if let Some(row) = rows.next().filter(|row| is_it(row)) {
            (row.p50, row.p99) = (p50, p99.or(row.p99));
        }
    }

    /// For two runs that were asked for other depths: where another depth was reached, that is why.
    pub fn of_other_depths(mut self) -> RowRatios {
        let kinds = self.rows.iter_mut().flat_map(|row| &mut row.other_work);
        kinds.filter(|kind| **kind == OtherWork::Depth).for_each(|kind| *kind = OtherWork::AskedDepth);
        self
    }

    /// Of the operations with the same work, the one that became slower most, and the one that became faster most, by the
    /// median, each only where it is shown among so many.
    pub fn largest(&self) -> [Option<&RowRatio>; 2] {
        let by = |a: &&RowRatio, b: &&RowRatio| a.p50.value.total_cmp(&b.p50.value);
        [
            self.shown().filter(|row| row.p50.value > 1.0).max_by(by),
            self.shown().filter(|row| row.p50.value < 1.0).min_by(by),
        ]
    }

    /// The operations with the same work whose medians are shown to differ among so many.
    pub fn shown(&self) -> impl Iterator<Item = &RowRatio> {
        // Until safe, writes are none of the operations that are counted.
        let same =
            |row: &&RowRatio| row.kind == SiteKind::Operation && !row.until_safe && row.other_work.is_empty();
        let many = self.rows.iter().filter(same).count();
        self.rows.iter().filter(same).filter(move |row| row.p50.is_shown_among(many))
    }
}

/// The ratio of a quantile of two runs, new by old, from their intervals. `None` where one is not positive.
pub fn compare_intervals(old: &QuantileInterval, new: &QuantileInterval) -> Option<QuantileRatio> {
    QuantileRatio::of(&old.ends(), &new.ends())
}

/// Matches the rows of two runs by labels, operation and kind.
pub fn compare_rows(old: &[ResultRow], new: &[ResultRow]) -> RowRatios {
    let alike =
        |a: &ResultRow, b: &ResultRow| a.labels == b.labels && a.operation == b.operation && a.kind == b.kind;
    let without = |of: &[ResultRow], others: &[ResultRow]| -> Vec<String> {
        of.iter().filter(|row| !others.iter().any(|other| alike(row, other))).map(ResultRow::name).collect()
    };
    let mut pairs: Vec<(&ResultRow, &ResultRow)> =
        old.iter().filter_map(|a| Some((a, new.iter().find(|b| alike(a, b))?))).collect();
    let busy = |row: &ResultRow| row.busy_seconds.unwrap_or(0.0);
    pairs.sort_by(|a, b| busy(b.0).total_cmp(&busy(a.0)));
    RowRatios {
        rows: pairs
            .into_iter()
            .flat_map(|(a, b)| [RowRatio::until_safe(a, b), RowRatio::of(a, b)])
            .flatten()
            .collect(),
        only_old: without(old, new),
        only_new: without(new, old),
        subject: None,
    }
}

impl RowRatio {
    pub(crate) fn of(old: &ResultRow, new: &ResultRow) -> Option<RowRatio> {
        let ratio = |p: f64| QuantileRatio::of(&old.interval(p)?.ends(), &new.interval(p)?.ends());
        let rate = old.operations_per_second.zip(new.operations_per_second);
        Some(RowRatio {
            name: old.name(),
            kind: old.kind,
            p50_seconds: [old.headline()?.p50, new.headline()?.p50],
            p50: ratio(0.5)?,
            p99: ratio(0.99),
            operations_per_second: rate.map(|(old, new)| [old, new]),
            rate: rate.filter(|(old, _)| *old > 0.0).map(|(old, new)| new / old),
            bytes_per_second: old.bytes_per_second.zip(new.bytes_per_second).map(|(old, new)| [old, new]),
            until_safe: false,
            makes_safe: old.is_sync(),
            is_aside: old.label.as_deref() == Some(LAYING_OUT),
            other_work: other_work(old, new),
        })
    }

    /// The same writes until their data are safe, where both runs make them so.
    fn until_safe(old: &ResultRow, new: &ResultRow) -> Option<RowRatio> {
        let (a, b) = old.safe.as_ref().zip(new.safe.as_ref())?;
        let of = |safe: &Safe, p: f64| safe.intervals.iter().find(|one| one.probability == p).cloned();
        let ratio = |p: f64| QuantileRatio::of(&of(a, p)?.ends(), &of(b, p)?.ends());
        let medians = a.quantiles_seconds.as_ref().zip(b.quantiles_seconds.as_ref())?;
        Some(RowRatio {
            name: format!("{}, until safe", old.name()),
            p50_seconds: [medians.0.p50, medians.1.p50],
            p50: ratio(0.5)?,
            p99: ratio(0.99),
            until_safe: true,
            ..RowRatio::of(old, new)?
        })
    }
}

fn other_work(old: &ResultRow, new: &ResultRow) -> Vec<OtherWork> {
    let apart = |a: Option<f64>, b: Option<f64>, most: f64| match (a, b) {
        (Some(a), Some(b)) => a.max(b) > most * a.min(b),
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    };
    let asked = |row: &ResultRow| row.rate.map(|rate| rate.asked_per_second);
    let found = [
        (old.ranks != new.ranks, OtherWork::Ranks),
        (old.bytes_per_operation != new.bytes_per_operation, OtherWork::Sizes),
        (apart(old.achieved_depth, new.achieved_depth, SAME_DEPTH) && is_deep(old, new), OtherWork::Depth),
        (apart(asked(old), asked(new), 1.01), OtherWork::Rate),
    ];
    found.into_iter().filter_map(|(is, what)| is.then_some(what)).collect()
}

/// Whether a rank had more than one operation under way. Below that, the depth depends on pauses, not on the requested
/// depth.
fn is_deep(old: &ResultRow, new: &ResultRow) -> bool {
    [old, new].iter().any(|row| {
        let ranks = row.ranks.unwrap_or(1).max(1) as f64;
        row.achieved_depth.is_some_and(|depth| depth > 1.5 * ranks)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_depth_is_other_work_where_it_was_asked_for() {
        let rows = |depth: f64| {
            let mut rows = crate::of_run(&samples::example::parallel_write(1, 40, 1));
            rows.iter_mut().for_each(|row| row.achieved_depth = Some(depth));
            rows
        };
        let found = compare_rows(&rows(1.0), &rows(16.0));
        let kinds =
            |of: &RowRatios| of.rows[0].other_work.iter().map(|kind| kind.is_asked()).collect::<Vec<_>>();
        assert_eq!(kinds(&found), [false]);
        assert_eq!(kinds(&found.of_other_depths()), [true]);
        assert!(compare_rows(&rows(1.0), &rows(1.0)).of_other_depths().rows[0].other_work.is_empty());
        let facts = |depth: &str| samples::Facts {
            parameters: [("depth".to_owned(), depth.to_owned())].into(),
            ..samples::Facts::default()
        };
        assert!(crate::ask_other_depths(&facts("1"), &facts("16")));
        assert!(!crate::ask_other_depths(&facts("1"), &samples::Facts::default()));
        let said =
            samples::Facts { report: [("title".into(), "direct, depth 4".into())].into(), ..facts("4") };
        assert!(!crate::ask_other_depths(&said, &facts("4")) && crate::ask_other_depths(&said, &facts("2")));
    }

    #[test]
    fn a_run_beside_a_slower_one_says_by_how_much_row_by_row() {
        let quiet = samples::example::parallel_write(4, 200, 3);
        let mut slow = samples::example::parallel_write(4, 200, 9);
        slow.samples.iter_mut().for_each(|sample| sample.duration_ps = sample.duration_ps * 5 / 4);
        slow.samples.retain(|sample| sample.site != 5);
        let found = compare_rows(&crate::of_run(&quiet), &crate::of_run(&slow));
        assert_eq!((found.only_old.as_slice(), found.only_new.len()), (&["free".to_owned()][..], 0));
        let write = found.rows.iter().find(|row| row.name == "write / fwrite").unwrap();
        assert!((write.p50.value - 1.25).abs() < 0.01 && write.p50.is_shown(), "{write:?}");
        assert!(write.p50.lower.unwrap() < 1.25 && write.p50.upper.unwrap() > 1.25, "{write:?}");
        assert!(write.p99.is_some_and(|p99| p99.is_shown()) && write.other_work.is_empty());
    }

    #[test]
    fn the_largest_change_in_each_direction_is_named_only_where_it_is_shown() {
        let row = |name: &str, value: f64, lower: f64| RowRatio {
            name: name.into(),
            kind: SiteKind::Operation,
            p50_seconds: [1.0, value],
            p50: QuantileRatio { value, lower: Some(lower), upper: Some(value * value / lower) },
            p99: None,
            operations_per_second: None,
            rate: None,
            bytes_per_second: None,
            until_safe: false,
            makes_safe: false,
            is_aside: false,
            other_work: Vec::new(),
        };
        let names = |rows: &[RowRatio]| {
            let rows = RowRatios { rows: rows.to_vec(), ..RowRatios::default() };
            rows.largest().map(|row| row.map(|row| row.name.clone()))
        };
        let mut rows =
            vec![row("a", 1.1, 1.05), row("b", 1.5, 1.4), row("c", 0.7, 0.65), row("d", 0.9, 0.88)];
        assert_eq!(names(&rows), [Some("b".into()), Some("c".into())]);
        // Other work is no change.
        rows[1].other_work.push(OtherWork::Sizes);
        assert_eq!(names(&rows)[0], Some("a".into()));
        // An interval that leaves 1 out by a hair is no news among ten.
        assert_eq!(names(&[row("a", 1.1, 1.001)])[0], Some("a".into()));
        let ten: Vec<RowRatio> = (0..10).map(|_| row("a", 1.1, 1.001)).collect();
        assert_eq!(names(&ten), [None, None]);
    }

    #[test]
    fn other_sizes_and_other_ranks_are_other_work() {
        let rows = |ranks, steps| crate::of_run(&samples::example::parallel_write(ranks, steps, 1));
        let mut bigger = rows(2, 40);
        bigger.iter_mut().for_each(|row| row.bytes_per_operation = Some([7, 7]));
        let found = compare_rows(&rows(4, 40), &bigger);
        assert!(
            found.rows.iter().all(|row| row.other_work.starts_with(&[OtherWork::Ranks, OtherWork::Sizes]))
        );
    }
}
