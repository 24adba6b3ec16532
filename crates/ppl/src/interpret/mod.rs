//! Runs a plan on any [`Machine`].
//!
//! The interpreter owns variables, random numbers and control flow; all other effects go through [`Machine`].
//! It is generic over the machine and monomorphised, so one interpreter serves real runs, simulation, dry
//! runs and explanations.
//!
//! Arguments are evaluated and paths rendered into a reused buffer *before* [`Machine::command`]:
//! between the two clock reads of a machine there is only the call.

mod arguments;
mod call;
mod evaluate;
mod execute;
mod interpreter;
mod loops;
mod machine;
mod maps;
mod prepared;
pub mod random;
mod unreached;

pub use crate::statistic::{Statistic, Times};
pub use arguments::Arguments;
pub use execute::run;
pub use machine::{Failure, Fault, Halt, Machine, Reply, StatementReply, Wait, Work};
