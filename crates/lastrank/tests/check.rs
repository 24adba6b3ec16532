//! Tests of `lastrank check`.

mod common;

use common::{all, lastrank};

fn checked(program: &str, options: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), program).unwrap();
    let mut arguments = vec!["check", "a.ppl"];
    arguments.extend(options);
    let done = lastrank(folder.path(), &arguments);
    (done.status, all(&done))
}

#[test]
fn ranks_groups_and_parameters_are_those_of_a_run() {
    let program = "define groups {\"a\":S};\ndefine param \"n\" $n 1 from 1\ngroup \"a\" barrier;";
    let (status, found) = checked(program, &[]);
    assert_eq!(status, Some(0));
    assert!(found.contains("W0106") && !found.contains("error["), "{found}");
    let (status, found) = checked(program, &["-n", "4", "-g", "a:2"]);
    assert_eq!(status, Some(2));
    assert!(found.contains("E0401") && found.contains("rank 0 waits"), "{found}");
    let (status, found) = checked(program, &["-n", "4", "-g", "a:4"]);
    assert_eq!((status, found.contains("no mistakes found")), (Some(0), true), "{found}");
    assert!(checked(program, &["-n", "4", "-g", "a:5"]).1.contains("E0305"));
    assert!(checked(program, &["n=0"]).1.contains("E0302"));
    let (_, found) = checked(program, &["--set", "m=1", "-g", "b:1"]);
    // They have no place in the program.
    assert!(found.contains("E0301") && found.contains("--> command line:1:1"), "{found}");
    assert!(found.contains("1 | m=1") && found.contains("1 | -g b:1"), "{found}");
    let (status, found) = checked("define param \"n\" $n 0 from 1", &[]);
    assert_eq!((status, found.contains("E0302")), (Some(2), true), "{found}");
}

#[test]
fn what_only_a_run_must_have_is_not_asked_for() {
    let program = "print(\"$$env(NOT_SET_HERE)\"); define groups {\"a\":D, \"b\":D};";
    let (status, found) = checked(program, &[]);
    assert_eq!((status, found.contains("no mistakes found")), (Some(0), true), "{found}");
    let (status, found) = checked(program, &["-n", "2"]);
    assert_eq!((status, found.contains("E0303")), (Some(2), true), "{found}");
}

#[test]
fn a_time_without_a_unit_is_told_with_its_units() {
    let (status, found) = checked("sleep(5);", &[]);
    assert_eq!((status, found.contains("W0109")), (Some(0), true), "{found}");
    assert!(found.contains("5 counts microseconds") && found.contains("`5s`, `5ms` or `5us`"), "{found}");
    for (program, options) in
        [("sleep(5us); sleep 0; think 5ms;", &[][..]), ("sleep(5); sleep 5;", &["--classic"])]
    {
        let (status, found) = checked(program, options);
        assert_eq!((status, found.contains("no mistakes found")), (Some(0), true), "{found}");
    }
}
