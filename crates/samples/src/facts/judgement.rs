//! What was found in a run: failures, wrong content, expectations and assertions that did not hold, ranks that were lost.
//!
//! Whatever says how a run ended, from the first screen to the exit status, reads these. They are in the facts before a
//! word is printed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::OtherFacts;
use crate::{Run, SiteKind};

/// What was found in a run; an empty list of a run that went well. Of bounded size: one entry for each kind, place and
/// errno, with a count and the first examples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Judgements {
    /// In the order in which it was found; no two of the same kind, place and errno.
    pub found: Vec<Judgement>,
    /// How far a run came that did not reach its end. `None` of others, and where its program does not say how much it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// How many more of a kind there were than have room in `found`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unlisted: BTreeMap<JudgementKind, u64>,
    /// Keys of newer writers.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// How much of what it was to do a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// So many were done: steps by every rank, operations by all ranks together.
    pub done: u64,
    /// Of so many.
    pub planned: u64,
    /// What is counted.
    pub unit: ProgressUnit,
}

/// What [`Progress`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgressUnit {
    /// Labelled blocks that every rank does equally often.
    Steps,
    /// Operations.
    #[default]
    #[serde(other)]
    Operations,
}

impl Progress {
    /// Of two parts of one run, with different ranks.
    fn with(self, other: Self) -> Option<Self> {
        match (self.unit, other.unit) {
            (ProgressUnit::Steps, ProgressUnit::Steps) if self.planned == other.planned => {
                Some(Self { done: self.done.min(other.done), ..self })
            }
            (ProgressUnit::Operations, ProgressUnit::Operations) => {
                Some(Self { done: self.done + other.done, planned: self.planned + other.planned, ..self })
            }
            _ => None,
        }
    }
}

/// What was found so often at one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Judgement {
    /// What kind of thing it is.
    pub kind: JudgementKind,
    /// The errno of the operations; 0 where there is none, also of those that succeeded against expectation.
    #[serde(skip_serializing_if = "is_zero")]
    pub errno: i32,
    /// The errno in words: `ENOENT, no such file or directory`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The errno that the program expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<i32>,
    /// Index into [`crate::Run::sites`]; `None` of what no single place did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
    /// Line in the program text, from 1; 0: not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u32,
    /// The operation at that place; empty where it is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// What was claimed, of an assertion; by whom, of a run that was cut short. Empty of others.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// How often: operations, ranks or assertions.
    pub count: u64,
    /// The first few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<JudgementExample>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JudgementExample {
    /// The rank, where one did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// What happened, in words: the command with its names and the reason; the evidence of an assertion.
    pub text: String,
    /// The file whose content was wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The first byte that was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// What was found there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content: String,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Kinds of judgements, from the worst on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgementKind {
    /// Verified data was not what was written there.
    WrongContent,
    /// A rank did not reach the end of the program, or its samples cannot be read.
    RankLost,
    /// Something ended the run before its end: a signal, a time limit, a full disk, the program's `on_error stop`.
    CutShort,
    /// An operation failed.
    OperationFailed,
    /// An operation that was to fail succeeded, or failed with another errno.
    ExpectationNotMet,
    /// The program itself is at fault in a way that only running it showed.
    ProgramAtFault,
    /// An assertion of the program does not hold.
    AssertionFailed,
    /// An assertion of the program was not evaluated, because the run was ended before.
    AssertionNotEvaluated,
    /// A write moved fewer bytes at once than it was asked to, and further calls completed it.
    ShortWrite,
    /// The same of a read.
    ShortRead,
    /// An operation failed with the errno that the program expects, which no constant in its text says.
    FailedAsExpected,
    /// What a newer lastrank knows.
    #[default]
    #[serde(other)]
    Unknown,
}

impl JudgementKind {
    /// Did an operation not end as the program says?
    pub fn is_of_operations(self) -> bool {
        matches!(self, Self::WrongContent | Self::OperationFailed | Self::ExpectationNotMet)
    }

