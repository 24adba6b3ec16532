//! Traces of applications become programs.
//!
//! | step | module | gives |
//! |---|---|---|
//! | parse | [`formats`] | system calls, one [`event::Event`] each |
//! | ask | [`asked`] | what a system call asks for, by the table of the crate `operations` |
//! | follow | [`follow`] | the columnar [`model::Trace`]: descriptors, names and positions resolved |
//! | select | [`select`] | what the program is to do, and what is left out, counted |
//! | order | [`moments`] | which of two calls that overlapped came first |
//! | before | [`before`] | what existed before the first call |
//! | model | [`access`] | distributions in place of numbers, where asked for |
//! | time | [`undisturbed`], [`pauses`] | when calls would have begun without the recorder, pauses between them |
//! | order | [`lanes`], [`order`] | which rank or worker does a call, and who waits for whom |
//! | fold | [`fold`] | loops |
//! | write | [`program`] | the text of a program, and the calls that it must make |
//! | check | [`check`] | whether a dry run of the text makes these calls, in order |
//!
//! Whatever there is for each call, from its times to the columns of folded statements, is kept by [`packed`], in bits; no step
//! holds more of a trace that repeats itself than some bytes a call.
//!
//! [`ledger`] tells what becomes of each call: repeated exactly, nearly, or not.
//! [`recording`] keeps the model in a Parquet file, [`journal`] in bytes while it grows, [`join`] makes one trace of the recordings of MPI ranks, [`fidelity`] compares an application with its replay.
//! Pure: no file, clock, environment or system call; threads of its own where steps do not need each other.
#![forbid(unsafe_code)]

pub mod access;
pub mod asked;
pub mod before;
mod call;
mod calls;
pub mod check;
pub mod columns;
mod copying;
pub mod description;
mod ends;
pub mod event;
pub mod fidelity;
pub mod file_facts;
pub mod flags;
pub mod fold;
pub mod follow;
pub mod format;
pub mod formats;
pub mod import;
pub mod input;
pub mod join;
pub mod journal;
pub mod lanes;
pub mod ledger;

mod maps;
pub mod model;
pub mod moments;
mod name_table;
pub mod names;
mod optional;
pub mod order;
pub mod packed;
pub mod pauses;
mod per_number;
pub mod program;
pub mod recording;
pub mod select;
pub mod sequence;
mod sorted;
pub mod statements;
mod transfers;
pub mod undisturbed;

pub use import::{Imported, Options, import};
pub use model::{Call, Op, Trace};
