//! Which files a program may touch, and which it made.
//!
//! [`Confinement`] refuses what lies outside the directories that the user named. [`Registry`] remembers
//! in shared memory what a rank created, so that the parent can remove exactly that with [`clean`],
//! also after the rank was killed.

mod clean;
mod confinement;
mod earlier;
mod entry;
mod moment;
mod real_path;
mod refusal;
mod registry;
#[cfg(test)]
mod tests;
mod written;

pub use clean::{Cleaned, clean, clean_in};
pub use confinement::{Confinement, ParentFacts, Reached, name_in};
pub use earlier::EarlierNames;
pub use entry::{Created, created, look, look_at};
pub use moment::Moment;
pub use refusal::{Reason, Refusal};
pub use registry::{Evidence, Registry};
pub use written::{MAKE, READ};
