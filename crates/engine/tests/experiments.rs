//! The shipped experiments run from beginning to end, and native kernels inside programs.

mod support;

use engine::run::{Options, RunOutcome};
use ppl::Source;
use ppl::plan::Settings;
use support::alone;

fn run(text: &str, parameters: &[(&str, &str)], options: &Options) -> RunOutcome {
    let mut source = Source::new("test.ppl", text);
    let parameters = parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let settings = Settings { parameters, seed: 7, ..Settings::default() };
    match ppl::compile(&mut source, &settings, false, None) {
        Ok((plan, _)) => engine::run(&plan, options, |_| ()).expect("a run"),
        Err(found) => panic!("{:?}", found.iter().map(|one| one.message.clone()).collect::<Vec<_>>()),
    }
}

/// Runs in a directory of its own. Exit status, failures, files left, samples.
fn small(name: &'static str, text: &'static str, parameters: &'static [(&str, &str)]) {
    let said = alone(name, || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        // As `lastrank run` does for what ships inside the binary.
        let options = Options { allow_spawn: true, ..Options::new(1) };
        let outcome = run(text, parameters, &options);
        let left = std::fs::read_dir(home.path()).expect("the directory").count();
        let failed: Vec<_> = outcome.failures().iter().map(|failure| failure.examples.clone()).collect();
        let facts = &outcome.run.facts;
        format!(
            "exit {} left {left} {failed:?} {:?} {}",
            outcome.exit_status(),
            facts.failures,
            outcome.run.samples.len() > 50
        )
    });
    assert_eq!(said, "exit 0 left 0 [] [] true");
}

#[test]
fn the_memory_hierarchy_runs() {
    small(
        "the_memory_hierarchy_runs",
        include_str!("../../lastrank/experiments/memory_hierarchy.ppl"),
        &[
            ("largest", "1MiB"),
            ("accesses", "200"),
            ("batches", "5"),
            ("passes", "2"),
            ("least", "1ms"),
            ("processes", "2"),
        ],
    );
}

const PARALLEL_WRITE: &str = include_str!("../../lastrank/experiments/parallel_write.ppl");

#[test]
fn a_parallel_write_runs_as_in_the_paper() {
    let parameters = &[("size", "64KiB"), ("targets", "2"), ("repeat", "20"), ("striped", "yes")];
    small("a_parallel_write_runs_as_in_the_paper", PARALLEL_WRITE, parameters);
}

#[test]
fn a_striped_file_can_be_used_again() {
    let parameters = &[
        ("size", "64KiB"),
        ("targets", "2"),
        ("repeat", "20"),
        ("striped", "yes"),
        ("memory", "filled"),
        ("files", "reused"),
    ];
    small("a_striped_file_can_be_used_again", PARALLEL_WRITE, parameters);
}

#[test]
fn each_step_can_have_new_files_and_untouched_memory() {
    let parameters =
        &[("size", "64KiB"), ("targets", "2"), ("repeat", "20"), ("files", "new"), ("memory", "untouched")];
    small("each_step_can_have_new_files_and_untouched_memory", PARALLEL_WRITE, parameters);
}

#[test]
fn a_parallel_write_reads_what_it_wrote() {
    let parameters = &[("size", "64KiB"), ("targets", "2"), ("repeat", "20"), ("access", "read")];
    small("a_parallel_write_reads_what_it_wrote", PARALLEL_WRITE, parameters);
}

#[test]
fn each_rank_writes_and_reads_the_stripes_of_one_target() {
    for access in ["write", "read"] {
        let said = alone("each_rank_writes_and_reads_the_stripes_of_one_target", || {
            let home = tempfile::tempdir().expect("a directory");
            std::env::set_current_dir(home.path()).expect("the directory");
            let parameters = [
                ("size", "512KiB"),
                ("targets", "2"),
                ("repeat", "20"),
                ("striped", "targets"),
                ("stripe_size", "64KiB"),
                ("access", access),
            ];
            let outcome = run(PARALLEL_WRITE, &parameters, &Options { allow_spawn: true, ..Options::new(1) });
            let sites = &outcome.run.sites;
            let is_step = |site: &samples::Site| {
                site.kind == samples::SiteKind::Operation && site.labels.iter().any(|label| label == access)
            };
            let of_rank = |rank: u32| {
                let samples = outcome.run.samples.iter().filter(|sample| sample.rank == rank);
                samples
                    .filter(|sample| is_step(&sites[sample.site as usize]))
                    .map(|sample| sample.bytes)
                    .sum::<u64>()
            };
            let left = std::fs::read_dir(home.path()).expect("the directory").count();
            format!("exit {} left {left} {} {}", outcome.exit_status(), of_rank(0), of_rank(1))
        });
        // Half of each step's file by each of the two.
        let half = 20 * 256 * 1024;
        assert_eq!(said, format!("exit 0 left 0 {half} {half}"), "{access}");
    }
}

