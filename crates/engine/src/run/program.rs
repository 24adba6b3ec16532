//! A plan of the language as something that ranks can run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ppl::count::Details;
use ppl::plan::{Plan, WrittenContent, is_memory};
use samples::units::bytes;
use samples::{Facts, Warning};

use super::claims::Answers;
use super::{Body, Options, RunError, RunOutcome};
use crate::execute::{Session, Stop, interpret};
use record::StaticSite;

/// A plan with its places in the engine's words.
pub struct Program<'p> {
    plan: &'p Plan,
    places: Vec<StaticSite>,
    answers: Option<Answers>,
}

impl<'p> Program<'p> {
    /// Takes the places from the plan.
    pub fn new(plan: &'p Plan) -> Self {
        let group = |site: &ppl::plan::SiteSpec| match site.group {
            ppl::plan::GroupId::WORLD => String::new(),
            group => plan.groups.get(group.index()).map_or(String::new(), |group| group.name.clone()),
        };
        let place = |site: &ppl::plan::SiteSpec| StaticSite {
            line: site.line,
            column: site.column,
            operation: site.operation.to_owned(),
            command: site.command,
            kind: site.kind,
            group: group(site),
            expects: site.expects,
        };
        Self { plan, places: plan.sites().iter().map(place).collect(), answers: None }
    }

    /// Judges assertions about the answer of the run, such as `iops > 1000`, by these answers.
    #[must_use]
    pub fn judged_by(self, answers: Answers) -> Self {
        Self { answers: Some(answers), ..self }
    }

    /// Adds to the facts what the plan knows: parameters, hints for the report, and that it verifies.
    pub fn complete_facts(&self, facts: &mut Facts) {
        facts.parameters = self.plan.parameters.clone();
        facts.report = self.plan.report.clone();
        if self.plan.verifies() {
            facts.verified.get_or_insert_default();
        }
        self.complete_hints(facts);
    }
}

impl Program<'_> {
    /// What was asked of MPI-IO beside what it uses, and a warning where the two differ.
    fn complete_hints(&self, facts: &mut Facts) {
        let asked = &self.plan.hints;
        if asked.is_empty() {
            facts.hints = None;
            return;
        }
        let hints = facts.hints.get_or_insert_default();
        hints.asked = asked.iter().cloned().collect();
        if facts.backend == "posix" && facts.mpi.is_none() {
            facts.warnings.push(Warning {
                code: "hints-ignored".into(),
                text: "the program's hints were ignored: without MPI, parallel files are system calls".into(),
                advice: "start it with mpirun or srun".into(),
            });
            return;
        }
        let mut differing: Vec<String> = Vec::new();
        for (key, value) in asked {
            for file in &hints.used {
                let text = match file.hints.get(key) {
                    Some(found) if found == value => continue,
                    Some(found) => format!("{key}: {value} was asked for, {found} is used"),
                    None => format!("{key}: not known"),
                };
                if !differing.contains(&text) {
                    differing.push(text);
                }
            }
        }
        if !differing.is_empty() {
            facts.warnings.push(Warning {
                code: "hints-not-taken".into(),
                text: format!("MPI-IO did not take all hints as they were given: {}", differing.join("; ")),
                advice: "the facts of the run hold every hint that is used (`hints`); ROMIO and OMPIO know \
                         different ones"
                    .into(),
            });
        }
    }
}

impl Body for Program<'_> {
    fn places(&self) -> &[StaticSite] {
        &self.places
    }

    fn planned(&self, rank: u32) -> u64 {
        /// Operations walked at most; a loop of equal turns counts as one turn.
        const BUDGET: u64 = 200_000;
        let tally = ppl::count::count(self.plan, rank, BUDGET);
        if tally.at_least || tally.stopped.is_some() { 0 } else { tally.total }
    }

    fn judge(&self, outcome: &mut RunOutcome) {
        // What the program says its answer is about.
        outcome.run.facts.report = self.plan.report.clone();
        super::claims::judge(self.plan, self.answers.as_ref(), outcome);
        if !outcome.run.facts.complete {
            let progress = super::progress::of(self.plan, &outcome.run);
            outcome.run.facts.judgements.get_or_insert_default().progress = progress;
        }
    }

    fn run(&self, session: &mut Session<'_>) -> Result<(), Stop> {
        interpret(self.plan, session)
    }
}

