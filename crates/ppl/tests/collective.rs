//! Tests that programs in which not all ranks reach a meeting are refused.

mod common;

use common::{execute, plan_of, plan_with};
use ppl::plan::Settings;

/// The distinct diagnostic codes with `ranks` ranks; `Err` if the program is refused.
fn codes_on(ranks: u32, program: &str) -> Result<Vec<&'static str>, Vec<&'static str>> {
    let settings = Settings { ranks: Some(ranks), ..Settings::default() };
    let codes = |found: &[ppl::Diagnostic]| {
        let mut codes: Vec<_> =
            found.iter().map(|one| one.code.as_str()).filter(|code| *code != "N0101").collect();
        codes.dedup();
        codes
    };
    let mut source = ppl::Source::new("p.ppl", program);
    match ppl::compile(&mut source, &settings, false, None) {
        Ok((_, found)) => Ok(codes(&found)),
        Err(found) => Err(codes(&found)),
    }
}

fn is_refused(program: &str) -> bool {
    codes_on(2, program).is_err_and(|found| found.contains(&"E0401"))
}

fn is_doubted(program: &str) -> bool {
    codes_on(2, program) == Ok(vec!["W0106"])
}

fn is_right(program: &str) -> bool {
    codes_on(2, program) == Ok(vec![])
}

#[test]
fn what_depends_on_the_result_of_a_command_is_a_warning() {
    assert!(is_doubted("$f = fopen(\"f\", \"r\"); master { if $f < 0 { barrier; } }"));
    assert!(is_doubted("$f = fopen(\"f\", \"r\"); if $f < 0 { barrier; }"));
    assert!(is_doubted("if uniform(0, 2) barrier;"));
    assert!(is_doubted(
        "for 1s { $n = $n + 1; if $n > $$rank barrier; }".replace("for", "$n = 0; for").as_str()
    ));
}

#[test]
fn what_depends_on_the_environment_of_a_rank_is_a_warning() {
    let settings =
        Settings { ranks: Some(2), environment: Some(&|_| Some("0".into())), ..Settings::default() };
    let codes = |program: &str| {
        let mut source = ppl::Source::new("p.ppl", program);
        let (_, found) = ppl::compile(&mut source, &settings, false, None).expect("it runs");
        found.iter().map(|one| (one.code.as_str(), one.message.clone())).collect::<Vec<_>>()
    };
    for program in [
        "if $$env(OMPI_COMM_WORLD_RANK) == \"0\" { barrier; }",
        "$n = \"${$$env(N)}\"; repeat int($n) barrier;".replace("${$$env(N)}", "$$env(N)").as_str(),
        "def f($n) { if $n == \"1\" return 1; return 0; } repeat f($$env(N)) + 1 barrier;",
    ] {
        assert_eq!(codes(program).iter().map(|one| one.0).collect::<Vec<_>>(), ["W0106"], "{program}");
    }
    for program in ["print($$env(N)); barrier;", "if $$env(N) == \"0\" { getpid(); } barrier;"] {
        assert_eq!(codes(program), [], "{program}");
    }
}

#[test]
fn a_file_of_a_group_in_a_command_of_one_rank_is_a_warning() {
    let open = "$f = pfopen(\"f\", \"crw\");";
    for command in [
        "fclose($f);",
        "fwrite($f, 4k);",
        "stat($f);",
        "$g = $f; fsync($g);",
        "def f($x) { fclose($x); } f($f);",
    ] {
        assert_eq!(codes_on(2, &format!("{open} {command} pfclose($f);")), Ok(vec!["W0117"]), "{command}");
    }
    assert!(is_right(
        "$f = pfopen(\"f\", \"c\"); pfclose($f); $f = fopen(\"f\", \"r\"); fread($f, 1); fclose($f);"
    ));
    assert!(is_right("$f = fopen(\"f\", \"r\"); fclose($f); barrier;"));
}

#[test]
fn barriers_that_some_ranks_jump_past_are_refused() {
    for program in [
        "def meet() { barrier; } def outer() { meet(); return 1; } $x = $$rank > 0 ? outer() : 0;",
        "def meet() { barrier; return 1; } $x = $$rank && meet();",
        "def f() { if $$rank == 0 return 1; barrier; return 0; } f();",
        "repeat 3 { if $$rank == 1 break; barrier; }",
        "repeat 3 { barrier; if $$rank == 1 break; }",
        "repeat 3 { if $$rank == 1 continue; barrier; }",
        "repeat 3 { repeat 2 { if uniform(0, 2) break; } phase \"x\" { master { break; } } }",
        "def f() { repeat 3 { barrier; repeat $$rank { return 1; } } return 0; } f();",
    ] {
        assert!(is_refused(program), "{program}");
    }
    for program in [
        "repeat 3 { barrier; if $$rank == 1 continue; getpid(); }",
        "repeat 3 { repeat 2 { if $$rank == 1 break; } barrier; }",
        "repeat $i 3 { if $i == 1 break; barrier; }",
        "def f() { barrier; if $$rank == 0 return 1; return 0; } f(); barrier;",
        "repeat 2 { if $$rank == 0 break; } barrier;",
    ] {
        assert!(is_right(program), "{program}");
    }
}

