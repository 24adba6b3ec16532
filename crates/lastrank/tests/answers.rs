//! Runs that end when their answer stands, several runs beside each other, groups, dates, probes: what a user gets.

mod common;

use std::path::Path;

use common::{Done, all, lastrank, program};
use insta::assert_snapshot;
use serde_json::Value;

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let done = lastrank(folder, arguments);
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

/// A run file of the example, with all times so many percent of those of the example.
fn example(folder: &Path, name: &str, percent: u64, seed: u64) {
    let mut run = samples::example::parallel_write(2, 150, seed);
    run.samples.iter_mut().for_each(|sample| sample.duration_ps = sample.duration_ps * percent / 100);
    store::write(&folder.join(name), &run).unwrap();
}

/// Operations of the virtual clock without an end of their own.
const ENDLESS: &str = "for $i in 1 .. 100000000 { write(\"x\", 4k); }\n";

fn until(folder: &Path, arguments: &[&str]) -> (Done, Value) {
    let simulate = ["--backend", "simulate:lognormal(1ms,0.5)"];
    let done = program(folder, ENDLESS, &[&simulate[..], arguments].concat());
    let found = json(folder, &["report", "run.parquet", "--json"]);
    (done, found)
}

#[test]
fn a_run_ends_when_its_interval_is_narrow_and_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (done, found) = until(folder.path(), &["--until", "width(p99) < 20%"]);
    assert_eq!(done.status, Some(0), "{}", all(&done));
    assert!(done.out.contains("ended by width(p99) < 20%"), "{}", done.out);
    let facts = &found["facts"];
    assert_eq!((facts["complete"].as_bool(), facts["until"]["reached"].as_bool()), (Some(true), Some(true)));
    assert_eq!(facts["failures"], Value::Array(Vec::new()));
    let width = facts["until"]["found"].as_f64().unwrap();
    assert!(width < 0.2 && width > 0.0, "{width}");
    // The result has at least the samples of the look, so its own interval is about as narrow.
    let row = found["results"].as_array().unwrap().iter().find(|row| row["operation"] == "write").unwrap();
    let p99 = row["intervals"].as_array().unwrap().iter().find(|one| one["probability"] == 0.99).unwrap();
    let [lower, upper, value] =
        ["lower_seconds", "upper_seconds", "seconds"].map(|key| p99[key].as_f64().unwrap());
    assert!((upper - lower) / value < 0.26, "{p99}");
}

#[test]
fn a_run_ends_by_enough_values_or_by_time_and_says_what_it_cannot_watch() {
    let folder = tempfile::tempdir().unwrap();
    let (done, found) = until(folder.path(), &["--until", "n_eff(p50) = 500", "--time", "10m"]);
    assert_eq!((done.status, found["facts"]["until"]["reached"].as_bool()), (Some(0), Some(true)));
    assert!(found["facts"]["until"]["found"].as_f64().unwrap() >= 500.0);
    let (done, found) = until(folder.path(), &["--time", "300ms"]);
    assert_eq!((done.status, found["facts"]["until"]["condition"].as_str()), (Some(0), Some("300 ms")));
    let short = "for $i in 1 .. 10 { write(\"x\", 4k); }\n";
    let simulate = ["--backend", "simulate:lognormal(1ms,0.5)", "--until", "width(p99) < 1%"];
    let done = program(folder.path(), short, &simulate);
    assert!(
        done.out.contains(
            "⚠ 9 operations, 0 errors, 36 KiB moved; its program ended before width(p99) < 1% was seen"
        ),
        "{}",
        done.out
    );
    let mut said = String::new();
    for wrong in
        [&["--until", "p99 < 5%"][..], &["--until", "n_eff = 9", "--record", "histogram"], &["--time", "0"]]
    {
        said += &all(&program(folder.path(), short, wrong));
    }
    assert_snapshot!(said);
}