    /// The exit status of a run in which only this was found.
    pub fn status(self) -> u8 {
        match self {
            Self::ProgramAtFault => 2,
            Self::WrongContent
            | Self::RankLost
            | Self::CutShort
            | Self::OperationFailed
            | Self::ExpectationNotMet
            | Self::Unknown => 3,
            Self::AssertionFailed | Self::AssertionNotEvaluated => 1,
            Self::ShortWrite | Self::ShortRead | Self::FailedAsExpected => 0,
        }
    }
}

impl JudgementExample {
    /// What happened, with the rank to which it did: `rank 0, line 3: …`.
    pub fn told(&self) -> String {
        self.rank.map_or_else(|| self.text.clone(), |rank| format!("rank {rank}, {}", self.text))
    }
}

impl Judgement {
    /// Is `other` the same kind of thing at the same place?
    fn is_like(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.kind, one.errno, one.expected, one.site, one.line);
        key(self) == key(other) && self.what == other.what && self.operation == other.operation
    }
}

impl Judgements {
    /// Entries of `found`, at most.
    pub const MOST: usize = 100;
    /// Examples of each, at most.
    pub const EXAMPLES: usize = 5;

    /// Adds a judgement; one of the same kind at the same place is counted with it.
    pub fn add(&mut self, judgement: Judgement) {
        if judgement.count == 0 {
            return;
        }
        if let Some(known) = self.found.iter_mut().find(|known| known.is_like(&judgement)) {
            known.count += judgement.count;
            let room = Self::EXAMPLES.saturating_sub(known.examples.len());
            let mut news = judgement.examples;
            news.retain(|example| !known.examples.contains(example));
            known.examples.extend(news.into_iter().take(room));
        } else if self.found.len() < Self::MOST {
            let mut judgement = judgement;
            judgement.examples.truncate(Self::EXAMPLES);
            self.found.push(judgement);
        } else {
            *self.unlisted.entry(judgement.kind).or_default() += judgement.count;
        }
    }

    /// As [`Judgements::add`], with its examples before those that are known.
    pub fn add_first(&mut self, judgement: Judgement) {
        let (examples, like) = (judgement.examples.clone(), judgement.clone());
        self.add(Judgement { examples: Vec::new(), ..judgement });
        if let Some(known) = self.found.iter_mut().find(|known| known.is_like(&like)) {
            known.examples.splice(0..0, examples);
            known.examples.truncate(Self::EXAMPLES);
        }
    }

    /// Adds those of another part of the same run, whose sites have these numbers here.
    pub fn add_part(&mut self, part: Self, site_here: &dyn Fn(u32) -> Option<u32>) {
        self.progress = self.progress.zip(part.progress).and_then(|(all, own)| all.with(own));
        for judgement in part.found {
            let site = judgement.site.and_then(site_here);
            // Every part tells what all ranks know; it happened once.
            let is_of_all = matches!(
                judgement.kind,
                JudgementKind::CutShort
                    | JudgementKind::AssertionFailed
                    | JudgementKind::AssertionNotEvaluated
            );
            let known = Judgement { site, ..judgement };
            if !(is_of_all && self.found.iter().any(|one| one.is_like(&known))) {
                self.add(known);
            }
        }
        for (kind, count) in part.unlisted {
            *self.unlisted.entry(kind).or_default() += count;
        }
    }

    /// How many of this kind, at all places.
    pub fn count(&self, kind: JudgementKind) -> u64 {
        let listed: u64 = self.of(kind).map(|one| one.count).sum();
        listed + self.unlisted.get(&kind).copied().unwrap_or(0)
    }

    /// Those of this kind.
    pub fn of(&self, kind: JudgementKind) -> impl Iterator<Item = &Judgement> {
        self.found.iter().filter(move |one| one.kind == kind)
    }

    /// Operations that failed and were not to: with an errno, also with another one than was expected, or reading wrong
    /// content. Their samples have an errno.
    pub fn failed(&self) -> u64 {
        let otherwise = self.of(JudgementKind::ExpectationNotMet).filter(|one| one.errno != 0);
        self.count(JudgementKind::OperationFailed)
            + self.count(JudgementKind::WrongContent)
            + otherwise.map(|one| one.count).sum::<u64>()
    }

    /// Operations that succeeded although the program expects them to fail.
    pub fn succeeded_against_expectation(&self) -> u64 {
        let succeeded = self.of(JudgementKind::ExpectationNotMet).filter(|one| one.errno == 0);
        succeeded.map(|one| one.count).sum()
    }

