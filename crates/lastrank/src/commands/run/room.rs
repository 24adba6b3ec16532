//! `--room`: runs a program that one does not trust in a new folder, which is all that it sees and changes.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use engine::run::Options;
use samples::SteadyRule;
use store::HeldFolder;

use super::{Until, measure};
use crate::cli::RunArgs;
use crate::exit::Status;
use crate::program::Planned;

/// A command that reaches what is no file.
const NETWORK: &str = "net_pingpong";
/// Runs of one second that make a room of the same name, at most.
const MOST_NAMES: u32 = 1_000;

/// Refuses what cannot be kept in a room, and takes away from `options` what else would be granted.
pub fn check(planned: &Planned, options: &mut Options, in_mpi: bool) -> anyhow::Result<()> {
    let asking = planned
        .plan
        .sites()
        .iter()
        .find(|site| site.command.is_some_and(|found| found.spec().name == NETWORK));
    if let Some(site) = asking {
        bail!("line {}: {NETWORK} reaches another program, which --room does not let it", site.line);
    }
    options.room = true;
    // A program that ships with lastrank may start others.
    options.allow_spawn = false;
    options.connect.clear();
    engine::run::can_confine(options, in_mpi)?;
    Ok(())
}

/// Runs it there. Results go to where the command was given.
pub fn within(
    args: &RunArgs,
    named: Option<&Path>,
    planned: &Planned,
    options: Options,
    aims: (Until, Option<SteadyRule>),
) -> anyhow::Result<Status> {
    let here = std::env::current_dir().context("--room: the working directory cannot be told")?;
    let room = make(named.map(|path| here.join(path)).as_deref(), &here, &planned.name)?;
    let mut args = args.clone();
    let asked = &mut args.options;
    for path in [&mut asked.output, &mut asked.report, &mut asked.append].into_iter().flatten() {
        if path != Path::new("none") {
            *path = here.join(&*path);
        }
    }
    args.program = if Path::new(&args.program).exists() {
        here.join(&args.program).to_string_lossy().into_owned()
    } else {
        args.program
    };
    args.began_in = Some(here);
    // By its descriptor: another user who may write to the directory around it can put something else under its name.
    std::env::set_current_dir(room.inside("."))
        .with_context(|| format!("--room: {} cannot be entered", room.path().display()))?;
    let root = PathBuf::from(".");
    let done = measure(&args, planned, &Options { root: Some(root), ..options }, aims);
    // Only where nothing is in it.
    if !room.remove_empty() && !args.json {
        let place = std::env::current_dir().unwrap_or_else(|_| room.path().to_owned());
        eprintln!("note: what the program made is in {}", place.display());
    }
    done
}

fn make(named: Option<&Path>, here: &Path, program: &str) -> anyhow::Result<HeldFolder> {
    let make = |path: &Path| {
        DirBuilder::new().mode(0o700).create(path)?;
        HeldFolder::just_made(path)
    };
    if let Some(path) = named {
        return match make(path) {
            Ok(room) => Ok(room),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                bail!(
                    "--room={0}: {0} is there already; a room is a new folder, so name another",
                    path.strip_prefix(here).unwrap_or(path).display()
                )
            }
            Err(error) => Err(error).with_context(|| format!("--room: cannot make {}", path.display())),
        };
    }
    let stem = here.join(super::results::stamped(&format!("{program}-room")).with_extension(""));
    for number in 1..MOST_NAMES {
        let path = if number == 1 { stem.clone() } else { format!("{}-{number}", stem.display()).into() };
        match make(&path) {
            Ok(room) => return Ok(room),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let advice = "make a new folder elsewhere with --room=DIR";
                return Err(error)
                    .with_context(|| format!("--room: cannot make {}; {advice}", path.display()));
            }
        }
    }
    bail!("--room: too many rooms of this name; name one with --room=DIR")
}
