//! Back ends: the calls alone, and the list of those that there are.
//!
//! A [`Driver`] has no clock, no registry, no confinement and no buffers: [`crate::execute::Instrument`] puts those
//! around any of them. To add one, write a file with a `Driver` and a [`Listed`] in it, and add its line here.

mod attribute;
mod glob;
mod list;
mod nfs;
mod posix;
mod simulate;
mod stripes;
mod submission;
mod table;

pub use attribute::AttributeChange;
pub use posix::{Posix, ThisMachine};
pub use simulate::{Distribution, Model, NotADistribution, Simulate, Stream};
pub use stripes::Striping;
pub use submission::{Handle, Submission};
pub use table::{Capabilities, Driver, Listed, Seat};

list::drivers! {
    $
    /// System calls of this machine.
    Posix(posix::Posix),
    /// Draws from a stated distribution on a virtual clock.
    Simulate(simulate::Simulate),
    /// NFS in user space, through libnfs.
    Nfs(nfs::Nfs),
}

impl Default for BackendKind {
    fn default() -> Self {
        Self::Posix(ThisMachine)
    }
}
