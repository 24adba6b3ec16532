//! `lastrank replay`: does again what an application did.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;
use engine::files::Leftovers;
use store::HeldFolder;
use trace::import::Options;

use super::{import, run};
use crate::cli::{self, Cli, Command, LEAST_GAP_US, ReplayArgs};
use crate::exit::Status;
use crate::{output, written};

/// Begins the statements of a program whose calls start when they did.
const STARTS: &str = "$begin = $$time;";

/// Imports the trace where it is one, and runs the program.
pub fn run(args: &ReplayArgs) -> anyhow::Result<Status> {
    let path = &args.application;
    let output = args.output.clone().unwrap_or_else(|| named(path));
    let is_program = path.extension().is_some_and(|end| end == "ppl" || end == "pbl");
    let program = if is_program { path.clone() } else { imported(args, &output)? };
    let text =
        std::fs::read_to_string(&program).with_context(|| format!("cannot read {}", program.display()))?;
    if args.as_recorded && !text.contains(STARTS) {
        bail!(
            "{} has pauses, not the times at which calls start; give the recording, or make the program by `lastrank \
             import --as-recorded`",
            program.display()
        );
    }
    if is_program && args.copies > 1 {
        bail!("--copies needs the recording or trace: a program has as many ranks as it says");
    }
    let mut words =
        vec!["lastrank".into(), "run".into(), program.into_os_string(), "-o".into(), output.into()];
    for set in &args.set {
        words.extend(["--set".into(), set.into()]);
    }
    if let Some(pace) = pace(args)? {
        if text.contains("define param \"pace\"") {
            words.extend(["--set".into(), format!("pace={pace}").into()]);
        } else {
            output::say(format_args!(
                "note: the program has no pauses, so that it is as fast as possible already\n"
            ));
        }
    }
    make_room(args)?;
    let (directory, is_made) = empty_directory(args);
    let in_the_open = directory.as_ref().and_then(in_the_open);
    if let Some(directory) = directory.as_ref().filter(|_| in_the_open.is_none()) {
        // What is held, whatever its name leads to by then.
        words.extend(["--allow".into(), directory.inside(".").into()]);
    }
    for allowed in &args.allow {
        words.extend(["--allow".into(), allowed.into()]);
    }
    if let Some(report) = &args.report {
        words.extend(["--report".into(), report.into()]);
    }
    if args.quiet {
        words.push("--quiet".into());
    }
    if args.one_line {
        words.push("--one-line".into());
    }
    if args.no_causes {
        words.push("--no-causes".into());
    }
    if args.unconfined {
        words.push("--unconfined".into());
    }
    if args.clean {
        words.push("-c".into());
    }
    let done = match Cli::try_parse_from(words)?.command {
        // What lies behind a link is judged when it is opened. A program may have been written by anybody.
        Command::Run(args) => run::run(&cli::RunArgs { links: !is_program, ..args }),
        _ => bail!("the arguments of `run` were not understood"),
    };
    if let Some(around) = in_the_open.filter(|_| matches!(done, Ok(Status::Usage)) || done.is_err()) {
        let around = around.display().to_string();
        output::say(format_args!(
            "note: others may rename what is in {around}, so that this replay gets no more than any program: run it \
             elsewhere, or keep them out: `chmod go-w {around}`\n"
        ));
    }
    if let Some(directory) = directory.filter(|_| is_made && args.clean) {
        // What is not empty stays: the run did not make it.
        directory.remove_empty();
    }
    done
}

