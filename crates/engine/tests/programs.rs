//! Programs of the language do on a real machine what they say.

mod support;

use std::path::Path;

use engine::run::{BackendKind, Confine, Options, RunOutcome, options_of};
use ppl::Source;
use ppl::plan::{Plan, Settings};
use support::alone;

fn plan(text: &str, ranks: Option<u32>, parameters: &[(&str, &str)]) -> Plan {
    let mut source = Source::new("test.ppl", text);
    let parameters = parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let settings = Settings { ranks, parameters, seed: 7, ..Settings::default() };
    match ppl::compile(&mut source, &settings, false, None) {
        Ok((plan, _)) => plan,
        Err(found) => panic!("{:?}", found.iter().map(|one| one.message.clone()).collect::<Vec<_>>()),
    }
}

/// Runs a program in a directory of its own, which is then the working directory.
fn run_in(home: &Path, text: &str, ranks: u32, options: &Options) -> RunOutcome {
    std::env::set_current_dir(home).expect("the directory");
    engine::run(&plan(text, Some(ranks), &[]), options, |_| ()).expect("a run")
}

fn here(text: &str, ranks: u32) -> (tempfile::TempDir, RunOutcome) {
    let home = tempfile::tempdir().expect("a directory");
    let outcome = run_in(home.path(), text, ranks, &Options::new(1));
    (home, outcome)
}

/// As [`here`], of a program that may start others.
fn here_starting(text: &str, ranks: u32) -> (tempfile::TempDir, RunOutcome) {
    let home = tempfile::tempdir().expect("a directory");
    let options = Options { allow_spawn: true, ..Options::new(1) };
    let outcome = run_in(home.path(), text, ranks, &options);
    (home, outcome)
}

/// Status, then the operations with the number of their samples, then failures.
fn told(outcome: &RunOutcome) -> String {
    let mut lines = vec![format!("exit {}", outcome.exit_status())];
    lines.extend(outcome.run.facts.failures.iter().cloned());
    for (number, site) in outcome.run.sites.iter().enumerate() {
        let samples: Vec<_> = outcome.run.of_site(number as u32).collect();
        let bytes: u64 = samples.iter().map(|sample| sample.bytes).sum();
        lines.push(format!("{} {} x{} {bytes}", site.labels.join("/"), site.operation, samples.len()));
    }
    for failure in &outcome.failures() {
        lines.push(format!("failed {}: {}", failure.count, failure.examples[0]));
    }
    lines.join("\n")
}

const PARALLEL_WRITE: &str = include_str!("../../lastrank/experiments/parallel_write.ppl");

