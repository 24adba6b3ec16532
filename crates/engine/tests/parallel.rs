//! The workers of `parallel` run at the same time, and each sample is kept.

mod support;

use std::collections::BTreeMap;

use engine::run::{BackendKind, Options, RunOutcome};
use support::language::{plan, run, run_in};
use support::{alone, kill_child};

fn counts(outcome: &RunOutcome) -> BTreeMap<&str, (usize, u64)> {
    let mut found = BTreeMap::new();
    for sample in &outcome.run.samples {
        let entry: &mut (usize, u64) =
            found.entry(outcome.run.sites[sample.site as usize].operation.as_str()).or_default();
        entry.0 += 1;
        entry.1 += sample.bytes;
    }
    found
}

#[test]
fn workers_run_at_the_same_time_and_each_has_its_own_number() {
    let said = alone("workers_run_at_the_same_time_and_each_has_its_own_number", || {
        let home = tempfile::tempdir().expect("a directory");
        // Each waits for the files of all: one after the other they would never end.
        let outcome = run_in(
            home.path(),
            r#"parallel 8 { create("w-$$worker"); while readdir(".") < 8 { sleep(1ms); } } create("after");"#,
            1,
            7,
        );
        let mut names: Vec<_> = std::fs::read_dir(home.path())
            .expect("there")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        format!("{} {names:?} {:?}", outcome.exit_status(), counts(&outcome)["create"])
    });
    assert_eq!(said, r#"0 ["after", "w-0", "w-1", "w-2", "w-3", "w-4", "w-5", "w-6", "w-7"] (9, 0)"#);
}

#[test]
fn files_buffers_and_bytes_come_out_right() {
    let said = alone("files_buffers_and_bytes_come_out_right", || {
        let home = tempfile::tempdir().expect("a directory");
        let outcome = run_in(
            home.path(),
            r#"
            $f = fopen("shared", "w+"); $b = alloc(64k);
            fwrite($f, 10000);
            time["block"] parallel 4 {
                # Each goes on from the position that the rank had, without disturbing the others.
                fwrite($f, 5000); fwrite($f, 5000);
                fseek($f, -5000, "SEEK_CUR");
                verify fread($f, 5000);
                repeat $i 500 fwrite($f, 4096, 20000 + ($i * 4 + $$worker) * 4096);
                $own = fopen("own-$$worker", "w+"); fwrite($own, $b); fclose($own);
                async depth=4 { repeat $i 20 fread($f, 1000, $i * 1000); }
                fclose($f);
            }
            fwrite($f, 5000); verify { fread($f); }
            free($b); fclose($f);
            "#,
            1,
            7,
        );
        let block: Vec<_> = outcome
            .run
            .samples
            .iter()
            .filter(|s| outcome.run.sites[s.site as usize].operation == "time")
            .collect();
        let length = std::fs::metadata(home.path().join("shared")).map_or(0, |found| found.len());
        format!(
            "{length} {} {:?} {:?} {:?}",
            block[0].bytes,
            counts(&outcome),
            outcome.failures(),
            outcome.run.facts.failures
        )
    });
    insta::assert_snapshot!(said);
}

#[test]
fn thousands_of_samples_of_many_workers_are_all_kept_also_through_the_spill_file() {
    let test = "thousands_of_samples_of_many_workers_are_all_kept_also_through_the_spill_file";
    let said = alone(test, || {
        let text = r#"repeat 3 { repeat 100 getppid(); parallel 7 repeat 3000 getpid(); }"#;
        let many = |memory| {
            let home = tempfile::tempdir().expect("a directory");
            std::env::set_current_dir(home.path()).expect("the directory");
            let options = Options { memory, ..Options::new(1) };
            let outcome = engine::run(&plan(text, 1, 7), &options, |_| ()).expect("a run");
            format!("{} {:?}", outcome.exit_status(), counts(&outcome))
        };
        // 1024 samples of room.
        format!("{}\n{}", many(None), many(Some(1)))
    });
    assert_eq!(
        said,
        "0 {\"getpid\": (63000, 0), \"getppid\": (300, 0)}\n0 {\"getpid\": (63000, 0), \"getppid\": (300, 0)}"
    );
}

#[test]
fn samples_of_workers_of_a_killed_rank_are_kept() {
    let said = alone("samples_of_workers_of_a_killed_rank_are_kept", || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let mut before = 0;
        let text = "parallel 4 { for 60s { getpid(); } }";
        let outcome = engine::run(&plan(text, 2, 7), &Options::new(1), |watch| {
            if before == 0 && watch.status(1).samples() > 1000 {
                before = watch.status(1).samples() as usize;
                kill_child(1);
            }
        })
        .expect("a run");
        let kept = outcome.run.samples.iter().filter(|sample| sample.rank == 1).count();
        let whole = outcome.run.samples.iter().all(|sample| sample.batch == 1 && sample.start_ns > 0);
        let why = outcome.run.facts.failures[0].contains("SIGKILL");
        format!("{} {} {whole} {why}", outcome.exit_status(), before > 0 && kept >= before)
    });
    assert_eq!(said, "3 true true true");
}

