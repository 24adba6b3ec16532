//! Runs programs of the language in tests.

use std::path::Path;

use engine::run::{Options, RunOutcome};
use ppl::Source;
use ppl::plan::{Plan, Settings};

/// The plan of a program that is right.
pub fn plan(text: &str, ranks: u32, seed: u64) -> Plan {
    let mut source = Source::new("test.ppl", text);
    let settings = Settings { ranks: Some(ranks), seed, ..Settings::default() };
    match ppl::compile(&mut source, &settings, false, None) {
        Ok((plan, _)) => plan,
        Err(found) => panic!("{:?}", found.iter().map(|one| one.message.clone()).collect::<Vec<_>>()),
    }
}

/// Runs a program in `home`, which is then the working directory.
pub fn run_in(home: &Path, text: &str, ranks: u32, seed: u64) -> RunOutcome {
    std::env::set_current_dir(home).expect("the directory");
    engine::run(&plan(text, ranks, seed), &Options::new(1), |_| ()).expect("a run")
}

/// Runs a program as one rank in a directory of its own, which is gone afterwards.
pub fn run(text: &str) -> RunOutcome {
    let home = tempfile::tempdir().expect("a directory");
    run_in(home.path(), text, 1, 7)
}

/// The samples of an operation: how many, bytes, how many failed with `errno`.
pub fn of(outcome: &RunOutcome, operation: &str, errno: i32) -> (usize, u64, usize) {
    let sites = &outcome.run.sites;
    let samples = outcome.run.samples.iter();
    let own = samples.filter(|sample| sites[sample.site as usize].operation == operation);
    own.fold((0, 0, 0), |all, one| (all.0 + 1, all.1 + one.bytes, all.2 + usize::from(one.errno == errno)))
}