#[test]
fn one_rank_starts_all_writes_of_a_step() {
    let parameters = &[("size", "64KiB"), ("targets", "2"), ("repeat", "20"), ("by", "async")];
    small("one_rank_starts_all_writes_of_a_step", PARALLEL_WRITE, parameters);
}

#[test]
fn a_monte_carlo_runs_under_each_distribution() {
    small(
        "a_monte_carlo_runs_under_each_distribution",
        include_str!("../../lastrank/experiments/monte_carlo.ppl"),
        &[("repeat", "40"), ("work", "100"), ("law", "uniform")],
    );
}

#[test]
fn the_access_patterns_of_other_benchmarks_run() {
    let name = "the_access_patterns_of_other_benchmarks_run";
    small(name, include_str!("../../lastrank/experiments/btio.ppl"), &[("points", "6"), ("work", "10")]);
    small(
        name,
        include_str!("../../lastrank/experiments/madbench2.ppl"),
        &[("pixels", "64"), ("work", "10")],
    );
    small(name, include_str!("../../lastrank/experiments/b_eff_io.ppl"), &[("calls", "1"), ("part", "5000")]);
    small(
        name,
        include_str!("../../lastrank/experiments/iozone.ppl"),
        &[("size", "64KiB"), ("record", "4KiB")],
    );
}

#[test]
fn the_table_of_system_calls_runs() {
    small(
        "the_table_of_system_calls_runs",
        include_str!("../../lastrank/experiments/system_calls.ppl"),
        &[("repeat", "20"), ("slow", "5"), ("batches", "2"), ("memory", "4MiB")],
    );
}

#[test]
fn the_disk_experiment_runs() {
    small(
        "the_disk_experiment_runs",
        include_str!("../../lastrank/experiments/disk.ppl"),
        &[("size", "4MiB"), ("reads", "40"), ("writes", "10")],
    );
}

#[test]
fn local_against_remote_runs() {
    small(
        "local_against_remote_runs",
        include_str!("../../lastrank/experiments/local_remote.ppl"),
        &[("repeat", "5"), ("reads", "20"), ("size", "2MiB"), ("paths", ".,.")],
    );
}

#[test]
fn the_olap_experiment_does_the_papers_numbers_for_500_indexes() {
    let test = "the_olap_experiment_does_the_papers_numbers_for_500_indexes";
    let said = alone(test, || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let text = include_str!("../../lastrank/experiments/olap_index.ppl");
        let count = |indexes: usize, ranks: u32| {
            let mut source = Source::new("test.ppl", text);
            let parameters = vec![
                ("indexes".to_string(), indexes.to_string()),
                ("record".to_string(), "512".to_string()),
                ("block".to_string(), "512".to_string()),
            ];
            let settings = Settings { parameters, ranks: Some(ranks), ..Settings::default() };
            let Ok((plan, _)) = ppl::compile(&mut source, &settings, false, None) else { panic!("compiles") };
            let outcome = engine::run(&plan, &Options::new(1), |_| ()).expect("a run");
            let mut counts = std::collections::BTreeMap::<String, usize>::new();
            for sample in &outcome.run.samples {
                let site = &outcome.run.sites[sample.site as usize];
                if site.kind == samples::SiteKind::Operation
                    && site.labels != ["prepare"]
                    && !site.labels.is_empty()
                {
                    *counts.entry(format!("{} {}", site.labels[0], site.operation)).or_default() +=
                        500 / indexes;
                }
            }
            let left = std::fs::read_dir(home.path()).expect("the directory").count();
            format!("exit {} left {left} {counts:?}", outcome.exit_status())
        };
        let (one, three) = (count(5, 1), count(10, 3));
        format!("{}\n{one}", one == three)
    });
    insta::assert_snapshot!(said);
}

