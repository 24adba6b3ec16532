//! `fcopy`: what the kernel copies from file to file, which files it may come from, and what is known of it.

mod support;

use engine::run::RunOutcome;
use support::alone;
use support::language::{of, run, run_in};

/// The exit status, the codes of warnings, and what failed in words.
fn told(outcome: &RunOutcome) -> String {
    let failures = outcome.failures();
    let words = failures.iter().flat_map(|one| one.examples.clone());
    let codes = outcome.run.facts.warnings.iter().map(|warning| warning.code.clone());
    let codes: Vec<_> = codes.filter(|code| code.contains("copy") || code.contains("copies")).collect();
    format!("exit {} {codes:?}\n{}", outcome.exit_status(), words.collect::<Vec<_>>().join("\n"))
}

#[test]
fn bytes_are_copied_at_positions_and_at_offsets_by_one_call_each() {
    let said = alone("bytes_are_copied_at_positions_and_at_offsets_by_one_call_each", || {
        let home = tempfile::tempdir().expect("a directory");
        let text = r#"write("a", 10000); $a = fopen("a", "r"); $b = fcreat("b");
                      $n = fcopy($a, $b, 6000); fcopy($a, $b, $n - 2000); expect errno == ENODATA fcopy($a, $b, 1);
                      fcopy($a, $b, 1000, 5000, 20000); fcopy($a, $b, 500, 9500); fcopy($a, $b, 7, 1, 15000);
                      expect errno == ENODATA fcopy($a, $b, 600, 9900, 30000);
                      if $$bytes != 100 { print("short: ", $$bytes); } fclose($a); fclose($b);"#;
        let outcome = run_in(home.path(), text, 1, 7);
        let read = |name: &str| std::fs::read(home.path().join(name)).expect("kept");
        let (a, b) = (read("a"), read("b"));
        let same = b[..10_000] == a
            && b[20_000..21_000] == a[5000..6000]
            && b[10_000..10_500] == a[9500..]
            && b[15_000..15_007] == a[1..8]
            && b[30_000..] == a[9900..];
        format!("{}{same} {:?}", told(&outcome), of(&outcome, "fcopy", libc::ENODATA))
    });
    // The bytes are those moved, each once.
    assert_eq!(said, "exit 0 []\ntrue (7, 11607, 2)");
}

#[test]
fn what_was_copied_is_known_not_to_be_known_until_it_is_written() {
    let said = alone("what_was_copied_is_known_not_to_be_known_until_it_is_written", || {
        let text = r#"write("a", 8k); $a = fopen("a", "r"); $b = fopen("b", "w+"); fwrite($b, 16k);
                      fcopy($a, $b, 4k, 0, 4k); fcopy($a, $b, 100, 50, 9000); verify fread($b, 16k, 0);"#;
        let copied = told(&run(text));
        let again = format!("{text} fwrite($b, 16k, 0);");
        let rest = format!("{again} verify {{ fread($b, 8k, 4k); fread($b); }}");
        let rewritten = told(&run(&rest));
        // What lies around is still compared: that is a hole of the program itself.
        let around = r#"write("a", 8k); $a = fopen("a", "r"); $b = fopen("b", "w+");
                        fcopy($a, $b, 4k); ftruncate($b, 4097); verify fread($b, 4097, 0);"#;
        format!("{copied}\n{rewritten}\n{}", told(&run(around)))
    });
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("exit 0 [\"copies-not-verified\"]"), "{said}");
    assert_eq!(said.matches("exit 0").count(), 3, "{said}");
}

#[test]
fn what_untouched_memory_put_there_is_not_called_wrong() {
    let said = alone("what_untouched_memory_put_there_is_not_called_wrong", || {
        let text = |memory: &str| {
            format!(
                r#"$b = alloc(16k, "{memory}"); $f = fopen("f", "w+");
                   verify {{ fwrite($f, $b, 0); fread($f, 16k, 0); }} free($b);"#
            )
        };
        format!("{}\n{}", told(&run(&text("untouched"))), told(&run(&text("filled"))))
    });
    assert!(said.starts_with("exit 0 [\"copies-not-verified\"]"), "{said}");
    assert_eq!((said.matches("exit 0").count(), said.matches("copies-not").count()), (2, 1), "{said}");
}

