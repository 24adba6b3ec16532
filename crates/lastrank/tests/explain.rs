//! Tests of `lastrank explain`.

mod common;

use common::{all, lastrank};

const PROGRAM: &str = r#"define groups {"writers":D, "readers":D};
define pattern {"blocks", 4, 1MiB, 1};
define pattern {"view", 4, 64k, 3};
define pattern {"spare", 30, 4k, 0};
define param "n" $n 1000000000
define space "." 1GiB
mkdir("d-$$rank");
group "writers" { repeat $i $n append("d-$$rank/f", 4k); pwrite("shared", "blocks"); }
barrier;
group "readers" { repeat 10 { pread("shared", "view"); barrier("readers"); think 5ms; } }
phase "last" { delete("d-$$rank/f"); rmdir("d-$$rank"); }
"#;

#[test]
fn groups_layouts_meetings_work_and_space_of_a_billion_operations() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), PROGRAM).unwrap();
    let done = lastrank(folder.path(), &["explain", "a.ppl", "-n", "6", "-g", "readers:2"]);
    insta::assert_snapshot!("billion", all(&done));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is done");
}

#[test]
fn the_same_as_json() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), PROGRAM).unwrap();
    let done = lastrank(folder.path(), &["explain", "a.ppl", "n=2", "-n", "3", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(value["schema"], "lastrank.explain/1");
    let explanation = &value["explanation"];
    assert_eq!(explanation["groups"][1]["ranks"], serde_json::json!([[0, 1]]));
    assert_eq!(explanation["patterns"][0]["total_bytes"], 8 << 20);
    assert_eq!(explanation["work"][0]["tally"]["operations"]["append"], 2);
    assert_eq!(explanation["work"][0]["tally"]["bytes"]["append"], 8192);
    assert_eq!(explanation["meetings"][0]["operation"], "pwrite");
}

#[test]
fn shipped_experiments_are_explained_with_their_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let done = lastrank(folder.path(), &["explain", "parallel_write", "--set", "targets=4", "repeat=10"]);
    insta::assert_snapshot!("parallel_write", all(&done));
    let wrong = lastrank(folder.path(), &["explain", "parallel_write", "--set", "target=4"]);
    assert_eq!(wrong.status, Some(2));
}
