//! Makes judgements of what ranks left: what failed, which rank was lost, who stopped the run.

use std::collections::HashMap;

use crate::flags::failure_text;
use record::{FailedAssertion, FailureKey};
use samples::{
    Cause, Causes, Judgement, JudgementExample, JudgementKind, Judgements, NodeFacts, Sample, Site, SiteKind,
};

/// What is known so far.
#[derive(Default)]
pub(super) struct Judge {
    /// Which ranks share a machine, under MPI.
    pub(super) nodes: Vec<NodeFacts>,
    hosts: HashMap<u32, String>,
    /// By rank: the program is at fault; what cut it short.
    stopped: HashMap<u32, (bool, String)>,
    /// What operations did, by their common site.
    operations: Vec<Judgement>,
    ends: Vec<Judgement>,
    assertions: Vec<Judgement>,
}

/// The judgement of one operation, or of so many.
fn of_operations(site: u32, of: FailureKey, count: u64) -> Judgement {
    let FailureKey { kind, errno, expected, .. } = of;
    Judgement { kind, errno, expected, site: Some(site), count, ..Judgement::default() }
}

impl Judge {
    pub(super) fn host(&mut self, rank: u32, host: String) {
        self.hosts.insert(rank, host);
    }

    /// What the machine of a rank is called; empty where nobody knows.
    fn host_of(&self, rank: u32) -> String {
        let node = self.nodes.iter().find(|node| self.nodes.len() > 1 && node.has(rank));
        node.map(|node| &node.host).or(self.hosts.get(&rank)).cloned().unwrap_or_default()
    }

    /// The host of each of so many ranks, where they are of several.
    pub(super) fn hosts(&self, ranks: u32) -> Vec<String> {
        let known: std::collections::HashSet<&String> =
            self.hosts.values().filter(|host| !host.is_empty()).collect();
        let mut all = Vec::new();
        if known.len() > 1 || self.nodes.len() > 1 {
            all.extend((0..ranks).map(|rank| self.hosts.get(&rank).cloned().unwrap_or_default()));
        }
        for node in self.nodes.iter().filter(|_| self.nodes.len() > 1) {
            for rank in node.each_rank().take_while(|rank| *rank < ranks) {
                all[rank as usize].clone_from(&node.host);
            }
        }
        all
    }

    fn on(&self, rank: u32, example: JudgementExample) -> JudgementExample {
        JudgementExample { rank: Some(rank), host: self.host_of(rank), ..example }
    }

    /// The entry of operations that failed alike.
    fn alike(&mut self, site: u32, of: FailureKey) -> &mut Judgement {
        let wanted = of_operations(site, of, 0);
        let is_it = |one: &Judgement| {
            (one.kind, one.errno, one.expected, one.site)
                == (wanted.kind, wanted.errno, wanted.expected, wanted.site)
        };
        let at = self.operations.iter().position(is_it).unwrap_or_else(|| {
            self.operations.push(wanted.clone());
            self.operations.len() - 1
        });
        &mut self.operations[at]
    }

    /// One of the first failures at a site.
    pub(super) fn example(
        &mut self,
        rank: u32,
        site: Option<u32>,
        of: FailureKey,
        example: JudgementExample,
    ) {
        let Some(site) = site else { return };
        let example = self.on(rank, example);
        let known = self.alike(site, of);
        if known.examples.len() < Judgements::EXAMPLES {
            known.examples.push(example);
        }
    }

    /// How many failures there were.
    pub(super) fn counted(&mut self, site: Option<u32>, of: FailureKey, count: u64) {
        if let Some(site) = site {
            self.alike(site, of).count += count;
        }
    }

    /// A rank that was killed could not count its failures; `place` gives the common number of a site, and the errno that
    /// the program expects there.
    pub(super) fn killed(&mut self, samples: &[Sample], place: impl Fn(u32) -> Option<(u32, Option<i32>)>) {
        for sample in samples.iter().filter(|sample| sample.failed()) {
            let Some((site, expects)) = place(sample.site) else { continue };
            if expects != Some(sample.errno) {
                let (kind, errno) = (JudgementKind::OperationFailed, sample.errno);
                self.counted(Some(site), FailureKey { kind, errno, ..FailureKey::default() }, 1);
            }
        }
    }

