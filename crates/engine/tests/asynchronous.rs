//! The operations of an `async` block are under way at the same time, and each one is kept.

mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;

use engine::run::{BackendKind, Options, RunOutcome};
use samples::Sample;
use support::language::{plan, run, run_in};
use support::{alone, kill_child};

/// The most operations of that name that were under way at one time.
fn overlap(outcome: &RunOutcome, operation: &str) -> usize {
    let of: Vec<&Sample> =
        outcome.run.samples.iter().filter(|sample| named(outcome, sample, operation)).collect();
    let mut edges: Vec<(u64, i32)> = Vec::new();
    for sample in of {
        let begin = sample.start_ns * 1000;
        edges.extend([(begin, 1), (begin + sample.duration_ps.max(1), -1)]);
    }
    edges.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, step) in edges {
        now += step;
        most = most.max(now);
    }
    most as usize
}

fn named(outcome: &RunOutcome, sample: &Sample, operation: &str) -> bool {
    outcome.run.sites[sample.site as usize].operation == operation
}

fn counts(outcome: &RunOutcome) -> BTreeMap<&str, (usize, u64, usize)> {
    let mut found = BTreeMap::new();
    for sample in &outcome.run.samples {
        let entry: &mut (usize, u64, usize) =
            found.entry(outcome.run.sites[sample.site as usize].operation.as_str()).or_default();
        entry.0 += 1;
        entry.1 += sample.bytes;
        entry.2 += usize::from(sample.failed());
    }
    found
}

fn codes(outcome: &RunOutcome) -> Vec<&str> {
    outcome.run.facts.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

/// A kernel that refuses io_uring: the other tests would say nothing.
fn refused(outcome: &RunOutcome) -> bool {
    codes(outcome).contains(&"async-one-by-one")
}

#[test]
fn what_is_written_at_once_is_what_is_written_in_turn() {
    let said = alone("what_is_written_at_once_is_what_is_written_in_turn", || {
        let home = tempfile::tempdir().expect("a directory");
        let outcome = run_in(
            home.path(),
            r#"
            $f = fcreat("once"); async depth=16 { repeat $i 200 fwrite($f, 5000, $i * 5000); fsync($f); } fclose($f);
            $g = fcreat("turn"); repeat $i 200 fwrite($g, 5000); fclose($g);
            $h = fcreat("position"); async depth=8 { repeat $i 200 fwrite($h, 5000); } fwrite($h, 10); fclose($h);
            $r = fopen("once", "r");
            async depth=16 { verify { repeat $i 400 fread($r, 2500, $i * 2500); } }
            fclose($r);
            async depth=4 { verify { read("once"); read("turn"); read("position", 100, 12345); } }
            "#,
            1,
            7,
        );
        let read = |name: &str| std::fs::read(home.path().join(name)).unwrap_or_default();
        let (once, turn, position) = (read("once"), read("turn"), read("position"));
        format!(
            "{} {} {} {:?} {:?}",
            once.len() == turn.len(),
            // What lies where is verified above; each file has a content of its own.
            once != turn && once != position[..once.len()],
            position.len(),
            counts(&outcome),
            outcome.failures()
        )
    });
    insta::assert_snapshot!(said);
}

#[test]
fn direct_reads_overlap_and_no_more_than_the_depth() {
    let said = alone("direct_reads_overlap_and_no_more_than_the_depth", || {
        // Direct transfers need a real file system: temporary files may lie in memory.
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let outcome = run_in(
            home.path(),
            r#"
            write("data", 8MiB);
            $f = fopen("data", "O_RDONLY|O_DIRECT");
            async depth=8 { repeat 400 fread($f, 4k, uniform(0, 2048) * 4096); }
            fclose($f);
            "#,
            1,
            7,
        );
        let most = overlap(&outcome, "fread");
        match refused(&outcome) {
            true => "400 true true".into(),
            false => format!("{} {} {}", counts(&outcome)["fread"].0, most > 1, most <= 8),
        }
    });
    assert_eq!(said, "400 true true");
}

#[test]
fn names_are_made_and_removed_at_once_and_in_their_own_order() {
    let said = alone("names_are_made_and_removed_at_once_and_in_their_own_order", || {
        let home = tempfile::tempdir().expect("a directory");
        let outcome = run_in(
            home.path(),
            r#"
            async depth=32 {
                repeat $i 50 { create("a-$i"); stat("a-$i"); delete("a-$i"); }
                repeat $i 50 { mkdir("d-$i"); delete("d-$i"); }
                repeat $i 20 { write("w-$i", 3000); append("w-$i", 100); read("w-$i"); }
                repeat $i 10 { mkdir("e-$i"); rmdir("e-$i"); $n = stat("w-$i"); if ($n != 3100) print "wrong $n"; }
            }
            "#,
            1,
            7,
        );
        let left = std::fs::read_dir(home.path()).expect("there").count();
        format!(
            "{left} left {:?} {:?} {:?}",
            counts(&outcome),
            outcome.failures(),
            outcome.run.facts.failures
        )
    });
    insta::assert_snapshot!(said);
}

#[test]
fn failures_are_told_expected_ones_are_not_and_wrong_data_are_found() {
    let said = alone("failures_are_told_expected_ones_are_not_and_wrong_data_are_found", || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let spoilt = std::fs::File::create("spoilt").expect("a file");
        spoilt.write_all_at(&[0; 10_000], 0).expect("room");
        let outcome = run_in(
            home.path(),
            r#"
            async depth=8 {
                stat("nothing");
                expect errno == ENOENT { stat("nothing"); read("nothing"); delete("nothing"); }
                expect errno == ENOENT { create("something"); }
                verify read("spoilt");
                $f = fopen("spoilt", "r"); fread($f, 4k, 9000); fread($f, 4k, 20000);
            }
            fclose($f);
            "#,
            1,
            7,
        );
        let told: Vec<_> = outcome.failures().iter().flat_map(|failure| failure.examples.clone()).collect();
        format!("exit {}\n{}", outcome.exit_status(), told.join("\n"))
    });
    insta::assert_snapshot!(said);
}

