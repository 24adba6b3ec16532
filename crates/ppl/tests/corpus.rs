//! Tests that correct programs are accepted: shipped experiments, programs of the documentation, programs
//! recorded with the original.

use std::path::{Path, PathBuf};

use ppl::plan::Settings;
use ppl::{Source, compile};

/// Diagnostics about the meetings of a program on `ranks` ranks; `None`: any number.
fn remarks(text: &str, classic: bool, ranks: Option<u32>) -> Vec<String> {
    let look_up = |_: &str| Some("1".to_owned());
    let settings =
        Settings { ranks, environment: Some(&look_up), tentative: ranks.is_none(), ..Settings::default() };
    let (Ok((_, found)) | Err(found)) = compile(&mut Source::new("p.ppl", text), &settings, classic, None);
    let of_meetings = found.iter().filter(|one| ["E0401", "W0106"].contains(&one.code.as_str()));
    of_meetings.map(|one| format!("{}: {}", one.code, one.message)).collect()
}

const NUMBERS: [Option<u32>; 6] = [None, Some(1), Some(2), Some(3), Some(4), Some(7)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn in_every_shipped_experiment_all_ranks_meet() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("crates/lastrank/experiments")).unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for ranks in NUMBERS {
            assert_eq!(remarks(&text, false, ranks), Vec::<String>::new(), "{:?} on {ranks:?}", entry.path());
        }
        count += 1;
    }
    assert!(count >= 5);
}

#[test]
fn no_program_of_the_documentation_is_refused() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("docs")).unwrap().flatten() {
        if entry.path().extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for part in text.split("```ppl\n").skip(1) {
            let program = part.split("```").next().unwrap();
            for ranks in NUMBERS {
                let found = remarks(program, false, ranks);
                assert!(found.is_empty(), "{:?} on {ranks:?}: {found:?}\n{program}", entry.path());
            }
            count += 1;
        }
    }
    assert!(count >= 100, "{count}");
}

#[test]
fn no_recorded_program_of_the_original_is_refused_for_its_barriers() {
    for file in ["golden.json", "golden-2.json"] {
        let text = std::fs::read_to_string(root().join("crates/ppl/tests").join(file)).unwrap();
        let programs: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (name, recorded) in programs.as_object().unwrap() {
            let program = recorded["program"].as_str().unwrap();
            for ranks in NUMBERS {
                let found = remarks(program, true, ranks);
                assert!(
                    found.iter().all(|one| one.starts_with('W')),
                    "{name} on {ranks:?}: {found:?}\n{program}"
                );
            }
        }
    }
}
