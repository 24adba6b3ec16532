//! MPI-IO: open, view, transfer, close, hints.

mod datatype;
mod error;
mod file;
mod hints;
mod tools;
mod units;
mod view;

pub use datatype::LayoutTypes;
pub(crate) use error::outcome;
pub use error::take_error;
pub use file::{File, delete};
pub use hints::Hints;
pub use tools::FileTools;
