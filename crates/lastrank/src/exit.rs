//! Turns the result of a command into the exit status, and prints its error.

use std::io;
use std::process::ExitCode;

use report::words::unsound::Unsound;
use samples::Judgements;
use trace::recording::RecordingError;

/// What a command found, as an exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 0: all is well.
    Ok,
    /// 1: the answer is no.
    No,
    /// 2: the usage or the program is wrong; everything was said already.
    Usage,
    /// 3: the run is incomplete, or operations failed.
    Incomplete,
}

impl Status {
    /// The status that a run asks for: of what was found in it, so that whoever reads its facts ends alike.
    pub fn of(found: &Judgements) -> Self {
        match found.status() {
            0 => Self::Ok,
            1 => Self::No,
            2 => Self::Usage,
            _ => Self::Incomplete,
        }
    }

    /// Whoever draws conclusions from runs ends with 3 where one of them is not sound, whatever the conclusion.
    pub fn unless(self, unsound: &[Unsound]) -> Self {
        if unsound.is_empty() { self } else { Self::Incomplete }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// An error in the input, not in how lastrank was called: status 3.
#[derive(Debug)]
pub struct BrokenInput(pub String);

impl std::fmt::Display for BrokenInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BrokenInput {}

/// The samples of a run are not where they were to be: status 3.
#[derive(Debug)]
pub struct Misplaced(pub String);

impl std::fmt::Display for Misplaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misplaced {}

/// From now on a defect of lastrank is reported as such, with what a maintainer needs; the process then ends with
/// status 101. Samples of a run that was under way stay for `lastrank recover`.
pub fn report_bugs() {
    std::panic::set_hook(Box::new(|info| {
        if store::panic_is_expected() {
            return;
        }
        let what = info
            .payload()
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| info.payload().downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no reason given".into());
        let place = info.location().map(|at| format!(", {}:{}", at.file(), at.line())).unwrap_or_default();
        let command: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        eprintln!("error: this is a bug of lastrank {}: {what}{place}", env!("CARGO_PKG_VERSION"));
        eprintln!("  command: {}", command.join(" "));
        eprintln!("  Please report it with these lines. Samples of a run that was under way are kept:");
        eprintln!("  `lastrank recover` makes their run file.");
    }));
}

/// Print an error if there is one, and turn the result into an exit status.
///
/// A reader that went away (`lastrank … | head`) is no error. [`BrokenInput`], [`Misplaced`], a corrupt run file, a packed file
/// that ends too early, an answer that could not be written and what there was no room for end with status 3, any other error
/// with 2.
pub fn report(result: anyhow::Result<Status>) -> ExitCode {
    match result {
        Ok(status) => status.into(),
        Err(error) if is_broken_pipe(&error) => Status::Ok.into(),
        Err(error) => {
            let mut said = in_words(&error.to_string());
            eprintln!("error: {said}");
            let names_run = said.contains(".parquet");
            for cause in error.chain().skip(1).map(|cause| in_words(&cause.to_string())) {
                // Many errors carry their cause in their own words already.
                if !said.contains(&cause) {
                    eprintln!("  because: {cause}");
                    said = cause;
                }
            }
            if names_run && is_missing(&error) {
                eprintln!("  help: `lastrank ls DIRECTORY` lists the runs that there are");
            }
            let is_bad = error.is::<BrokenInput>() || error.is::<Misplaced>() || is_corrupt(&error);
            if is_bad || is_unheard(&error) || is_cut(&error) {
                Status::Incomplete.into()
            } else {
                Status::Usage.into()
            }
        }
    }
}

/// What the operating system said, without the number of its error where that is all that it adds.
fn in_words(text: &str) -> String {
    match text.rsplit_once(" (os error ") {
        Some((words, number)) if number.trim_end_matches(')').parse::<i32>().is_ok() => words.to_owned(),
        _ => text.to_owned(),
    }
}

/// Did whoever read standard output go away?
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    is_of(error, io::ErrorKind::BrokenPipe)
}

/// Is it about something that is not there?
fn is_missing(error: &anyhow::Error) -> bool {
    is_of(error, io::ErrorKind::NotFound)
}

/// Was there no room for what was to be written, or was a compressed file cut off?
fn is_cut(error: &anyhow::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull, UnexpectedEof, WriteZero};
    [StorageFull, QuotaExceeded, FileTooLarge, WriteZero, UnexpectedEof]
        .iter()
        .any(|kind| is_of(error, *kind))
}

/// Could the answer not be written to standard output?
fn is_unheard(error: &anyhow::Error) -> bool {
    let of_output = |cause: &(dyn std::error::Error + 'static)| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.is_some_and(|inner| inner.is::<crate::output::Unheard>())
    };
    error.chain().any(of_output)
}

/// Is it about a run file whose content cannot be right?
fn is_corrupt(error: &anyhow::Error) -> bool {
    let of_store = |cause: &(dyn std::error::Error + 'static)| {
        let found = cause.downcast_ref::<store::Error>();
        found.is_some_and(|found| {
            matches!(found, store::Error::Damaged { .. } | store::Error::Truncated { .. })
        })
    };
    let of_numbers = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref::<intake::Error>(), Some(intake::Error::Damaged { .. }))
    };
    let of_recording = |cause: &(dyn std::error::Error + 'static)| {
        let found = cause.downcast_ref::<RecordingError>();
        found.is_some_and(|found| !matches!(found, RecordingError::NoRecording))
    };
    error.chain().any(|cause| of_store(cause) || of_numbers(cause) || of_recording(cause))
}

fn is_of(error: &anyhow::Error, kind: io::ErrorKind) -> bool {
    error.chain().any(|cause| {
        let of_store = || match cause.downcast_ref::<store::Error>()? {
            store::Error::Io { source, .. } => Some(source.kind()),
            _ => None,
        };
        let of_numbers = || match cause.downcast_ref::<intake::Error>()? {
            intake::Error::Io { source, .. } => Some(source.kind()),
            _ => None,
        };
        let found = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        found.or_else(of_store).or_else(of_numbers) == Some(kind)
    })
}
