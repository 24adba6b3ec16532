//! Which files a program may touch, and which it made.
//!
//! [`Confinement`] refuses writes outside the directories that the user named. [`Registry`] remembers
//! in shared memory what a rank created, so that the parent can remove exactly that with [`clean`],
//! also after the rank was killed.

mod clean;
mod confinement;
mod earlier;
mod entry;
mod moment;
mod registry;
#[cfg(test)]
mod tests;

pub use clean::{Cleaned, clean};
pub use confinement::{Confinement, ParentFacts, Refusal};
pub use earlier::EarlierNames;
pub use entry::{Created, created};
pub use moment::Moment;
pub use registry::{Evidence, Registry};
