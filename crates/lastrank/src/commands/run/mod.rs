//! `lastrank run`: measure, keep every sample, fit, report.

mod append;
mod dry_run;
mod facts;
mod places;
mod progress;
mod requeued;
mod results;
mod room;
mod silence;
mod steady;
mod until;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use engine::content::Dials;
use engine::mpi::MpiChoice;
use engine::mpi::{Job, Surroundings, surroundings};
use engine::run::{
    BackendKind, Clean, Confine, JobSeat, JobShare, Keep, Options, Program as Runnable, RunOutcome, live,
    options_of,
};
use ppl::commands::{Class, Command};
use ppl::plan::Settings;
use ranks::{Pin, hold_signals};
use samples::{ConfinedBy, Facts, SteadyFacts, SteadyRule, Warning};

pub use facts::versions;
pub use results::stamped;
use until::{Until, Watcher};

use super::asks;
use super::parameters::{groups, pairs};
use super::redact::redact;
use crate::built;
use crate::cli::{PinTo, ProgressKind, Record, RunArgs, RunOptions};
use crate::conditions;
use crate::exit::Status;
use crate::experiments::ProgramText;
use crate::output;
use crate::program::{self, Planned};

/// Run a program that lastrank made, under `name`.
pub fn run_made(name: &str, text: String, options: RunOptions) -> anyhow::Result<Status> {
    let program = name.to_owned();
    if options.room.is_some() {
        bail!("--room is for a program that somebody else wrote: `lastrank run --room FILE.ppl`");
    }
    run(&RunArgs {
        program,
        parameters: Vec::new(),
        time: None,
        options,
        made: Some(text),
        links: false,
        began_in: None,
    })
}

/// Samples of each rank that the live line looks at ten times a second, the newest.
const MOST_SHOWN: usize = 4_096;

fn made(name: &str, text: &str) -> ProgramText {
    ProgramText { name: name.to_owned(), path: format!("{name}.ppl"), text: text.to_owned(), shipped: true }
}

/// Run a program or a shipped experiment: on ranks of our own, or as one process of an MPI job.
pub fn run(args: &RunArgs) -> anyhow::Result<Status> {
    if args.json {
        output::keep_for_json()?;
    }
    let backend = backend(&args.backend)?;
    let job = match surroundings(&choice(args.mpi.as_deref()))? {
        Surroundings::Alone => None,
        Surroundings::Job(job) => Some(job),
    };
    let environment = |name: &str| std::env::var(name).ok();
    facts::tags(&args.tag)?;
    let settings = Settings {
        // If the launcher does not say how many ranks it started, -n does; MPI's own number decides.
        ranks: job.as_ref().map(|job| job.ranks().or(args.ranks).unwrap_or(1)).or(args.ranks),
        parameters: pairs(&args.parameters, &args.set)?,
        groups: groups(&args.group, args.classic)?,
        environment: Some(&environment),
        seed: args.seed,
        tentative: false,
    };
    if let (Some(asked), Some(started)) = (args.ranks, job.as_ref().and_then(Job::ranks))
        && asked != started
    {
        bail!(
            "-n {asked}, but the launcher started {started} ranks: leave -n out, or start without a launcher"
        );
    }
    if job.is_some() && args.pin == PinTo::Cores {
        bail!(
            "--pin cores is for ranks that lastrank starts; here the launcher binds them: see its own option \
               (`mpirun --bind-to core`, `srun --cpu-bind=cores`)"
        );
    }
    let speaks = job.as_ref().is_none_or(|job| job.rank() == 0);
    let loaded = match &args.made {
        Some(text) => program::of_text(made(&args.program, text), args.classic, args.root.as_deref())?,
        None => program::load(&args.program, args.classic, args.root.as_deref())?,
    };
    let Some(planned) = loaded.plan(&settings, speaks) else {
        return Ok(if speaks { Status::Usage } else { after_rank_zero() });
    };
    for note in planned.plan.notes.iter().filter(|_| speaks) {
        eprintln!("note: {note}");
    }
    if let (Some(_), false, Err(told)) = (&job, args.dry_run, one_rank_alone(&planned, args.ranks)) {
        // Each of the ranks that were started ends; one of them says why.
        return if speaks { Err(told) } else { Ok(after_rank_zero()) };
    }
    if args.record == Record::Histogram && ppl::claim::needs_samples(&planned.plan) {
        bail!(
            "{} asks what its samples came to (`assert`, `quantile`, …) and needs every one: leave --record histogram out",
            args.program
        );
    }
    let rule = steady::rule(args, &planned.plan)?;
    let until = Until::of(args, &planned.plan, rule.as_ref(), job.is_some())?;
    let mut options = options(args, &planned, backend);
    if job.is_none() && !args.dry_run && !options.backend.capabilities().virtual_time {
        needs_mpi(&planned, &args.program)?;
    }
    if let (false, Err(told)) = (args.room.is_some(), places::are_there(&planned, &options)) {
        return if speaks { Err(told) } else { Ok(after_rank_zero()) };
    }
    if speaks && !(args.dry_run || args.quiet || args.one_line || args.json) {
        dry_run::tell_asked(&planned, &options);
    }
    if let Some(named) = &args.room {
        if let Err(told) = room::check(&planned, &mut options, job.is_some()) {
            return if speaks { Err(told) } else { Ok(after_rank_zero()) };
        }
        if !args.dry_run {
            return room::within(args, named.as_deref(), &planned, options, (until, rule));
        }
    }
    match job {
        _ if args.dry_run && speaks => dry_run::show(&planned, &options, args.json),
        _ if args.dry_run => Ok(Status::Ok),
        Some(job) => measure_in_job(args, &planned, &options, (&job, rule)),
        None => measure(args, &planned, &options, (until, rule)),
    }
}