#[test]
fn several_runs_stand_beside_the_first_row_by_row() {
    let folder = tempfile::tempdir().unwrap();
    for (name, percent, seed) in [("a.parquet", 100, 1), ("b.parquet", 125, 2), ("c.parquet", 97, 3)] {
        example(folder.path(), name, percent, seed);
    }
    let files = ["compare", "a.parquet", "b.parquet", "c.parquet"];
    let done = lastrank(folder.path(), &[&files[..], &["-o", "page.html"]].concat());
    assert_snapshot!(all(&done));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(
        page.contains("plot-runs")
            && page.contains("write / fwrite")
            && page.contains("Largest changes of a median")
    );
    let text = lastrank(folder.path(), &[&files[..], &["-v"]].concat()).out;
    assert!(text.contains("alloc") && text.contains("free"), "{text}");
    let found = json(folder.path(), &[&files[..], &["--json"]].concat());
    assert_eq!(found["schema"], "lastrank.compare-runs/1");
    let rows = found["rows"].as_array().unwrap();
    let write = rows.iter().find(|row| row["name"] == "write / fwrite").unwrap();
    let ratio = write["runs"][1]["against_first"]["p50"]["value"].as_f64().unwrap();
    assert!((ratio - 1.25).abs() < 0.01, "{ratio}");
    std::fs::write(folder.path().join("plain.txt"), "1\n2\n").unwrap();
    let done = lastrank(folder.path(), &["compare", "a.parquet", "b.parquet", "plain.txt"]);
    assert!(done.status == Some(2) && done.err.contains("plain.txt holds plain numbers"), "{}", done.err);
}

#[test]
fn two_runs_stand_beside_each_other_phase_by_phase() {
    let folder = tempfile::tempdir().unwrap();
    let program = "time[\"build\"] {\n    repeat 20 write(\"f\", 16k);\n    repeat 20 { rename(\"f\", \"g\"); rename(\"g\", \"f\"); }\n    rename(\"f\", \"g\");\n}\n\
                   time[\"scan\"] repeat 50 read(\"g\", 16k);\n";
    std::fs::write(folder.path().join("p.ppl"), program).unwrap();
    for (name, distribution, servers) in [("a", "constant(1ms)", "2"), ("b", "constant(2ms)", "4")] {
        let backend = format!("simulate:{distribution}");
        let tag = format!("servers={servers}");
        let out = format!("{name}.parquet");
        let run = ["run", "p.ppl", "-o", &out, "--tag", &tag, "--backend", &backend];
        let done = lastrank(folder.path(), &run);
        assert_eq!(done.status, Some(0), "{}", done.err);
    }
    let files = ["compare", "a.parquet", "b.parquet"];
    let done = lastrank(folder.path(), &[&files[..], &["--phases"]].concat());
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert_snapshot!(done.out);
    let found = json(folder.path(), &[&files[..], &["--phases", "--json"]].concat());
    let write = &found["phases"][0]["operations"][0];
    assert_eq!((&write["operation"], &write["runs"][1]["quantity"]), (&"write".into(), &20.into()));
    assert!((write["runs"][1]["avg_seconds"].as_f64().unwrap() - 0.002).abs() < 1e-9, "{write}");
    let shares = found["phases"].as_array().unwrap().iter().flat_map(|phase| {
        phase["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["runs"][0]["share_of_calls"].as_f64().unwrap())
    });
    assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9);
    let done = lastrank(folder.path(), &[&files[..], &["--phases", "-o", "page.html"]].concat());
    assert_eq!(done.status, Some(0), "{}", done.err);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("plot-shares") && page.contains("plot-rates") && page.contains("servers=4"));
}

/// A table of 8 nodes, of which node5 is 30% slower, over 40 days with a slow growth.
fn table(folder: &Path) {
    let mut random = tail::Xoshiro::new(5);
    let mut text = "when,node,seconds\n".to_owned();
    for n in 0..400 {
        let node = n % 8;
        let slow = if node == 5 { 1.3 } else { 1.0 };
        let seconds = slow * (10.0 + 0.02 * f64::from(n / 10)) + 0.2 * random.normal();
        text += &format!("2026-03-{:02}T{:02}:00:00Z,node{node},{seconds:.5}\n", 1 + n / 20, n % 20);
    }
    std::fs::write(folder.join("table.csv"), text).unwrap();
}

