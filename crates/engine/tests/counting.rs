//! A run that counts its operations comes to the same numbers as one that keeps every sample.

mod support;

use engine::run::{BackendKind, Keep, Options, RunOutcome};
use ppl::Source;
use ppl::plan::{Plan, Settings};
use samples::histogram::RELATIVE_ERROR;
use support::{alone, kill_child};

fn plan(text: &str, ranks: u32) -> Plan {
    let mut source = Source::new("test.ppl", text);
    let settings = Settings { ranks: Some(ranks), seed: 7, ..Settings::default() };
    match ppl::compile(&mut source, &settings, false, None) {
        Ok((plan, _)) => plan,
        Err(found) => panic!("{:?}", found.iter().map(|one| one.message.clone()).collect::<Vec<_>>()),
    }
}

fn simulated(text: &str, ranks: u32, keep: Keep) -> RunOutcome {
    let distribution = "gev(1ms,200us,0.2)".parse().expect("a distribution");
    let options = Options { keep, backend: BackendKind::Simulate(distribution), ..Options::new(ranks) };
    engine::run(&plan(text, ranks), &options, |_| ()).expect("a run")
}

/// Ascending durations of the n-th site in ps.
fn durations(outcome: &RunOutcome, site: u32) -> Vec<u64> {
    let mut all: Vec<u64> = outcome.run.of_site(site).map(|sample| sample.duration_ps).collect();
    all.sort_unstable();
    all
}

#[test]
fn quantiles_are_within_their_error_and_the_slowest_are_the_same() {
    let said = alone("quantiles_are_within_their_error_and_the_slowest_are_the_same", || {
        const TEXT: &str = "$f = fopen(\"x\", \"w+\"); repeat 60000 { fwrite($f, 4096, 0); time[\"read\"] fread($f, 512, 0); } fclose($f);";
        let whole = simulated(TEXT, 2, Keep::Samples);
        let counted = simulated(TEXT, 2, Keep::Histogram);
        let mut told = Vec::new();
        for found in &counted.run.facts.counted {
            let name = counted.run.sites[found.site as usize].name();
            let site = whole.run.sites.iter().position(|site| site.name() == name).expect("the same sites");
            let all = durations(&whole, site as u32);
            assert_eq!(found.histogram.count(), all.len() as u64, "{name}");
            assert_eq!((found.least_ps, found.most_ps), (all[0], all[all.len() - 1]), "{name}");
            let mean = all.iter().sum::<u64>() as f64 / all.len() as f64 * 1e-12;
            assert!((found.mean_s() / mean - 1.0).abs() < 1e-9, "{name}");
            for q in [0.01, 0.5, 0.9, 0.99, 0.999] {
                let truth = all[((q * all.len() as f64).ceil() as usize).max(1) - 1] as f64;
                let shown = found.histogram.quantile(q).expect("not empty") as f64;
                assert!((shown - truth).abs() <= RELATIVE_ERROR * truth, "{name} {q}: {shown} for {truth}");
            }
            let slowest: Vec<u64> = all.iter().copied().filter(|ps| *ps >= found.kept_from_ps).collect();
            assert_eq!(durations(&counted, found.site), slowest, "{name}");
            assert!(
                all.len() < 1000 || (slowest.len() > 5_000 && slowest.len() < 60_000),
                "{}",
                slowest.len()
            );
            told.push(format!("{name} x{}", all.len()));
        }
        told.join("\n")
    });
    assert!(said.contains("x120000") && said.lines().count() >= 4, "{said}");
}

#[test]
fn workers_of_a_rank_count_into_the_same_histograms_and_give_them_back() {
    let said = alone("workers_of_a_rank_count_into_the_same_histograms_and_give_them_back", || {
        let home = tempfile::tempdir().expect("a directory");
        std::env::set_current_dir(home.path()).expect("the directory");
        // More blocks than there is room for tallies, had each its own.
        let text = "repeat 3000 { parallel 2 { getpid(); } }";
        let options = Options { keep: Keep::Histogram, causes: false, ..Options::new(1) };
        let outcome = engine::run(&plan(text, 1), &options, |_| ()).expect("a run");
        let counts = outcome.run.facts.counted.iter().map(|found| found.histogram.count());
        format!("{:?} {:?}", outcome.run.facts.failures, counts.collect::<Vec<_>>())
    });
    assert_eq!(said, "[] [6000]");
}

#[test]
fn a_rank_that_is_killed_loses_nothing_that_it_counted() {
    let said = alone("a_rank_that_is_killed_loses_nothing_that_it_counted", || {
        let options = Options { keep: Keep::Histogram, ..Options::new(1) };
        let mut seen = 0;
        let mut killed = false;
        let outcome = engine::run(&plan("repeat 2000000000 getpid();", 1), &options, |watch| {
            seen += 1;
            if seen >= 5 && !killed {
                killed = true;
                kill_child(0);
            }
            let _ = watch;
        })
        .expect("a run");
        let found = &outcome.run.facts.counted[0];
        let kept = outcome.run.of_site(found.site).count() as u64;
        format!("{} {} {}", outcome.run.facts.complete, found.histogram.count() > 10_000, kept < 400_000)
    });
    assert_eq!(said, "false true true");
}

#[test]
fn a_program_that_asks_for_its_durations_is_told_to_keep_them() {
    let said = alone("a_program_that_asks_for_its_durations_is_told_to_keep_them", || {
        let text = "repeat 10 getpid(); assert p99(\"getpid\") > 0s;";
        let options = Options { keep: Keep::Histogram, ..Options::new(1) };
        let outcome = engine::run(&plan(text, 1), &options, |_| ()).expect("a run");
        format!("{} {:?}", outcome.exit_status(), outcome.run.facts.failures)
    });
    assert!(said.starts_with('2') && said.contains("--record samples"), "{said}");
}
