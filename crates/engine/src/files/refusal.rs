//! What a program was refused, why, and what would allow it.

use std::path::{Path, PathBuf};

/// Why a program may not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It lies outside of the allowed places.
    Outside,
    /// A name in it begins with a dot.
    Hidden,
    /// Another rank changed the path while it was looked up.
    Changed,
    /// lastrank itself writes there.
    Result,
    /// It was there before the run.
    NotMade,
    /// It would become executable, or run with the rights of its owner.
    Executable,
    /// The MPI library would take a part of the name for that of a file system.
    Colon,
    /// It would start a program.
    Starts,
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
    /// The allowed places in words.
    pub places: String,
    /// The option that would allow it, where it is one of a directory; none in a room.
    pub option: String,
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
        let Self { places, option, .. } = self;
        match self.reason {
            Reason::Outside if option.is_empty() => format!("with --room the program has nothing but {places}"),
            Reason::Hidden if option.is_empty() => "with --room no name may begin with a dot".into(),
            Reason::NotMade if option.is_empty() => "with --room a program changes only what it made".into(),
            Reason::Executable | Reason::Starts if option.is_empty() => {
                "with --room a program may start no others and make no file executable".into()
            }
            Reason::Outside => {
                format!("the program may only touch files below {places}; to allow it, add {option}")
            }
            Reason::Hidden => format!(
                "names that begin with a dot hold settings and keys of other programs; to allow it, add {option}"
            ),
            Reason::Changed => "another rank changed where this path leads while it was looked up".into(),
            Reason::NotMade => {
                format!(
                    "this run did not make it, nor did an earlier one of yours; to let the program have it all the same, \
                     add {option}"
                )
            }
            Reason::Result => "lastrank writes the results of this run there; name others with -o FILE".into(),
            Reason::Colon => {
                "the MPI library takes what stands before a colon for the name of a file system; use names without one"
                    .into()
            }
            Reason::Executable => {
                "a program may make files executable only with --allow-spawn; other permissions are free"
                    .into()
            }
            Reason::Starts => "a program may start others only with --allow-spawn".into(),
        }
    }
}
