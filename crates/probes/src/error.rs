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
    /// A NUMA node or a processor that this machine does not have or does not give.
    #[error("there is no NUMA node {node} with memory for this process; `lastrank machine` lists the nodes")]
    NoNode {
        /// Its number.
        node: u32,
    },
    /// Processors that cannot be used together.
    #[error("processors {first} and {second} are not two that this process may use: {allowed}")]
    NoPair {
        /// One of them.
        first: u32,
        /// The other.
        second: u32,
        /// Those that it may use.
        allowed: String,
    },
    /// An address that cannot be understood or reached.
    #[error("{address}: {why}")]
    Address {
        /// As it was given.
        address: String,
        /// The reason and the way out.
        why: String,
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
