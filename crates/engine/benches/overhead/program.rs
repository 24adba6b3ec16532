//! What an operation costs in a program of the language, all in all.

use std::path::Path;

use engine::run::Options;
use ppl::Source;
use ppl::plan::Settings;

use super::cost::Cost;
use super::counters::Counters;
use super::{BLOCK, BLOCK_OF, FILE, TimedCall};

/// An operation, from its start to that of the next.
pub fn cost(kind: TimedCall, path: &Path, operations: u64) -> Cost {
    let (cost, counts) = run(kind, path, operations);
    // What a run does besides its operations is in one of few operations as well.
    let few = BLOCK_OF + 1;
    let counts = counts.zip(run(kind, path, few).1).map(|(all, besides)| {
        std::array::from_fn(|at| all[at].saturating_sub(besides[at]) as f64 / (operations - few) as f64)
    });
    Cost { counts, ..cost }
}

/// The cost by the samples, and what the whole run counted.
fn run(kind: TimedCall, path: &Path, operations: u64) -> (Cost, Option<[u64; 4]>) {
    let name = path.display();
    let (text, of_each) = match kind {
        TimedCall::Write => (format!("fwrite($f, {BLOCK}, ($i * {BLOCK}) % {FILE});"), 1),
        TimedCall::WriteMemory => (format!("fwrite($f, $b, ($i * {BLOCK}) % {FILE});"), 1),
        TimedCall::Read => (format!("fread($f, {BLOCK}, ($i * {BLOCK}) % {FILE});"), 1),
        TimedCall::Stat => (format!("stat(\"{name}\");"), 1),
        TimedCall::Open => (format!("{{ $g = fopen(\"{name}\", \"r\"); fclose($g); }}"), 2),
    };
    let (take, before) = if kind == TimedCall::WriteMemory { ("$b = alloc(4k);", 2) } else { ("", 1) };
    let text = format!("$f = fopen(\"{name}\", \"r+\"); {take} repeat $i {operations} {text} fclose($f);");
    let mut source = Source::new("overhead.ppl", &text);
    let plan = match ppl::compile(&mut source, &Settings::default(), false, None) {
        Ok((plan, _)) => plan,
        Err(found) => panic!("{}", found[0].message),
    };
    let options =
        Options { allow: path.parent().map(Path::to_owned).into_iter().collect(), ..Options::new(1) };
    let mut counters = Counters::open().ok();
    let outcome = engine::run(&plan, &options, |_| ()).expect("a run");
    let counts = counters.as_mut().map(Counters::read);
    let samples = &outcome.run.samples;
    assert_eq!(
        samples.len() as u64,
        of_each * operations + 1 + before as u64,
        "{:?}",
        outcome.run.facts.failures
    );
    let starts: Vec<u64> =
        samples[before..].iter().step_by(of_each as usize).map(|sample| sample.start_ns).collect();
    let blocks = starts.windows(BLOCK_OF as usize + 1).step_by(BLOCK_OF as usize);
    let blocks = blocks.map(|block| (block[BLOCK_OF as usize] - block[0]) as f64 / BLOCK_OF as f64);
    (Cost::of_blocks(blocks.collect()), counts)
}
