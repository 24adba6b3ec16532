//! Two runs of a million operations: compared by their footers as by their samples.

mod common;

use std::fs;
use std::path::Path;

use common::lastrank;
use serde_json::Value;

fn measure(folder: &Path, name: &str, median: &str) {
    let law = format!("simulate:lognormal({median},0.4)");
    let words = ["io", "randread", "--ops", "1000000", "--size", "1MiB", "-q", "--report", "none"];
    let done = lastrank(folder, &[&words[..], &["--backend", &law, "-o", name]].concat());
    assert_eq!(done.status, Some(0), "{}", done.err);
}

fn compared(folder: &Path, more: &[&str]) -> (Value, Option<i32>) {
    let done = lastrank(folder, &[&["compare", "old.parquet", "new.parquet", "--json"][..], more].concat());
    (serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{}", done.err)), done.status)
}

#[test]
fn a_million_operations_compare_by_their_footers_as_by_their_samples() {
    let folder = tempfile::tempdir().unwrap();
    measure(folder.path(), "old.parquet", "100us");
    measure(folder.path(), "new.parquet", "102us");
    let (found, _) = compared(folder.path(), &[]);
    let (exact, _) = compared(folder.path(), &["--exact"]);
    assert_eq!((&found["exact"], &exact["exact"]), (&Value::Bool(false), &Value::Bool(true)));
    let number = |of: &Value, keys: [&str; 2]| of[keys[0]][keys[1]].as_f64().unwrap();
    let k = [&found, &exact].map(|of| number(of, ["factor", "value"]));
    assert!((k[0] / k[1] - 1.0).abs() < tail::congestion::ERROR_OF_RATIO, "{k:?}");
    // What does not come from pairs of values is the same, to the last digit.
    let same = ["code", "p99_ratio", "rows", "warnings", "source", "unsound", "unlike_settings"];
    for key in same {
        assert_eq!(found[key], exact[key], "{key}");
    }
    assert_eq!(found["robust"]["median_ratio"], exact["robust"]["median_ratio"]);
    for side in ["quiet", "new"] {
        let without_own_law = |of: &Value| {
            let mut side = of[side].clone();
            side.as_object_mut().unwrap().remove("law");
            side
        };
        assert_eq!(without_own_law(&found), without_own_law(&exact), "{side}");
    }
    let condition = ["--fail-if", "factor > 1.01"];
    assert_eq!(compared(folder.path(), &condition).1, Some(1));
    // Whatever is of the samples reads them: a choice, another level.
    assert_eq!(compared(folder.path(), &["--level", "0.9"]).0["exact"], Value::Bool(true));
    assert_eq!(compared(folder.path(), &["--label", "randread/fread"]).0["exact"], Value::Bool(true));
    let all = lastrank(folder.path(), &["compare", "old.parquet", "new.parquet", "-v"]);
    assert!(all.out.contains("--exact reads the samples"), "{}", all.out);
    // A footer of which a byte is another tells nothing.
    let path = folder.path().join("new.parquet");
    let mut bytes = fs::read(&path).unwrap();
    let key = b"lastrank.answer";
    let at = bytes.windows(key.len()).rposition(|found| found == key).unwrap() + 500;
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(compared(folder.path(), &[]).0["exact"], Value::Bool(true));
    // And damage of the samples is told, though they are not unpacked.
    bytes[at] ^= 1;
    bytes[100_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let done = lastrank(folder.path(), &["compare", "old.parquet", "new.parquet"]);
    assert!(done.status == Some(3) && done.err.contains("not those that were written"), "{}", done.err);
}
