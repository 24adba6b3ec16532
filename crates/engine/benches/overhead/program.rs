//! What does an operation cost in a program of the language, all in all?

use std::path::Path;

use engine::run::Options;
use ppl::Source;
use ppl::plan::Settings;

use super::{BLOCK, FILE, Kind, OPERATIONS};

/// Nanoseconds of processor time that the rank takes for each further operation: a run of few
/// operations is subtracted from one of many.
pub fn ns(kind: Kind, path: &Path) -> f64 {
    const FEW: u64 = 1000;
    let (few, many) = (rank_ns(kind, path, FEW), rank_ns(kind, path, FEW + OPERATIONS));
    (many - few) / OPERATIONS as f64
}

fn rank_ns(kind: Kind, path: &Path, operations: u64) -> f64 {
    let name = path.display();
    let text = match kind {
        Kind::Write => format!("fwrite($f, {BLOCK}, ($i * {BLOCK}) % {FILE});"),
        Kind::Read => format!("fread($f, {BLOCK}, ($i * {BLOCK}) % {FILE});"),
        Kind::Stat => format!("stat(\"{name}\");"),
    };
    let text = format!("$f = fopen(\"{name}\", \"r+\"); repeat $i {operations} {text} fclose($f);");
    let mut source = Source::new("overhead.ppl", &text);
    let plan = match ppl::compile(&mut source, &Settings::default(), false, None) {
        Ok((plan, _)) => plan,
        Err(found) => panic!("{}", found[0].message),
    };
    let options =
        Options { allow: path.parent().map(Path::to_owned).into_iter().collect(), ..Options::new(1) };
    let before = children_ns();
    let outcome = engine::run(&plan, &options, |_| ()).expect("a run");
    assert_eq!(outcome.run.samples.len() as u64, operations + 2, "{:?}", outcome.run.facts.failures);
    children_ns() - before
}

/// Processor time of all children that have ended, in ns.
fn children_ns() -> f64 {
    // SAFETY: all-zero bytes are a valid `rusage`, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}
