//! Reports which MPI library would be used with which launcher, and why, for `lastrank machine`.
//!
//! Each library is opened in a separate process: one process cannot hold two MPI libraries, and a broken
//! library may end its process.

use std::fs::File;
use std::io::Read;

use ranks::job::{ForkError, Forked, fork};
use ranks::launcher::{Launcher, LauncherKind, MpiChoice, this_launcher};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{WaitOptions, waitpid};
use serde::{Deserialize, Serialize};

use crate::find::{FoundLibrary, search};

/// The MPI libraries of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// The variable that shows that a launcher started this process.
    pub launcher: Option<String>,
    /// One entry for this launcher, or without one, for each family of launchers.
    pub choices: Vec<SurveyedChoice>,
}

/// The library that would be used with a launcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyedChoice {
    /// The launcher, in words.
    pub launcher: String,
    /// The library that would be used.
    pub found: Option<FoundLibrary>,
    /// The libraries that were tried before it, with the reasons why they cannot be used.
    pub refused: Vec<String>,
    /// Whether the libraries were refused only because none is installed.
    #[serde(skip)]
    pub all_missing: bool,
}

/// Searches for the libraries that would be used. Does not start MPI.
///
/// # Errors
/// If no process can be forked to open libraries in; [`ForkError::Threads`] if this process has several
/// threads.
pub fn survey(choice: &MpiChoice) -> Result<Survey, ForkError> {
    survey_by(choice, in_own_process)
}

fn survey_by(
    choice: &MpiChoice,
    open: impl Fn(&dyn Fn() -> SurveyAnswer) -> Result<SurveyAnswer, ForkError>,
) -> Result<Survey, ForkError> {
    let launcher = this_launcher();
    let evidence = launcher.as_ref().map(|launcher| launcher.evidence.clone());
    let pretended = |kind| Launcher { evidence: String::new(), ranks: None, rank: None, kind };
    let cases: Vec<(String, Option<Launcher>)> = match (&launcher, choice) {
        (_, MpiChoice::None) => Vec::new(),
        (Some(found), _) => vec![(format!("the launcher that set {}", found.evidence), launcher.clone())],
        (None, MpiChoice::Path(_)) => vec![("any launcher".into(), None)],
        (None, MpiChoice::Auto) => vec![
            ("mpirun of Open MPI, srun --mpi=pmix".into(), Some(pretended(LauncherKind::OpenMpi))),
            ("mpirun of MPICH or Intel MPI, srun --mpi=pmi2".into(), Some(pretended(LauncherKind::Pmi))),
        ],
    };
    let choices = cases
        .into_iter()
        .map(|(name, launcher)| {
            let answer = open(&|| {
                let (search, _library) = search(choice, launcher.clone());
                let (all_missing, refused) = (search.all_missing(), search.refusals());
                SurveyAnswer { found: search.found, refused, all_missing }
            })?;
            let SurveyAnswer { found, refused, all_missing } = answer;
            Ok(SurveyedChoice { launcher: name, found, refused, all_missing })
        })
        .collect::<Result<_, ForkError>>()?;
    Ok(Survey { launcher: evidence, choices })
}

impl Survey {
    /// One line a choice, for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let line = |choice: &SurveyedChoice| match &choice.found {
            Some(found) => format!("MPI by {}: {}, {}", choice.launcher, found.describe(), found.why),
            None if choice.all_missing => format!("MPI by {}: none found", choice.launcher),
            None => format!("MPI by {}: none usable: {}", choice.launcher, choice.refused.join("; ")),
        };
        self.choices.iter().map(line).collect()
    }

    /// A copy without paths.
    #[must_use]
    pub fn redact(&self) -> Self {
        let mut copy = self.clone();
        for choice in &mut copy.choices {
            choice.refused.clear();
            if let Some(found) = &mut choice.found {
                found.library = found.library.file_name().unwrap_or_default().into();
                found.why = "redacted".into();
            }
        }
        copy
    }
}

/// The result of a search in another process.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SurveyAnswer {
    found: Option<FoundLibrary>,
    refused: Vec<String>,
    all_missing: bool,
}

