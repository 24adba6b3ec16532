//! What lastrank asks of the operating system around its commands: signals, the stack, standard output.
//!
//! Only Linux is measured, and only there are these of any effect: elsewhere an analysis takes the system as it is.

#[cfg(target_os = "linux")]
pub use ranks::ancestors::terminal_of_launcher;
#[cfg(target_os = "linux")]
pub use ranks::{
    HeldSignals, StopSignals, divert_output, ignore_file_size_signal, provide_stack, random_numbers,
};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{
    HeldSignals, StopSignals, divert_output, ignore_file_size_signal, is_launched, killed_runs,
    provide_stack, random_numbers, terminal_of_launcher,
};

/// Whether a launcher of MPI started this process as one of several.
#[cfg(target_os = "linux")]
pub fn is_launched() -> bool {
    ranks::launcher::this_launcher().is_some()
}

/// Names of the programs whose runs were killed in this folder and left samples. Nothing is locked or changed.
#[cfg(target_os = "linux")]
pub fn killed_runs(folder: &std::path::Path) -> Vec<String> {
    engine::run::live::killed_in(folder).into_iter().map(|manifest| manifest.facts.name).collect()
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::convert::Infallible;
    use std::fs::File;
    use std::io;
    use std::time::Duration;

    /// Ctrl-C ends the process, as the system does it.
    pub struct StopSignals;

    /// Signals that wait: none.
    pub struct HeldSignals;

    impl StopSignals {
        /// Catches nothing.
        pub fn catch() -> Self {
            Self
        }

        /// Holds nothing.
        pub fn hold() -> (Self, HeldSignals) {
            (Self, HeldSignals)
        }

        /// Waits for `limit`; what comes has its effect meanwhile.
        pub fn pass_on(&self, limit: Duration, _tidy: impl FnOnce()) {
            std::thread::sleep(limit);
        }

        /// Waits for `limit`; nothing ends the wait.
        pub fn wait(&self, limit: Duration) -> Option<Infallible> {
            std::thread::sleep(limit);
            None
        }
    }

    /// Nothing is measured here.
    pub fn killed_runs(_: &std::path::Path) -> Vec<String> {
        Vec::new()
    }

    pub fn is_launched() -> bool {
        false
    }

    /// Nothing is launched.
    pub fn terminal_of_launcher(_stream: u32) -> Option<File> {
        None
    }

    /// Only a command that runs programs needs standard output for itself.
    pub fn divert_output() -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// No system but Unix has such a limit, and analyses write little.
    pub fn ignore_file_size_signal() {}

    /// The stack is as large as the system makes it.
    pub fn provide_stack() -> Result<(), u64> {
        Ok(())
    }

    /// Nothing is drawn that must not be foreseen.
    pub fn random_numbers() -> io::Result<()> {
        Ok(())
    }
}