#[test]
fn a_failure_under_on_error_stop_ends_the_program_with_its_reason() {
    let said = alone("a_failure_under_on_error_stop_ends_the_program_with_its_reason", || {
        let outcome =
            run("on_error stop;\nasync depth=4 { repeat $i 1000 { stat(\"nothing\"); } }\ncreate(\"late\");");
        let stats = counts(&outcome)["stat"].0;
        format!("{} {} {:?}", stats < 1000, outcome.exit_status(), outcome.run.facts.failures)
    });
    insta::assert_snapshot!(said);
}

#[test]
fn the_same_seed_gives_the_same_operations_also_at_once() {
    let said = alone("the_same_seed_gives_the_same_operations_also_at_once", || {
        let home = tempfile::tempdir().expect("a directory");
        let text = |depth: &str| {
            format!(
                r#"create("$$rank"); $f = fopen("$$rank", "w+"); fwrite($f, 64k, 0);
                {depth} {{ repeat 200 {{ choose {{ 70: fread($f, uniform(1, 4096), uniform(0, 60000));
                    30: fwrite($f, 100, uniform(0, 60000)); }} think exp(1us); }} }} fclose($f);"#
            )
        };
        let operations = |depth: &str, seed| {
            let outcome = run_in(home.path(), &text(depth), 3, seed);
            let mut all: Vec<_> = outcome
                .run
                .samples
                .iter()
                .map(|sample| {
                    let site = &outcome.run.sites[sample.site as usize];
                    (sample.rank, site.operation.clone(), sample.bytes)
                })
                .collect();
            all.sort();
            all
        };
        let (at_once, again) = (operations("async depth=16", 5), operations("async depth=16", 5));
        let (in_turn, other) = (operations("", 5), operations("async depth=16", 6));
        let ranks =
            |rank| in_turn.iter().filter(|one| one.0 == rank).map(|one| (&one.1, one.2)).collect::<Vec<_>>();
        format!("{} {} {} {}", at_once == again, at_once == in_turn, at_once != other, ranks(0) != ranks(1))
    });
    assert_eq!(said, "true true true true");
}

