//! What an operation costs in a program of the language, all in all.

use std::path::Path;

use engine::run::Options;
use ppl::Source;
use ppl::plan::Settings;

use super::{BLOCK, BLOCK_OF, FILE, OPERATIONS, TimedCall, median};

/// Nanoseconds from the start of one operation to that of the next.
pub fn ns(kind: TimedCall, path: &Path) -> f64 {
    let name = path.display();
    let text = match kind {
        TimedCall::Write => format!("fwrite($f, {BLOCK}, ($i * {BLOCK}) % {FILE});"),
        TimedCall::Read => format!("fread($f, {BLOCK}, ($i * {BLOCK}) % {FILE});"),
        TimedCall::Stat => format!("stat(\"{name}\");"),
    };
    let text = format!("$f = fopen(\"{name}\", \"r+\"); repeat $i {OPERATIONS} {text} fclose($f);");
    let mut source = Source::new("overhead.ppl", &text);
    let plan = match ppl::compile(&mut source, &Settings::default(), false, None) {
        Ok((plan, _)) => plan,
        Err(found) => panic!("{}", found[0].message),
    };
    let options =
        Options { allow: path.parent().map(Path::to_owned).into_iter().collect(), ..Options::new(1) };
    let outcome = engine::run(&plan, &options, |_| ()).expect("a run");
    assert_eq!(outcome.run.samples.len() as u64, OPERATIONS + 2, "{:?}", outcome.run.facts.failures);
    let starts: Vec<u64> = outcome.run.samples[1..].iter().map(|sample| sample.start_ns).collect();
    let blocks = starts.windows(BLOCK_OF as usize + 1).step_by(BLOCK_OF as usize);
    median(blocks.map(|block| (block[BLOCK_OF as usize] - block[0]) as f64 / BLOCK_OF as f64).collect())
}
