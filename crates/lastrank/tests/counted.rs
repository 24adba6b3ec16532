//! A run recorded as histograms: its output, and the commands that refuse it.

mod common;

use common::{all, lastrank, program};
use insta::assert_snapshot;

const PROGRAM: &str = "\
define ranks 2
$f = fopen(\"data\", \"w+\");
repeat 50000 {
    time[\"step\"] fwrite($f, 4KiB, 0);
}
fclose($f);
";
const LAW: &str = "simulate:gev(1ms,200us,0.2)";

#[test]
fn a_run_of_histograms_reads_well_and_can_be_reported_again() {
    let folder = tempfile::tempdir().unwrap();
    let done = program(folder.path(), PROGRAM, &["--backend", LAW, "--record", "histogram", "-v"]);
    assert_snapshot!(all(&done));
    let again = lastrank(folder.path(), &["report", "run.parquet", "--text"]);
    let table = "Durations, from histograms";
    assert_eq!(
        again.out.split(table).nth(1).map(|rest| rest.chars().take(900).collect::<String>()),
        done.out.split(table).nth(1).map(|rest| rest.chars().take(900).collect::<String>())
    );
    let page = std::fs::read_to_string(folder.path().join("run.html")).unwrap();
    assert!(page.contains("How often it takes longer") && page.contains("Every operation was counted"));
    // 200,002 operations of 64 bytes would be 12.8 MB; what stays are the slowest, packed.
    assert!(std::fs::metadata(folder.path().join("run.parquet")).unwrap().len() < 2_000_000);
}

#[test]
fn a_tail_without_a_mean_predicts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let said = |law: &str| {
        let done = program(folder.path(), PROGRAM, &["--backend", law, "--record", "histogram", "-v"]);
        all(&done).replace('\n', " ")
    };
    let endless = said("simulate:gev(1ms,200us,1.5)");
    assert!(endless.contains("no limit in sight") && !endless.contains("is expected near"), "{endless}");
    let heavy = said(LAW);
    assert!(heavy.contains("is expected near") && !heavy.contains("no limit in sight"), "{heavy}");
}

#[test]
fn its_json_holds_the_histograms_and_their_quantiles_are_those_of_all_samples() {
    let folder = tempfile::tempdir().unwrap();
    let json = |record: &str| -> serde_json::Value {
        let done = program(folder.path(), PROGRAM, &["--backend", LAW, "--record", record, "--json"]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        serde_json::from_str(&done.out).unwrap()
    };
    let (counted, whole) = (json("histogram"), json("samples"));
    let sum = |place: &serde_json::Value| -> u64 {
        let buckets = place["histogram"]["buckets"].as_array().unwrap();
        buckets.iter().map(|pair| pair[1].as_u64().unwrap()).sum()
    };
    let counts: Vec<u64> = counted["facts"]["counted"].as_array().unwrap().iter().map(sum).collect();
    assert_eq!(counts.iter().filter(|count| **count == 100_000).count(), 2, "{counts:?}");
    assert!(whole["facts"]["counted"].is_null());
}

#[test]
fn what_needs_every_sample_refuses_it_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), PROGRAM, &["--backend", LAW, "--record", "histogram", "-s"]);
    for words in [
        &["fit", "run.parquet"][..],
        &["export", "run.parquet", "--to", "csv"],
        &["compare", "run.parquet", "run.parquet"],
    ] {
        let done = lastrank(folder.path(), words);
        assert_eq!(done.status, Some(2), "{words:?}");
        assert!(done.err.contains("run it with --record samples"), "{words:?}: {}", done.err);
    }
}
