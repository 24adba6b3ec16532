//! What is kept of what a run is about, so that another run can be compared with it without its samples.

use results::ResultRow;
use serde::{Deserialize, Serialize};
use tail::congestion::KeptArm;

use crate::analysis::Analysis;
use crate::place_key::PlaceKey;
use crate::subject::Subject;

/// A subject of single operations, each timed by itself from its begin on, and what was found in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptSubject {
    name: String,
    site: u32,
    sites: Vec<u32>,
    key: PlaceKey,
    share: Option<f64>,
    runner_up: Option<(String, f64)>,
    /// The first and the last of each range of ranks.
    ranks: Vec<[u32; 2]>,
    failed: usize,
    /// What was found.
    pub arm: KeptArm,
}

impl KeptSubject {
    /// Of what a report analysed first; `None` where its values are others than durations of operations, or nothing is
    /// kept of them, or where they were taken in place of writes that they make safe.
    pub fn of(found: &Analysis, rows: &[ResultRow]) -> Option<KeptSubject> {
        let (subject, arm) = (&found.subject, found.kept.clone()?);
        let [key] = subject.keys.as_slice() else { return None };
        let is_plain = !subject.gate && !subject.from_schedule && subject.batch == (1, 1);
        let is_sync = rows.iter().any(|row| PlaceKey::of_row(row) == *key && row.is_sync());
        let ranges =
            subject.ranks.chunk_by(|a, b| a + 1 == *b).map(|range| [range[0], range[range.len() - 1]]);
        (is_plain && !is_sync).then(|| KeptSubject {
            name: subject.name.clone(),
            site: subject.site,
            sites: subject.sites.clone(),
            key: key.clone(),
            share: subject.share,
            runner_up: subject.runner_up.clone(),
            ranks: ranges.collect(),
            failed: subject.failed,
            arm,
        })
    }

    /// Whether it is what the other is, in another run.
    pub fn is_alike(&self, other: &KeptSubject) -> bool {
        self.key == other.key
    }

    /// Numbers of the sites that its values come from.
    pub fn sites(&self) -> &[u32] {
        &self.sites
    }

    /// The one row that it is of.
    pub fn row<'a>(&self, rows: &'a [ResultRow]) -> Option<&'a ResultRow> {
        let mut found = rows.iter().filter(|row| PlaceKey::of_row(row) == self.key);
        found.next().filter(|_| found.next().is_none())
    }

    /// The subject without its steps.
    pub fn subject(&self) -> Subject {
        Subject {
            name: self.name.clone(),
            site: self.site,
            sites: self.sites.clone(),
            keys: vec![self.key.clone()],
            share: self.share,
            runner_up: self.runner_up.clone(),
            gate: false,
            from_schedule: false,
            batch: (1, 1),
            ranks: self.ranks.iter().flat_map(|[first, last]| *first..=*last).collect(),
            steps: Vec::new(),
            of_rank: Vec::new(),
            failed: self.failed,
            unfinished: 0,
        }
    }
}
