//! Errors of building a kernel.

/// Reason why a kernel cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// More memory was requested than is available.
    #[error("{} of memory is needed, but only {} is available; choose a smaller size",
        samples::units::bytes(*bytes), samples::units::bytes(*available))]
    NoMemory {
        /// Bytes requested.
        bytes: u64,
        /// Bytes available.
        available: u64,
    },
    /// A path that contains a NUL byte.
    #[error("the path {path:?} holds a zero byte")]
    Path {
        /// The path.
        path: String,
    },
    /// A file cannot be opened.
    #[error("{path} cannot be opened: {source}")]
    Open {
        /// The path.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
    /// Another system call failed.
    #[error("{call} failed: {source}")]
    System {
        /// Its name.
        call: &'static str,
        /// The reason.
        source: std::io::Error,
    },
}
