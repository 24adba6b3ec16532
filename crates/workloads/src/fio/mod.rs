//! fio's jobs: options become a [`Job`], a job becomes a program.
//!
//! `option.rs` says which options are carried out, `program.rs` writes the program of one job, `several.rs` that of a
//! job file.

mod access;
mod job;
mod job_file;
mod option;
mod program;
mod section;
mod several;

pub use access::{Access, BlockSizes, Distribution};
pub use job::{Extent, Job, OpenSync, Rate};
pub use job_file::{JobFile, looks_like_a_job_file};
pub use program::{Place, program};
