//! Chooses the samples that a report analyses: a site, alone or as the gate over ranks.

use std::collections::{BTreeMap, HashMap};

use results::ResultRow;
use samples::{Run, Sample, SiteKind};
use serde::Serialize;

use crate::place_key::PlaceKey;
pub use crate::steps::Step;
use crate::steps::{FoundSteps, alone, batches, by_rank, gated};

/// The samples that the report analyses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// What T is, for titles: `write`.
    pub name: String,
    /// Index in the run of the site with the most of their time.
    pub site: u32,
    /// All sites that they come from, ascending.
    pub sites: Vec<u32>,
    /// What they have in common; several where an operation was asked for that stands below several labels.
    #[serde(skip)]
    pub keys: Vec<PlaceKey>,
    /// Of samples that nobody chose: their operation's share of the time in which operations were under way, set-up
    /// and pauses not counted. `None` where the program or its user chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Beside it the operation with the next largest share, and that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<(String, f64)>,
    /// Whether T is the maximum over ranks.
    pub gate: bool,
    /// Whether each value counts from the moment at which its operation was due, since one began late: what the headline of
    /// its run is about.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_schedule: bool,
    /// The fewest and the most operations that one sample timed together; (1, 1) where each was timed by itself.
    #[serde(skip)]
    pub batch: (u32, u32),
    /// The ranks that took part, ascending.
    pub ranks: Vec<u32>,
    /// All steps that every rank finished without an error, in time order. Where `gate` is false,
    /// all samples of all ranks. In JSON only where they are asked for.
    #[serde(skip)]
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

    /// The rank of each value, where ranks take them in turns; nobody where a value is the slowest of all or one rank takes
    /// all.
    pub fn takers(&self) -> Vec<u32> {
        let in_turns = !self.gate && self.ranks.len() > 1;
        if in_turns { self.steps.iter().map(|step| step.last).collect() } else { Vec::new() }
    }

    /// T of every step with who took it: the one series that every statement about a run is made of.
    pub fn series(&self) -> tail::Series {
        tail::Series::taken_by(&self.values(), &self.takers())
    }

    /// Whether a wait on the run queue was read.
    pub fn has_correction(&self) -> bool {
        self.steps.iter().any(|step| step.corrected < step.seconds)
    }

    /// What an axis of time order is called.
    pub fn step_name(&self) -> &'static str {
        if self.gate { "step" } else { "sample, in time order" }
    }

    /// What one value is called: `step` or `sample`.
    pub fn value_name(&self) -> &'static str {
        if self.gate { "step" } else { "sample" }
    }

    /// Chooses what to analyse: always all samples of a label and operation, from wherever in the program.
    ///
    /// `wanted` names them (see [`samples::Site::matches`]; of a label also `label/time`, `label/ctime` or
    /// `label/phase`); without it the program's own hint decides (`define report {"gate": "write"}` or
    /// `{"samples": "write"}`), and without a hint [`results::choose`]: what carries the most time. `gate` decides
    /// whether T is the maximum over ranks; without it the hint does, then the choice, and of what is named T is a gate
    /// wherever there are several ranks.
    ///
    /// # Errors
    /// A sentence that says why there is nothing to analyse.
    pub fn choose(run: &Run, wanted: Option<&str>, gate: Option<bool>) -> Result<Subject, String> {
        let rows = if is_named(run, wanted) { Vec::new() } else { results::of_run(run) };
        Subject::choose_among(run, &rows, wanted, gate)
    }

    /// The same where the rows of the run are at hand.
    pub(crate) fn choose_among(
        run: &Run,
        rows: &[ResultRow],
        wanted: Option<&str>,
        gate: Option<bool>,
    ) -> Result<Subject, String> {
        let hint = |key: &str| run.facts.report.get(key).map(String::as_str);
        let (wanted, hinted_gate) = match (wanted, hint("gate"), hint("samples")) {
            (Some(wanted), ..) => (wanted, None),
            (None, Some(gate), _) => (gate, Some(true)),
            (None, None, Some(samples)) => (samples, Some(false)),
            (None, None, None) => return Subject::unnamed(run, rows, gate),
        };
        let places = places(run);
        let mut named: Vec<&SampledPlace> =
            places.iter().filter(|place| place.is_called(run, wanted)).collect();
        if named.is_empty() {
            named = labelled(&places, wanted)?;
        }
        // Blocks come before single operations, and these before waits.
        let first = named
            .iter()
            .max_by_key(|place| (place.order(), place.time))
            .ok_or_else(|| format!("no sample of `{wanted}`; the run has samples of {}", known(&places)))?;
        let alike: Vec<&SampledPlace> =
            named.iter().copied().filter(|place| place.order() == first.order()).collect();
        if let Some(other) = alike.iter().find(|place| place.key.kind != first.key.kind) {
            return Err(format!(
                "`{wanted}` names blocks of two kinds: choose `{wanted}/{}` or `{wanted}/{}`",
                first.key.operation, other.key.operation
            ));
        }
        let keys = alike.iter().map(|place| place.key.clone()).collect();
        Subject::of_keys(run, keys, gate.or(hinted_gate)).ok_or_else(|| "the run holds no samples".into())
    }

    /// What carries the most time, where neither the program nor its user says what the run is about.
    fn unnamed(run: &Run, rows: &[ResultRow], gate: Option<bool>) -> Result<Subject, String> {
        if let Some(at) = results::mostly_failed(rows) {
            let found = Subject::of_keys(run, vec![PlaceKey::of_row(&rows[at])], gate);
            return found.ok_or_else(|| "the run holds no samples".into());
        }
        let Some(choice) = results::choose(rows) else {
            // There are waits only.
            let places = places(run);
            let most = places.iter().max_by_key(|place| (place.order(), place.time));
            let keys = most.iter().map(|place| place.key.clone()).collect();
            return Subject::of_keys(run, keys, gate).ok_or_else(|| "the run holds no samples".into());
        };
        let keys = vec![PlaceKey::of_row(&rows[choice.row])];
        let found = Subject::of_keys(run, keys, gate.or(Some(choice.gate)));
        let found = found.ok_or("the run holds no samples")?;
        let runner_up = choice.runner_up.map(|(at, share)| (rows[at].name(), share));
        Ok(Subject { share: Some(choice.share), runner_up, ..found })
    }

    /// Of writes that are made safe the calls that do so, and what the writes are called: the answer is the time until data
    /// are safe, and the write alone ends in memory. All else as it is.
    pub fn made_safe(self, run: &Run, rows: &[ResultRow]) -> (Subject, Option<String>) {
        let found =
            self.made_safe_by(rows).and_then(|sync| Subject::of_keys(run, vec![sync], Some(self.gate)));
        match found {
            Some(found) => (found, Some(self.name)),
            None => (self, None),
        }
    }

    /// The calls behind these writes that make their data safe; of several, what took the most time.
    fn made_safe_by(&self, rows: &[ResultRow]) -> Option<PlaceKey> {
        let ([key], false) = (self.keys.as_slice(), self.gate) else { return None };
        let write = rows.iter().find(|row| PlaceKey::of_row(row) == *key && row.safe.is_some())?;
        let behind = rows.iter().filter(|row| row.labels == write.labels && row.is_sync());
        let most = |one: &&ResultRow, other: &&ResultRow| one.time_at_work().total_cmp(&other.time_at_work());
        behind.max_by(most).map(PlaceKey::of_row)
    }

    /// All samples that have one of these in common; none where there is no sample.
    pub fn of_keys(run: &Run, mut keys: Vec<PlaceKey>, gate: Option<bool>) -> Option<Subject> {
        let found: Vec<SampledPlace> =
            places(run).into_iter().filter(|place| keys.contains(&place.key)).collect();
        keys.retain(|key| found.iter().any(|place| place.key == *key));
        let most = found.iter().max_by_key(|place| place.most)?;
        let name = match keys.as_slice() {
            [one] => one.to_string(),
            [one, ..] => one.operation.clone(),
            [] => return None,
        };
        let mut sites: Vec<u32> = found.iter().flat_map(|place| place.sites.iter().copied()).collect();
        sites.sort_unstable();
        let of_rank = by_rank(run, &sites);
        let whole = Subject {
            name,
            site: most.site,
            sites,
            keys,
            share: None,
            runner_up: None,
            gate: gate.unwrap_or(of_rank.len() > 1),
            from_schedule: false,
            batch: batches(&of_rank),
            ranks: of_rank.keys().copied().collect(),
            steps: Vec::new(),
            of_rank: Vec::new(),
            failed: 0,
            unfinished: 0,
        };
        let found = if whole.gate { gated(&of_rank) } else { alone(whole.batch, &of_rank) };
        let FoundSteps { steps, of_rank, failed, unfinished, from_schedule } = found;
        Some(Subject { steps, of_rank, failed, unfinished, from_schedule, ..whole })
    }

    /// All samples with the label and operation of a site, as a gate or one by one; none where there is no sample.
    pub fn of_site(run: &Run, site: u32, gate: bool) -> Option<Subject> {
        Subject::of_keys(run, vec![PlaceKey::of(run.sites.get(site as usize)?)], Some(gate))
    }

    /// The samples of the run that it was made of, as they stand there.
    pub fn samples<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = &'a Sample> {
        run.samples.iter().filter(|sample| self.sites.binary_search(&sample.site).is_ok())
    }
}