#[test]
fn samples_of_a_rank_killed_in_flight_are_kept() {
    let said = alone("samples_of_a_rank_killed_in_flight_are_kept", || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let text = r#"$f = fcreat("f$$rank"); async depth=8 { for 60s { fwrite($f, 4k, 0); } }"#;
        let mut before = 0;
        let outcome = engine::run(&plan(text, 2, 7), &Options::new(1), |watch| {
            if before == 0 && watch.status(1).samples() > 500 {
                before = watch.status(1).samples() as usize;
                kill_child(1);
            }
        })
        .expect("a run");
        let kept = outcome.run.samples.iter().filter(|sample| sample.rank == 1).count();
        let why = &outcome.run.facts.failures[0];
        format!("{} {} {}", outcome.exit_status(), before > 500 && kept >= before, why.contains("SIGKILL"))
    });
    assert_eq!(said, "3 true true");
}

#[test]
fn a_short_write_is_continued_and_its_failure_counted() {
    let said = alone("a_short_write_is_continued_and_its_failure_counted", || {
        // Beyond what shared memory needs; the file is sparse.
        let limit = libc::rlimit { rlim_cur: (4 << 30) + 10_000, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: `limit` is valid to read; this process is the test's own.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let text = r#"$f = fcreat("f");
            async depth=4 { repeat $i 4 fwrite($f, 4096, 4 * 1024 * 1024 * 1024 + $i * 4096); } fclose($f);"#;
        let options = Options { memory: Some(1 << 20), ..Options::new(1) };
        let outcome = engine::run(&plan(text, 1, 7), &options, |_| ()).expect("a run");
        let mut writes: Vec<_> =
            outcome.run.samples.iter().filter(|sample| named(&outcome, sample, "fwrite")).collect();
        writes.sort_by_key(|sample| std::cmp::Reverse((sample.bytes, -sample.errno)));
        let short = |sample: &&Sample| samples::Causes(sample.causes).has(samples::Cause::ShortTransfer);
        let told: Vec<_> = writes
            .iter()
            .map(|sample| format!("{} {} {}", sample.bytes, sample.errno == libc::EFBIG, short(sample)))
            .collect();
        told.join(", ")
    });
    assert_eq!(said, "4096 false false, 4096 false false, 1808 true true, 0 true false");
}

#[test]
fn simulated_operations_overlap_in_virtual_time() {
    let said = alone("simulated_operations_overlap_in_virtual_time", || {
        let backend = BackendKind::Simulate("constant(10ms)".parse().expect("one"));
        let options = Options { backend, ..Options::new(1) };
        let text = r#"$f = fcreat("f"); async depth=8 { repeat 80 fwrite($f, 4k); } fclose($f);"#;
        let outcome = engine::run(&plan(text, 1, 7), &options, |_| ()).expect("a run");
        let end = outcome.run.samples.iter().map(|s| s.start_ns * 1000 + s.duration_ps).max().unwrap_or(0);
        format!("{} {} ms", overlap(&outcome, "fwrite"), end / 1_000_000_000)
    });
    // One open, ten rounds of eight, one close.
    assert_eq!(said, "8 120 ms");
}

#[test]
fn under_a_rate_nothing_waits_for_the_operations_under_way() {
    let said = alone("under_a_rate_nothing_waits_for_the_operations_under_way", || {
        let backend = BackendKind::Simulate("stat: constant(50ms); *: constant(1us)".parse().expect("one"));
        let options = Options { backend, ..Options::new(1) };
        let text = r#"create("f"); async depth=64 { repeat 100 { rate 1000/s stat("f"); } }"#;
        let outcome = engine::run(&plan(text, 1, 7), &options, |_| ()).expect("a run");
        let late = outcome.run.samples.iter().map(|sample| sample.late_ns).max().unwrap_or(0);
        format!("{} late {late}", overlap(&outcome, "stat"))
    });
    assert_eq!(said, "50 late 0");
}

#[test]
fn a_label_in_async_lets_operations_overlap_and_lasts_until_what_it_started_has_ended() {
    let said =
        alone("a_label_in_async_lets_operations_overlap_and_lasts_until_what_it_started_has_ended", || {
            let backend = BackendKind::Simulate("constant(10ms)".parse().expect("one"));
            let options = Options { backend, ..Options::new(1) };
            let text = r#"$f = fcreat("f");
                time["all"] async depth=8 {
                    repeat $i 40 { time["pair"] { ctime["$i"] fwrite($f, 4k); fwrite($f, 1k); } }
                }
                async depth=8 { time["fails"] stat("a"); time["works"] fwrite($f, 4k); }
                fclose($f);"#;
            let outcome = engine::run(&plan(text, 1, 7), &options, |_| ()).expect("a run");
            let end =
                outcome.run.samples.iter().map(|s| s.start_ns * 1000 + s.duration_ps).max().unwrap_or(0);
            let of = |name: &str| -> Vec<&Sample> {
                let own = |sample: &&Sample| {
                    let site = &outcome.run.sites[sample.site as usize];
                    site.labels.last().is_some_and(|label| label == name) && site.operation.ends_with("time")
                };
                outcome.run.samples.iter().filter(own).collect()
            };
            let said = |name: &str| {
                let bytes: u64 = of(name).iter().map(|sample| sample.bytes).sum();
                let least =
                    of(name).iter().map(|sample| sample.duration_ps).min().unwrap_or(0) / 1_000_000_000;
                let most =
                    of(name).iter().map(|sample| sample.duration_ps).max().unwrap_or(0) / 1_000_000_000;
                let ordered = of(name).is_sorted_by_key(|sample| sample.start_ns);
                format!("{name}: {} x, {bytes} B, {least} to {most} ms, {ordered}", of(name).len())
            };
            let lines = ["all", "pair", "7", "works"].map(said);
            format!(
                "overlap {}, {} ms\n{}",
                overlap(&outcome, "fwrite"),
                end / 1_000_000_000,
                lines.join("\n")
            )
        });
    assert_eq!(
        said,
        "overlap 8, 130 ms\nall: 1 x, 204800 B, 100 to 100 ms, true\npair: 40 x, 204800 B, 10 to 20 ms, true\n\
         7: 1 x, 4096 B, 10 to 10 ms, true\nworks: 1 x, 4096 B, 10 to 10 ms, true"
    );
}

#[test]
fn a_failure_in_async_counts_at_the_label_around_it_and_nowhere_else() {
    let said = alone("a_failure_in_async_counts_at_the_label_around_it_and_nowhere_else", || {
        let home = tempfile::tempdir().expect("a directory");
        let text = r#"create("here");
            async depth=8 { repeat 20 { time["fails"] stat("nowhere"); time["works"] stat("here"); } }"#;
        let outcome = run_in(home.path(), text, 1, 7);
        let errnos = |label: &str| -> Vec<i32> {
            let own = |sample: &&Sample| outcome.run.sites[sample.site as usize].labels == [label];
            outcome.run.samples.iter().filter(own).map(|sample| sample.errno).collect()
        };
        let failed: Vec<String> = outcome
            .failures()
            .iter()
            .map(|one| format!("{} x{}", outcome.run.sites[one.site as usize].name(), one.count))
            .collect();
        let (fails, works) = (errnos("fails"), errnos("works"));
        let right = fails.iter().all(|errno| *errno == libc::ENOENT) && works.iter().all(|errno| *errno == 0);
        format!("{} {} {right} {failed:?}", fails.len(), works.len())
    });
    assert_eq!(said, "40 40 true [\"fails / stat x20\"]");
}