#[test]
fn what_others_copied_is_neither_wrong_nor_right() {
    let said = alone("what_others_copied_is_neither_wrong_nor_right", || {
        let copy =
            r#"$a = fopen("a", "r"); $b = fopen("b", "w"); fcopy($a, $b, 4k); fclose($a); fclose($b);"#;
        let by_rank = format!(
            r#"if $$rank == 0 {{ write("a", 8k); {copy} }} barrier; if $$rank == 1 verify {{ read("b"); }}"#
        );
        let home = tempfile::tempdir().expect("a directory");
        let one = told(&run_in(home.path(), &by_rank, 2, 7));
        let by_worker =
            format!(r#"write("a", 8k); parallel 2 {{ if $$worker == 0 {{ {copy} }} }} verify read("b");"#);
        format!("{one}{}", told(&run(&by_worker)))
    });
    assert_eq!(said.matches("exit 0 [\"copies-not-verified\"]").count(), 2, "{said}");
}

#[test]
fn only_what_the_run_made_is_copied() {
    let said = alone("only_what_the_run_made_is_copied", || {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("theirs"), "words of the user").expect("a file");
        std::fs::write(home.path().join("old"), "words of the user").expect("a file");
        // The clock of birth times moves on in steps of milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let copy = |before: &str, from: &str| {
            let text = format!(
                r#"{before} $a = fopen("{from}", "r"); $b = fcreat("b"); fcopy($a, $b, 4); print(stat("b"));"#
            );
            let outcome = run_in(home.path(), &text, 1, 7);
            format!("{} {:?}", told(&outcome).replace('\n', " "), outcome.ends)
        };
        let linked = copy(r#"symlink("theirs", "link");"#, "link");
        let kept = copy(r#"$f = fopen("theirs", "a"); fclose($f);"#, "theirs");
        let emptied = copy(r#"write("old", 10);"#, "old");
        let own = copy(r#"write("own", 10);"#, "own");
        [copy("", "theirs"), linked, kept, emptied, own].join("\n")
    });
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 5, "{said}");
    for (refused, what) in lines.iter().zip(["copy from", "copy from", "write to", "write to"]) {
        assert!(refused.contains(what) && refused.contains("did not make it"), "{said}");
    }
    assert!(lines[4].starts_with("exit 0"), "{said}");
}

#[test]
fn what_the_kernel_refuses_fails_and_a_note_says_how_to_do_without() {
    let said = alone("what_the_kernel_refuses_fails_and_a_note_says_how_to_do_without", || {
        let refused = r#"write("a", 8k); $a = fopen("a", "r+"); expect errno == EINVAL fcopy($a, $a, 4k, 0, 100);
                         $e = fopen("b", "a"); expect errno == EBADF fcopy($a, $e, 10, 0);
                         $r = fopen("a", "r"); fcopy($a, $r, 10);
                         $none = -2; fcopy($a, $none, 10);"#;
        told(&run(refused))
    });
    assert!(said.contains("[\"no-copy\"]"), "{said}");
    assert!(said.contains(r#"fcopy("a", "a") failed: EBADF"#), "{said}");
    assert!(said.contains("$none"), "{said}");
}

#[test]
fn writes_take_what_was_read_just_before_once_where_the_program_says_so() {
    let said = alone("writes_take_what_was_read_just_before_once_where_the_program_says_so", || {
        let home = tempfile::tempdir().expect("a directory");
        let copy = |content: &str, more: &str| {
            let text = format!(
                r#"{content} write("a", 10000); $a = fopen("a", "r"); $b = fopen("b", "w+"); fread($a, 10000);
                   repeat 2 fwrite($b, 4096); fwrite($b, 1808); fwrite($b, 100);
                   fread($a, 1000, 0); fwrite($b, 5000); fread($a, 8192, 0); fwrite($b, 10); fwrite($b, 4096);
                   fclose($a); {more} fclose($b);"#
            );
            let outcome = run_in(home.path(), &text, 1, 7);
            let read = |name: &str| std::fs::read(home.path().join(name)).expect("kept");
            let (a, b) = (read("a"), read("b"));
            // Where b has what a has: as long as what was read is enough, from the beginning of a page.
            let same = [
                b[..10_000] == a[..],
                b[10_000..10_100] == a[..100],
                b[10_100..11_100] == a[..1000],
                b[15_100..15_110] == a[..10],
                b[15_110..15_120] == a[10..20],
            ];
            format!("{}{same:?}", told(&outcome))
        };
        let copied = r#"define content "copied""#;
        let verified = r#"verify fread($b, 10000, 0);"#;
        [copy("", ""), copy(copied, ""), copy(r#"define content "own""#, ""), copy(copied, verified)]
            .join("\n")
    });
    let own = "exit 0 []\n[false, false, false, false, false]";
    let copied = "exit 0 []\n[true, false, false, true, false]";
    // Verified content is always one's own.
    assert_eq!(said, [own, copied, own, own].join("\n"));
}

#[test]
fn nothing_is_composed_of_what_the_run_did_not_make() {
    let said = alone("nothing_is_composed_of_what_the_run_did_not_make", || {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("theirs"), "words of the user").expect("a file");
        std::thread::sleep(std::time::Duration::from_millis(50));
        let copy = |name: &str, before: &str, from: &str| {
            let text = format!(
                r#"define content "copied" {before} $b = fopen("{name}", "w"); $a = fopen("{from}", "r");
                   repeat 3 {{ fread($a, 4, 0); fwrite($b, 4); }}"#
            );
            let outcome = run_in(home.path(), &text, 1, 7);
            let found = std::fs::read(home.path().join(name)).expect("kept");
            format!("{}{}", told(&outcome), found == b"wordwordword")
        };
        // The memory holds the user's words, and the program's own file has been read.
        let own = r#"write("own", 4); $o = fopen("own", "r"); fread($o, 4);"#;
        let link = r#"symlink("theirs", "link");"#;
        [copy("one", "", "theirs"), copy("two", own, "theirs"), copy("three", link, "link")].join("\n")
    });
    assert_eq!(said, ["exit 0 []\nfalse"; 3].join("\n"));
}
