//! Each shipped experiment can be checked, explained and dry-run without a remark, and that leaves nothing behind.

mod common;

use common::lastrank;

#[test]
fn every_experiment_is_checked_explained_and_dry_run_without_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ppl") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        for command in [&["check"][..], &["explain"], &["run", "--dry-run"]] {
            let done = lastrank(folder.path(), &[command, &[name]].concat());
            assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{command:?} {name}: {}", done.out);
            assert!(done.out.contains(name), "{command:?} {name}: {}", done.out);
        }
        for command in [&["explain", "--json"][..], &["run", "--dry-run", "--json"]] {
            let done = lastrank(folder.path(), &[command, &[name]].concat());
            assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{command:?} {name}");
            let document: serde_json::Value = serde_json::from_str(&done.out).unwrap();
            assert!(document["schema"].as_str().unwrap().starts_with("lastrank."), "{command:?} {name}");
        }
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
