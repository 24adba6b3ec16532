//! Runs a plan on a rank: the machine that the interpreter drives.
//!
//! `calls` and `kernels` say what each command is, `collective` what a group does together, `machine` everything else
//! that a program may ask of a rank.

mod answer;
mod calls;
mod collective;
mod kernels;
mod layouts;
mod machine;
mod rank;

use ppl::plan::Plan;

use super::session::{Session, Stop};
use rank::Rank;

/// Runs the plan as the rank of `session`.
///
/// # Errors
/// Why the rank ended before the end of the program.
pub fn interpret(plan: &Plan, session: &mut Session<'_>) -> Result<(), Stop> {
    let number = session.rank();
    let mut rank = Rank::new(session, plan)?;
    let ended = ppl::interpret::run(plan, number, &mut rank);
    if ended.is_ok() && rank.stop.is_none() {
        let settled = rank.settle();
        rank.note(settled);
    }
    rank.result(ended)
}