    /// Kinds that were found, the worst first.
    pub fn kinds(&self) -> Vec<JudgementKind> {
        let mut kinds: Vec<_> =
            self.found.iter().map(|one| one.kind).chain(self.unlisted.keys().copied()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The exit status that the run asks for: 2 where the program is at fault, else 3 where it is incomplete or operations
    /// failed, else 1 where an assertion does not hold, else 0.
    pub fn status(&self) -> u8 {
        let rank = |status: &u8| [0, 1, 3, 2].iter().position(|known| known == status);
        self.kinds().into_iter().map(JudgementKind::status).max_by_key(rank).unwrap_or(0)
    }

    /// Did the run go well: nothing was found that gives it a status other than 0?
    pub fn are_well(&self) -> bool {
        self.status() == 0
    }

    /// Are its times those of the work that it was to do? Not where data was wrong, operations did not end as the program
    /// says, or the run is incomplete. An assertion that does not hold says something of them, and they stand.
    pub fn are_sound(&self) -> bool {
        matches!(self.status(), 0 | 1)
    }

    /// What the samples and the other facts of a run say, of one that no judgements were kept of: runs of earlier versions.
    pub fn of_samples(run: &Run) -> Self {
        let mut found = Self::default();
        if !run.facts.complete {
            let example =
                |text: &String| JudgementExample { text: text.clone(), ..JudgementExample::default() };
            let examples: Vec<_> = run.facts.failures.iter().map(example).collect();
            let count = examples.len().max(1) as u64;
            found.add(Judgement { kind: JudgementKind::RankLost, count, examples, ..Judgement::default() });
        }
        let mut failed: BTreeMap<(u32, i32), (u64, u32)> = BTreeMap::new();
        if run.facts.counted.is_empty() {
            for sample in run.samples.iter().filter(|sample| sample.failed()) {
                let (count, _) = failed.entry((sample.site, sample.errno)).or_insert((0, sample.rank));
                *count += 1;
            }
        } else {
            for counted in &run.facts.counted {
                let known: u64 = counted.failed_by_errno.values().sum();
                let others = (&0, &counted.failed.saturating_sub(known));
                for (errno, count) in counted.failed_by_errno.iter().chain([others]).filter(|(_, n)| **n > 0)
                {
                    failed.entry((counted.site, *errno)).or_insert((0, 0)).0 += count;
                }
            }
        }
        for ((site, errno), (count, rank)) in failed {
            let Some(place) = run.sites.get(site as usize) else { continue };
            if place.kind != SiteKind::Operation || place.expects == Some(errno) && errno != 0 {
                continue;
            }
            let example =
                JudgementExample { rank: (errno != 0).then_some(rank), ..JudgementExample::default() };
            found.add(Judgement {
                kind: JudgementKind::OperationFailed,
                errno,
                site: Some(site),
                line: place.line,
                operation: place.operation.clone(),
                count,
                examples: vec![example],
                ..Judgement::default()
            });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, Site};

    fn one(kind: JudgementKind, line: u32) -> Judgement {
        let example = JudgementExample { rank: Some(line), text: "it failed".into(), ..Default::default() };
        Judgement { kind, line, count: 1, examples: vec![example], ..Judgement::default() }
    }

    #[test]
    fn the_status_is_that_of_the_worst() {
        use JudgementKind::*;
        let status = |kinds: &[JudgementKind]| {
            let mut found = Judgements::default();
            kinds.iter().for_each(|kind| found.add(one(*kind, 1)));
            found.status()
        };
        assert_eq!(
            [
                status(&[]),
                status(&[ShortWrite]),
                status(&[AssertionFailed, ShortWrite]),
                status(&[AssertionFailed, OperationFailed]),
                status(&[ProgramAtFault, RankLost, AssertionFailed]),
                status(&[Unknown]),
            ],
            [0, 0, 1, 3, 2, 3]
        );
        let is_sound = |kind| {
            let mut found = Judgements::default();
            found.add(one(kind, 1));
            found.are_sound()
        };
        for kind in [ShortWrite, ShortRead, FailedAsExpected, AssertionFailed, AssertionNotEvaluated] {
            assert!(is_sound(kind), "{kind:?}");
        }
        let wrong =
            [WrongContent, RankLost, CutShort, OperationFailed, ExpectationNotMet, ProgramAtFault, Unknown];
        for kind in wrong {
            assert!(!is_sound(kind), "{kind:?}");
        }
    }

    #[test]
    fn what_is_alike_is_counted_and_what_has_no_room_as_well() {
        let mut found = Judgements::default();
        for n in 0..1_000 {
            found.add(one(JudgementKind::OperationFailed, n % 2));
        }
        assert_eq!(found.found.len(), 2);
        assert_eq!((found.found[0].count, found.found[0].examples.len()), (500, 1));
        for line in 0..500 {
            found.add(one(JudgementKind::WrongContent, line));
        }
        assert_eq!(found.found.len(), Judgements::MOST);
        assert_eq!(found.count(JudgementKind::WrongContent), 500);
        assert_eq!(found.failed(), 1_500);
    }

    #[test]
    fn kinds_and_keys_of_a_newer_writer_are_read() {
        let json =
            r#"{"found":[{"kind":"of_tomorrow","count":2},{"kind":"wrong_content","count":1}],"more":1}"#;
        let found: Judgements = serde_json::from_str(json).expect("judgements");
        assert_eq!(found.kinds(), [JudgementKind::WrongContent, JudgementKind::Unknown]);
        assert_eq!(found.status(), 3);
        assert_eq!(serde_json::to_value(&found).expect("plain data")["more"], 1);
    }

    #[test]
    fn parts_came_as_far_as_the_slowest_in_steps_and_together_in_operations() {
        let of = |done, planned, unit| Judgements {
            progress: Some(Progress { done, planned, unit }),
            ..Judgements::default()
        };
        let both = |mut a: Judgements, b: Judgements| {
            a.add_part(b, &|_| None);
            a.progress.map(|found| (found.done, found.planned))
        };
        use ProgressUnit::{Operations, Steps};
        assert_eq!(both(of(68, 400, Steps), of(67, 400, Steps)), Some((67, 400)));
        assert_eq!(both(of(68, 400, Operations), of(67, 300, Operations)), Some((135, 700)));
        assert_eq!(both(of(68, 400, Steps), of(67, 300, Steps)), None);
        assert_eq!(both(of(68, 400, Steps), Judgements::default()), None);
    }

    #[test]
    fn a_part_brings_its_sites_and_tells_once_what_all_know() {
        let mut all = Judgements::default();
        all.add(Judgement { site: Some(0), ..one(JudgementKind::OperationFailed, 3) });
        all.add(one(JudgementKind::CutShort, 0));
        let mut part = Judgements::default();
        part.add(Judgement { site: Some(7), ..one(JudgementKind::OperationFailed, 3) });
        part.add(one(JudgementKind::CutShort, 0));
        all.add_part(part, &|site| (site == 7).then_some(0));
        assert_eq!((all.count(JudgementKind::OperationFailed), all.count(JudgementKind::CutShort)), (2, 1));
        assert_eq!(all.found.len(), 2);
    }

    #[test]
    fn a_run_of_an_earlier_version_is_judged_by_its_samples() {
        let sites = vec![
            Site { line: 4, operation: "stat".into(), expects: Some(2), ..Site::default() },
            Site { kind: SiteKind::Time, operation: "time".into(), ..Site::default() },
        ];
        let sample = |site, errno| Sample { site, errno, batch: 1, ..Sample::default() };
        let samples = vec![sample(0, 2), sample(0, 13), sample(0, 13), sample(1, 13), sample(0, 0)];
        let mut run = Run { sites, samples, ..Run::default() };
        run.facts.complete = true;
        let found = Judgements::of_samples(&run);
        assert_eq!((found.found.len(), found.failed(), found.status()), (1, 2, 3));
        assert_eq!((found.found[0].errno, found.found[0].line), (13, 4));
        run.samples.truncate(1);
        assert!(Judgements::of_samples(&run).are_well());
        run.facts.complete = false;
        run.facts.failures = vec!["rank 0 was killed".into()];
        assert_eq!(Judgements::of_samples(&run).count(JudgementKind::RankLost), 1);
    }
}