    /// A rank stopped before the end of the program; `by`: what ended it, where it was not lost.
    pub(super) fn stopped(&mut self, rank: u32, usage: bool, by: String) {
        self.stopped.insert(rank, (usage, by));
    }

    /// An assertion did not hold on a rank, or was not evaluated on it.
    pub(super) fn assertion(&mut self, rank: u32, (kind, failed): (JudgementKind, FailedAssertion)) {
        let FailedAssertion { line, claim, text } = failed;
        let example = self.on(rank, JudgementExample { text, ..JudgementExample::default() });
        self.assertions.push(Judgement {
            kind,
            line,
            what: claim,
            count: 1,
            examples: vec![example],
            ..Judgement::default()
        });
    }

    /// A rank, or what one recorded, is lost; or it gave up, because something else ended it.
    pub(super) fn lost(&mut self, rank: Option<u32>, text: String) {
        let (usage, by) = rank.and_then(|rank| self.stopped.get(&rank)).cloned().unwrap_or_default();
        let example = JudgementExample { text, ..JudgementExample::default() };
        let example = rank.map_or(example.clone(), |rank| self.on(rank, example));
        let kind = match (usage, by.is_empty()) {
            (true, _) => JudgementKind::ProgramAtFault,
            (false, false) => JudgementKind::CutShort,
            (false, true) => JudgementKind::RankLost,
        };
        self.ends.push(Judgement {
            kind,
            what: by,
            count: 1,
            examples: vec![example],
            ..Judgement::default()
        });
    }

    /// The run was stopped by somebody.
    pub(super) fn cut(&mut self, by: &str) {
        let what = by.to_owned();
        self.ends.push(Judgement { kind: JudgementKind::CutShort, what, count: 1, ..Judgement::default() });
    }

    /// Does nothing say why a rank did not reach the end?
    pub(super) fn found_no_end(&self) -> bool {
        self.ends.is_empty()
    }

    /// Transfers that moved less at once than they were asked to, and that further calls completed. What failed behind its first
    /// bytes is a failure.
    pub(super) fn short_transfers(&mut self, samples: &[Sample], sites: &[Site]) {
        let is_short = |sample: &&Sample| Causes(sample.causes).has(Cause::ShortTransfer) && !sample.failed();
        for sample in samples.iter().filter(is_short) {
            let site = sites.get(sample.site as usize).filter(|site| site.kind == SiteKind::Operation);
            let Some(command) = site.and_then(|site| ppl::commands::Command::find(&site.operation)) else {
                continue;
            };
            let writes = command.spec().moves.writes();
            let kind = if writes { JudgementKind::ShortWrite } else { JudgementKind::ShortRead };
            self.counted(Some(sample.site), FailureKey { kind, ..FailureKey::default() }, 1);
        }
    }

    /// All of it, with the places in the program.
    pub(super) fn finish(self, sites: &[Site]) -> Judgements {
        let mut all = Judgements::default();
        for mut judgement in self.operations {
            // A rank that was killed told of some that it could not count.
            judgement.count = judgement.count.max(judgement.examples.len() as u64);
            if let Some(site) = judgement.site.and_then(|site| sites.get(site as usize)) {
                judgement.line = site.line;
                judgement.operation.clone_from(&site.operation);
            }
            if judgement.errno != 0 {
                judgement.reason = failure_text(judgement.errno, &judgement.operation);
            }
            all.add(judgement);
        }
        self.ends.into_iter().chain(self.assertions).for_each(|judgement| all.add(judgement));
        all
    }
}

#[cfg(test)]
mod host_tests {
    use super::*;

    #[test]
    fn hosts_are_named_only_where_there_are_several() {
        let mut judge = Judge::default();
        judge.host(0, "a".into());
        judge.host(2, "a".into());
        assert_eq!(judge.hosts(3), Vec::<String>::new());
        judge.host(1, "b".into());
        assert_eq!(judge.hosts(3), ["a", "b", "a"]);
        // Machines that were cloned have one name; nodes have their own.
        judge.host(1, "a".into());
        judge.nodes = NodeFacts::of(&[0, 1, 0], vec!["a".into(), "a#2".into()]);
        assert_eq!(judge.hosts(3), ["a", "a#2", "a"]);
        assert_eq!(judge.host_of(1), "a#2");
        judge.nodes = NodeFacts::of(&[0, 0, 0], vec!["a".into()]);
        assert_eq!(judge.hosts(3), Vec::<String>::new());
    }
}
