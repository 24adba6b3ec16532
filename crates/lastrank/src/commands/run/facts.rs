//! Adds to the facts of a run what the engine does not know: program, machine, file systems, versions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;
use engine::run::{Options, Program};
use samples::{FACTS_SCHEMA, Facts, MachineFacts, Warning, units};

use crate::cli::RunArgs;
use crate::commands::redact::sections;
use crate::program::Planned;

/// The machine before the run, to be compared with the machine after it.
pub struct MachineBefore {
    before: Option<MachineFacts>,
    paths: Vec<String>,
}

impl MachineBefore {
    /// Describes the machine and the directories that the program's parameters name.
    pub fn look(planned: &Planned, options: &Options) -> Self {
        if options.backend.capabilities().virtual_time {
            return Self { before: None, paths: Vec::new() };
        }
        let paths = directories(planned);
        let before = Some(machine::describe_before(&paths.iter().map(Path::new).collect::<Vec<_>>()));
        Self { before, paths }
    }

    /// What is known of a run before it begins: all that a recovered one would otherwise lack.
    pub fn facts_before(&self, runnable: &Program<'_>, planned: &Planned) -> Facts {
        let mut facts = Facts {
            schema: FACTS_SCHEMA.into(),
            seed: planned.plan.seed,
            ranks: planned.plan.ranks,
            backend: "posix".into(),
            started: units::utc(
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            ),
            ..Facts::default()
        };
        runnable.complete_facts(&mut facts);
        facts.name.clone_from(&planned.name);
        facts.program.clone_from(&planned.text);
        facts.versions = versions();
        facts.command_line = crate::output::command_line().collect();
        if let Some(before) = &self.before {
            let (machine, file_systems) = sections(before);
            (facts.machine, facts.file_systems) = (Some(machine), file_systems);
        }
        facts
    }

    /// Fill in what the engine does not know.
    pub fn complete(&self, facts: &mut Facts, planned: &Planned) {
        facts.name.clone_from(&planned.name);
        facts.program.clone_from(&planned.text);
        facts.versions = versions();
        let Some(before) = &self.before else {
            let summary = "a simulated machine: no device was touched".into();
            facts.machine = Some(MachineFacts { summary, ..MachineFacts::default() });
            return;
        };
        facts.command_line = crate::output::command_line().collect();
        let after = machine::describe(&self.paths.iter().map(Path::new).collect::<Vec<_>>());
        let mut warnings: Vec<Warning> = machine::judge(before)
            .into_iter()
            .filter(|finding| finding.severity > machine::Severity::Note)
            .map(Warning::from)
            .collect();
        warnings.extend(machine::compare(before, &after));
        for warning in warnings {
            if !facts.warnings.contains(&warning) {
                facts.warnings.push(warning);
            }
        }
        let (described, file_systems) = sections(before);
        facts.machine = Some(MachineFacts { load_after: Some(after.load), ..described });
        facts.file_systems = file_systems;
    }
}

/// Whether a value is meant as a path: a directory may be called `1` or `on`, which is no path as a parameter.
fn looks_like_a_path(value: &str) -> bool {
    value.contains('/') || matches!(value, "." | "..")
}

/// The parameters `dir` and `paths`, what `define space` names, and every given parameter that is a
/// directory.
fn directories(planned: &Planned) -> Vec<String> {
    let plan = &planned.plan;
    let mut found: BTreeSet<String> = plan
        .space
        .iter()
        .filter_map(|space| space.directory.clone())
        .filter(|directory| !ppl::plan::is_memory(Some(directory)))
        .collect();
    found.extend(plan.parameter("dir").map(str::to_owned));
    let named = plan.parameter("paths").into_iter().flat_map(|paths| paths.split(',')).map(str::trim);
    found.extend(named.filter(|path| Path::new(path).is_dir()).map(str::to_owned));
    let given = plan.given.iter().filter_map(|name| plan.parameter(name)).flat_map(|value| value.split(','));
    found.extend(
        given
            .map(str::trim)
            .filter(|value| looks_like_a_path(value) && Path::new(value).is_dir())
            .map(str::to_owned),
    );
    if found.is_empty() {
        found.insert(".".into());
    }
    found.into_iter().collect()
}

/// Fills in what the user says about the run.
pub fn label(facts: &mut Facts, args: &RunArgs) {
    facts.note = args.note.clone().unwrap_or_default();
    facts.tags = tags(&args.tag).unwrap_or_default();
}

/// Names and values of `--tag`.
pub fn tags(tags: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let one = |tag: &String| match tag.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => bail!("`--tag {tag}` gives no name a value: write --tag NAME=VALUE"),
    };
    tags.iter().map(one).collect()
}

/// Versions of lastrank, its compiler and its target.
pub fn versions() -> BTreeMap<String, String> {
    [
        ("lastrank", env!("CARGO_PKG_VERSION")),
        ("rust", env!("LASTRANK_RUSTC")),
        ("target", env!("LASTRANK_TARGET")),
    ]
    .into_iter()
    .map(|(name, version)| (name.to_owned(), version.to_owned()))
    .collect()
}
