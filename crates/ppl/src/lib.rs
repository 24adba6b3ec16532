//! The Parabench Programming Language: parse, check, plan, interpret. Pure: no file, clock,
//! thread, environment or system call.
//!
//! | step | function | gives |
//! |---|---|---|
//! | parse | [`syntax::parse_with`] | a tree and diagnostics; never fails |
//! | check | `check::check` | [`plan::Code`], definitions and diagnostics |
//! | plan | `plan::plan` | [`plan::Plan`]: the only step that knows ranks and parameters |
//! | run | `interpret::run` | calls a [`interpret::Machine`] |
#![allow(dead_code)]
#![forbid(unsafe_code)]

pub mod commands;
pub mod diagnostic;
pub mod interpret;
pub mod plan;
pub mod source;
pub mod syntax;
pub mod value;

pub use diagnostic::{Code, Diagnostic, Severity, Span};
pub use source::Source;
pub use value::Value;
