//! Runs every example of the language reference in an empty folder; nothing may be left there.

mod common;

use common::{all, program};
use ppl::commands::{Class, Command, Function, Kind};
use ppl::syntax::Keyword;

/// Examples that need more than a folder: an MPI library, root, two processors, a kernel with NUMA nodes. Without it they fail as
/// operations do, with status 3.
fn may_fail(example: &str) -> bool {
    Command::all()
        .filter(|it| it.spec().arguments.iter().any(|argument| argument.kind == Kind::Pattern))
        .chain([Command::Pfopen, Command::DropCaches, Command::Dread, Command::Dwrite])
        .chain([Command::CorePingpong, Command::NumaChase])
        .any(|command| example.contains(command.name()))
}

/// Calls of MPI are refused where no launcher started the ranks.
fn is_refused_alone(example: &str) -> bool {
    let mut of_mpi = Command::all().filter(|it| it.spec().class == Class::Message);
    of_mpi.any(|command| example.contains(command.name()))
}

#[test]
fn every_example_runs_on_the_real_back_end_and_cleans_up() {
    let commands = Command::all().map(|command| command.spec().example);
    let keywords = Keyword::ALL.iter().map(|(keyword, _)| keyword.spec().example);
    let functions = Function::all().map(|function| function.spec().example);
    let examples: Vec<&str> =
        commands.chain(keywords).chain(functions).filter(|example| !example.is_empty()).collect();
    let shares = examples.chunks(examples.len().div_ceil(4));
    std::thread::scope(|scope| {
        for share in shares {
            scope.spawn(move || share.iter().for_each(|example| runs(example)));
        }
    });
}

fn runs(example: &str) {
    let folder = tempfile::tempdir().unwrap();
    let done = program(folder.path(), example, &["--quiet", "--allow-spawn"]);
    let refused = is_refused_alone(example);
    if refused {
        assert!(
            done.status == Some(2) && all(&done).contains("is a call of MPI"),
            "{example}\n{}",
            all(&done)
        );
    }
    let fine = refused || done.status == Some(0) || done.status == Some(3) && may_fail(example);
    assert!(fine, "{example}\n{}", all(&done));
    if done.status == Some(0) {
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let ours = |name: &std::ffi::OsString| name == "program.ppl" || name == "run.parquet";
        assert!(left.iter().all(ours), "{example} leaves {left:?}");
    }
}
