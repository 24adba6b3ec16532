//! Runs a plan: drivers, the layer around them, sessions, files, collection of what ranks recorded.

pub mod buffers;
pub mod collective;
pub mod content;
pub mod driver;
pub mod execute;
pub mod files;
mod flags;
mod names;
mod recent;
pub mod run;

/// MPI as the engine and its users see it: the crate `mpi`, or in a build without it a stand-in.
#[cfg(feature = "mpi")]
pub use ::mpi;
#[cfg(not(feature = "mpi"))]
#[path = "without_mpi.rs"]
pub mod mpi;

/// Runs a plan on forked ranks of this machine and collects what they measured.
///
/// `plan.ranks` and `plan.seed` count, not those of `options`; directories that the user named in
/// parameters are added to those that the program may write below. Facts that only the caller knows
/// (name, program text, command line, machine, versions) are left empty. `watch` is called about ten
/// times a second. The caller must have one thread only, since ranks are forked.
///
/// # Errors
/// Where the run could not begin, too little space among them; how it ended otherwise stands in the
/// [`run::RunOutcome`].
pub fn run(
    plan: &ppl::plan::Plan,
    options: &run::Options,
    watch: impl FnMut(&ranks::RanksView),
) -> Result<run::RunOutcome, run::RunError> {
    let options = run::options_of(plan, options);
    run::missing_space(plan, &options)?;
    let program = run::Program::new(plan);
    let mut outcome = run::ranks(&program, &options, watch)?;
    program.complete_facts(&mut outcome.run.facts);
    Ok(outcome)
}