/// Whether the program or its user says what a run is about.
fn is_named(run: &Run, wanted: Option<&str>) -> bool {
    wanted.is_some() || ["gate", "samples"].iter().any(|key| run.facts.report.contains_key(*key))
}

/// All sites with samples that have label, operation and kind in common.
struct SampledPlace {
    key: PlaceKey,
    sites: Vec<u32>,
    /// Time of all samples, in picoseconds.
    time: u128,
    /// The site with the most time, and that time.
    site: u32,
    most: u128,
}

impl SampledPlace {
    fn order(&self) -> u32 {
        match self.key.kind {
            SiteKind::Time | SiteKind::Phase | SiteKind::CommandTime => 2,
            SiteKind::Operation => 1,
            SiteKind::Barrier => 0,
        }
    }

    fn is_called(&self, run: &Run, wanted: &str) -> bool {
        let of_block = || {
            let (label, operation) = wanted.rsplit_once('/')?;
            Some(
                !self.key.is_operation()
                    && label.trim() == self.key.label
                    && operation.trim() == self.key.operation,
            )
        };
        run.sites.get(self.site as usize).is_some_and(|site| site.matches(wanted))
            || of_block().unwrap_or(false)
    }
}

/// In the order of their first sites.
fn places(run: &Run) -> Vec<SampledPlace> {
    let mut time: BTreeMap<u32, u128> = BTreeMap::new();
    for alike in run.samples.chunk_by(|a, b| a.site == b.site) {
        let sum: u128 = alike.iter().map(|sample| u128::from(sample.duration_ps)).sum();
        *time.entry(alike[0].site).or_default() += sum;
    }
    let mut places: Vec<SampledPlace> = Vec::new();
    let mut index: HashMap<PlaceKey, usize> = HashMap::new();
    for (site, time) in time {
        let Some(key) = run.sites.get(site as usize).map(PlaceKey::of) else { continue };
        let at = *index.entry(key.clone()).or_insert_with(|| {
            places.push(SampledPlace { key, sites: Vec::new(), time: 0, site, most: 0 });
            places.len() - 1
        });
        let place = &mut places[at];
        place.sites.push(site);
        place.time += time;
        if time > place.most {
            (place.site, place.most) = (site, time);
        }
    }
    places
}

