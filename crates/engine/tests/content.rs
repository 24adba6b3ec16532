//! What is written is what belongs there, and what is read is compared with it.

mod support;

use engine::run::RunOutcome;
use support::alone;
use support::language::run_in;

/// The exit status, and what failed in words.
fn told(outcome: &RunOutcome) -> String {
    let words: Vec<_> = outcome.failures().iter().flat_map(|one| one.examples.clone()).collect();
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

/// Two programs after each other in one directory; between them `change` changes files.
fn in_turn(first: &str, change: impl FnOnce(&std::path::Path), second: &str, ranks: u32) -> (String, String) {
    let home = tempfile::tempdir().expect("a directory");
    let written = told(&run_in(home.path(), first, ranks, 7));
    change(home.path());
    (written, told(&run_in(home.path(), second, ranks, 7)))
}

/// Copies `length` bytes of `from` at an offset to `to` at another.
fn copy(home: &std::path::Path, (from, at): (&str, u64), (to, there): (&str, u64), length: usize) {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; length];
    let source = std::fs::File::open(home.join(from)).expect("there");
    source.read_exact_at(&mut bytes, at).expect("long enough");
    let place = std::fs::OpenOptions::new().write(true).open(home.join(to)).expect("there");
    place.write_all_at(&bytes, there).expect("room");
}

#[test]
fn a_later_run_verifies_what_an_earlier_one_wrote() {
    let said = alone("a_later_run_verifies_what_an_earlier_one_wrote", || {
        let first = r#"
            write("f-$$rank", 3MiB); write("small-$$rank", 100); barrier;
            define pattern {"p", 5, 70000, 3}; pwrite("shared", "p");
            $f = fopen("unaligned-$$rank", "w"); repeat 50 fwrite($f, 777); fclose($f);
            append("log-$$rank", 1000); append("log-$$rank", 1000);
            $b = alloc(5000); $g = fopen("from-buffer-$$rank", "w"); fwrite($g, $b); fwrite($g, $b); fclose($g);
        "#;
        let second = r#"
            define pattern {"q", 10, 35000, 1};
            $other = 1 - $$rank;
            verify {
                read("f-$other"); read("small-$other"); read("shared"); read("unaligned-$other"); read("log-$other");
                read("from-buffer-$other");
                pread("shared", "q");
                $f = fopen("f-$other", "r"); repeat $i 100 fread($f, 4096, $i * 5003); fclose($f);
            }
        "#;
        let (written, read) = in_turn(first, |_| (), second, 2);
        format!("{written}{read}")
    });
    assert_eq!(said, "exit 0\nexit 0\n");
}

#[test]
fn blocks_of_a_mebibyte_that_moved_are_told() {
    let said = alone("blocks_of_a_mebibyte_that_moved_are_told", || {
        let write = r#"write("f-$$rank", 8MiB);"#;
        let read = r#"verify read("f-$$rank");"#;
        let mut said = String::new();
        for (from, at, there) in [("f-0", 0, 3 << 20), ("f-1", 2 << 20, 2 << 20), ("f-1", 5 << 20, 1 << 20)] {
            let (_, told) = in_turn(write, |home| copy(home, (from, at), ("f-0", there), 1 << 20), read, 2);
            said += &told;
        }
        // A block of the run before, which a write of this one did not replace.
        let home = tempfile::tempdir().expect("a directory");
        run_in(home.path(), write, 1, 7);
        std::fs::rename(home.path().join("f-0"), home.path().join("before")).expect("rename");
        run_in(home.path(), write, 1, 7);
        copy(home.path(), ("before", 6 << 20), ("f-0", 6 << 20), 1 << 20);
        said += &told(&run_in(home.path(), read, 1, 7));
        said.lines()
            .map(|line| {
                line.split(" in the run of")
                    .next()
                    .unwrap_or("")
                    .replace(home.path().to_str().unwrap_or("/"), "")
                    + "\n"
            })
            .collect()
    });
    for word in [
        "byte 3145728 of the file is not what was written there: there is offset 0 of this file, written by rank 0",
        "byte 2097152 of the file is not what was written there: there is offset 2097152 of \"",
        "byte 1048576 of the file is not what was written there: there is offset 5242880 of \"",
        "byte 6291456 of the file is not what was written there: there is offset 6291456 of this file, written by rank 0",
    ] {
        assert!(said.contains(word), "{word}:\n{said}");
    }
    assert_eq!(said.matches("exit 3").count(), 4, "{said}");
    assert_eq!(said.matches("/f-1\", written by rank 1").count(), 2, "{said}");
}