fn measure(
    args: &RunArgs,
    planned: &Planned,
    options: &Options,
    (until, rule): (Until, Option<SteadyRule>),
) -> anyhow::Result<Status> {
    let paths = results::OutputPaths::choose(args, planned, options, false)?;
    let options = &Options { results: paths.all(args), ..options.clone() };
    let machine = machine_before(planned, options)?;
    crowded(planned, options, planned.plan.ranks, machine::affinity::allowed().len());
    if args.wait {
        await_signal()?;
    }
    let runnable = Runnable::new(&planned.plan).judged_by(conditions::answers(rule.as_ref()));
    let mut bar = progress::Bar::new(!args.quiet && !args.json, &planned.name, args.progress);
    let held = hold_signals();
    let known = machine.facts_before(&runnable, planned);
    let live = live::begin(options, paths.run_file(), known.clone());
    let most = if until.needs_samples() { usize::MAX } else { MOST_SHOWN };
    let shown = until::watched(options, until.needs_samples() || bar.is_shown());
    let mut watcher = Watcher::new(until, known, options.backend.capabilities().virtual_time);
    let with_live = Options { live: live.clone(), ..shown };
    let begun = engine::run::ranks(&runnable, &with_live, |view| {
        if let Some(tap) = &with_live.tap {
            tap.news(most, |sites, samples| {
                bar.take(sites, samples);
                watcher.take(sites, samples);
            });
        }
        bar.look(view, watcher.left_s());
        watcher.look(view);
    });
    drop(with_live);
    let live = live.and_then(Arc::into_inner);
    let mut outcome = match begun {
        Ok(outcome) => outcome,
        Err(error) => {
            if let Some(live) = live {
                live.remove();
            }
            return Err(error).with_context(|| format!("{} did not begin", planned.name));
        }
    };
    bar.finish();
    watcher.tell(&mut outcome);
    tell_confinement(&outcome.run.facts);
    runnable.complete_facts(&mut outcome.run.facts);
    machine.complete(&mut outcome.run.facts, planned);
    facts::label(&mut outcome.run.facts, args);
    outcome.run.facts.steady = outcome.run.facts.steady.take().or_else(|| rule.map(SteadyFacts::asked));
    if args.redact {
        redact(&mut outcome.run);
    }
    results::deliver(args, &paths.still_free(args), &mut outcome, (Some(held), live))?;
    Ok(Status::of(&outcome.judgements()))
}

