//! Programs for well-known workloads, from the options of the tools that made them known. Pure: options in, the text
//! of a PPL program out.
//!
//! | module | options | the workload |
//! |---|---|---|
//! | [`fio`] | pairs of name and value, or a job file | reads and writes of a file |
//! | [`io500`] | a configuration file | phases of IOR and mdtest, with scores |
//! | [`ior`] | a command line | many ranks write and read one file or one each |
//! | [`mdtest`] | a command line | directories and files created, asked for and removed |
//! | [`memory`] | a few names | latency and bandwidth of memory |
//!
//! An option is carried out as its tool defines it, or refused by name ([`Refusal`]); no option that changes what is
//! measured is ignored silently.
//!
//! ```
//! use workloads::fio::{self, Place};
//!
//! let options = [("rw", "randread"), ("bs", "4k"), ("iodepth", "16"), ("size", "64m")];
//! let job = fio::Job::of_options("randread", &options, workloads::quantity::Prefixes::Plain)?;
//! let text = fio::program(&job, &Place::in_directory("."), "lastrank io randread …")?;
//! assert!(text.contains("async depth=$depth"));
//! # Ok::<(), workloads::Refusal>(())
//! ```
#![forbid(unsafe_code)]

mod command_line;
mod error;
pub mod fio;
pub mod io500;
pub mod ior;
pub mod like;
pub mod mdtest;
pub mod memory;
pub mod quantity;
mod text;

pub use error::Refusal;
