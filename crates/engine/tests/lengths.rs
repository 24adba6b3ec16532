//! A file that the program itself made shorter is never called wrong data, whoever did it and however.

mod support;

use engine::run::{Options, RunOutcome};
use support::alone;
use support::language::{plan, run_in};

/// A generator for the tests (Steele, Lea and Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

/// Something that may change how long the file `name` is, and may fail; the last three cut files that are open.
fn change(draw: &mut impl FnMut(u64) -> u64, (name, other): (&str, &str), kinds: u64) -> String {
    let (bytes, offset) = (1 + draw(9000), draw(9000));
    match draw(kinds) {
        0 => format!("write(\"{name}\", {bytes});"),
        1 => format!("append(\"{name}\", {bytes});"),
        2 => format!("create(\"{name}\");"),
        3 => format!("$f = fopen(\"{name}\", \"w\"); fwrite($f, {bytes}, {offset}); fclose($f);"),
        4 => format!("$f = fopen(\"{name}\", \"r+\"); fwrite($f, {bytes}, {offset}); fclose($f);"),
        5 => format!("$f = fopen(\"{name}\", \"a\"); fwrite($f, {bytes}); fwrite($f, 700); fclose($f);"),
        6 => format!("rename(\"{other}\", \"{name}\"); write(\"{other}\", {bytes});"),
        7 => format!("delete(\"{name}\"); link(\"{other}\", \"{name}\");"),
        8 => format!("delete(\"{name}\"); write(\"{name}\", {bytes});"),
        9 => format!(
            "async depth=4 {{ write(\"{name}\", {bytes}); append(\"{name}\", 700); write(\"{other}\", 3000); }}"
        ),
        10 => format!(
            "$f = fopen(\"{other}\", \"r\"); $g = fopen(\"{name}\", \"w\"); fcopy($f, $g, {bytes}); fclose($f); fclose($g);"
        ),
        11 => format!("$f = fopen(\"{name}\", \"r+\"); ftruncate($f, {offset}); fclose($f);"),
        12 => {
            format!("$f = fopen(\"{name}\", \"r+\"); ftruncate($f, {offset}); fwrite($f, 600); fclose($f);")
        }
        _ => {
            format!("$f = fopen(\"{name}\", \"r+\"); fallocate($f, 4096, 0, \"collapse_range\"); fclose($f);")
        }
    }
}

/// Reads of the whole of it, of a part, and of more than there is.
fn look(draw: &mut impl FnMut(u64) -> u64, name: &str) -> String {
    let (bytes, offset) = (1 + draw(20_000), draw(9000));
    match draw(4) {
        0 => format!("verify read(\"{name}\");"),
        1 => format!("verify read(\"{name}\", {bytes});"),
        2 => format!("$f = fopen(\"{name}\", \"r\"); verify fread($f, {bytes}, {offset}); fclose($f);"),
        _ => format!("async depth=4 {{ verify read(\"{name}\"); verify read(\"{name}\", {bytes}); }}"),
    }
}

fn wrong(outcome: &RunOutcome) -> Vec<String> {
    let told = outcome.failures().iter().flat_map(|one| one.examples.clone()).collect::<Vec<_>>();
    // Of several ranks nobody knows who left a hole: docs/content.md.
    let what = if outcome.run.facts.ranks == 1 {
        "is not what was written there"
    } else {
        "the file ends before it"
    };
    told.into_iter().filter(|one| one.contains(what)).collect()
}

#[test]
fn what_programs_do_to_the_length_of_their_files_is_right() {
    let said = alone("what_programs_do_to_the_length_of_their_files_is_right", || {
        let seed = std::env::var("LASTRANK_SEED").ok().and_then(|seed| seed.parse().ok());
        let (mut state, mut bad): (u64, _) = (seed.unwrap_or(29), String::new());
        for round in 0..50 {
            let home = tempfile::tempdir().expect("a directory");
            let mut draw = |below: u64| next(&mut state) % below;
            let ranks = 1 + round % 3;
            let mut text =
                "write(\"own-$$rank\", 5000); master { write(\"a\", 5000); write(\"b\", 5000); } barrier;\n"
                    .to_owned();
            let kinds = if draw(2) == 0 { 11 } else { 14 };
            for _ in 0..25 {
                let names = [["a", "b"], ["b", "a"]][draw(2) as usize];
                let who = draw(ranks.into());
                let (done, looked) =
                    (change(&mut draw, (names[0], names[1]), kinds), look(&mut draw, names[0]));
                text += &format!("if $$rank == {who} {{ {done} }} barrier; {looked} barrier;\n");
            }
            let wrong = wrong(&run_in(home.path(), &text, ranks, 7));
            if !wrong.is_empty() {
                bad += &format!("round {round}, {ranks} ranks:\n{text}{}\n", wrong.join("\n"));
                break;
            }
        }
        bad
    });
    assert_eq!(said.trim(), "", "{said}");
}

#[test]
fn a_read_of_less_than_was_written_is_wrong_data_if_nobody_of_the_program_cut_the_file() {
    let said = alone(
        "a_read_of_less_than_was_written_is_wrong_data_if_nobody_of_the_program_cut_the_file",
        || {
            let mut all = String::new();
            for (ranks, first) in [
                (1, "write(\"g\", 10k);"),
                (1, "append(\"g\", 4k); append(\"g\", 6k);"),
                (2, "write(\"g-$$rank\", 10k);"),
            ] {
                let home = tempfile::tempdir().expect("a directory");
                let name = if ranks == 1 { "g" } else { "g-$$rank" };
                let text = format!(
                    "{first} spawn(\"truncate -s 5000 {name}\"); barrier; verify read(\"{name}\"); verify read(\"{name}\", 64k);\n\
                 $f = fopen(\"{name}\", \"r\"); verify fread($f, 64k); verify fread($f, 1k, 8k); verify fread($f, 1k, 2k);\n\
                 async depth=2 {{ verify read(\"{name}\"); verify read(\"{name}\", 64k); verify fread($f, 1k, 8k); }} fclose($f);"
                );
                std::env::set_current_dir(home.path()).expect("the directory");
                let options = Options { allow_spawn: true, ..Options::new(1) };
                let outcome = engine::run(&plan(&text, ranks, 7), &options, |_| ()).expect("a run");
                all += &format!("{first}\n{}\n", wrong(&outcome).join("\n"));
            }
            all
        },
    );
    insta::assert_snapshot!(said);
}