/// The one operation below a label that names no block, such as a rung of `lastrank try`.
///
/// # Errors
/// Where there are several: what to write.
fn labelled<'a>(places: &'a [SampledPlace], wanted: &str) -> Result<Vec<&'a SampledPlace>, String> {
    let below: Vec<&SampledPlace> = places.iter().filter(|place| place.key.label == wanted).collect();
    if below.len() < 2 {
        return Ok(below);
    }
    let names: Vec<String> =
        below.iter().map(|place| format!("`{wanted}/{}`", place.key.operation)).collect();
    Err(format!(
        "`{wanted}` is no block, and {} operations are below it: choose {}",
        below.len(),
        names.join(" or ")
    ))
}

fn known(places: &[SampledPlace]) -> String {
    let names: Vec<String> = places.iter().map(|place| place.key.to_string()).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use samples::Site;

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
    fn a_selection_is_every_sample_of_its_label_and_operation() {
        // The same label and operation in three lines: all of it, not the line with the most time.
        let mut run = run();
        let of = run.sites.iter().position(|site| site.operation == "fwrite").unwrap() as u32;
        let all = run.of_site(of).count();
        for line in [90, 91] {
            let site = Site { line, ..run.sites[of as usize].clone() };
            run.sites.push(site);
        }
        let last = run.sites.len() as u32;
        for (n, sample) in run.samples.iter_mut().filter(|sample| sample.site == of).enumerate() {
            sample.site = [of, last - 2, last - 1][n % 3];
        }
        for wanted in ["fwrite", "write/fwrite"] {
            let subject = Subject::choose(&run, Some(wanted), Some(false)).unwrap();
            assert_eq!((subject.steps.len(), subject.sites.len()), (all, 3), "{wanted}");
            assert_eq!(subject.name, "write / fwrite");
            assert!(subject.steps.is_sorted_by_key(|step| step.start_s));
        }
        run.facts.report.clear();
        run.samples.retain(|sample| [of, last - 2, last - 1].contains(&sample.site));
        assert_eq!(Subject::choose(&run, None, Some(false)).unwrap().steps.len(), all, "also unasked");
    }

    #[test]
    fn a_batch_counts_as_the_mean_of_its_operations_and_says_so() {
        let mut run = run();
        let single = Subject::choose(&run, Some("fwrite"), Some(false)).unwrap();
        let of = run.sites.iter().position(|site| site.operation == "fwrite").unwrap() as u32;
        for sample in run.samples.iter_mut().filter(|sample| sample.site == of) {
            (sample.batch, sample.duration_ps) = (1000, sample.duration_ps * 1000);
        }
        for gate in [false, true] {
            let whole = Subject::choose(&run, Some("fwrite"), Some(gate)).unwrap();
            let slowest = |subject: &Subject| subject.values().into_iter().fold(0.0, f64::max);
            assert!((slowest(&whole) / slowest(&single) - 1.0).abs() < 1e-9);
            assert!(whole.describe().ends_with(", means of batches of 1,000"), "{}", whole.describe());
        }
        assert!(!single.describe().contains("batch"));
    }

    #[test]
    fn an_unknown_label_lists_what_there_is() {
        let said = Subject::choose(&run(), Some("wirte"), None).unwrap_err();
        assert!(said.contains("no sample of `wirte`") && said.contains("write / fwrite"), "{said}");
    }
}