/// `options` with what the plan decides: ranks, seed, and the directories that the user named.
pub fn options_of(plan: &Plan, options: &Options) -> Options {
    let mut options = options.clone();
    options.launch.ranks = plan.ranks;
    options.seed = plan.seed;
    // What is verified has content that says where it belongs.
    options.copies = plan.content == WrittenContent::Copied && !plan.verifies();
    let named = plan.places.iter().filter_map(|name| plan.parameter(name));
    options.connect.extend(addresses(plan).filter_map(as_port));
    let named = named.flat_map(|value| value.split(',')).map(str::trim);
    options.named.extend(named.filter(|value| !value.is_empty()).map(PathBuf::from));
    options
}

/// Pieces of parameters that the user gave, between commas: among them the addresses that the program may connect to.
pub fn addresses(plan: &Plan) -> impl Iterator<Item = &str> {
    let given = plan.given.iter().filter_map(|name| plan.parameter(name));
    given.flat_map(|value| value.split(',')).map(str::trim).filter(|piece| !piece.is_empty())
}

/// The port of `HOST:PORT`.
fn as_port(value: &str) -> Option<u16> {
    value.rsplit_once(':')?.1.parse().ok()
}

/// Checks the space that the program asks for and, unless it may fill the disk, what its files will take as far as that
/// is known, before anything is done.
///
/// # Errors
/// The memory where there is too little; the first directory with too little room; more than nine tenths of what is
/// free.
pub fn missing_space(plan: &Plan, options: &Options) -> Result<(), RunError> {
    if !options.backend.capabilities().local_files {
        return Ok(());
    }
    for space in plan.space.iter().filter(|space| is_memory(space.directory.as_deref())) {
        // As much as a kernel takes at most.
        let available = machine::memory().available.unwrap_or(u64::MAX) / 10 * 9;
        if available < space.bytes {
            return Err(RunError::WorkingSet { available: bytes(available), wanted: bytes(space.bytes) });
        }
    }
    for space in plan.space.iter().filter(|space| !is_memory(space.directory.as_deref())) {
        let directory = space.directory.as_deref().or_else(|| plan.parameter("dir")).unwrap_or(".");
        let Some(free) = free_bytes(Path::new(directory)) else { continue };
        if free < space.bytes {
            return Err(RunError::Space {
                directory: directory.to_owned(),
                free: bytes(free),
                wanted: bytes(space.bytes),
            });
        }
    }
    let Some(free) = free_in_places(options).filter(|_| !options.fill) else { return Ok(()) };
    let most = free / 10 * 9;
    // The quick count is an upper bound.
    if needed_bytes(plan, ppl::count::details) <= most {
        return Ok(());
    }
    let needed = needed_bytes(plan, ppl::count::walk);
    if needed <= most {
        return Ok(());
    }
    Err(RunError::Fill { needed: bytes(needed), free: bytes(free) })
}

/// Ranks whose files are counted, and operations of each that are walked; no more than a count knows names.
const COUNTED: (u32, u64) = (16, 50_000);

