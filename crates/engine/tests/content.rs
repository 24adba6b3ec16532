//! What is written is what belongs there, and what is read is compared with it.

mod support;

use engine::run::Outcome;
use support::alone;
use support::language::run_in;

/// The exit status, and what failed in words.
fn told(outcome: &Outcome) -> String {
    let words: Vec<_> = outcome.failures.iter().flat_map(|one| one.examples.clone()).collect();
    format!("exit {}\n{}", outcome.exit_status(), words.join("\n"))
}

/// A generator for the tests (Steele, Lea and Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

#[test]
fn a_pattern_after_a_smaller_write_moves_only_its_own_memory() {
    let said = alone("a_pattern_after_a_smaller_write_moves_only_its_own_memory", || {
        let home = tempfile::tempdir().expect("a directory");
        let text = r#"define pattern {"p",8,768k,2}; write("small-$$rank",4k); pwrite("big","p");
                      verify { pread("big","p"); }"#;
        told(&run_in(home.path(), text, 4, 7))
    });
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn patterns_of_any_size_after_transfers_of_any_size_verify() {
    let said = alone("patterns_of_any_size_after_transfers_of_any_size_verify", || {
        let (mut state, mut bad) = (12_u64, String::new());
        for round in 0..12 {
            let home = tempfile::tempdir().expect("a directory");
            let mut draw = |below: u64| next(&mut state) % below;
            let ranks = 1 + draw(3) as u32;
            let mut text = String::new();
            for number in 0..4 {
                let (blocks, element, level) =
                    (1 + draw(5), 1 + draw([9, 700, 70_000, 1_200_000][number]), draw(4));
                text += &format!("define pattern {{\"p{number}\",{blocks},{element},{level}}};\n");
            }
            for step in 0..8 {
                let (bytes, number) = (1 + draw([500, 5000, 300_000][step % 3]), draw(4));
                let offset = draw(5000);
                text += &match draw(4) {
                    0 => format!("write(\"own-$$rank\", {bytes}); verify read(\"own-$$rank\");\n"),
                    1 => format!(
                        "$f = fopen(\"at-$$rank\", \"w+\"); fwrite($f, {bytes}, {offset}); \
                         verify fread($f, {bytes}, {offset}); fclose($f);\n"
                    ),
                    _ => format!(
                        "pwrite(\"big{number}\", \"p{number}\"); verify pread(\"big{number}\", \"p{number}\");\n"
                    ),
                };
            }
            let told = told(&run_in(home.path(), &text, ranks, 7));
            if !told.starts_with("exit 0") {
                bad += &format!("round {round}, {ranks} ranks:\n{text}{told}\n");
            }
        }
        bad
    });
    assert_eq!(said, "");
}
