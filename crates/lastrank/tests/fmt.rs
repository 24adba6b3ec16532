//! Tests of `lastrank fmt`: what it writes, and what it leaves alone.

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{all, command, lastrank, of};

const UGLY: &str = "repeat $i 3{write ( \"f-$i\",4k ) ;}# all\n";
const PRETTY: &str = "repeat $i 3 { write(\"f-$i\", 4k); }  # all\n";

#[test]
fn files_are_written_in_place_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.ppl");
    std::fs::write(&file, UGLY).unwrap();
    assert_eq!(lastrank(folder.path(), &["fmt", "a.ppl"]).status, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), PRETTY);
    assert_eq!(lastrank(folder.path(), &["fmt", "--check", "a.ppl"]).status, Some(0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside");
}

#[test]
fn check_and_diff_write_nothing_and_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), UGLY).unwrap();
    std::fs::write(folder.path().join("b.ppl"), PRETTY).unwrap();
    let check = lastrank(folder.path(), &["fmt", "--check", "--diff", "a.ppl", "b.ppl"]);
    insta::assert_snapshot!(all(&check));
    assert_eq!(std::fs::read_to_string(folder.path().join("a.ppl")).unwrap(), UGLY);
}

#[test]
fn a_program_that_cannot_be_read_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.ppl"), "print(1;\n").unwrap();
    std::fs::write(folder.path().join("good.ppl"), UGLY).unwrap();
    let done = lastrank(folder.path(), &["fmt", "bad.ppl", "good.ppl"]);
    insta::assert_snapshot!(all(&done));
    assert_eq!(std::fs::read_to_string(folder.path().join("bad.ppl")).unwrap(), "print(1;\n");
    assert_eq!(std::fs::read_to_string(folder.path().join("good.ppl")).unwrap(), PRETTY);
    insta::assert_snapshot!("names", all(&lastrank(folder.path(), &["fmt", "none.ppl", "disk"])));
}

#[test]
fn standard_input_goes_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path(), &["fmt", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(UGLY.as_bytes()).unwrap();
    let done = of(child.wait_with_output().unwrap());
    assert_eq!((done.status, done.out.as_str()), (Some(0), PRETTY));
}
