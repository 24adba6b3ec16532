//! Chooses the samples that a report analyses: a site, alone or as the gate over ranks.

use std::collections::BTreeMap;

use samples::{Run, Sample, SiteKind};
use serde::Serialize;

/// One step of the analysed site: what every rank took, and who was last.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The n-th sample of the site on each rank, from 0.
    pub iteration: usize,
    /// When the first rank began it, in seconds since the run's epoch.
    pub start_s: f64,
    /// T: of a gate the longest duration over ranks, otherwise the duration. Seconds.
    pub seconds: f64,
    /// The same without the wait on the run queue that was read. Seconds.
    pub corrected: f64,
    /// The rank that was last.
    pub last: u32,
}

/// The samples that the report analyses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// What T is, for titles: `write`.
    pub name: String,
    /// Index of the site in the run.
    pub site: u32,
    /// Whether T is the maximum over ranks.
    pub gate: bool,
    /// The ranks that took part, ascending.
    pub ranks: Vec<u32>,
    /// All steps that every rank finished without an error, in time order. Where `gate` is false,
    /// all samples of all ranks.
    pub steps: Vec<Step>,
    /// For each rank of `ranks` its durations at `steps`, in seconds. Empty where `gate` is false.
    #[serde(skip)]
    pub of_rank: Vec<Vec<f64>>,
    /// Iterations left out because an operation in them failed.
    pub failed: usize,
    /// Iterations left out because not every rank reached them.
    pub unfinished: usize,
}

impl Subject {
    /// T of every step, in seconds.
    pub fn values(&self) -> Vec<f64> {
        self.steps.iter().map(|step| step.seconds).collect()
    }

    /// Whether a wait on the run queue was read.
    pub fn has_correction(&self) -> bool {
        self.steps.iter().any(|step| step.corrected < step.seconds)
    }

    /// `T, the slowest of 16 ranks` or `every write`.
    pub fn describe(&self) -> String {
        match (self.gate, self.ranks.len()) {
            (true, 1) => format!("{} on the one rank", self.name),
            (true, m) => format!("{}: the slowest of {m} ranks", self.name),
            (false, _) => format!("every {}", self.name),
        }
    }

    /// What an axis of durations is called.
    pub fn axis_name(&self) -> String {
        if self.gate && self.ranks.len() > 1 { "T, the slowest rank".into() } else { "duration".into() }
    }

    /// What an axis of time order is called.
    pub fn step_name(&self) -> &'static str {
        if self.gate { "step" } else { "sample, in time order" }
    }

    /// What one value is called: `step` or `sample`.
    pub fn value_name(&self) -> &'static str {
        if self.gate { "step" } else { "sample" }
    }

    /// Chooses what to analyse.
    ///
    /// `wanted` names a site (see [`samples::Site::matches`]); without it the program's own hint
    /// decides (`define report {"gate": "write"}` or `{"samples": "write"}`), and without a hint the
    /// site with the most time. `gate` decides whether T is the maximum over ranks; without it the
    /// hint does, and without a hint T is a gate wherever there are several ranks.
    ///
    /// # Errors
    /// A sentence that says why there is nothing to analyse.
    pub fn choose(run: &Run, wanted: Option<&str>, gate: Option<bool>) -> Result<Subject, String> {
        let hint = |key: &str| run.facts.report.get(key).map(String::as_str);
        let (wanted, hinted_gate) = match (wanted, hint("gate"), hint("samples")) {
            (Some(wanted), ..) => (Some(wanted), None),
            (None, Some(gate), _) => (Some(gate), Some(true)),
            (None, None, Some(samples)) => (Some(samples), Some(false)),
            (None, None, None) => (None, None),
        };
        let mut time: BTreeMap<u32, u128> = BTreeMap::new();
        for sample in &run.samples {
            *time.entry(sample.site).or_default() += u128::from(sample.duration_ps);
        }
        let kind_order = |site: u32| match run.sites.get(site as usize).map(|site| site.kind) {
            Some(SiteKind::Time | SiteKind::Phase | SiteKind::CommandTime) => 2,
            Some(SiteKind::Operation) => 1,
            _ => 0,
        };
        let site = time
            .iter()
            .filter(|(site, _)| {
                wanted.is_none_or(|wanted| run.sites.get(**site as usize).is_some_and(|s| s.matches(wanted)))
            })
            .max_by_key(|(site, time)| (kind_order(**site), **time))
            .map(|(site, _)| *site)
            .ok_or_else(|| match wanted {
                Some(wanted) => format!("no sample of `{wanted}`; sites with samples: {}", known(run, &time)),
                None => "the run holds no samples".into(),
            })?;
        let of_rank = by_rank(run, site);
        let gate = gate.or(hinted_gate).unwrap_or(of_rank.len() > 1);
        Ok(made(run, site, gate, &of_rank))
    }

    /// The samples of one site, as a gate or one by one; none where it has no sample.
    pub fn of_site(run: &Run, site: u32, gate: bool) -> Option<Subject> {
        let of_rank = by_rank(run, site);
        (!of_rank.is_empty()).then(|| made(run, site, gate, &of_rank))
    }
}

