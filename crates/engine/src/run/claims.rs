//! Judges what the program asserts about the samples of all ranks.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use ppl::claim::{self, Answered, Claim, Measured};
use ppl::condition::AskedAnswer;
use ppl::interpret::{Statistic, Times};
use ppl::plan::Plan;
use ranks::RankEnd;
use samples::{Judgement, JudgementExample, JudgementKind, Run, Sample, sites_called};

use super::RunOutcome;

/// An assertion as a rank came to it.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    pub(super) rank: u32,
    pub(super) claim: Claim,
    /// Samples that end later do not count, in ns since the run's epoch.
    pub(super) at_ns: u64,
}

/// The same assertion, reached for the same time, with the same values in it.
struct Case {
    claim: Claim,
    /// When each rank came to it.
    at_ns: HashMap<u32, u64>,
}

/// Says what is asked of the answer of one run.
pub type AnswerOf = Box<dyn Fn(&AskedAnswer) -> Result<Answered, String>>;

/// Makes the answer of a run: who shows it does, so that what is shown and what is judged are one number.
pub type Answers = Box<dyn Fn(&Run) -> AnswerOf>;

/// The samples that an assertion counts, and the answer that is made of them.
struct Considered<'a> {
    run: &'a Run,
    by_site: &'a [Vec<&'a Sample>],
    counts: &'a dyn Fn(&Sample) -> bool,
    /// Durations that were asked for, by name.
    known: HashMap<(String, Times), Vec<f64>>,
    /// Whether one of them has no sample that succeeded.
    none_succeeded: bool,
    answers: Option<&'a Answers>,
    /// The answer of the whole run, for all assertions that count each sample.
    of_all: &'a OnceCell<AnswerOf>,
    /// The answer of these samples.
    alone: OnceCell<AnswerOf>,
}

impl Measured for Considered<'_> {
    fn statistic(&mut self, name: &str, statistic: Statistic, times: Times) -> Option<f64> {
        let durations = self.known.entry((name.to_owned(), times)).or_insert_with(|| {
            let (called, _) = sites_called(&self.run.sites, name);
            let wanted =
                called.iter().zip(self.by_site).filter(|(called, _)| **called).flat_map(|(_, list)| list);
            let wanted = wanted.filter(|sample| !sample.failed() && (self.counts)(sample));
            wanted.map(|sample| times.seconds(sample)).collect()
        });
        let found = statistic.of(durations);
        if durations.is_empty() {
            self.none_succeeded = true;
        }
        found
    }

    fn is_block(&self, name: &str) -> bool {
        sites_called(&self.run.sites, name).1
    }

    fn answer(&mut self, asked: &AskedAnswer) -> Result<Answered, String> {
        let answers = self.answers.ok_or("this command gives no answer that could be judged")?;
        let run = self.run;
        if run.samples.iter().all(|sample| (self.counts)(sample)) {
            return self.of_all.get_or_init(|| answers(run))(asked);
        }
        let some = || {
            let samples = run.samples.iter().filter(|sample| (self.counts)(sample)).copied().collect();
            Run { facts: run.facts.clone(), sites: run.sites.clone(), samples }
        };
        self.alone.get_or_init(|| answers(&some()))(asked)
    }
}