#[test]
fn the_first_experiment_writes_cleans_up_and_has_a_gate_for_each_step() {
    let said = alone("the_first_experiment_writes_cleans_up_and_has_a_gate_for_each_step", || {
        let home = tempfile::tempdir().expect("a directory");
        let directory = home.path().display().to_string();
        let parameters = [("size", "64KiB"), ("targets", "4"), ("repeat", "10"), ("dir", directory.as_str())];
        let plan = plan(PARALLEL_WRITE, None, &parameters);
        let outcome = engine::run(&plan, &Options::new(1), |_| ()).expect("a run");
        let site = outcome.run.sites.iter().position(|site| site.matches("write")).expect("a site");
        let gates = samples::gates(outcome.run.of_site(site as u32));
        let left = std::fs::read_dir(home.path()).expect("there").count();
        format!("{} gates, {left} files left\n{}", gates.len(), told(&outcome))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn a_simulated_experiment_repeats_and_finds_the_distribution_put_in() {
    let said = alone("a_simulated_experiment_repeats_and_finds_the_distribution_put_in", || {
        let parameters = [("targets", "1"), ("repeat", "4000"), ("dir", "/nowhere")];
        let plan = plan(PARALLEL_WRITE, None, &parameters);
        let backend = BackendKind::Simulate("fwrite: exp(10ms); *: constant(1us)".parse().expect("one"));
        let options = Options { backend, ..Options::new(1) };
        let simulate = || engine::run(&plan, &options, |_| ()).expect("a run");
        let (first, second) = (simulate(), simulate());
        let site = first.run.sites.iter().position(|site| site.operation == "fwrite").expect("a site");
        let durations = first.run.durations(site as u32);
        let mean = durations.iter().sum::<f64>() / durations.len() as f64;
        let same = first.run.samples == second.run.samples && first.run.facts == second.run.facts;
        format!("{} {} {same}", durations.len(), (mean - 10e-3).abs() < 0.5e-3)
    });
    assert_eq!(said, "4000 true true");
}

#[test]
fn file_commands_do_what_they_say() {
    let said = alone("file_commands_do_what_they_say", || {
        let (home, outcome) = here(
            r#"
            write("a", 10k); append("a", 1k); read("a"); read("a", 1k, 2k);
            $f = fopen("a", "r+");
            fread($f, 1k); fwrite($f, 2k); fseek($f, 0); fread($f);
            chmod($f, 0o600); chown($f); utimes($f);
            ftruncate($f, 4k); fsync($f); fdatasync($f); fallocate($f, 8k); fadvise($f, "random");
            fclose($f);
            mkdir("d"); create("d/x"); rename("d/x", "d/y"); $n = readdir("d");
            link("a", "b"); symlink("a", "c"); unlink("c"); delete("b");
            stat("a"); lookup("d/y"); chmod("a", 384); chown("a"); utimes("a"); mmap("a");
            $m = alloc(64k); $g = fcreat("g"); fwrite($g, $m); fclose($g); free($m);
            delete("d/y"); rmdir("d"); mkdir("e"); delete("e");
            stripe("g", 4);
            "#,
            1,
        );
        let mut names: Vec<_> = std::fs::read_dir(home.path())
            .expect("there")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let notes: Vec<_> = outcome.run.facts.warnings.iter().map(|warning| warning.code.clone()).collect();
        format!("{}\nleft {names:?} notes {notes:?}", told(&outcome))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn verified_reads_find_a_byte_that_someone_else_changed() {
    let said = alone("verified_reads_find_a_byte_that_someone_else_changed", || {
        let home = tempfile::tempdir().expect("a directory");
        let good = run_in(
            home.path(),
            r#"repeat $i 3 append("f", 5000);
               $f = fopen("f", "a"); fwrite($f, 1234); fclose($f);
               verify { read("f"); $f = fopen("f", "r"); fread($f, 100, 7); fread($f, 4k); fclose($f); }"#,
            1,
            &Options::new(1),
        );
        let mut bytes = std::fs::read(home.path().join("f")).expect("there");
        bytes[5005] ^= 1;
        std::fs::write(home.path().join("f"), bytes).expect("write");
        let bad = run_in(home.path(), r#"verify { read("f"); }"#, 1, &Options::new(1));
        format!("{}\n{}", good.exit_status(), told(&bad))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn foretold_failures_are_fine_and_others_are_told_with_line_path_and_errno() {
    let said = alone("foretold_failures_are_fine_and_others_are_told_with_line_path_and_errno", || {
        let home = tempfile::tempdir().expect("a directory");
        // A stranger's program may not read there.
        let own = Options { confine: Confine::Nobody, ..Options::new(1) };
        let outcome = run_in(
            home.path(),
            "expect errno == ENOENT { stat(\"nothing\"); }\n\
             repeat $i 10 delete(\"no-$i\");\n\
             $f = fopen(\"no\", \"r\");\n\
             fread($f, 10);\n\
             read(\"/proc/self/mem\", 10);",
            1,
            &own,
        );
        told(&outcome)
    });
    insta::assert_snapshot!(said);
}

#[test]
fn patterns_put_the_same_bytes_at_the_same_places_on_every_level() {
    let said = alone("patterns_put_the_same_bytes_at_the_same_places_on_every_level", || {
        let (home, outcome) = here(
            r#"
            define pattern {"p0", 3, 1000, 0}; define pattern {"p1", 3, 1000, 1};
            define pattern {"p2", 3, 1000, 2}; define pattern {"p3", 3, 1000, 3};
            pwrite("f0", "p0"); pwrite("f1", "p1"); pwrite("f2", "p2"); pwrite("f3", "p3");
            pread("f2", "p0"); pread("f0", "p3");
            $f = pfopen("f4", "crw"); pfwrite($f, "p3"); pfread($f, "p0"); pfclose($f);
            barrier;
            pdelete("f4");
            master { verify { read("f0"); read("f1"); read("f2"); read("f3"); } }
            "#,
            4,
        );
        // `verify` above says that they hold what belongs there.
        let length = |name: &str| std::fs::metadata(home.path().join(name)).map_or(0, |found| found.len());
        let lengths: Vec<u64> = ["f0", "f1", "f2", "f3"].map(length).into();
        format!("{lengths:?}\n{}", told(&outcome))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn a_program_that_leaves_its_directory_is_refused_unless_the_user_named_the_place() {
    let test = "a_program_that_leaves_its_directory_is_refused_unless_the_user_named_the_place";
    let said = alone(test, || {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let work = home.path().join("work");
        std::fs::create_dir(&work).expect("mkdir");
        std::env::set_current_dir(&work).expect("there");
        let outside = home.path().join("out").display().to_string();
        let text = format!("define place \"dir\" $dir \"{outside}\"\nwrite(\"$dir-x\", 10);");
        let refused = engine::run(&plan(&text, None, &[]), &Options::new(1), |_| ()).expect("a run");
        let given = plan(&text, None, &[("dir", &format!("{outside}/"))]);
        let named = options_of(&given, &Options::new(1)).named.len();
        let why = refused.run.facts.failures[0].replace(&home.path().display().to_string(), "HOME");
        let there = std::fs::read_dir(home.path()).expect("there").count();
        format!("{} {there} {named}\n{why}", refused.exit_status())
    });
    insta::assert_snapshot!(said);
}

#[test]
fn an_assertion_that_does_not_hold_is_the_answer_no() {
    let said = alone("an_assertion_that_does_not_hold_is_the_answer_no", || {
        let (_, outcome) =
            here("time[\"t\"] sleep(2ms);\nassert slowest(\"t\") < 1ms;\nassert p99(\"t\") < 3600s;", 1);
        // How long it took is the machine's matter.
        let assertions = outcome.assertions();
        let told: Vec<_> = assertions.iter().filter_map(|line| line.split_once(" is ")).collect();
        let ends = told.iter().all(|(_, tail)| tail.ends_with(" over 1 sample of the whole block"));
        let heads: Vec<_> = told.iter().map(|(head, _)| head).collect();
        format!("{} {heads:?} {ends} {:?}", outcome.exit_status(), outcome.run.facts.failures)
    });
    assert_eq!(said, "1 [\"test.ppl:2:1: the assertion does not hold: slowest(\\\"t\\\")\"] true []");
}

#[test]
fn an_assertion_sees_samples_that_went_to_a_file_too() {
    let said = alone("an_assertion_sees_samples_that_went_to_a_file_too", || {
        let options = Options { memory: Some(1), ..Options::new(1) };
        let home = tempfile::tempdir().expect("a directory");
        let text = "repeat 10 sleep(1); repeat 5000 getpid();\nassert count(\"getpid\") == 5000;\nprint count(\"getpid\");";
        let outcome = run_in(home.path(), text, 1, &options);
        let spilled = outcome.run.facts.warnings.iter().any(|warning| warning.code == "spilled");
        format!("{} {spilled} {:?}", outcome.exit_status(), outcome.assertions())
    });
    assert_eq!(said, "0 true []");
}

/// The samples of `getpid` in virtual time, where it takes 1 µs.
fn simulated(text: &str) -> Vec<samples::Sample> {
    let backend = BackendKind::Simulate("constant(1us)".parse().expect("one"));
    let outcome = engine::run(&plan(text, None, &[]), &Options { backend, ..Options::new(1) }, |_| ());
    let run = outcome.expect("a run").run;
    let site = run.sites.iter().position(|site| site.operation == "getpid").expect("a site");
    run.of_site(site as u32).copied().collect()
}

#[test]
fn under_a_rate_samples_say_how_late_they_began() {
    let said = alone("under_a_rate_samples_say_how_late_they_began", || {
        let found = simulated("repeat $i 300 { rate 1000/s { if ($i == 50) { sleep(100ms); } getpid(); } }");
        let late: Vec<u64> = found.iter().map(|sample| sample.late_ns).collect();
        let late_by = |ns: u64| late.iter().filter(|late| **late >= ns).count();
        format!("{} {} {} {}", late.len(), late_by(1), late_by(50_000_000), late[50])
    });
    assert_eq!(said, "300 101 51 100000000");
}

#[test]
fn a_rate_inside_a_rate_leaves_the_operations_behind_it_as_late_as_those_before() {
    let said = alone("a_rate_inside_a_rate_leaves_the_operations_behind_it_as_late_as_those_before", || {
        let late = |body: &str| {
            let text = format!("repeat $i 3 rate 10/s {{ if $i == 1 sleep(50ms); {body} }}");
            let found = simulated(&text).into_iter().map(|sample| (sample.late_ns / 1_000_000).to_string());
            found.collect::<Vec<_>>().join(" ")
        };
        let inner = "repeat 2 rate 1000/s getppid();";
        // Behind it, and where the first operation of the body is inside it.
        format!(
            "{} | {}",
            late(&format!("{inner} getpid();")),
            late(&format!("getppid(); {inner} getpid();"))
        )
    });
    assert_eq!(said, "0 50 0 | 0 50 0");
}

#[test]
fn a_pause_of_the_generator_shows_in_hundreds_of_response_times() {
    let said = alone("a_pause_of_the_generator_shows_in_hundreds_of_response_times", || {
        let found =
            simulated("repeat $i 2000 { rate 1000/s { if ($i == 300) { sleep(500ms); } getpid(); } }");
        let slow = |seconds: fn(&samples::Sample) -> f64| {
            found.iter().filter(|sample| seconds(sample) >= 0.1).count()
        };
        // Of 500 that were due in the pause those of its last 100 ms waited less; no call itself was slow.
        let response = slow(|sample| sample.seconds() + sample.late_ns as f64 * 1e-9);
        format!("{} {response} {}", found.len(), slow(samples::Sample::seconds))
    });
    assert_eq!(said, "2000 401 0");
}

#[test]
fn a_poisson_rate_has_the_gaps_of_its_seed_and_no_other() {
    let said = alone("a_poisson_rate_has_the_gaps_of_its_seed_and_no_other", || {
        let backend = BackendKind::Simulate("constant(1us)".parse().expect("one"));
        let options = Options { backend, ..Options::new(1) };
        let plan = plan("repeat 4000 { rate 1000/s poisson getpid(); }", Some(2), &[]);
        let starts = |rank| {
            let outcome = engine::run(&plan, &options, |_| ()).expect("a run");
            let of_rank = outcome.run.samples.iter().filter(|sample| sample.rank == rank);
            of_rank.map(|sample| sample.start_ns).collect::<Vec<_>>()
        };
        let (first, again, other) = (starts(0), starts(0), starts(1));
        let gaps: Vec<f64> = first.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Of exponential gaps mean and deviation are equal.
        let alike = (mean / 1e6 - 1.0).abs() < 0.1 && (variance.sqrt() / mean - 1.0).abs() < 0.15;
        format!("{} {} {alike}", first == again, first != other)
    });
    assert_eq!(said, "true true true");
}

#[test]
fn kernels_are_commands_and_a_batch_is_one_sample() {
    let said = alone("kernels_are_commands_and_a_batch_is_one_sample", || {
        let (_, outcome) = here_starting(
            r#"repeat 3 { chase(4k, 100); getpid(10); fork(); thread(); malloc(64); stream("copy", 64k, 2); }
               if (spawn("false") == 1) { print "status 1"; } create_delete(".", 5); context_switch(4);"#,
            1,
        );
        let batches: std::collections::BTreeSet<u32> =
            outcome.run.samples.iter().map(|sample| sample.batch).collect();
        format!("{}\nbatches {batches:?}", told(&outcome))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn the_time_of_each_rank_is_accounted_for() {
    let said = alone("the_time_of_each_rank_is_accounted_for", || {
        let text = r#"
            repeat $i 20 { write("own-$$rank", 64KiB); } create("done-$$rank");
            master { while len(glob("done-*")) < 3 sleep 1ms; sleep(300000); }
            barrier;
            phase "p" { write("own-$$rank", 4KiB); }
        "#;
        let (_home, outcome) = here(text, 3);
        let run = outcome.run;
        let mut lines: Vec<String> = Vec::new();
        for one in samples::time_use(&run) {
            let parts = one.operations_s + one.waiting_s + one.paused_s + one.engine_s;
            let whole = (parts - one.wall_s).abs() < 1e-9 && one.wall_s > 0.03;
            let inside = one.wall_s <= run.facts.elapsed_s && one.operations_s > 0.0;
            // Rank 0 sleeps when the others are at the barrier, and they wait for it.
            let (paused, waits) = (one.paused_s >= 0.299, one.waiting_s > 0.02);
            lines.push(format!("rank {}: {whole} {inside}, slept {paused}, waited {waits}", one.rank));
        }
        for (number, site) in (0..).zip(&run.sites).filter(|(_, site)| site.line == 5) {
            lines.push(format!("{} {:?} x{}", site.name(), site.kind, run.of_site(number).count()));
        }
        lines.join("\n")
    });
    insta::assert_snapshot!(said);
}

#[test]
fn a_stonewall_ends_the_loops_of_all_when_the_first_rank_is_through_or_the_time_is_over() {
    let said = alone(
        "a_stonewall_ends_the_loops_of_all_when_the_first_rank_is_through_or_the_time_is_over",
        || {
            let (home, outcome) = here(
                r#"
            phase "first" stonewall {
                $f = fcreat("f-$$rank");
                if $$rank == 2 { repeat 3 fwrite($f, 1k); } else { while 1 { fwrite($f, 1k); think 1ms; } }
                fclose($f);
            }
            phase "time" stonewall 20ms { while 1 { repeat 5 stat("f-$$rank"); } }
            phase "workers" stonewall 20ms parallel 2 { for 60s getpid(); }
            define groups {"pair":S};
            group "pair" { phase "group" stonewall { if $$grank == 0 { stat("f-0"); } else { while 1 getpid(); } } }
            "#,
                3,
            );
            let files = std::fs::read_dir(home.path()).expect("there").count();
            let notes: Vec<String> = outcome
                .run
                .facts
                .warnings
                .iter()
                .filter(|warning| warning.code == "stonewall")
                // How much they did is the machine's matter.
                .map(|warning| {
                    let (head, tail) = warning.text.split_once(" fell after ").expect("words");
                    let cut = tail.split(", ").nth(1).and_then(|words| words.split(':').next()).expect("how");
                    format!("{head}: {cut}")
                })
                .collect();
            let of_last =
                outcome.run.samples.iter().filter(|sample| sample.rank == 2 && sample.bytes == 1024).count();
            format!(
                "exit {} files {files} written by rank 2: {of_last}\n{}",
                outcome.exit_status(),
                notes.join("\n")
            )
        },
    );
    insta::assert_snapshot!(said);
}

#[test]
fn ranks_that_meet_in_a_loop_over_time_do_the_same_number_of_rounds() {
    let said = alone("ranks_that_meet_in_a_loop_over_time_do_the_same_number_of_rounds", || {
        let (_, outcome) =
            here("think $$rank * 5ms; for 500ms { getpid(); think ($$rank + 1) * 1ms; barrier; }", 3);
        let rounds = |rank: u32| {
            let of = |operation: &str| {
                let site =
                    outcome.run.sites.iter().position(|site| site.operation == operation).expect("a site");
                outcome.run.of_site(site as u32).filter(|sample| sample.rank == rank).count()
            };
            (of("getpid"), of("barrier"))
        };
        let same = (1..3).all(|rank| rounds(rank) == rounds(0)) && rounds(0).0 == rounds(0).1;
        format!("exit {} the same {same} more than one {}", outcome.exit_status(), rounds(0).0 > 1)
    });
    assert_eq!(said, "exit 0 the same true more than one true");
}

#[test]
fn assertions_about_samples_are_judged_over_all_ranks_or_over_each() {
    let said = alone("assertions_about_samples_are_judged_over_all_ranks_or_over_each", || {
        let text = r#"
            define groups {"two":S};
            repeat $$rank + 1 stat(".");
            assert count("stat") == 6;
            assert each count("stat") <= 2;
            barrier;
            assert $$rank < 2;
            group "two" { assert count("stat") == 4; }
            repeat 2 { time["block"] think 5ms; assert p50("block") < 1ms; }
            time["getpid"] { getpid(); getpid(); }
            assert count("getpid") == 3 * 2;
            assert each p50("getpid") < 0s;
            assert count("stat") < 1 || mean("block") < $$size * 1ms;
            assert each count("stat") == $$rank + 1;
        "#;
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let settings = Settings { ranks: Some(3), groups: vec![("two".into(), 2)], ..Settings::default() };
        let (plan, _) =
            ppl::compile(&mut Source::new("test.ppl", text), &settings, false, None).expect("right");
        let outcome = engine::run(&plan, &Options::new(3), |_| ()).expect("a run");
        let lines: Vec<String> = outcome
            .assertions()
            .iter()
            .map(|line| {
                // Times are the machine's matter.
                let from = ["(\"block\") is ", "p50(\"getpid\") is "]
                    .iter()
                    .find_map(|words| Some(line.find(words)? + words.len() - 1));
                match (from, line.find(" over ")) {
                    (Some(from), Some(to)) => format!("{} … {}", &line[..from], &line[to + 1..]),
                    _ => line.clone(),
                }
            })
            .collect();
        format!("exit {}\n{}", outcome.exit_status(), lines.join("\n"))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn an_assertion_about_samples_that_are_not_there_is_not_evaluated() {
    let said = alone("an_assertion_about_samples_that_are_not_there_is_not_evaluated", || {
        let (_, outcome) = here("stat(\".\"); assert p99(\"raed\") < 1s; assert count(\"raed\") == 0;", 2);
        format!("exit {}\n{}", outcome.exit_status(), outcome.assertions().join("\n"))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn a_file_that_was_never_opened_is_named_where_it_is_used() {
    let said = alone("a_file_that_was_never_opened_is_named_where_it_is_used", || {
        let (_, outcome) = here(
            "expect errno == ENOENT { $f = fopen(\"a/b\", \"r\"); }\nfwrite($f, 1k);\n$g = -77; fclose($g);",
            1,
        );
        told(&outcome)
    });
    insta::assert_snapshot!(said);
}

#[test]
fn what_was_made_in_a_directory_is_removed_by_its_new_name() {
    let said = alone("what_was_made_in_a_directory_is_removed_by_its_new_name", || {
        let home = tempfile::tempdir().expect("a directory");
        let options = Options { clean: engine::run::Clean::Always, ..Options::new(1) };
        let text =
            "mkdir(\"d\"); mkdir(\"d/e\"); write(\"d/e/f\", 1k); write(\"d-x\", 1k); rename(\"d\", \"g\");";
        let outcome = run_in(home.path(), text, 1, &options);
        let left = std::fs::read_dir(home.path()).expect("there").count();
        format!("exit {} left {left}", outcome.exit_status())
    });
    assert_eq!(said, "exit 0 left 0");
}
