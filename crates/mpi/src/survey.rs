//! Which MPI would be used, by which launcher, and why? For `lastrank machine`.
//!
//! Libraries are opened in processes of their own: two MPI libraries do not live together in one, and a
//! broken one that ends its process ends only that.

use std::io::Read;
use std::os::fd::FromRawFd;

use serde::{Deserialize, Serialize};

use crate::find::{Found, Kind, Launcher, MpiChoice, search_for, this_launcher};

/// What there is of MPI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// The variable that shows that a launcher started this process.
    pub launcher: Option<String>,
    /// For this launcher; without one, for each family of launchers.
    pub choices: Vec<Choice>,
}

/// Which library belongs to a launcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The launcher, for a reader.
    pub launcher: String,
    /// The library that would be used.
    pub found: Option<Found>,
    /// What was tried before it, and why that cannot be used.
    pub refused: Vec<String>,
}

/// Looks what would be used. Starts no MPI. The caller must have one thread only.
pub fn survey(choice: &MpiChoice) -> Survey {
    let launcher = this_launcher();
    let evidence = launcher.as_ref().map(|launcher| launcher.evidence.clone());
    let pretended = |kind| Launcher { evidence: String::new(), ranks: None, rank: None, kind };
    let cases: Vec<(String, Option<Launcher>)> = match (&launcher, choice) {
        (_, MpiChoice::None) => Vec::new(),
        (Some(found), _) => vec![(format!("the launcher that set {}", found.evidence), launcher.clone())],
        (None, MpiChoice::Path(_)) => vec![("any launcher".into(), None)],
        (None, MpiChoice::Auto) => vec![
            ("mpirun of Open MPI, srun --mpi=pmix".into(), Some(pretended(Kind::OpenMpi))),
            ("mpirun of MPICH or Intel MPI, srun --mpi=pmi2".into(), Some(pretended(Kind::Pmi))),
        ],
    };
    let choices = cases
        .into_iter()
        .map(|(words, launcher)| {
            let (found, refused) = apart(|| {
                let (search, _library) = search_for(choice, launcher);
                (search.found.clone(), search.refusals())
            })
            .unwrap_or_else(|why| (None, vec![why]));
            Choice { launcher: words, found, refused }
        })
        .collect();
    Survey { launcher: evidence, choices }
}

impl Survey {
    /// One line a choice, for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let line = |choice: &Choice| match &choice.found {
            Some(found) => format!("MPI by {}: {}, {}", choice.launcher, found.words(), found.why),
            None if choice.refused.iter().all(|why| why.contains("cannot open shared object")) => {
                format!("MPI by {}: none found", choice.launcher)
            }
            None => format!("MPI by {}: none usable: {}", choice.launcher, choice.refused.join("; ")),
        };
        self.choices.iter().map(line).collect()
    }

    /// A copy that holds no path.
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

type Answer = (Option<Found>, Vec<String>);

/// What `look` finds, in a process of its own.
fn apart(look: impl FnOnce() -> Answer) -> Result<Answer, String> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    // SAFETY: both descriptors are fresh and nobody else's.
    let (mut reader, writer) =
        unsafe { (std::fs::File::from_raw_fd(ends[0]), std::fs::File::from_raw_fd(ends[1])) };
    // SAFETY: the caller has one thread, so the child owns a consistent copy of everything; it leaves
    // through _exit only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let written = serde_json::to_writer(&writer, &look());
        // SAFETY: _exit ends the process without running what was registered for its end.
        unsafe { libc::_exit(i32::from(written.is_err())) }
    }
    drop(writer);
    if child < 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    let mut text = Vec::new();
    let read = reader.read_to_end(&mut text);
    let mut status = 0;
    // SAFETY: the process is our child; the status is a live integer.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    read.map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|_| match libc::WIFSIGNALED(status) {
        true => format!("opening the library ended its process (signal {})", libc::WTERMSIG(status)),
        false => format!("opening the library ended its process (status {})", libc::WEXITSTATUS(status)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_none_is_refused_with_the_reason() {
        let found = survey(&MpiChoice::Path("libm.so.6".into()));
        let words = found.lines().join("\n");
        assert!(words.contains("none usable: libm.so.6: it has no MPI_Init_thread"), "{words}");
        assert_eq!(survey(&MpiChoice::None).choices, []);
    }

    #[test]
    fn a_library_that_ends_its_process_ends_no_other() {
        // SAFETY: ends the child in which it is called.
        let broken = apart(|| unsafe { libc::_exit(9) });
        assert_eq!(broken, Err("opening the library ended its process (status 9)".into()));
    }

    #[test]
    fn a_redacted_survey_holds_no_path() {
        let found = Found {
            library: "/home/me/libmpi.so.40".into(),
            version: "Open MPI v5".into(),
            abi: "Open MPI ABI".into(),
            why: "beside its launcher /home/me/mpirun".into(),
        };
        let choice =
            Choice { found: Some(found), refused: vec!["/home/me/x: no".into()], ..Choice::default() };
        let survey = Survey { launcher: None, choices: vec![choice] };
        assert!(survey.lines()[0].contains("/home/me"));
        assert!(!format!("{:?}", survey.redact()).contains("home"));
    }
}