#[test]
fn kernels_of_workers_and_ranks_do_not_use_each_others_files() {
    let said = alone("kernels_of_workers_and_ranks_do_not_use_each_others_files", || {
        let home = tempfile::tempdir().expect("a directory");
        let text = r#"parallel 4 { repeat 300 { create_delete("."); open_close("."); fopen_fclose("."); fstat("."); } }"#;
        let outcome = run_in(home.path(), text, 2, 7);
        let left = std::fs::read_dir(home.path()).expect("there").count();
        format!(
            "{} {} {left}",
            outcome.exit_status(),
            outcome.run.samples.iter().filter(|s| s.errno != 0).count()
        )
    });
    assert_eq!(said, "0 0 0");
}

#[test]
fn a_killed_rank_leaves_no_file_of_a_kernel() {
    let said = alone("a_killed_rank_leaves_no_file_of_a_kernel", || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let text = "fstat(\".\"); open_close(\".\"); parallel 2 { for 60s { create_delete(\".\"); stat(\".\"); fstat(\".\"); } }";
        let (mut killed, mut there) = (false, 0);
        let outcome = engine::run(&plan(text, 1, 7), &Options::new(1), |watch| {
            if !killed && watch.status(0).samples() > 1000 {
                killed = true;
                there = std::fs::read_dir(home.path()).expect("there").count();
                kill_child(0);
            }
        })
        .expect("a run");
        let left = std::fs::read_dir(home.path()).expect("there").count();
        format!("{} {} {left}", outcome.exit_status(), there >= 4)
    });
    assert_eq!(said, "3 true 0");
}

#[test]
fn a_worker_that_stops_ends_the_others_and_gives_its_reason() {
    let said = alone("a_worker_that_stops_ends_the_others_and_gives_its_reason", || {
        let outcome = run(
            "on_error stop;\nparallel 4 {\n  if ($$worker == 2) { stat(\"nothing\"); }\n  for 60s { getpid(); }\n}",
        );
        let fault = run("parallel 2 { $x = 1 / ($$worker - 1 + 0 * $$rank); }");
        format!(
            "{} {:?}\n{} {:?}",
            outcome.exit_status(),
            outcome.run.facts.failures,
            fault.exit_status(),
            fault.run.facts.failures
        )
    });
    insta::assert_snapshot!(said);
}

#[test]
fn failures_of_workers_are_counted_and_show_in_the_block_around() {
    let said = alone("failures_of_workers_are_counted_and_show_in_the_block_around", || {
        let outcome = run("time[\"t\"] parallel 4 { repeat 10 stat(\"nothing-$$worker\"); }");
        let block =
            outcome.run.samples.iter().find(|s| outcome.run.sites[s.site as usize].operation == "time");
        let failed = &outcome.failures()[0];
        format!(
            "{} {} {:?} {}",
            outcome.exit_status(),
            failed.count,
            block.map(|s| s.errno),
            failed.examples.len()
        )
    });
    assert_eq!(said, "3 40 Some(2) 5");
}

