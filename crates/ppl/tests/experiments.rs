//! Tests that the shipped experiments compile without a diagnostic and describe themselves.

use ppl::plan::Settings;
use ppl::{Source, compile};

#[test]
fn every_shipped_experiment_compiles_cleanly_and_describes_itself() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../lastrank/experiments");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the experiments").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "ppl") {
            continue;
        }
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(text.starts_with(&format!("# {name}: ")), "{name} does not open with what it is");
        let mut source = Source::new(name, &text);
        match compile(&mut source, &Settings::default(), false, None) {
            Ok((_, remarks)) => assert!(remarks.is_empty(), "{name}: {remarks:#?}"),
            Err(errors) => panic!("{name}: {errors:#?}"),
        }
        count += 1;
    }
    assert!(count >= 5);
}
