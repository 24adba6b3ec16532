//! Each time in a run is the time of what its name says.

mod support;

use engine::run::{BackendKind, Options, RunOutcome};
use support::alone;
use support::language::plan;

/// Runs a program in virtual time, where each operation takes 1 ms and `stat` 10 ms.
fn simulated(text: &str, ranks: u32) -> RunOutcome {
    let backend =
        BackendKind::Simulate("stat: constant(10ms); *: constant(1ms)".parse().expect("a back end"));
    let options = Options { backend, ..Options::new(1) };
    engine::run(&plan(text, ranks, 7), &options, |_| ()).expect("a run")
}

#[test]
fn a_phase_lasts_on_each_rank_as_long_as_its_own_work_and_the_gate_as_long_as_the_slowest() {
    let said = alone(
        "a_phase_lasts_on_each_rank_as_long_as_its_own_work_and_the_gate_as_long_as_the_slowest",
        || {
            let outcome = simulated("repeat 2 phase \"p\" repeat $$rank + 1 stat(\"f\");", 3);
            let run = &outcome.run;
            let mut lines = Vec::new();
            for (number, site) in (0..).zip(&run.sites).filter(|(_, site)| site.operation != "stat") {
                let ms: Vec<String> = run
                    .of_site(number)
                    .map(|sample| format!("{}:{}", sample.rank, sample.duration_ps / 1_000_000_000))
                    .collect();
                lines.push(format!("{} {:?}: {}", site.name(), site.kind, ms.join(" ")));
            }
            let phase = run.sites.iter().position(|site| site.operation == "phase").expect("one") as u32;
            let gates = samples::gates(run.of_site(phase));
            lines.extend(
                gates.iter().map(|gate| format!("gate {:.0} ms by {}", gate.seconds * 1e3, gate.last)),
            );
            let clock = samples::CommonClock::of(&run.facts);
            let gates = samples::gates_by_clock(run.of_site(phase), &clock);
            lines.extend(
                gates.iter().map(|gate| format!("clock {:.0} ms by {}", gate.seconds * 1e3, gate.last)),
            );
            lines.sort();
            lines.join("\n")
        },
    );
    insta::assert_snapshot!(said);
}

#[test]
fn under_a_rate_an_assertion_is_about_response_times_unless_it_asks_for_service() {
    let said = alone("under_a_rate_an_assertion_is_about_response_times_unless_it_asks_for_service", || {
        let outcome = simulated(
            r#"write("f", 1);
                repeat 100 rate 1000/s time["read"] stat("f");
                assert p99("read") < 11ms;
                assert slowest("stat") < 11ms;
                assert p99("read", "service") < 11ms && mean("stat", "service") == 10ms;
                assert quantile(0.99, "read", "response") > 500ms && quantile(0.5, "stat", "service") == 10ms;
                assert each p50("read") < 11ms;
                master print(slowest("read"), slowest("read", "service"));
                $times = "wall";
                assert mean("read", $times) < 1s;"#,
            1,
        );
        outcome.assertions().join("\n")
    });
    insta::assert_snapshot!(said);
}

#[test]
fn in_virtual_time_a_replay_lasts_as_long_as_its_operations_and_pauses() {
    let said = alone("in_virtual_time_a_replay_lasts_as_long_as_its_operations_and_pauses", || {
        let of = |text: &str| {
            let outcome = simulated(text, 2);
            let ms: Vec<String> = outcome
                .run
                .facts
                .spans
                .iter()
                .map(|span| {
                    let ran = span.end_ns.saturating_sub(span.begin_ns);
                    format!("{} ms, {} of them paused", ran / 1_000_000, span.paused_ns / 1_000_000)
                })
                .collect();
            format!("{text} {}", ms.join("; "))
        };
        let texts = [
            "repeat 10 { stat(\"f\"); think 5ms; }",
            "think 3ms; barrier; think 5ms; stat(\"f\"); think 7ms;",
            "repeat 3 parallel 2 { stat(\"f\"); think ($$worker + 1) * 5ms; }",
            "if $$rank == 0 { think 9ms; signal(\"a\"); } else { await(\"a\"); think 2ms; }",
        ];
        texts.map(of).join("\n")
    });
    insta::assert_snapshot!(said);
}

#[test]
fn what_passes_over_pauses_passes_over_thinking_too() {
    let said = alone("what_passes_over_pauses_passes_over_thinking_too", || {
        let backend = BackendKind::Simulate("*: constant(1ms)".parse().expect("a back end"));
        let options = Options { backend, skip_sleep: true, ..Options::new(1) };
        let text = "repeat 10 { stat(\"f\"); think 5ms; sleep 5ms; }";
        let outcome = engine::run(&plan(text, 1, 7), &options, |_| ()).expect("a run");
        let span = outcome.run.facts.spans[0];
        format!("{} ms", span.end_ns.saturating_sub(span.begin_ns) / 1_000_000)
    });
    assert_eq!(said, "10 ms");
}

#[test]
fn a_wait_below_0_or_beyond_292_years_ends_the_program_and_a_long_one_waits() {
    let said = alone("a_wait_below_0_or_beyond_292_years_ends_the_program_and_a_long_one_waits", || {
        let of = |text: &str| {
            let outcome = simulated(text, 1);
            let waited: u64 = outcome.run.facts.spans.iter().map(|span| span.paused_ns / 1_000_000_000).sum();
            format!("{text} {} {waited} s {}", outcome.exit_status(), outcome.run.facts.failures.join(" "))
        };
        let texts = [
            "sleep(9223372036854775807);",
            "sleep(1000000000000);",
            "sleep(-1);",
            "think -5ms;",
            "sleep(max(0ms, -5ms));",
            "expect errno == 4294967298 stat(\"a\");",
            "$large = 1e308; print($large * 10.0);",
            "think pareto(0.001, 1h);",
        ];
        texts.map(of).join("\n")
    });
    insta::assert_snapshot!(said);
}

#[test]
fn an_assertion_about_what_never_succeeded_is_not_evaluated_and_no_mistake_of_the_program() {
    const NAME: &str =
        "an_assertion_about_what_never_succeeded_is_not_evaluated_and_no_mistake_of_the_program";
    let said = alone(NAME, || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        std::fs::write("f", "1").expect("a file");
        let of = |text: &str| {
            let outcome = engine::run(&plan(text, 2, 7), &Options::new(2), |_| ()).expect("a run");
            format!("exit {}\n{}", outcome.exit_status(), outcome.assertions().join("\n"))
        };
        let texts = [
            "repeat 10 stat(\"none\"); assert p99(\"stat\") < 1s; stat(\"f\");",
            "repeat 10 stat(\"none\"); assert each p99(\"stat\") < 1s; stat(\"f\");",
            "expect errno == ENOENT repeat 10 stat(\"none\"); assert p99(\"stat\") < 1s;",
            "repeat 10 stat(\"f\"); expect errno == ENOENT repeat 10 stat(\"none\"); assert count(\"stat\") == 10;",
            "assert p99(\"stat\") < 1s; repeat 10 stat(\".\");",
        ];
        texts.map(of).join("\n")
    });
    insta::assert_snapshot!(said);
}
