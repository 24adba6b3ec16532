//! Programs in which not all ranks reach what all of them must do together are refused.

mod common;

use common::{execute, plan_of, plan_with};
use ppl::plan::Settings;

#[test]
fn a_master_around_a_perhaps_is_still_an_error() {
    let settings = Settings { ranks: Some(2), ..Settings::default() };
    let found =
        plan_with("$f = fopen(\"f\", \"r\"); master { if $f < 0 { barrier; } }", &settings).unwrap_err();
    assert_eq!(found[0].code.as_str(), "E0401");
}

#[test]
fn barriers_that_some_ranks_leave_before_are_refused() {
    let settings = Settings { ranks: Some(2), ..Settings::default() };
    let code = |program: &str| plan_with(program, &settings).err().map(|found| found[0].code.as_str());
    for program in [
        "def meet() { barrier; } def outer() { meet(); return 1; } $x = $$rank > 1 ? outer() : 0;",
        "def meet() { barrier; return 1; } $x = $$rank && meet();",
        "def f() { if $$rank == 0 return 1; barrier; return 0; } f();",
        "repeat 3 { if $$rank == 1 break; barrier; }",
        "repeat 3 { barrier; if $$rank == 1 break; }",
        "repeat 3 { if $$rank == 1 continue; barrier; }",
        "repeat 3 { repeat 2 { if uniform(0, 2) break; } phase \"x\" { master { break; } } }",
        "def f() { repeat 3 { barrier; repeat $$rank { return 1; } } return 0; } f();",
    ] {
        assert_eq!(code(program), Some("E0401"), "{program}");
    }
    for program in [
        "repeat 3 { barrier; if $$rank == 1 continue; getpid(); }",
        "repeat 3 { repeat 2 { if $$rank == 1 break; } barrier; }",
        "repeat $i 3 { if $i == 1 break; barrier; }",
        "def f() { barrier; if $$rank == 0 return 1; return 0; } f(); barrier;",
        "repeat 2 { if $$rank == 0 break; } barrier;",
    ] {
        assert_eq!(code(program), None, "{program}");
    }
}

#[test]
fn a_barrier_that_is_reached_through_the_arguments_of_a_command_is_found() {
    let settings = Settings { ranks: Some(2), ..Settings::default() };
    let code = |program: &str| plan_with(program, &settings).err().map(|found| found[0].code.as_str());
    let meet = "def meet($n = 1) { repeat $n barrier; return 1; }";
    for outer in [
        "def outer() { print(meet()); } if $$rank outer();",
        "def outer() { repeat meet() getpid(); } if $$rank outer();",
        "print(1 + meet($$rank));",
    ] {
        assert_eq!(code(&format!("{meet} {outer}")), Some("E0401"), "{outer}");
    }
    for outer in ["def outer() { print(meet()); } outer();", "print(1 + meet($$size));"] {
        assert_eq!(code(&format!("{meet} {outer}")), None, "{outer}");
    }
}

#[test]
fn a_barrier_counted_by_an_argument_that_differs_between_ranks_is_refused() {
    let settings = Settings { ranks: Some(2), ..Settings::default() };
    let program = |argument: &str| format!("def meet($n) {{ repeat $n {{ barrier; }} }} meet({argument});");
    assert!(plan_with(&program("3 * $$size"), &settings).is_ok());
    let found = plan_with(&program("$$rank"), &settings).unwrap_err();
    assert_eq!(found[0].code.as_str(), "E0401");
}

#[test]
fn every_rank_of_a_loop_over_time_with_a_barrier_does_the_same_number_of_rounds() {
    let plan = plan_of("for 3ms { think 1ms; barrier; }\nfor 3ms think 1ms;");
    assert_eq!(execute(&plan).trace, ["barrier 0", "barrier 0", "barrier 0"]);
    let refused = |program: &str| {
        let found = plan_with(program, &Settings { ranks: Some(2), ..Settings::default() }).unwrap_err();
        found[0].message.clone()
    };
    assert_eq!(
        refused("if $$rank == 0 { for 1s barrier; }"),
        "not all ranks reach this loop over time, in which ranks meet, equally often: the program would hang"
    );
    assert_eq!(
        refused("for 1s { $n = $$rank; if $n barrier; }"),
        "not all ranks reach this barrier equally often: the program would hang"
    );
}

#[test]
fn loops_in_a_stonewall_may_differ_and_so_hold_nothing_collective() {
    plan_of("phase \"a\" stonewall { repeat 3 stat(\"f\"); }");
    plan_of("$limit = 5ms; phase \"a\" stonewall $limit stat(\"f\");");
    plan_of("phase \"a\" stonewall $x = 1; phase \"b\" stonewall (2 * 1ms) { barrier; }");
    let refused = |program: &str| plan_with(program, &Settings::default()).unwrap_err()[0].message.clone();
    assert_eq!(
        refused("phase \"a\" stonewall { repeat 3 barrier; }"),
        "not all ranks reach this barrier equally often: the program would hang"
    );
    assert_eq!(
        refused("def meet() { repeat 3 barrier; } phase \"a\" stonewall { meet(); }"),
        "not all ranks reach a barrier inside `meet` equally often: the program would hang"
    );
    assert_eq!(
        refused("phase \"a\" stonewall { $n = 0; repeat 9 $n = $n + 1; } repeat $n barrier;"),
        "not all ranks reach this barrier equally often: the program would hang"
    );
    assert_eq!(
        refused("phase \"a\" stonewall { phase \"b\" stonewall { } }"),
        "a stonewall stands inside another one"
    );
    assert_eq!(refused("phase \"a\" stonewall 5 { }"), "`stonewall` needs a time, not a number");
}