#[test]
fn groups_of_a_column_say_which_of_them_are_slow() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let fit = ["fit", "table.csv", "--column", "seconds", "--unit", "s", "--by", "node"];
    assert_snapshot!(all(&lastrank(folder.path(), &fit)));
    let found = json(folder.path(), &[&fit[..], &["--json"]].concat());
    let groups = found["groups"]["groups"].as_array().unwrap();
    assert_eq!(
        (groups.len(), &groups[0]["name"], &groups[0]["finding"]),
        (8, &"node5".into(), &"slow".into())
    );
    assert!((groups[0]["factor"].as_f64().unwrap() - 1.3).abs() < 0.01);
    for wrong in [&["--by", "host"][..], &["--by", "3"]] {
        let done = lastrank(folder.path(), &[&fit[..6], wrong].concat());
        assert!(done.status != Some(101), "{}", all(&done));
    }
    example(folder.path(), "run.parquet", 100, 1);
    let by_rank = ["fit", "run.parquet", "--of", "write/fwrite", "--by", "rank"];
    let done = lastrank(folder.path(), &by_rank);
    assert!(done.status == Some(0) && done.out.contains("By rank"), "{}", all(&done));
    let done = lastrank(folder.path(), &["fit", "run.parquet", "--by", "node"]);
    assert!(done.status == Some(2) && done.err.contains("by rank"), "{}", done.err);
}

#[test]
fn dates_are_a_covariate_in_days() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let fit = ["fit", "table.csv", "--column", "seconds", "--unit", "s", "--covariate", "when", "--json"];
    let found = json(folder.path(), &fit);
    let coefficients = found["covariates"]["coefficients"].as_array().unwrap();
    let slope = coefficients.iter().find(|one| one["name"] == "when").unwrap();
    // 0.02 s each half a day.
    assert!((slope["value"].as_f64().unwrap() - 0.04).abs() < 0.02, "{slope}");
    let done = lastrank(folder.path(), &[&fit[..6], &["--covariate", "node"]].concat());
    assert!(done.status == Some(2) && done.err.contains("node0"), "{}", done.err);
}

#[test]
fn a_quantile_is_planned_for_without_a_distribution_where_the_pilot_reaches_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = tail::Xoshiro::new(2);
    let text: String = (0..2_000).map(|_| format!("{:.6}\n", (0.5 * random.normal()).exp())).collect();
    std::fs::write(folder.path().join("pilot.txt"), text).unwrap();
    let found = json(folder.path(), &["plan-runs", "pilot.txt", "p99=2.5%", "--json"]);
    // A half width of 2.5% takes about 22,000 independent values of this distribution.
    let runs = found["plans"][0]["runs"].as_f64().unwrap();
    assert!((8_000.0..60_000.0).contains(&runs), "{runs}");
    let distribution = ["plan-runs", "p99=5%", "--location", "11", "--scale", "0.2"];
    assert_snapshot!(all(&lastrank(folder.path(), &distribution)));
    for wrong in
        [&["plan-runs", "pilot.txt"][..], &["plan-runs", "p99=5%"], &["plan-runs", "pilot.txt", "p98=1%"]]
    {
        assert_eq!(lastrank(folder.path(), wrong).status, Some(2), "{wrong:?}");
    }
}

