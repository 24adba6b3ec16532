//! What a program was refused, why, and what would allow it.

use std::path::{Path, PathBuf};

use super::others::Maker;

/// Why a program may not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It lies outside of the allowed places.
    Outside,
    /// A name in it begins with a dot.
    Hidden,
    /// The name to be made begins with a dash.
    Dash,
    /// Another rank changed the path while it was looked up.
    Changed,
    /// lastrank itself writes there.
    Result,
    /// It was there before the run.
    NotMade,
    /// It is a pipe, a socket or a device that was there before the run.
    Special,
    /// It was there before the run; that an earlier one made it is not enough, since others may have written to it since.
    NotThisRun,
    /// A directory of an earlier run in which something is that no run made.
    HoldsOthers,
    /// It would become executable, or run with the rights of its owner.
    Executable,
    /// The MPI library would take a part of the name for that of a file system.
    Colon,
    /// The MPI library would open it again later, by name.
    Later,
    /// It would start a program.
    Starts,
}

impl WayOut {
    /// Where it is about `real`, with `--room`, `--root` or neither. The option allows no more than is needed: the file
    /// where it is there, else the directory where it is to be.
    pub(super) fn of(in_room: bool, rooted: bool, real: &Path) -> Self {
        let around = real.parent().filter(|parent| *parent != Path::new("/")).unwrap_or(real);
        let place = if real.symlink_metadata().is_ok() { real } else { around };
        let option = format!("--allow {}", place.display()).into_boxed_str();
        match (in_room, rooted) {
            (true, _) => Self::Room,
            (false, true) => Self::Root(option),
            (false, false) => Self::Allow(option),
        }
    }
}

/// Something that a program may not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refused to {what} \"{path}\"{}: {}", resolved(.path, .real), self.because())]
pub struct Refusal {
    /// `write to`, `read`, `remove` …
    pub what: &'static str,
    /// As the program wrote it.
    pub path: String,
    /// Where it really lies, links resolved.
    pub real: PathBuf,
    /// Why.
    pub reason: Reason,
    /// Who made what is in the way, as far as that is known.
    pub maker: Box<Maker>,
    /// The allowed places in words.
    pub places: Box<str>,
    /// What would allow it.
    pub way: WayOut,
}

/// What would allow something that a program was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WayOut {
    /// Nothing: a room has no exit.
    Room,
    /// No `--root`, which is stronger than this `--allow`.
    Root(Box<str>),
    /// This `--allow`.
    Allow(Box<str>),
}

fn resolved(path: &str, real: &Path) -> String {
    if Path::new(path) == real || !real.is_absolute() {
        String::new()
    } else {
        format!(" (that is {})", real.display())
    }
}

impl Refusal {
    fn because(&self) -> String {
        let Self { places, .. } = self;
        if self.way == WayOut::Room
            && let Some(why) = self.in_a_room()
        {
            return why;
        }
        let (outside, instead, other) = match &self.way {
            WayOut::Room => ("--room", String::new(), String::new()),
            WayOut::Root(option) => (
                "--root",
                format!("without --root, {option} would allow it"),
                format!("without --root, {option} lets the program have it all the same"),
            ),
            WayOut::Allow(option) => (
                "",
                format!("to allow it, add {option}"),
                format!("to let the program have it all the same, add {option}"),
            ),
        };
        match self.reason {
            Reason::Outside if outside.is_empty() => {
                format!("the program may only touch files below {places}; {instead}")
            }
            Reason::Outside => format!("with {outside} the program has nothing but {places}"),
            Reason::Hidden => {
                format!("names that begin with a dot hold settings and keys of other programs; {instead}")
            }
            Reason::Dash => {
                format!("a name that begins with a dash is an option to the next `tar *`; {instead}")
            }
            Reason::Changed => "another rank changed where this path leads while it was looked up".into(),
            Reason::NotMade => self.not_made(&other),
            Reason::NotThisRun => format!(
                "this run did not make it, and others may have written to it since an earlier one did; {instead}"
            ),
            Reason::HoldsOthers => {
                format!("not all in it was made by runs of yours that are remembered; {other}")
            }
            Reason::Special => format!(
                "it is a pipe, a socket or a device of yours: to open it wakes who waits there, and a read takes from it; {other}"
            ),
            Reason::Result => "lastrank writes the results of this run there; name others with -o FILE".into(),
            Reason::Colon => {
                "the MPI library takes what stands before a colon for the name of a file system; use names without one"
                    .into()
            }
            Reason::Later => "the hint romio_no_indep_rw has the MPI library open the file later, where nobody can check what it \
                              opens; leave the hint out, or run a program of your own with --unconfined"
                .into(),
            Reason::Executable => {
                "a program may make files executable only with --allow-spawn; other permissions are free"
                    .into()
            }
            Reason::Starts => "a program may start others only with --allow-spawn".into(),
        }
    }

    /// Only what is known is said of who made it.
    fn not_made(&self, other: &str) -> String {
        match &*self.maker {
            Maker::Unknown => {
                format!("this run did not make it, and no earlier one of yours is known to have; {other}")
            }
            Maker::Killed(what, folder) => format!(
                "this run did not make it, but one of yours that was killed did ({what}); `lastrank recover {}` removes it",
                folder.display()
            ),
            Maker::UnderWay(what, folder) => format!(
                "this run did not make it; another run of yours is under way in {} ({what}) and may have: wait for its end, \
                 or work elsewhere",
                folder.display()
            ),
            Maker::Forgotten(why) => {
                format!(
                    "this run did not make it, and what earlier ones made is not remembered ({why}); {other}"
                )
            }
            Maker::Lastrank => {
                "this run did not make it: it is a run file of lastrank, a result and no program's; use \
                another name, or remove it"
                    .into()
            }
        }
    }

    /// Why, where no option allows it.
    fn in_a_room(&self) -> Option<String> {
        let why = match self.reason {
            Reason::Outside => format!("with --room the program has nothing but {}", self.places),
            Reason::Hidden => "with --room no name may begin with a dot".into(),
            Reason::Dash => "with --room no name may begin with a dash".into(),
            Reason::NotMade | Reason::NotThisRun | Reason::HoldsOthers => {
                "with --room a program changes only what it made".into()
            }
            Reason::Special => "with --room a program opens no pipe, socket or device".into(),
            Reason::Executable | Reason::Starts => {
                "with --room a program may start no others and make no file executable".into()
            }
            Reason::Changed | Reason::Result | Reason::Colon | Reason::Later => return None,
        };
        Some(why)
    }
}