/// Removes what earlier replays left in the directory that nobody named: a replay begins as the application did. Where
/// something else is in it, names would be in the way. A directory that was named may hold data of other runs, and stays.
fn make_room(args: &ReplayArgs) -> anyhow::Result<()> {
    let directory = Path::new("imported");
    let is_named = args.set.iter().any(|set| set.starts_with("dir="));
    // A link may lead anywhere; of several processes of a launcher one would remove what another one needs.
    if is_named || !directory.is_dir() || directory.is_symlink() || ranks::launcher::this_launcher().is_some()
    {
        return Ok(());
    }
    let way = "move it, or give another directory: `--set dir=DIR`";
    match engine::files::remove_leftovers(directory)
        .with_context(|| format!("cannot empty imported; {way}"))?
    {
        Leftovers::Removed(0) => Ok(()),
        Leftovers::Removed(count) => {
            output::say(format_args!(
                "note: removed {count} files and directories that earlier runs left in imported: a replay begins as the application did\n"
            ));
            Ok(())
        }
        Leftovers::Foreign(path) => bail!(
            "{} is in the directory of the replay, and no run made it that is remembered; {way}",
            samples::visible(&path.display().to_string())
        ),
    }
}

/// The directory of the replay, held, if nothing is in it and nobody else can put something there: what has a hidden name
/// there (`.git`) is made by the replay itself. It is made before the run, so that the kernel can allow exactly it; the second
/// part says whether.
fn empty_directory(args: &ReplayArgs) -> (Option<HeldFolder>, bool) {
    let named = args.set.iter().rev().find_map(|set| set.strip_prefix("dir="));
    let mut directory = PathBuf::from(named.unwrap_or("imported"));
    // A link that nobody named may lead anywhere, and is not opened.
    if let (Some(_), Ok(real)) = (named, directory.canonicalize()) {
        directory = real;
    }
    // Whatever the umask: a group that may write to it could exchange what is in it.
    let is_made = std::fs::DirBuilder::new().mode(0o755).create(&directory).is_ok();
    let held = HeldFolder::open(&directory).ok();
    (held.filter(is_only_mine), is_made)
}

/// Is nothing in it, and is it of this user, and can nobody else put something there?
fn is_only_mine(directory: &HeldFolder) -> bool {
    let of_user = std::fs::metadata("/proc/self").map(|own| own.uid());
    let (Ok(own), Ok(found), Ok(names)) = (of_user, directory.file().metadata(), directory.names()) else {
        return false;
    };
    let is_open = engine::files::is_open_to_others(&directory.inside("."), &found);
    found.uid() == own && !is_open && names.is_empty()
}

/// A directory around it in which other users can put another one in its place: what is allowed by name would then be
/// allowed there.
fn in_the_open(directory: &HeldFolder) -> Option<PathBuf> {
    let real = directory.inside(".").canonicalize().unwrap_or_default();
    engine::files::exchangeable(&real).map(Path::to_owned)
}

/// By what pauses are multiplied; `None`: as the program says.
fn pace(args: &ReplayArgs) -> anyhow::Result<Option<f64>> {
    match args.speed {
        _ if args.as_fast_as_possible => Ok(Some(0.0)),
        Some(speed) if speed > 0.0 && speed.is_finite() => Ok(Some(1.0 / speed)),
        Some(speed) => bail!("--speed {speed}: a factor is above 0; --as-fast-as-possible leaves pauses out"),
        None => Ok(None),
    }
}

/// The program of a recording or trace, written beside the samples of its replay.
fn imported(args: &ReplayArgs, output: &Path) -> anyhow::Result<PathBuf> {
    let (mut trace, _) = import::read(&args.application, &args.choice)?;
    let options = Options {
        choice: import::choice(&args.choice)?,
        least_gap: import::gap_ns(LEAST_GAP_US),
        open_loop: args.as_recorded,
        links: true,
        copies: args.copies,
        ..Options::default()
    };
    let made = trace::import(&mut trace, &options);
    import::usable(&made, &args.application)?;
    let program = output.with_extension("ppl");
    output::refuse_overwriting(&program, "-o", &[&args.application])?;
    written::program(&program, &made.text)?;
    eprintln!("{}: {} operations in {} lines", program.display(), made.calls, made.lines);
    Ok(program)
}

fn named(path: &Path) -> PathBuf {
    let stem = path.file_stem().map_or_else(|| "app".into(), |stem| stem.to_string_lossy().into_owned());
    PathBuf::from(format!("{stem}-replay.parquet"))
}
