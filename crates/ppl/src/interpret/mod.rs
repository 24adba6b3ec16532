//! How is a plan carried out, on whatever machine?
//!
//! The interpreter owns variables, random numbers and control flow; everything that touches the
//! world goes through [`Machine`]. It is generic over the machine and monomorphised, so one
//! interpreter serves real runs, simulation, dry runs and explanations.
//!
//! Arguments are evaluated and paths rendered into a reused buffer *before* [`Machine::command`]:
//! between the two clock reads of a machine stands nothing but the call.

mod arguments;
mod call;
mod evaluate;
mod execute;
mod loops;
mod machine;
pub mod random;

pub use arguments::Arguments;
pub use execute::run;
pub use machine::{Failure, Fault, Machine, Reply, Statistic, Stop, Wait, Work};