#[test]
fn variables_assigned_a_different_number_of_times_are_tracked_to_the_barrier() {
    for program in [
        // By `continue`, `break`, `return` and the counts of loops.
        "$n = 0; repeat 10 { if $$rank == 0 continue; $n = $n + 1; } repeat $n barrier;",
        "$n = 0; repeat 10 { if $$rank == 0 break; $n = $n + 1; } repeat $n barrier;",
        "$n = 0; repeat 10 { $n = $n + 1; if $$rank == 0 break; } repeat $n barrier;",
        "def f() { repeat $i 9 { if $i == $$rank return; $n = $n + 1; } } $n = 0; f(); repeat $n barrier;",
        "$n = 0; for $i in 0..$$rank $n = $n + 1; repeat $n barrier;",
        "for $i in 0..10 step $$rank + 1 barrier;",
        "$n = 0; while $n < $$rank $n = $n + 1; repeat $n barrier;",
        "def f() { repeat 3 { barrier; for $i in 0..$$rank { return; } } } f();",
        "def f() { if $$rank return 2; return 1; } repeat f() barrier;",
        "def f() { if $$rank return 2; } repeat f() + 1 barrier;",
        // Through functions that are called in arguments.
        "def f() { barrier; return 0; } def g() { repeat 5 print(f()); } master { g(); }",
        "def f() { barrier; return 0; } master print(1, f());",
        "def f() { barrier; return 0; } $x = [1, $$rank ? f() : 2];",
        // Over many assignments, and back through a loop.
        "$a = 0; $b = 0; $c = 0; repeat 9 { $c = $b; $b = $a; $a = $$rank; } repeat $c barrier;",
    ] {
        assert!(is_refused(program), "{program}");
    }
    let chain: String = (0..40).rev().map(|at| format!("$x{} = $x{at}; ", at + 1)).collect();
    let start: String = (0..=40).map(|at| format!("$x{at} = 0; ")).collect();
    let long = format!("{start} repeat 60 {{ {chain} $x0 = $$rank; }} repeat $x40 barrier;");
    assert!(is_refused(&long));
}

#[test]
fn programs_in_which_all_ranks_meet_have_no_warning() {
    for program in [
        "def f($n) { while $n > 0 { $n = $n - 1; barrier; } } f(3); def g($n) { print($n); } g($$rank);",
        "$n = $$rank; $n = 3; repeat $n barrier;",
        "def f($n) { repeat $n getpid(); } f($$rank); f(2); barrier; def g($n) { repeat $n barrier; } g(2);",
        "def twice($n) { return 2 * $n; } $a = twice($$rank); repeat twice(3) barrier;",
        "repeat $i 3 { let $n = $$rank; } $n = 2; repeat $n barrier;",
        "define groups {\"a\":D, \"b\":D}; group \"a\" { $n = 2; repeat $n barrier(\"a\"); } barrier;",
        "define groups {\"a\":D}; repeat 3 { group \"a\" { $n = 7; break; } } group \"a\" barrier(\"a\"); barrier;",
        "if $$group == \"world\" barrier;",
        "for $i in 0..4 { if $i == 2 continue; barrier; }",
        "phase \"a\" { repeat $$rank getpid(); } barrier;",
        "if $$size > 1 barrier;",
        "$f = pfopen(\"f\", \"crw\"); pfclose($f);",
    ] {
        assert!(is_right(program), "{program}: {:?}", codes_on(2, program));
    }
}

#[test]
fn an_apparent_divergence_is_accepted_if_these_ranks_do_not_diverge() {
    for program in [
        "if $$rank >= 0 barrier;",
        "if $$rank < 100 { barrier; }",
        "repeat $$rank * 0 + 2 barrier;",
        "def f($n) { if $n == 0 return 1; return f($n - 1); } repeat f($$rank) barrier;",
    ] {
        assert!(is_right(program), "{program}: {:?}", codes_on(2, program));
    }
    let alone = "master barrier; if $$rank == 0 barrier; repeat $$rank barrier;";
    assert_eq!(codes_on(1, alone), Ok(vec![]));
    // The analysis does not track which other rank arrives.
    assert!(is_doubted("if $$rank == 0 { barrier; } else { barrier; }"));
}

#[test]
fn a_barrier_inside_the_arguments_of_a_command_is_found() {
    let meet = "def meet($n = 1) { repeat $n barrier; return 1; }";
    for outer in [
        "def outer() { print(meet()); } if $$rank outer();",
        "def outer() { repeat meet() getpid(); } if $$rank outer();",
        "print(1 + meet($$rank));",
    ] {
        assert!(is_refused(&format!("{meet} {outer}")), "{outer}");
    }
    for outer in ["def outer() { print(meet()); } outer();", "print(1 + meet($$size));"] {
        assert!(is_right(&format!("{meet} {outer}")), "{outer}");
    }
}