/// Runs `open` in a forked process and returns its result.
fn in_own_process(open: &dyn Fn() -> SurveyAnswer) -> Result<SurveyAnswer, ForkError> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| ForkError::System(error.into()))?;
    let (mut reader, writer) = (File::from(reader), File::from(writer));
    let child = match fork()? {
        Forked::Child => answer_and_exit(&writer, open),
        Forked::Parent(child) => child,
    };
    drop(writer);
    let mut text = Vec::new();
    let read = reader.read_to_end(&mut text);
    let status = waitpid(Some(child), WaitOptions::empty()).ok().flatten().map(|(_, status)| status);
    let refused = |why: String| SurveyAnswer { refused: vec![why], ..SurveyAnswer::default() };
    if let Err(error) = read {
        return Ok(refused(error.to_string()));
    }
    Ok(serde_json::from_slice(&text).unwrap_or_else(|_| {
        refused(match status.and_then(|status| status.terminating_signal()) {
            Some(signal) => format!("opening the library ended its process (signal {signal})"),
            None => {
                let status = status.and_then(|status| status.exit_status()).unwrap_or_default();
                format!("opening the library ended its process (status {status})")
            }
        })
    }))
}

fn answer_and_exit(writer: &File, open: &dyn Fn() -> SurveyAnswer) -> ! {
    let written = serde_json::to_writer(writer, &open());
    // SAFETY: `_exit` ends the process without running exit handlers.
    unsafe { libc::_exit(i32::from(written.is_err())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens in this process: the test harness has threads, and `libm` is harmless.
    fn here(open: &dyn Fn() -> SurveyAnswer) -> Result<SurveyAnswer, ForkError> {
        Ok(open())
    }

    #[test]
    fn a_library_without_mpi_is_refused_with_the_reason() {
        let found = survey_by(&MpiChoice::Path("libm.so.6".into()), here).expect("no fork");
        let text = found.lines().join("\n");
        assert!(text.contains("none usable: libm.so.6: it has no MPI_Init_thread"), "{text}");
        assert_eq!(survey(&MpiChoice::None).expect("nothing to open").choices, []);
    }

    #[test]
    fn a_missing_library_is_not_found() {
        let found = survey_by(&MpiChoice::Path("libno-such-mpi.so".into()), here).expect("no fork");
        assert_eq!(found.lines(), ["MPI by any launcher: none found"]);
    }

    #[test]
    fn a_process_with_threads_is_not_forked() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        let refused = survey(&MpiChoice::Path("libm.so.6".into()));
        assert!(matches!(refused, Err(ForkError::Threads { count }) if count >= 2), "{refused:?}");
        drop(go);
        let _ = other.join();
    }

    #[test]
    fn a_library_that_ends_its_process_does_not_end_ours() {
        // SAFETY: the child forks again, reads a pipe and exits with `_exit`; the allocator of the C library
        // may be used after a fork.
        let alone = unsafe { libc::fork() };
        if alone == 0 {
            // SAFETY: ends the process in which it is called.
            let answer = in_own_process(&|| unsafe { libc::_exit(9) });
            let told = answer
                .is_ok_and(|answer| answer.refused == ["opening the library ended its process (status 9)"]);
            // SAFETY: as above.
            unsafe { libc::_exit(if told { 0 } else { 1 }) }
        }
        let mut status = 0;
        // SAFETY: a child of this process and a live integer.
        unsafe { libc::waitpid(alone, &raw mut status, 0) };
        assert_eq!(status, 0);
    }

    #[test]
    fn a_redacted_survey_holds_no_path() {
        let found = FoundLibrary {
            library: "/home/me/libmpi.so.40".into(),
            version: "Open MPI v5".into(),
            abi: "Open MPI ABI".into(),
            why: "next to its launcher /home/me/mpirun".into(),
        };
        let refused = vec!["/home/me/x: no".into()];
        let choice = SurveyedChoice { found: Some(found), refused, ..SurveyedChoice::default() };
        let survey = Survey { launcher: None, choices: vec![choice] };
        assert!(survey.lines()[0].contains("/home/me"));
        assert!(!format!("{:?}", survey.redact()).contains("home"));
    }
}
