//! MPI-IO: open, view, transfer, close, hints.

mod datatype;
mod error;
mod file;
mod hints;

pub use error::take_error;
pub use file::{File, delete};
pub use hints::Hints;
