//! From the shipped experiment to the fitted tail, on the simulated back end: the same every time.

mod common;

use common::{all, lastrank};
use insta::assert_snapshot;

const DISTRIBUTION: &str = "simulate:gev(10ms,1ms,0.1)";

#[test]
fn the_first_command_of_the_readme_says_what_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let done = lastrank(folder.path(), &["run", "parallel_write", "--backend", DISTRIBUTION]);
    assert_snapshot!(all(&done));
    assert!(folder.path().join("parallel_write-simulated.parquet").is_file());
    assert!(folder.path().join("parallel_write-simulated.html").is_file());
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_last_byte() {
    let [one, two] = [(); 2].map(|()| {
        let folder = tempfile::tempdir().unwrap();
        lastrank(folder.path(), &["run", "parallel_write", "--backend", DISTRIBUTION, "--set", "repeat=20"]);
        std::fs::read(folder.path().join("parallel_write-simulated.parquet")).unwrap()
    });
    assert!(!one.is_empty() && one == two);
}

#[test]
fn the_fit_finds_the_distribution_that_was_put_in() {
    let folder = tempfile::tempdir().unwrap();
    let run =
        ["run", "parallel_write", "--backend", DISTRIBUTION, "--set", "repeat=2000", "--report", "none"];
    assert_eq!(lastrank(folder.path(), &run).status, Some(0));
    let file = "parallel_write-simulated.parquet";

    // Each S follows the distribution itself.
    let fit = json(folder.path(), &["fit", file, "--label", "write/fwrite", "--json"]);
    assert_near(&fit, 10e-3, 1e-3, 0.1);

    // The maximum of 16 of them follows the distribution of maxima: scale 16^shape, location up by (16^shape - 1)/shape.
    let gate = json(folder.path(), &["fit", file, "--label", "write/fwrite", "--gate", "--json"]);
    let growth = 16_f64.powf(0.1);
    assert_near(&gate, 10e-3 + 1e-3 * (growth - 1.0) / 0.1, 1e-3 * growth, 0.1);
    assert_eq!(gate["n"], 2000);
    assert_eq!(fit["n"], 32_000);
}

/// Every parameter within four standard errors of the truth.
fn assert_near(fit: &serde_json::Value, location: f64, scale: f64, shape: f64) {
    for (name, truth) in [("location", location), ("scale", scale), ("shape", shape)] {
        let found = fit["gev"][name].as_f64().unwrap();
        let error = fit["gev"]["standard_errors"][name].as_f64().unwrap();
        assert!((found - truth).abs() < 4.0 * error, "{name}: {found} ± {error}, put in {truth}");
    }
}

fn json(folder: &std::path::Path, arguments: &[&str]) -> serde_json::Value {
    let done = lastrank(folder, arguments);
    assert_eq!(done.status, Some(0), "{}", done.err);
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn a_report_is_made_again_from_the_run_file_word_for_word() {
    let folder = tempfile::tempdir().unwrap();
    lastrank(folder.path(), &["run", "parallel_write", "--backend", DISTRIBUTION, "--set", "repeat=50"]);
    let first = std::fs::read(folder.path().join("parallel_write-simulated.html")).unwrap();
    let again = ["report", "parallel_write-simulated.parquet", "-o", "again.html"];
    assert_eq!(lastrank(folder.path(), &again).status, Some(0));
    assert!(first == std::fs::read(folder.path().join("again.html")).unwrap());
}

#[test]
fn a_dry_run_says_what_each_rank_would_do_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(all(&lastrank(folder.path(), &["run", "parallel_write", "--dry-run"])));
    let striped = ["run", "parallel_write", "--dry-run", "--set", "striped=yes", "--set", "size=512MiB"];
    assert_snapshot!(all(&lastrank(folder.path(), &striped)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_result_is_json_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let found = json(
        folder.path(),
        &[
            "run",
            "parallel_write",
            "--backend",
            DISTRIBUTION,
            "--set",
            "repeat=100",
            "--json",
            "--report",
            "none",
        ],
    );
    assert_eq!(found["schema"], "lastrank.run/1");
    assert_eq!(found["facts"]["complete"], true);
    assert_eq!(found["tail"]["assessment"]["schema"], "lastrank.fit/1");
}

#[test]
fn the_json_of_a_fit_holds_what_its_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: String = (1..=200).map(|n| format!("{}\n", ((n * 7919) % 1009) as f64 / 10.0)).collect();
    std::fs::write(folder.path().join("numbers"), numbers).unwrap();
    let found = json(folder.path(), &["fit", "numbers", "--json"]);
    let page = include_str!("../../../docs/fit-json.md");
    for (name, value) in found.as_object().unwrap() {
        let documented = match value {
            serde_json::Value::Object(fields) if name == "diagnostics" => {
                fields.keys().map(|field| format!("`{name}.{field}`")).collect()
            }
            _ => vec![format!("`{name}`")],
        };
        for field in documented {
            assert!(page.contains(&field), "docs/fit-json.md does not mention {field}");
        }
    }
    for name in ["location", "scale", "shape"] {
        assert!(found["gev"][name].is_f64() && found["gev"]["standard_errors"][name].is_f64());
    }
    assert!(found["gev"]["covariance"][2][2].is_f64() && found["gev"]["negative_log_likelihood"].is_f64());
    for rival in found["alternatives"].as_array().unwrap() {
        assert!(rival["model"].is_string() && rival["parameters"].is_object() && rival["aic"].is_f64());
    }
    for level in found["return_levels"].as_array().unwrap() {
        for field in ["period", "level", "lower", "upper"] {
            assert!(level[field].is_f64(), "{field}: {level}");
        }
    }
    assert!(found["verdict"]["code"].is_string() && found["verdict"]["text"].is_string());
}

#[test]
fn a_congestion_factor_that_was_put_in_is_found_and_can_fail_a_pipeline() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, distribution, file) in
        [("1", "gev(10ms,1ms,0.1)", "quiet.parquet"), ("2", "gev(12.5ms,1.25ms,0.1)", "new.parquet")]
    {
        let backend = format!("simulate:{distribution}");
        let run =
            ["run", "parallel_write", "--backend", &backend, "--seed", seed, "-o", file, "--report", "none"];
        assert_eq!(lastrank(folder.path(), &run).status, Some(0));
    }
    let found = json(folder.path(), &["compare", "quiet.parquet", "new.parquet", "--json"]);
    assert_eq!(found["schema"], "lastrank.compare/2");
    let k = &found["factor"]["interval"];
    assert!(k["lower"].as_f64().unwrap() < 1.25 && 1.25 < k["upper"].as_f64().unwrap(), "{k}");
    let fail = |condition| {
        lastrank(folder.path(), &["compare", "quiet.parquet", "new.parquet", "--fail-if", condition]).status
    };
    assert_eq!([fail("k>1.1"), fail("k>1.3"), fail("slower")], [Some(1), Some(0), Some(2)]);
}
