//! The interpreter: runs a plan on any machine.
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
mod interpreter;
mod loops;
mod machine;
pub mod random;

pub use crate::statistic::{Statistic, Times};
pub use arguments::Arguments;
pub use execute::run;
pub use machine::{Failure, Fault, Machine, Reply, Stop, Wait, Work};
