//! Runs a plan on real hardware: clocks, ranks, operations, recording, machine facts. The only unsafe crate.

pub mod causes;
pub mod clock;
pub mod comm;
pub mod execute;
pub mod files;
pub mod kernels;
pub mod launch;
pub mod machine;
pub mod ops;
pub mod record;
pub mod run;
pub mod simulate;

/// Runs a plan on forked ranks of this machine and collects what they measured.
///
/// `plan.ranks` and `plan.seed` count, not those of `options`; directories that the user named in
/// parameters are added to those that the program may write below. Facts that only the caller knows
/// (name, program text, command line, machine, versions) are left empty. `watch` is called about ten
/// times a second. The caller must have one thread only, since ranks are forked.
///
/// # Errors
/// Where the run could not begin, too little space among them; how it ended otherwise stands in the
/// [`run::Outcome`].
pub fn run(
    plan: &ppl::plan::Plan,
    options: &run::Options,
    watch: impl FnMut(&launch::Watch),
) -> Result<run::Outcome, run::RunError> {
    let options = run::options_of(plan, options);
    run::missing_space(plan, &options)?;
    let program = run::Program::new(plan);
    let mut outcome = run::ranks(&program, &options, watch)?;
    program.complete_facts(&mut outcome.run.facts);
    Ok(outcome)
}

/// Runs a plan as one process of an MPI job. `directory` is one that all processes share, where the run
/// file goes. `save` is called once with what this process has of the run, before any process of an
/// incomplete run ends.
///
/// # Errors
/// Where no MPI world can be made, or the rank cannot be started.
pub fn run_job(
    plan: &ppl::plan::Plan,
    options: &run::Options,
    job: &launch::Job,
    directory: &std::path::Path,
    save: impl FnOnce(&run::JobShare),
    watch: impl FnMut(&launch::Watch),
) -> Result<(), run::RunError> {
    let options = run::options_of(plan, options);
    run::missing_space(plan, &options)?;
    let program = run::Program::new(plan);
    let complete = |mut share: run::JobShare| {
        if let run::JobShare::Whole(outcome) | run::JobShare::Part(outcome) = &mut share {
            program.complete_facts(&mut outcome.run.facts);
        }
        save(&share);
    };
    run::job(&program, &options, job, directory, complete, watch)
}
