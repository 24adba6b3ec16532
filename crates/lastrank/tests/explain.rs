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
fn shapes_of_patterns_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let program = "define pattern {\"tiles\", \"subarray\", [48, 60], [24, 30], [$$grank / 2 * 24, ($$grank % 2) * 30], 8, 3};\n\
         define pattern {\"planes\", \"subarray\", [9, 4, 5], [9, 2, 3], [0, 1, $$grank / 2], 8, 0};\n\
         define pattern {\"cyclic\", \"darray\", [7, 13], [2, 3], [0, 2], 512, 1};\n\
         define pattern {\"strides\", \"nested\", $$grank * 4k, [3, 2], [64k, 16k], 4k, 2};\n\
         define pattern {\"pieces\", \"list\", [$$grank * 8k, 100k + $$grank * 100], [4k, 100], 0};\n\
         pwrite(\"a\", \"tiles\"); pwrite(\"b\", \"planes\"); pwrite(\"c\", \"cyclic\"); pwrite(\"d\", \"strides\");\n";
    std::fs::write(folder.path().join("a.ppl"), program).unwrap();
    let done = lastrank(folder.path(), &["explain", "a.ppl", "-n", "4"]);
    insta::assert_snapshot!("shapes", all(&done));
    let json = lastrank(folder.path(), &["explain", "a.ppl", "-n", "4", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let shape = &value["explanation"]["patterns"][0]["shape"];
    assert_eq!(shape["scale"]["elements"], serde_json::json!([3, 3, 1]));
    assert_eq!((&shape["word"], &shape["end"]), (&"subarray".into(), &(48 * 60 * 8).into()));
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
