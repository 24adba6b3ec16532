//! Why a kernel cannot be built.

/// Why a kernel cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// More memory than there is.
    #[error("{} of memory are wanted, but only {} are available; choose a smaller size",
        samples::units::bytes(*bytes), samples::units::bytes(*available))]
    NoMemory {
        /// What was asked for.
        bytes: u64,
        /// What there is.
        available: u64,
    },
    /// A path that no system call can take.
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
        /// Why not.
        source: std::io::Error,
    },
    /// Another system call failed.
    #[error("{call} failed: {source}")]
    System {
        /// Its name.
        call: &'static str,
        /// Why.
        source: std::io::Error,
    },
}
