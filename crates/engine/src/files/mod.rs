//! Which files a program may touch, and which it made.
//!
//! [`Confinement`] refuses what lies outside the directories that the user named. [`Ownership`] knows which objects calls of
//! the run made: nothing else may be changed. [`Registry`] remembers in shared memory under which names a rank made them, so
//! that the parent can remove exactly that with [`clean`], also after the rank was killed.

mod around;
mod clean;
mod confinement;
mod earlier;
mod earlier_runs;
mod entry;
mod leftovers;
mod moment;
mod object;
mod others;
mod owned;
mod place;
mod real_path;
mod refusal;
mod registry;
mod results;
mod special;
mod steady;
mod table;
mod taken;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_killed;
mod written;

pub use clean::{Cleaned, clean, clean_in, remember};
pub use confinement::Confinement;
pub use earlier::EarlierNames;
pub use entry::{Created, FoundFile, created, look, look_at, look_without_links};
pub use leftovers::{Leftovers, remove_leftovers};
pub use moment::Moment;
pub use object::Object;
pub use others::{Maker, OtherRun};
pub use owned::Ownership;
pub use place::{ParentFacts, Reached};
pub use refusal::{Reason, Refusal, WayOut};
pub use registry::{Evidence, Registry};
pub(crate) use special::{Looked, is_ordinary, open_ordinary, special};
pub use steady::{exchangeable, is_open_to_others, is_steady};
pub use taken::Taken;
pub use written::{MAKE, READ};