/// Judges all of them, and keeps those that do not hold.
pub(super) fn judge(plan: &Plan, answers: Option<&Answers>, outcome: &mut RunOutcome) {
    let claims = std::mem::take(&mut outcome.claims);
    let was_ended = outcome.ends.iter().any(|end| matches!(end, RankEnd::Stopped(_)));
    if was_ended && outcome.run.samples.is_empty() {
        return none_evaluated(plan, outcome);
    }
    if claims.is_empty() {
        return;
    }
    let mut times: HashMap<(u32, u32), u32> = HashMap::new();
    let mut cases: BTreeMap<(u32, u32), Vec<Case>> = BTreeMap::new();
    for Claimed { rank, claim, at_ns } in claims {
        let time = times.entry((rank, claim.step)).or_default();
        *time += 1;
        let alike = cases.entry((claim.step, *time)).or_default();
        match alike.iter_mut().find(|case| case.claim == claim) {
            Some(case) => drop(case.at_ns.insert(rank, at_ns)),
            None => alike.push(Case { claim, at_ns: HashMap::from([(rank, at_ns)]) }),
        }
    }
    // The samples that assertions are about, collected once.
    let mut by_site: Vec<Vec<&Sample>> = vec![Vec::new(); outcome.run.sites.len()];
    for sample in &outcome.run.samples {
        if let Some(list) = by_site.get_mut(sample.site as usize) {
            list.push(sample);
        }
    }
    let of_all = OnceCell::new();
    let mut found = Vec::new();
    for case in cases.values().flatten() {
        let members = plan.groups.get(case.claim.group as usize).map_or(&[][..], |group| &group.ranks);
        let latest = case.at_ns.values().copied().max().unwrap_or(u64::MAX);
        let counts = |sample: &Sample| {
            let until = case.at_ns.get(&sample.rank).copied().unwrap_or(latest);
            let end = sample.start_ns.saturating_add(sample.duration_ps / 1000);
            end <= until && members.binary_search(&sample.rank).is_ok()
        };
        let mut counted = Considered {
            run: &outcome.run,
            by_site: &by_site,
            counts: &counts,
            known: HashMap::new(),
            none_succeeded: false,
            answers,
            of_all: &of_all,
            alone: OnceCell::new(),
        };
        let place = plan.place(case.claim.step);
        let claimed = claim::text(plan, &case.claim);
        let at = format!("{}:{}:{}", place.file, place.line, place.column);
        let (kind, text) = match claim::judge(plan, &case.claim, &mut counted) {
            Ok((true, _)) => continue,
            Ok((false, evidence)) => {
                let of = of_whom(plan, &case.claim, members, &outcome.run.samples);
                let evidence = claim::words(&evidence);
                (JudgementKind::AssertionFailed, format!("{at}: the assertion does not hold: {evidence}{of}"))
            }
            // The run was ended before there was anything to judge.
            Err(why) if was_ended => (
                JudgementKind::AssertionNotEvaluated,
                format!("{at}: the assertion was not evaluated: the run was ended before it; {why}"),
            ),
            // It is no fault of the program that nothing succeeded, or was done at all.
            Err(why) if counted.none_succeeded => (
                JudgementKind::AssertionNotEvaluated,
                format!("{at}: the assertion was not evaluated: {why}"),
            ),
            Err(why) => {
                (JudgementKind::ProgramAtFault, format!("{at}: the assertion cannot be judged: {why}"))
            }
        };
        let example = JudgementExample { text, ..JudgementExample::default() };
        found.push(Judgement {
            kind,
            line: place.line,
            what: claimed,
            count: 1,
            examples: vec![example],
            ..Judgement::default()
        });
    }
    for judgement in found {
        let has = |known: &Judgement| {
            (known.kind, &known.what, &known.examples)
                == (judgement.kind, &judgement.what, &judgement.examples)
        };
        if !outcome.judgements().found.iter().any(has) {
            outcome.judged(judgement);
        }
    }
}

/// Tells all assertions as not evaluated: the run was ended before it did anything.
fn none_evaluated(plan: &Plan, outcome: &mut RunOutcome) {
    for (step, claimed) in claim::assertions(&plan.code) {
        let place = plan.place(step);
        let at = format!("{}:{}:{}", place.file, place.line, place.column);
        let text = format!("{at}: the assertion was not evaluated: the run was ended before it");
        let is_told =
            outcome.judgements().of(JudgementKind::AssertionNotEvaluated).any(|one| one.line == place.line);
        if !is_told {
            outcome.judged(Judgement {
                kind: JudgementKind::AssertionNotEvaluated,
                line: place.line,
                what: claimed,
                count: 1,
                examples: vec![JudgementExample { text, ..JudgementExample::default() }],
                ..Judgement::default()
            });
        }
    }
}

/// Whose samples they are, in words: ` of all 4 ranks`.
fn of_whom(plan: &Plan, claim: &Claim, members: &[u32], samples: &[Sample]) -> String {
    let present = {
        let mut ranks: Vec<u32> = samples.iter().map(|sample| sample.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    };
    match (members, plan.ranks) {
        (_, 1) => String::new(),
        // In a run in parts each process judges its own samples.
        _ if present.len() == 1 && members.len() > 1 => format!(", all of rank {}", present[0]),
        (_, _) if claim.group == 0 => format!(", of all {} ranks", plan.ranks),
        (members, _) => {
            let name = &plan.groups[claim.group as usize].name;
            format!(", of the {} ranks of \"{name}\"", members.len())
        }
    }
}