#[test]
fn a_kernels_samples_say_how_many_operations_they_hold() {
    let said = alone("a_kernels_samples_say_how_many_operations_they_hold", || {
        let text = "repeat 3 chase(32k, 500); repeat 2 getpid(40); stream(\"copy\", 64k);";
        let mut lines = Vec::new();
        let outcome = run(text, &[], &Options::new(1));
        for (number, site) in outcome.run.sites.iter().enumerate() {
            let samples: Vec<_> = outcome.run.of_site(number as u32).collect();
            let (batch, bytes) = (samples[0].batch, samples[0].bytes);
            lines.push(format!("{} x{} batch {batch} bytes {bytes}", site.operation, samples.len()));
        }
        lines.join("; ")
    });
    assert_eq!(said, "chase x3 batch 500 bytes 0; getpid x2 batch 40 bytes 0; stream x1 batch 1 bytes 65536");
}

#[test]
fn waiting_for_another_process_is_seen_as_such() {
    let said = alone("waiting_for_another_process_is_seen_as_such", || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let text = "repeat 20 pipe_pingpong(200);";
        let outcome = run(text, &[], &Options::new(1));
        let site =
            outcome.run.sites.iter().position(|site| site.operation == "pipe_pingpong").expect("a site");
        let samples: Vec<_> = outcome.run.of_site(site as u32).collect();
        let blocked =
            samples.iter().filter(|s| samples::Causes(s.causes).has(samples::Cause::Blocked)).count();
        let consistent = samples.iter().all(|sample| sample.queue_ns * 1000 <= sample.duration_ps);
        format!("{} {consistent}", blocked >= 10)
    });
    assert_eq!(said, "true true");
}

#[test]
fn a_program_may_not_start_what_it_likes() {
    let said = alone("a_program_may_not_start_what_it_likes", || {
        let allowed = Options { allow_spawn: true, ..Options::new(1) };
        let fine = run("assert(spawn(\"true\") == 0);", &[], &allowed);
        let refused = run("spawn(\"true\");", &[], &Options::new(1));
        format!(
            "{} {} {}",
            fine.exit_status(),
            refused.exit_status(),
            refused.run.facts.failures[0].contains("refused to start")
        )
    });
    assert_eq!(said, "0 2 true");
}

#[test]
fn more_memory_than_there_is_fails_with_a_note_that_says_so() {
    let said = alone("more_memory_than_there_is_fails_with_a_note_that_says_so", || {
        let outcome = run("chase(1000000GiB);", &[], &Options::new(1));
        let note = outcome.run.facts.warnings.iter().any(|warning| warning.code == "no-chase");
        format!("{} {note} {}", outcome.exit_status(), outcome.failures()[0].examples[0].contains("ENOMEM"))
    });
    assert_eq!(said, "3 true true");
}

#[test]
fn where_o_direct_is_not_possible_the_value_says_so_and_nothing_has_failed() {
    let said = alone("where_o_direct_is_not_possible_the_value_says_so_and_nothing_has_failed", || {
        // A file of `/proc` has no blocks behind it.
        let text = "$f = fopen(\"/proc/version\", \"O_RDONLY\"); $step = odirect($f); assert $step == 0; fclose($f);";
        let allowed = Options { allow: vec!["/proc/version".into()], ..Options::new(1) };
        let outcome = run(text, &[], &allowed);
        format!("exit {} {:?}", outcome.exit_status(), outcome.assertions())
    });
    assert_eq!(said, "exit 0 []");
}

#[test]
fn what_was_written_is_in_the_page_cache_and_may_be_given_up() {
    let said = alone("what_was_written_is_in_the_page_cache_and_may_be_given_up", || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        let text = "$f = fopen(\"a\", \"O_RDWR|O_CREAT\"); fwrite($f, 256k); fsync($f); $warm = cachestat($f);\n\
                    fadvise($f, \"dontneed\"); $left = cachestat($f); assert $warm == 256k;\n\
                    assert $left <= $warm; fclose($f); delete(\"a\");";
        let outcome = run(text, &[], &Options::new(1));
        format!("exit {} {:?}", outcome.exit_status(), outcome.assertions())
    });
    assert_eq!(said, "exit 0 []");
}
