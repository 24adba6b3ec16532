//! `lastrank run`: measure, keep every sample, fit, report.

mod dry_run;
mod facts;
mod progress;
mod results;

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use engine::run::{BackendKind, Clean, Options, Outcome, Program as Runnable, missing_space, options_of};
use ppl::plan::Settings;

use crate::cli::RunArgs;
use crate::exit::Status;
use crate::program::{self, Planned};

/// Run a program or a shipped experiment.
pub fn run(args: &RunArgs) -> anyhow::Result<Status> {
    let backend = backend(&args.backend)?;
    let environment = |name: &str| std::env::var(name).ok();
    let settings = Settings {
        ranks: args.ranks,
        parameters: pairs(args)?,
        groups: groups(args)?,
        environment: Some(&environment),
        seed: args.seed,
    };
    let Some(planned) = program::load(&args.program, args.classic)?.plan(&settings) else {
        return Ok(Status::Usage);
    };
    for note in &planned.plan.notes {
        eprintln!("note: {note}");
    }
    let options = options(args, &planned, backend);
    if args.dry_run {
        return dry_run::show(&planned, &options, args.json);
    }
    measure(args, &planned, options)
}

fn measure(args: &RunArgs, planned: &Planned, options: Options) -> anyhow::Result<Status> {
    let places = results::Places::choose(args, planned, &options)?;
    missing_space(&planned.plan, &options).map_err(|error| {
        anyhow!("{error}; make room there, choose another place with `--set dir=…`, or write less")
    })?;
    let runnable = Runnable::new(&planned.plan);
    let surroundings = facts::Surroundings::look(planned, &options);
    let mut bar = progress::Bar::new(!args.quiet && !args.json, &planned.name);
    let outcome = engine::run::ranks(&runnable, &options, |watch| bar.look(watch))
        .with_context(|| format!("{} did not begin", planned.name))?;
    bar.finish();
    let mut outcome = outcome;
    runnable.complete_facts(&mut outcome.run.facts);
    surroundings.complete(&mut outcome.run.facts, planned, &options);
    results::deliver(args, &places, &outcome)?;
    Ok(status(&outcome))
}

fn status(outcome: &Outcome) -> Status {
    match outcome.exit_status() {
        0 => Status::Ok,
        1 => Status::No,
        2 => Status::Usage,
        _ => Status::Incomplete,
    }
}

fn options(args: &RunArgs, planned: &Planned, backend: BackendKind) -> Options {
    let mut options = options_of(&planned.plan, &Options::new(planned.plan.ranks));
    options.backend = backend;
    options.allow.extend(args.allow.iter().cloned());
    options.root.clone_from(&args.root);
    options.skip_sleep = args.skip_sleep;
    options.launch.timeout = Some(Duration::from_secs(args.timeout));
    if args.clean {
        options.clean = Clean::Always;
    }
    options.expected_samples = dry_run::expected_samples(planned);
    options
}

fn backend(words: &str) -> anyhow::Result<BackendKind> {
    match words.split_once(':') {
        None if words == "posix" => Ok(BackendKind::Posix),
        None if words == "simulate" => backend("simulate:gev(10ms,1ms,0.1)"),
        Some(("simulate", law)) => law.parse().map(BackendKind::Simulate).map_err(|error| {
            anyhow!("--backend {words}: {error}; write for example `--backend 'simulate:gev(10ms,1ms,0.1)'`")
        }),
        _ => bail!("--backend {words}: there are `posix` and `simulate:DISTRIBUTION`"),
    }
}

fn pairs(args: &RunArgs) -> anyhow::Result<Vec<(String, String)>> {
    let all =
        args.parameters.iter().map(|pair| (pair, "")).chain(args.set.iter().map(|pair| (pair, "--set ")));
    all.map(|(pair, option)| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => bail!("`{option}{pair}` sets no parameter: write {option}NAME=VALUE"),
    })
    .collect()
}

fn groups(args: &RunArgs) -> anyhow::Result<Vec<(String, u32)>> {
    args.group
        .iter()
        .map(|pair| {
            let parsed =
                pair.rsplit_once(':').and_then(|(name, size)| Some((name.to_owned(), size.parse().ok()?)));
            parsed.ok_or_else(|| anyhow!("`-g {pair}` gives no group a size: write -g GROUP:RANKS"))
        })
        .collect()
}