/// What the files of the program take at a time, as far as that is known and nothing of their names is there yet: no more
/// than is written to them. Ranks whose first names are the same write to one file.
fn needed_bytes(plan: &Plan, count: impl Fn(&Plan, u32, u64) -> Details) -> u64 {
    // By names: the largest space of a rank, and what all of them write.
    let mut shares: BTreeMap<Vec<String>, (u64, u64)> = BTreeMap::new();
    for rank in 0..plan.ranks.min(COUNTED.0) {
        let found = count(plan, rank, COUNTED.1);
        if found.created.iter().any(|name| Path::new(name).exists()) {
            continue;
        }
        let share = shares.entry(found.created).or_default();
        share.0 = share.0.max(found.tally.space);
        share.1 = share.1.saturating_add(found.tally.written);
    }
    shares.values().map(|(space, written)| *space.min(written)).fold(0, u64::saturating_add)
}

/// What is free in all places that the program may write to; `None` where nobody can say.
fn free_in_places(options: &Options) -> Option<u64> {
    let places = std::iter::once(Path::new(".")).chain(options.root.as_deref());
    let places = places.chain(options.named.iter().chain(&options.allow).map(PathBuf::as_path));
    let mut devices: BTreeMap<u64, u64> = BTreeMap::new();
    for place in places {
        let existing = place.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
        if let (Ok(found), Some(free)) = (rustix::fs::stat(existing), free_bytes(existing)) {
            devices.insert(found.st_dev, free);
        }
    }
    (!devices.is_empty()).then(|| devices.values().copied().fold(0, u64::saturating_add))
}

/// Bytes that an ordinary user may still write there; `None` where nobody can say.
fn free_bytes(directory: &Path) -> Option<u64> {
    let existing = directory.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
    let facts = rustix::fs::statvfs(existing).ok()?;
    Some(facts.f_bavail.saturating_mul(facts.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least that the files of this program take, and the most.
    fn needed(text: &str) -> (u64, u64) {
        let mut source = ppl::Source::new("space.ppl", text);
        let settings = ppl::plan::Settings::default();
        let (plan, _) = ppl::compile(&mut source, &settings, false, None).expect("a program");
        (needed_bytes(&plan, ppl::count::walk), needed_bytes(&plan, ppl::count::details))
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn what_the_files_of_a_program_take_is_known_where_nothing_is_taken_twice() {
        for (text, least) in [
            // New files; the same again and again; one that is removed each time.
            ("repeat $i 100 write(\"/none/f-$i\", 1GiB);", 100 * GIB),
            ("repeat 100 write(\"/none/f\", 1GiB);", GIB),
            ("repeat $i 100 { write(\"/none/f-$i\", 1GiB); delete(\"/none/f-$i\"); }", GIB),
            // A file that grows, one that is written over, one with a hole.
            ("repeat 100 append(\"/none/f\", 1GiB);", 100 * GIB),
            ("$f = fopen(\"/none/f\", \"w\"); repeat 100 fwrite($f, 1GiB, 0);", GIB),
            ("$f = fopen(\"/none/f\", \"w\"); fwrite($f, 1GiB, 1PiB); ftruncate($f, 2PiB);", GIB),
            // Ranks that share a file, and ranks with files of their own.
            ("define ranks 4; $f = fopen(\"/none/f\", \"w\"); fwrite($f, 1GiB, $$rank * 1GiB);", 4 * GIB),
            ("define ranks 4; write(\"/none/f\", 1GiB);", GIB),
            ("define ranks 4; write(\"/none/f-$$rank\", 1GiB);", 4 * GIB),
            // For a time: at least once.
            ("for 60s write(\"/none/f\", 1GiB);", GIB),
        ] {
            let found = needed(text);
            assert_eq!(found.0, least, "{text}");
            assert!(found.1 >= least, "{text}");
        }
        let (least, most) = needed("repeat $i 1000000000 write(\"/none/f-$i\", 1GiB);");
        assert!(least > 10_000 * GIB && most == 1_000_000_000 * GIB, "{least} {most}");
    }

    #[test]
    fn what_is_there_already_is_written_over() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("f"), "x").expect("write");
        assert_eq!(needed(&format!("write(\"{}/f\", 1GiB);", home.path().display())), (0, 0));
    }
}