#[test]
fn the_same_seed_gives_each_worker_the_same_operations() {
    let said = alone("the_same_seed_gives_each_worker_the_same_operations", || {
        let text = r#"parallel 3 { $f = fcreat("f$$rank-$$worker"); repeat 50 fwrite($f, uniform(1, 100000)); fclose($f); }"#;
        let sizes = |seed| {
            let home = tempfile::tempdir().expect("a directory");
            let outcome = run_in(home.path(), text, 2, seed);
            let mut sizes: Vec<_> = std::fs::read_dir(home.path())
                .expect("there")
                .flatten()
                .map(|entry| (entry.file_name(), entry.metadata().map_or(0, |found| found.len())))
                .collect();
            sizes.sort();
            (outcome.exit_status(), sizes)
        };
        let (one, again, other) = (sizes(3), sizes(3), sizes(4));
        let distinct: std::collections::BTreeSet<_> = one.1.iter().map(|file| file.1).collect();
        format!("{} {} {}", one == again, one != other, distinct.len())
    });
    assert_eq!(said, "true true 6");
}

#[test]
fn simulated_workers_overlap_in_virtual_time() {
    let said = alone("simulated_workers_overlap_in_virtual_time", || {
        let backend = BackendKind::Simulate("constant(10ms)".parse().expect("one"));
        let options = Options { backend, ..Options::new(1) };
        let text = "time[\"t\"] parallel 8 { repeat 5 getpid(); } getppid();";
        let outcome = engine::run(&plan(text, 1, 7), &options, |_| ()).expect("a run");
        let end = outcome.run.samples.iter().map(|s| s.start_ns * 1000 + s.duration_ps).max().unwrap_or(0);
        format!("{} {} ms", outcome.run.samples.len(), end / 1_000_000_000)
    });
    assert_eq!(said, "42 60 ms");
}

#[test]
fn a_file_that_cannot_be_opened_for_each_worker_is_named_with_the_reason() {
    let said = alone("a_file_that_cannot_be_opened_for_each_worker_is_named_with_the_reason", || {
        let limit = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
        // SAFETY: `limit` is valid to read; this process is the test's own.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
        let outcome = run("$f = fcreat(\"data\"); $g = fcreat(\"other\"); parallel 60 { fwrite($f, 1); }");
        let why = outcome.run.facts.failures.join(" ");
        format!("{} {}", outcome.exit_status(), why)
    });
    assert!(said.starts_with("3 ") && said.contains("workers cannot be started: \""), "{said}");
    assert!(said.contains("which is open, cannot be opened for each of them: EMFILE"), "{said}");
}

#[test]
fn workers_inside_of_a_rate_are_late_and_the_operation_behind_them_is_as_late_as_the_first() {
    let said = alone(
        "workers_inside_of_a_rate_are_late_and_the_operation_behind_them_is_as_late_as_the_first",
        || {
            let text =
                "repeat $i 3 rate 10/s { if $i == 1 sleep(50ms); parallel 2 { getpid(); } getppid(); }";
            let late = |backend| {
                let options = Options { backend, ..Options::new(1) };
                let outcome = engine::run(&plan(text, 1, 7), &options, |_| ()).expect("a run");
                let of = |operation: &str| -> Vec<u64> {
                    let of_it = |site: u32| outcome.run.sites[site as usize].operation == operation;
                    let mut found: Vec<_> =
                        outcome.run.samples.iter().filter(|sample| of_it(sample.site)).collect();
                    found.sort_by_key(|sample| sample.start_ns);
                    found.iter().map(|sample| sample.late_ns).collect()
                };
                (of("getpid"), of("getppid"))
            };
            let (workers, behind) = late(BackendKind::Simulate("constant(1us)".parse().expect("one")));
            let ms = |late: &[u64]| late.iter().map(|ns| ns / 1_000_000).collect::<Vec<_>>();
            let simulated = format!("{:?} {:?}", ms(&workers), ms(&behind));
            // On a real machine nothing is earlier than that.
            let (workers, behind) = late(BackendKind::default());
            let first: Vec<u64> = workers.chunks(2).map(|two| two[0].min(two[1])).collect();
            format!(
                "{simulated}; {} {} {}",
                workers.len(),
                workers[2..4].iter().all(|ns| *ns >= 50_000_000),
                first == behind
            )
        },
    );
    assert_eq!(said, "[0, 0, 50, 50, 0, 0] [0, 50, 0]; 6 true true");
}
