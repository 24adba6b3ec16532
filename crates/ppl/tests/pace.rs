//! Tests when paced operations begin and timed loops end.

mod common;

use common::{execute, plan_of};

#[test]
fn a_rate_keeps_its_schedule_even_after_a_late_start() {
    // Each command takes 1 µs; the think time of 5 ms in the third body delays the next ones.
    let outcome = execute(&plan_of("repeat $i 6 rate 1000/s { stat(\"f\"); if $i == 2 { think 5ms; } }"));
    assert_eq!(outcome.intended, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000]);
}

#[test]
fn a_rate_restarts_with_the_enclosing_loop() {
    let outcome = execute(&plan_of("repeat 2 { repeat 2 { rate 1000/s { stat(\"f\"); } } think 1s; }"));
    assert_eq!(outcome.intended[..2], [0, 1_000_000]);
    assert!(outcome.intended[2] > 1_000_000_000 && outcome.intended[3] - outcome.intended[2] == 1_000_000);
}

#[test]
fn a_timed_loop_ends_with_its_time() {
    let outcome = execute(&plan_of("for 10us { stat(\"f\"); }"));
    assert_eq!(outcome.commands["stat"].1, 10);
}

#[test]
fn a_timed_loop_ends_with_its_time_also_within_a_pause() {
    let stats = |text: &str| execute(&plan_of(text)).commands.get("stat").map_or(0, |(_, count)| *count);
    assert_eq!(stats("for 3s rate 1/s stat(\"f\");"), 3);
    assert_eq!(stats("for 2s { stat(\"f\"); think 6s; }"), 1);
    assert_eq!(stats("for 1s { stat(\"f\"); think 500ms; }"), 2);
    // Inner loops end with it, and what follows them does not begin; an outer loop goes on.
    assert_eq!(stats("repeat 2 for 1s { repeat 9 think 300ms; stat(\"f\"); }"), 0);
    assert_eq!(stats("for 1s { for 10s { think 300ms; stat(\"f\"); } print(1); }"), 3);
    assert_eq!(stats("for 2s { for 1s { think 600ms; } stat(\"f\"); }"), 1);
    // A function ends as a whole.
    assert_eq!(stats("def f() { think 6s; stat(\"f\"); return 1; } for 2s f();"), 1);
}