/// Measures as one process of a job. Rank 0 writes the whole of a complete run; each process writes its own part of
/// one that broke off or is large.
fn measure_in_job(
    args: &RunArgs,
    planned: &Planned,
    options: &Options,
    (job, rule): (&Job, Option<SteadyRule>),
) -> anyhow::Result<Status> {
    let mut paths = results::OutputPaths::choose(args, planned, options, true)?;
    let refused = if job.rank() == 0 { paths.claim_for_job().err() } else { None };
    let paths = paths;
    let options = &Options { results: paths.all(args), ..options.clone() };
    let machine = machine_before(planned, options)?;
    // Once a job, and of its first node. A launcher that binds ranks leaves each of them few of the processors.
    if job.rank() == 0 {
        let of_node = ranks::launcher::local_ranks().unwrap_or(planned.plan.ranks);
        crowded(planned, options, of_node, machine::affinity::online().unwrap_or(0));
    }
    if args.wait {
        await_signal()?;
    }
    let other_ranks = other_ranks(planned, args.ranks);
    let runnable = Runnable::new(&planned.plan).judged_by(conditions::answers(rule.as_ref()));
    let kind = if job.rank() == 0 { args.progress } else { ProgressKind::None };
    let mut bar = progress::Bar::new(!args.quiet && !args.json, &planned.name, kind);
    let mut delivered = Ok(Status::Ok);
    let (mut in_parts, mut nodes) = (None, Vec::new());
    let directory = paths.directory().to_path_buf();
    let save = |share: JobShare| {
        let complete = |mut outcome: Box<RunOutcome>| {
            runnable.complete_facts(&mut outcome.run.facts);
            machine.complete(&mut outcome.run.facts, planned);
            facts::label(&mut outcome.run.facts, args);
            outcome.run.facts.steady = rule.clone().map(SteadyFacts::asked);
            outcome.run.facts.warnings.extend(other_ranks.clone());
            if args.redact {
                redact(&mut outcome.run);
            }
            outcome
        };
        delivered = match share {
            JobShare::AtRankZero => Ok(Status::Ok),
            JobShare::Refused => Ok(Status::Usage),
            JobShare::Whole(outcome) => {
                let mut outcome = complete(outcome);
                tell_confinement(&outcome.run.facts);
                let delivered = results::deliver(args, &paths, &mut outcome, (None, None));
                if delivered.is_ok() {
                    results::replace_parts(&paths, &outcome.run.facts.job);
                }
                delivered.map(|()| Status::of(&outcome.judgements()))
            }
            JobShare::Part(outcome) => {
                let outcome = complete(outcome);
                let facts = &outcome.run.facts;
                nodes.clone_from(&facts.nodes);
                in_parts = (job.rank() == 0 && facts.complete).then(|| known_of(facts));
                results::deliver_part(&paths, &outcome, job.rank())
                    .map(|()| Status::of(&outcome.judgements()))
            }
        };
    };
    let seat = JobSeat { job, directory: &directory, refuses: refused.is_some() };
    let silent = engine::run::job(&runnable, options, seat, save, |watch| bar.look(watch, None))
        .with_context(|| format!("{} did not begin on rank {}", planned.name, job.rank()))?;
    bar.finish();
    if let Some(told) = refused {
        return Err(told);
    }
    if !silent.is_empty() {
        silence::tell(&nodes, &silent, planned.plan.ranks);
    }
    let (Some(known), Ok(status)) = (in_parts, &delivered) else { return delivered };
    let told = results::deliver_from_parts(args, &paths, &known)?;
    Ok(if told == Status::Ok { *status } else { told })
}

/// What rank 0 needs to know when the run is in parts.
fn known_of(facts: &Facts) -> Facts {
    let (job, ranks, nodes) = (facts.job.clone(), facts.ranks, facts.nodes.clone());
    Facts { job, ranks, nodes, ..Facts::default() }
}

/// The end of a rank that leaves the words to rank 0: a launcher that sees one end with an error ends the others, so the one that
/// says why goes first.
fn after_rank_zero() -> Status {
    std::thread::sleep(Duration::from_secs(1));
    Status::Usage
}

/// Refuses a program of one rank that a launcher started several times, unless the user says that number as well: all would do
/// the same to the same files.
fn one_rank_alone(planned: &Planned, said: Option<u32>) -> anyhow::Result<()> {
    let (ranks, defined) = (planned.plan.ranks, planned.plan.defined_ranks);
    if said.is_none() && ranks > 1 && defined == Some(1) {
        bail!(
            "{} is a program of one rank (`define ranks 1`), and the launcher started {ranks}, which would do the same to the \
             same files: start it without the launcher, or say -n {ranks} if that is what you want",
            planned.name
        );
    }
    Ok(())
}

/// Refuses a program whose ranks send each other bytes where no MPI library sends them.
fn needs_mpi(planned: &Planned, program: &str) -> anyhow::Result<()> {
    let mut commands = planned.plan.sites().iter().filter_map(|site| Some((site.command?, site.line)));
    let Some((command, line)) = commands.find(|(command, _)| command.class() == Class::Message) else {
        return Ok(());
    };
    let name = command.name();
    bail!(
        "line {line}: `{name}` is a call of MPI, and no launcher started this process: copies in the memory of one machine are no \
         communication. Start it by one: mpirun -n 4 lastrank run {program}"
    )
}

