//! Why a rank leaves early, and what it does about failures.

use crate::files::Refusal;
use ranks::CommError;

/// Why a rank leaves before the end of the program.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The program wanted to touch what it may not.
    #[error("line {line}: {refusal}")]
    Refused {
        /// Where in the program.
        line: u32,
        /// What was refused.
        refusal: Box<Refusal>,
    },
    /// Another rank is lost, or the user stopped the run.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// No room for samples.
    #[error("cannot keep more samples: {0}; lower the repeats, or free memory and space for temporary files")]
    Record(#[from] std::io::Error),
    /// Something failed, and the program cannot sensibly go on.
    #[error("{0}")]
    Failed(String),
    /// An operation failed, and that ends the program: it said `on_error stop`, or the disk is full.
    #[error("{text}")]
    Cut {
        /// What failed, in words.
        text: String,
        /// What ended the program.
        by: &'static str,
    },
    /// The program is wrong in a way that only running it showed.
    #[error("{0}")]
    Program(String),
}

impl Stop {
    /// Is the program at fault (exit status 2), or the run (3)?
    pub fn usage(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Program(_) | Self::Comm(CommError::Apart { .. }))
    }

    /// The program says `on_error stop`, and this failed in a line of it.
    pub(in crate::execute) fn on_error(line: u32, what: &str) -> Self {
        let text = format!("line {line}: {what}; the program says `on_error stop`");
        Self::Cut { text, by: "the program's `on_error stop`" }
    }

    /// What cut the program short where its rank was not lost; empty otherwise.
    pub(super) fn by(&self) -> &'static str {
        if let Self::Cut { by, .. } = self { by } else { "" }
    }
}

/// What to do when an operation fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Count it and go on, as the original did; a full disk ends the run all the same.
    #[default]
    Continue,
    /// End the run.
    Stop,
}
