//! Tries what first screens say on data whose distribution is known.
//!
//! A [`Distribution`] draws values and knows their quantiles, whether they depend on each other, and what changes among them.
//! [`ask`] gives the text of the screens that the commands print. A [`Registry`] holds every clause that such a screen
//! can have, each with what decides whether it is true; a screen with any other words is an error, so that no claim comes
//! without a predicate. [`Study`] counts over many draws.
#![forbid(unsafe_code)]

pub mod ask;
pub mod binary;
mod cell;
pub mod claims;
mod distribution;
mod known;
mod number;
mod plan;
mod ranks;
mod registry;
mod study;
mod table;
mod template;

pub use cell::{Bound, Row, bound_above};
pub use distribution::{Base, Course, Distribution};
pub use known::{KNOWN, Known};
pub use number::Number;
pub use plan::{Cell, Screen, Slow, full, quick};
pub use registry::{Asked, Clause, Judged, Read, Registry, Said};
pub use study::{Count, Outcome, Study, draw, run};
pub use table::{HEAD, counts, failures, has, markdown, rows, with_table};
pub use template::{Found, Template};