/// A launcher started another number of ranks than the program asks for, and the user did not say so as well.
fn other_ranks(planned: &Planned, said: Option<u32>) -> Option<Warning> {
    let (ranks, defined) = (planned.plan.ranks, planned.plan.defined_ranks?);
    (said.is_none() && i64::from(ranks) != defined).then(|| Warning {
        code: "ranks-of-launcher".into(),
        text: format!(
            "the launcher started {ranks} ranks, where the program says `define ranks` {defined}: what it says of \
             targets and writers may not hold"
        ),
        advice: format!(
            "let the launcher start {defined}, or say -n {ranks} as well if {ranks} is what you want"
        ),
    })
}

/// Says so where the kernel did not confine a program that touched files of this machine.
fn tell_confinement(facts: &Facts) {
    if let Some(confinement) = facts.confinement.as_ref().filter(|found| found.by == ConfinedBy::Paths) {
        eprintln!(
            "note: the kernel did not confine the program ({}); lastrank checked every path itself",
            confinement.why
        );
    }
}

fn await_signal() -> anyhow::Result<()> {
    let process = std::process::id();
    let said = || eprintln!("note: ready; `kill -USR1 {process}` begins");
    ranks::await_user_signal(said).context("--wait: cannot wait for SIGUSR1")
}

fn machine_before(planned: &Planned, options: &Options) -> anyhow::Result<facts::MachineBefore> {
    asks::has_room(&planned.plan, options)?;
    let is_kernel = |command: Command| command.class() == Class::Kernel;
    let times_kernels = planned.plan.sites().iter().filter_map(|site| site.command).any(is_kernel);
    if times_kernels && !options.backend.capabilities().virtual_time {
        built::warn();
    }
    Ok(facts::MachineBefore::look(planned, options))
}

/// Says before the run where ranks that wait for each other are more than the processors: a step then takes as long as
/// the scheduler lets the last one wait.
fn crowded(planned: &Planned, options: &Options, ranks: u32, processors: usize) {
    let ranks = ranks as usize;
    if !options.backend.capabilities().local_files || processors == 0 || ranks <= processors {
        return;
    }
    let is_set =
        |of: &str, to: &str| planned.plan.parameters.iter().any(|(name, value)| name == of && value == to);
    let has_async = is_set("by", "ranks") && !is_set("access", "read") && !is_set("striped", "targets");
    let otherwise = match has_async {
        true => "; `--set by=async` has one rank start all and wait for the last",
        false => "; an `async` block starts several operations from one rank",
    };
    let plural = if processors == 1 { "" } else { "s" };
    eprintln!(
        "note: {ranks} ranks share {processors} processor{plural}: they wait for each other as well as for what they \
         measure{otherwise}"
    );
}

/// What `--mpi` says.
pub fn choice(mpi: Option<&str>) -> MpiChoice {
    match mpi {
        None => MpiChoice::Auto,
        Some(words) => words.parse().unwrap_or_else(|never| match never {}),
    }
}

fn options(args: &RunArgs, planned: &Planned, backend: BackendKind) -> Options {
    let mut options = options_of(&planned.plan, &Options::new(planned.plan.ranks));
    options.backend = backend;
    options.allow.extend(args.allow.iter().cloned());
    // An experiment that ships inside the binary is no stranger's.
    options.allow_spawn = args.allow_spawn || planned.shipped;
    options.fill = args.fill;
    options.links = args.links;
    options.confine = match (args.unconfined, args.require_confinement) {
        (true, _) => Confine::Nobody,
        (false, true) => Confine::Required,
        (false, false) => Confine::BestEffort,
    };
    options.root.clone_from(&args.root);
    options.skip_sleep = args.skip_sleep;
    options.causes = !args.no_causes;
    options.dials = Dials { compressible: args.compressible, dedupe: args.dedupe };
    options.launch.timeout = Some(Duration::from_secs(args.timeout));
    if args.clean {
        options.clean = Clean::Always;
    }
    options.pin = match args.pin {
        PinTo::Auto => Pin::Auto,
        PinTo::Cores => Pin::Cores,
        PinTo::None => Pin::None,
    };
    if args.record == Record::Histogram {
        options.keep = Keep::Histogram;
    }
    options.expected_samples = dry_run::expected_samples(planned);
    options
}

fn backend(words: &str) -> anyhow::Result<BackendKind> {
    words.parse().map_err(|why| anyhow!("--backend {words}: {why}"))
}