#[test]
fn files_that_the_program_renames_and_links_verify() {
    let said = alone("files_that_the_program_renames_and_links_verify", || {
        let text = r#"
            mkdir("d"); write("d/a", 5000); rename("d/a", "d/b"); verify read("d/b");
            link("d/b", "c"); verify read("c"); symlink("d/b", "s"); verify read("s");
            rename("d", "e"); verify read("e/b");
            write("d2", 100); delete("d2"); write("d2", 700); verify read("d2");
            repeat 3 { write("over", 6000); verify read("over"); append("over", 100); verify read("over"); }
        "#;
        let home = tempfile::tempdir().expect("a directory");
        told(&run_in(home.path(), text, 1, 7))
    });
    assert_eq!(said, "exit 0\n");
}

/// What verified reads came to.
fn verified(outcome: &RunOutcome) -> String {
    let found = outcome.run.facts.verified.unwrap_or_default();
    format!("{} reads, {} bytes, {} unknown", found.operations, found.bytes, found.unknown_bytes)
}

#[test]
fn what_was_compared_is_counted_whoever_reads_it_and_however() {
    let said = alone("what_was_compared_is_counted_whoever_reads_it_and_however", || {
        let cases = [
            (
                "write(\"f-$$rank\", 10000); verify read(\"f-$$rank\"); read(\"f-$$rank\");",
                3,
                "3 reads, 30000 bytes",
            ),
            (
                "write(\"f\", 9000); $f = fopen(\"f\", \"r\"); async depth=4 verify repeat $i 9 fread($f, 1000, $i * 1000);",
                1,
                "9 reads, 9000 bytes",
            ),
            ("write(\"f\", 9000); parallel 3 { verify read(\"f\"); }", 1, "3 reads, 27000 bytes"),
            (
                "define pattern {\"p\", 8, 3000, 2}; pwrite(\"s\", \"p\"); pread(\"s\", \"p\"); verify pread(\"s\", \"p\");",
                2,
                "2 reads, 48000 bytes",
            ),
            // One that failed, one of nothing, and one whose content is not what was written.
            ("write(\"f\", 9000); verify { read(\"none\"); read(\"f\", 0); }", 1, "0 reads, 0 bytes"),
            (
                "write(\"f\", 9000); rename(\"f\", \"g\"); write(\"f\", 9000); symlink(\"g\", \"s\"); verify read(\"s\");",
                1,
                "1 reads, 9000 bytes",
            ),
            // Zeros where nobody else writes are compared, and known of nobody where others do.
            (
                "$f = fopen(\"f\", \"w+\"); fwrite($f, 1000, 9000); verify fread($f, 10000, 0);",
                1,
                "1 reads, 10000 bytes",
            ),
            (
                "$f = fopen(\"f-$$rank\", \"w+\"); fwrite($f, 9000); ftruncate($f, 1000); ftruncate($f, 9000); verify fread($f, 9000, 0);",
                2,
                "2 reads, 2000 bytes, 16000 unknown",
            ),
        ];
        let mut bad = String::new();
        for (text, ranks, wanted) in cases {
            let home = tempfile::tempdir().expect("a directory");
            let found = verified(&run_in(home.path(), text, ranks, 7));
            let wanted =
                if wanted.contains("unknown") { wanted.to_owned() } else { format!("{wanted}, 0 unknown") };
            if found != wanted {
                bad += &format!("{text}: {found} instead of {wanted}\n");
            }
        }
        bad
    });
    assert_eq!(said, "");
}

#[test]
fn a_wrong_pattern_that_nobody_asked_about_is_not_that_of_the_next_read() {
    let said = alone("a_wrong_pattern_that_nobody_asked_about_is_not_that_of_the_next_read", || {
        let first = "write(\"f\", 9000); define pattern {\"p\", 8, 3000, 2}; pwrite(\"s\", \"p\");";
        let second = "define pattern {\"p\", 8, 3000, 2}; pread(\"s\", \"p\"); verify read(\"f\"); \
                      verify { $f = fopen(\"f\", \"r\"); fread($f, 9000, 0); }";
        let change = |home: &std::path::Path| {
            use std::os::unix::fs::FileExt;
            let file = std::fs::OpenOptions::new().write(true).open(home.join("s")).expect("there");
            file.write_all_at(b"changed", 5000).expect("room");
        };
        in_turn(first, change, second, 1).1
    });
    assert_eq!(said, "exit 0\n");
}

