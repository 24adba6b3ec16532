//! fio's jobs: options become a [`Job`], a job becomes a program.
//!
//! `option.rs` says which options are carried out, `program.rs` writes the program of one job, `several.rs` that of a
//! job file.

mod access;
mod classes;
mod job;
mod job_file;
mod names;
mod option;
mod place;
mod program;
mod section;
mod several;
mod steady;
mod terms;
mod together;

pub use access::{Access, BlockSizes, Distribution, Sequence};
pub use classes::reporting;
pub use job::{Extent, Job, OpenSync, Rate, Verify};
pub use job_file::{JobFile, looks_like_a_job_file};
pub use names::Names;
pub use program::{Place, program};