fn by_rank(run: &Run, site: u32) -> BTreeMap<u32, Vec<&Sample>> {
    let mut of_rank: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    for sample in run.of_site(site) {
        of_rank.entry(sample.rank).or_default().push(sample);
    }
    of_rank
}

fn made(run: &Run, site: u32, gate: bool, of_rank: &BTreeMap<u32, Vec<&Sample>>) -> Subject {
    let name = run.sites.get(site as usize).map(samples::Site::name).unwrap_or_default();
    if gate { gated(name, site, of_rank) } else { alone(name, site, of_rank) }
}

fn known(run: &Run, time: &BTreeMap<u32, u128>) -> String {
    let mut names: Vec<String> =
        time.keys().filter_map(|site| run.sites.get(*site as usize)).map(samples::Site::name).collect();
    names.dedup();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

fn gated(name: String, site: u32, of_rank: &BTreeMap<u32, Vec<&Sample>>) -> Subject {
    let reached = of_rank.values().map(Vec::len).min().unwrap_or(0);
    let longest = of_rank.values().map(Vec::len).max().unwrap_or(0);
    let ranks: Vec<u32> = of_rank.keys().copied().collect();
    let mut durations = vec![Vec::with_capacity(reached); ranks.len()];
    let mut steps = Vec::with_capacity(reached);
    for iteration in 0..reached {
        let row: Vec<&Sample> = of_rank.values().map(|samples| samples[iteration]).collect();
        if row.iter().any(|sample| sample.failed()) {
            continue;
        }
        let last = row
            .iter()
            .fold(row[0], |best, next| if next.duration_ps > best.duration_ps { next } else { best });
        steps.push(Step {
            iteration,
            start_s: row.iter().map(|sample| sample.start_ns).min().unwrap_or(0) as f64 * 1e-9,
            seconds: last.seconds(),
            corrected: row.iter().map(|sample| sample.corrected_seconds()).fold(0.0, f64::max),
            last: last.rank,
        });
        durations.iter_mut().zip(&row).for_each(|(of_rank, sample)| of_rank.push(sample.seconds()));
    }
    let failed = reached - steps.len();
    Subject {
        name,
        site,
        gate: true,
        ranks,
        steps,
        of_rank: durations,
        failed,
        unfinished: longest - reached,
    }
}

fn alone(name: String, site: u32, of_rank: &BTreeMap<u32, Vec<&Sample>>) -> Subject {
    let mut all: Vec<(usize, &Sample)> =
        of_rank.values().flat_map(|samples| samples.iter().copied().enumerate()).collect();
    all.sort_by_key(|(_, sample)| (sample.start_ns, sample.rank));
    let total = all.len();
    let steps: Vec<Step> = all
        .into_iter()
        .filter(|(_, sample)| !sample.failed())
        .map(|(iteration, sample)| Step {
            iteration,
            start_s: sample.start_ns as f64 * 1e-9,
            seconds: sample.seconds(),
            corrected: sample.corrected_seconds(),
            last: sample.rank,
        })
        .collect();
    let failed = total - steps.len();
    let ranks = of_rank.keys().copied().collect();
    Subject { name, site, gate: false, ranks, steps, of_rank: Vec::new(), failed, unfinished: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        samples::example::parallel_write(4, 30, 3)
    }

    #[test]
    fn the_hint_of_the_program_chooses_the_gate_of_its_time_block() {
        let run = run();
        let subject = Subject::choose(&run, None, None).unwrap();
        assert_eq!((subject.name.as_str(), subject.gate, subject.steps.len()), ("write", true, 30));
        assert_eq!(run.sites[subject.site as usize].kind, SiteKind::Time);
        let gates = samples::gates(run.of_site(subject.site));
        assert!(subject.steps.iter().zip(&gates).all(|(s, g)| (s.seconds, s.last) == (g.seconds, g.last)));
    }

    #[test]
    fn without_a_hint_the_time_block_with_the_most_time_is_chosen() {
        let mut run = run();
        run.facts.report.clear();
        assert_eq!(Subject::choose(&run, None, None).unwrap().name, "write");
        let opens = Subject::choose(&run, Some("fopen"), Some(false)).unwrap();
        assert_eq!((opens.gate, opens.steps.len()), (false, 120));
    }

    #[test]
    fn a_step_with_a_failed_operation_is_left_out_and_counted() {
        let mut run = run();
        let site = Subject::choose(&run, None, None).unwrap().site;
        run.samples.iter_mut().find(|sample| sample.site == site).unwrap().errno = 28;
        let last = run.samples.iter().rposition(|sample| sample.site == site).unwrap();
        run.samples.remove(last);
        let subject = Subject::choose(&run, None, None).unwrap();
        assert_eq!((subject.steps.len(), subject.failed, subject.unfinished), (28, 1, 1));
        assert_eq!(subject.steps[0].iteration, 1);
    }

    #[test]
    fn an_unknown_label_lists_what_there_is() {
        let said = Subject::choose(&run(), Some("wirte"), None).unwrap_err();
        assert!(said.contains("no sample of `wirte`") && said.contains("write / fwrite"), "{said}");
    }
}