#[test]
fn groups_are_compared_rank_by_rank() {
    let groups = "define groups {\"a\":D, \"b\":D};";
    let found = |ranks, program: &str| codes_on(ranks, &format!("{groups} {program}"));
    assert_eq!(found(4, "group \"a\" barrier;"), Err(vec!["E0401"]));
    assert_eq!(found(4, "group \"a\" group \"b\" barrier(\"b\"); group \"b\" barrier(\"b\");"), Ok(vec![]));
    assert_eq!(found(4, "$n = 1; group \"a\" $n = 2; repeat $n barrier;"), Err(vec!["E0401"]));
    assert_eq!(found(4, "$n = 1; group \"a\" $n = 2; group \"a\" repeat $n barrier(\"a\");"), Ok(vec![]));
    assert_eq!(found(4, "repeat 2 { group \"a\" break; barrier; }"), Err(vec!["E0401"]));
    let overlap =
        "define groups {\"a\", \"b\"}; group \"a\" { barrier(\"a\"); } group \"b\" { barrier(\"b\"); }";
    assert_eq!(codes_on(3, overlap), Ok(vec![]));
    let crossed = "define groups {\"a\", \"b\"};\
        if $$rank == 0 { barrier(\"a\"); barrier(\"b\"); } else { barrier(\"b\"); barrier(\"a\"); }";
    assert_eq!(codes_on(2, crossed), Err(vec!["E0401", "W0106"]));
    // The group that opened a file closes it.
    assert_eq!(found(4, "$f = pfopen(\"f\", \"crw\"); group \"a\" pfclose($f);"), Err(vec!["E0401"]));
}

#[test]
fn ranks_of_a_loop_over_time_with_a_barrier_do_equal_numbers_of_rounds() {
    let plan = plan_of("for 3ms { think 1ms; barrier; }\nfor 3ms think 1ms;");
    assert_eq!(execute(&plan).trace, ["barrier 0", "barrier 0", "barrier 0"]);
    assert!(is_refused("if $$rank == 0 { for 1s barrier; }"));
    assert!(is_refused("for 1s { $n = $$rank; if $n barrier; }"));
    assert!(is_refused("for 1s { barrier; if $$rank == 1 break; }"));
    assert!(is_doubted("$n = 0; for 1s { $n = $n + 1; } repeat $n barrier;"));
}

#[test]
fn loops_in_a_stonewall_may_differ_so_nothing_collective_is_permitted() {
    assert!(is_right("phase \"a\" stonewall { repeat 3 stat(\"f\"); }"));
    plan_of("$limit = 5ms; phase \"a\" stonewall $limit stat(\"f\");");
    plan_of("phase \"a\" stonewall $x = 1; phase \"b\" stonewall (2 * 1ms) { barrier; }");
    assert!(is_doubted("phase \"a\" stonewall { repeat 3 barrier; }"));
    assert!(is_doubted("def meet() { repeat 3 barrier; } phase \"a\" stonewall { meet(); }"));
    assert!(is_doubted("phase \"a\" stonewall { $n = 0; repeat 9 $n = $n + 1; } repeat $n barrier;"));
    let refused = |program: &str| plan_with(program, &Settings::default()).unwrap_err()[0].message.clone();
    assert_eq!(
        refused("phase \"a\" stonewall { phase \"b\" stonewall { } }"),
        "a stonewall is inside another one"
    );
    assert_eq!(refused("phase \"a\" stonewall 5 { }"), "`stonewall` needs a time, not a number");
}

#[test]
fn without_a_number_of_ranks_a_possible_divergence_is_a_warning() {
    let found = |program: &str| {
        let settings = Settings { tentative: true, ..Settings::default() };
        let mut source = ppl::Source::new("p.ppl", program);
        let (_, found) = ppl::compile(&mut source, &settings, false, None).expect("not refused");
        found.iter().map(|one| one.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(found("if $$rank == 0 barrier;"), ["W0106"]);
    assert_eq!(found("define groups {\"a\":D}; group \"a\" barrier; group \"a\" barrier(\"a\");"), ["W0106"]);
    assert_eq!(found("barrier; repeat 3 { phase \"x\" { } }"), Vec::<&str>::new());
}

#[test]
fn a_variable_counted_by_a_loop_affects_later_loops() {
    let plan = plan_of("$n = 0; repeat 10 { $n = $n + 1; } repeat $n write(\"f\", 1);");
    let tally = ppl::count::count(&plan, 0, ppl::count::DEFAULT_BUDGET);
    assert_eq!((tally.total, tally.at_least), (10, false));
}

#[test]
fn exponential_recursion_is_not_followed_to_its_end() {
    let plan = plan_of("def f($n) { if $n > 0 { f($n - 1); f($n - 1); } } f(60);");
    assert!(ppl::count::count(&plan, 0, 1000).at_least);
    let program = "def f($n) { if $n > 0 { f($n - 1); f($n - 1); } } f(60); if $$rank == 0 barrier;";
    assert!(is_doubted(program));
}