#[test]
fn what_a_program_puts_over_and_behind_memory_of_its_own_is_right() {
    let said = alone("what_a_program_puts_over_and_behind_memory_of_its_own_is_right", || {
        let bodies = [
            r#"write("x",$b); $f=fopen("x","r+"); fwrite($f,10,0); fclose($f);"#,
            r#"write("x",$b); $f=fopen("x","r+"); fwrite($f,100,50); fclose($f);"#,
            r#"write("x",$b); $f=fopen("x","r+"); fwrite($f,600,50); fwrite($f,512,512); fclose($f);"#,
            r#"write("x",8k); $f=fopen("x","r+"); fwrite($f,$b,1000); fwrite($f,10,2000); fclose($f);"#,
            r#"append("x",$b); append("x",10); append("x",$b); append("x",700);"#,
        ];
        let mut bad = String::new();
        for body in bodies {
            let home = tempfile::tempdir().expect("a directory");
            let read = "verify read(\"x\"); $f=fopen(\"x\",\"r\"); verify fread($f,300,40); fclose($f);";
            let outcome = run_in(home.path(), &format!("$b=alloc(4k); {body} {read}"), 1, 3);
            if outcome.exit_status() != 0 || !outcome.run.facts.warnings.is_empty() {
                bad += &format!("{body}: {} {:?}\n", told(&outcome), outcome.run.facts.warnings);
            }
        }
        // One changed byte is found among them all the same.
        let home = tempfile::tempdir().expect("a directory");
        let (_, wrong) = in_turn(
            r#"$b=alloc(4k); write("x",$b); $f=fopen("x","r+"); fwrite($f,1000,1000); fclose($f); verify read("x");"#,
            |home| {
                let mut bytes = std::fs::read(home.join("x")).expect("the file");
                bytes[1500] ^= 1;
                std::fs::write(home.join("x"), bytes).expect("the file");
            },
            r#"verify read("x");"#,
            1,
        );
        drop(home);
        if !wrong.contains("byte 1500") {
            bad += &wrong;
        }
        bad
    });
    assert_eq!(said.trim(), "", "{said}");
}

#[test]
fn what_several_append_to_one_file_is_right_wherever_it_lies() {
    let said = alone("what_several_append_to_one_file_is_right_wherever_it_lies", || {
        let bodies = [
            (4, r#"barrier; repeat 60 { append("s",4096); } barrier; verify read("s");"#),
            (4, r#"barrier; repeat 60 append("s",700); barrier; verify read("s");"#),
            (3, r#"barrier; repeat 60 append("s",10); barrier; verify read("s");"#),
            (
                4,
                r#"$f=fopen("s","a"); barrier; repeat 60 fwrite($f,5000); fclose($f); barrier; verify read("s");"#,
            ),
            (1, r#"parallel 4 { repeat 30 { append("p",5000); append("p",512); } } verify read("p");"#),
            (
                1,
                r#"$f=fopen("s","O_RDWR|O_CREAT|O_APPEND"); parallel 2 { if $$worker==0 { repeat 3 fwrite($f,4096);
                   signal("a"); } else { await("a"); repeat 3 fwrite($f,4096); } } verify read("s");"#,
            ),
        ];
        let mut bad = String::new();
        for (ranks, body) in bodies {
            let home = tempfile::tempdir().expect("a directory");
            let outcome = run_in(home.path(), body, ranks, 3);
            if outcome.exit_status() != 0 {
                bad += &format!("{body}: {}\n", told(&outcome));
            }
        }
        bad
    });
    assert_eq!(said.trim(), "", "{said}");
}

#[test]
fn a_byte_that_changed_among_appended_ones_is_found() {
    let said = alone("a_byte_that_changed_among_appended_ones_is_found", || {
        let (first, second) = in_turn(
            r#"barrier; repeat 20 append("s",5000); barrier; verify read("s");"#,
            |home| {
                let mut bytes = std::fs::read(home.join("s")).expect("the file");
                bytes[52_000] ^= 1;
                std::fs::write(home.join("s"), bytes).expect("the file");
            },
            r#"if 1 == 2 { append("t",1); } master verify read("s");"#,
            3,
        );
        format!("{first}\n{second}")
    });
    assert!(
        said.contains("exit 0") && said.contains("byte 52000 of the file is not what was written"),
        "{said}"
    );
}

#[test]
fn a_file_that_another_rank_renamed_over_ones_own_is_not_wrong() {
    let said = alone("a_file_that_another_rank_renamed_over_ones_own_is_not_wrong", || {
        let home = tempfile::tempdir().expect("a directory");
        let text =
            r#"write("m-$$rank",10k); barrier; master rename("m-1","m-2"); barrier; verify read("m-2");"#;
        let outcome = run_in(home.path(), text, 3, 5);
        let codes: Vec<String> = outcome.run.facts.warnings.iter().map(|one| one.code.clone()).collect();
        format!("{} {codes:?}", told(&outcome))
    });
    assert!(said.starts_with("exit 0") && said.contains("names-not-verified"), "{said}");
}
