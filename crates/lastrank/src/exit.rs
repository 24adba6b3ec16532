//! Turns the result of a command into the exit status, and prints its error.

use std::io;
use std::process::ExitCode;

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

/// Print an error if there is one, and turn the result into an exit status.
///
/// A reader that went away (`lastrank … | head`) is no error. [`BrokenInput`] ends with status 3, any other error
/// with 2.
pub fn report(result: anyhow::Result<Status>) -> ExitCode {
    match result {
        Ok(status) => status.into(),
        Err(error) if is_broken_pipe(&error) => Status::Ok.into(),
        Err(error) => {
            let mut said = error.to_string();
            eprintln!("error: {said}");
            for cause in error.chain().skip(1).map(ToString::to_string) {
                // Many errors carry their cause in their own words already.
                if !said.contains(&cause) {
                    eprintln!("  because: {cause}");
                    said = cause;
                }
            }
            if error.is::<BrokenInput>() { Status::Incomplete.into() } else { Status::Usage.into() }
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