/// A probe of 200 operations around 1 ms.
fn probe(folder: &Path, name: &str, seed: u64, factor: f64) {
    let mut random = tail::Xoshiro::new(seed);
    let distribution = tail::Gev::new(1e9, 5e7, 0.0).unwrap();
    let mut now = 0;
    let samples = (0..200)
        .map(|_| {
            let duration_ps = (factor * distribution.sample(&mut random)) as u64;
            now += duration_ps / 1_000 + 500;
            samples::Sample { start_ns: now, duration_ps, batch: 1, ..samples::Sample::default() }
        })
        .collect();
    let site = samples::Site { line: 1, operation: "fsync".into(), ..samples::Site::default() };
    let facts = samples::Facts {
        started: format!("2026-03-01T00:{:02}:{:02}Z", seed / 60, seed % 60),
        ranks: 1,
        complete: true,
        name: "probe".into(),
        ..samples::Facts::default()
    };
    let run = samples::Run { facts, sites: vec![site], samples };
    store::write(&folder.join(name), &run).unwrap();
}

#[test]
fn one_number_of_each_probe_is_watched_and_its_metrics_feed_the_dashboard() {
    let folder = tempfile::tempdir().unwrap();
    for sub in ["quiet", "probes"] {
        std::fs::create_dir(folder.path().join(sub)).unwrap();
    }
    for seed in 0..120 {
        probe(&folder.path().join("quiet"), &format!("{seed:03}.parquet"), seed, 1.0);
    }
    for seed in 120..130 {
        probe(&folder.path().join("probes"), &format!("{seed}.parquet"), seed, 1.0);
    }
    let watch = [
        "watch",
        "quiet",
        "probes",
        "--statistic",
        "p99",
        "--per",
        "run",
        "--state",
        "state",
        "--prometheus",
        "metrics.prom",
    ];
    let done = lastrank(folder.path(), &watch);
    assert_eq!(done.status, Some(0), "{}", all(&done));
    assert!(done.out.contains("120 runs, median") && done.out.contains("10 runs, no alarm"), "{}", done.out);
    for seed in 130..134 {
        probe(&folder.path().join("probes"), &format!("{seed}.parquet"), seed, 3.0);
    }
    let done = lastrank(folder.path(), &[&watch[..], &["--quiet"]].concat());
    assert!(done.status == Some(1) && done.out.contains("SPIKE"), "{}", all(&done));
    let metrics = std::fs::read_to_string(folder.path().join("metrics.prom")).unwrap();
    assert!(metrics.contains("lastrank_watch_runs_total{") && metrics.contains("} 14\n"), "{metrics}");
    dashboard_asks_for(&metrics);
    let one = ["watch", "quiet/000.parquet", "probes", "--statistic", "p99"];
    let done = lastrank(folder.path(), &one);
    assert!(done.status == Some(2) && done.err.contains("directory of at least 50 runs"), "{}", done.err);
}

/// The dashboard is one that Grafana loads, and it and the alert rules ask for metrics that there are.
fn dashboard_asks_for(metrics: &str) {
    let found: Value =
        serde_json::from_str(include_str!("../../../docs/grafana/lastrank-watch.json")).unwrap();
    assert!(found["schemaVersion"].as_u64().unwrap() >= 36 && found["title"].is_string());
    let panels = found["panels"].as_array().unwrap();
    let mut asked = include_str!("../../../docs/grafana/alerts.yml").to_owned();
    let mut taken = std::collections::BTreeSet::new();
    for panel in panels {
        assert!(["stat", "timeseries"].contains(&panel["type"].as_str().unwrap()), "{panel}");
        assert!(taken.insert(panel["id"].as_u64().unwrap()), "an id stands twice: {panel}");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(x + w <= 24 && h > 0 && y < 100, "{panel}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        for target in panel["targets"].as_array().unwrap() {
            assert!(target["refId"].is_string());
            asked += target["expr"].as_str().unwrap();
            asked += "\n";
        }
    }
    let names: Vec<&str> = found["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["datasource", "baseline", "stream"]);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: std::collections::BTreeSet<&str> =
        asked.split(|c| !is_name(c)).filter(|word| word.starts_with("lastrank_watch_")).collect();
    assert!(words.len() >= 10, "{words:?}");
    for word in words {
        assert!(metrics.contains(&format!("# TYPE {word} ")), "no metric {word}");
    }
}
