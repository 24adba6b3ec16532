//! What lastrank asks of the operating system around its commands: signals, the stack, standard output.
//!
//! Only Linux is measured, and only there are these of any effect: elsewhere an analysis takes the system as it is.

#[cfg(target_os = "linux")]
pub use ranks::{StopSignals, divert_output, ignore_file_size_signal, provide_stack, random_numbers};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{StopSignals, divert_output, ignore_file_size_signal, provide_stack, random_numbers};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::convert::Infallible;
    use std::fs::File;
    use std::io;
    use std::time::Duration;

    /// Ctrl-C ends the process, as the system does it.
    pub struct StopSignals;

    impl StopSignals {
        /// Catches nothing.
        pub fn catch() -> Self {
            Self
        }

        /// Waits for `limit`; nothing ends the wait.
        pub fn wait(&self, limit: Duration) -> Option<Infallible> {
            std::thread::sleep(limit);
            None
        }
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
