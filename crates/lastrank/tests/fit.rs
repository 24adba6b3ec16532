//! Each model of `lastrank fit`, its options, and what a user reads of it.

mod common;

use std::path::Path;

use common::{all, lastrank};
use insta::assert_snapshot;
use serde_json::Value;

/// Single operations with a Pareto tail: 20 µs and more, a column of load beside them.
fn latencies(folder: &Path) {
    let mut random = tail::Xoshiro::new(3);
    let distribution = tail::Gpd { threshold: 20.0, scale: 1.25, shape: 0.2 };
    let lines: String = (0..6000)
        .map(|i| {
            format!(
                "{:.4},{:.3},{}\n",
                distribution.sample(&mut random),
                random.uniform(),
                24.0 * f64::from(i) / 6000.0
            )
        })
        .collect();
    std::fs::write(folder.join("lat.csv"), format!("us,busy,hour\n{lines}")).unwrap();
}

fn fit(folder: &Path, arguments: &str) -> common::Done {
    let all: Vec<&str> = ["fit", "-v"].into_iter().chain(arguments.split_whitespace()).collect();
    lastrank(folder, &all)
}

fn json(folder: &Path, arguments: &str) -> Value {
    let done = fit(folder, &format!("{arguments} --json"));
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

fn run(folder: &Path, ranks: u32, repeat: u32) {
    let (ranks, repeat) = (ranks.to_string(), format!("repeat={repeat}"));
    let targets = format!("targets={ranks}");
    let distribution = "simulate:gev(10ms,300us,0.05)";
    let arguments = [
        "run",
        "parallel_write",
        "--backend",
        distribution,
        "-n",
        &ranks,
        "--set",
        &repeat,
        "--set",
        &targets,
    ];
    let done = lastrank(folder, &[&arguments[..], &["--report", "none", "-o", "run.parquet"]].concat());
    assert_eq!(done.status, Some(0), "{}", done.err);
}

/// Does the interval of an object hold the value?
fn holds(interval: &Value, value: f64) -> bool {
    interval["lower"].as_f64().unwrap() < value && value < interval["upper"].as_f64().unwrap()
}

#[test]
fn what_exceeds_a_threshold_is_fitted_as_a_pareto_distribution() {
    let folder = tempfile::tempdir().unwrap();
    latencies(folder.path());
    assert_snapshot!(all(&fit(folder.path(), "lat.csv --column us --unit us --model gpd --threshold 95%")));
    let found =
        json(folder.path(), "lat.csv --column us --unit us --model gpd --threshold 25us --period 5000");
    assert_eq!((found["schema"].as_str(), found["model"].as_str()), (Some("lastrank.fit/1"), Some("gpd")));
    let distribution = &found["gpd"];
    assert!((distribution["threshold"]["value"].as_f64().unwrap() / 25e-6 - 1.0).abs() < 1e-12);
    // The distribution is known: above 25 its scale is 1.25 + 0.2 · 5.
    assert!(
        holds(&distribution["intervals"]["shape"], 0.2)
            && holds(&distribution["intervals"]["scale"], 2.25e-6),
        "{distribution}"
    );
    assert_eq!(found["return_levels"][0]["period"], 5000.0);
}

#[test]
fn maxima_of_blocks_by_all_three_models_agree() {
    let folder = tempfile::tempdir().unwrap();
    latencies(folder.path());
    let common = "lat.csv --column us --unit us --block 100";
    let maxima = json(folder.path(), common);
    assert_eq!((&maxima["block"]["count"], &maxima["n"]), (&60.into(), &60.into()));
    let largest = json(folder.path(), &format!("{common} --model r-largest --r 4"));
    let process = json(folder.path(), &format!("{common} --model point-process --threshold 97%"));
    let distribution = tail::Gpd { threshold: 20.0, scale: 1.25, shape: 0.2 };
    for (found, name) in [(&maxima, "gev"), (&largest, "r_largest"), (&process, "point_process")] {
        assert!(holds(&found[name]["intervals"]["shape"], 0.2), "{name}: {}", found[name]);
        // One block in 10 exceeds the level that one value in 949 does.
        let level = distribution.upper_quantile(1.0 - 0.9f64.powf(0.01)) * 1e-6;
        assert!(holds(&found["return_levels"][0]["interval"], level), "{name}: {}", found["return_levels"]);
    }
    assert_eq!(largest["r_largest"]["by_r"].as_array().unwrap().len(), 4);
    assert_snapshot!(all(&fit(folder.path(), &format!("{common} --model r-largest --r 3"))));
    assert_snapshot!(all(&fit(folder.path(), &format!("{common} --model point-process"))));
}

#[test]
fn blocks_of_time_are_cut_from_a_run() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), 2, 300);
    let found = json(folder.path(), "run.parquet --label write --block 100ms");
    let block = &found["block"];
    assert_eq!(block["seconds"], 0.1);
    let (count, left) = (block["count"].as_u64().unwrap(), block["left_over"].as_u64().unwrap());
    assert!((100..=200).contains(&count) && left < 10, "{block}");
    assert_eq!(found["n"].as_u64().unwrap(), count);
}

#[test]
fn the_ranks_of_a_gate_are_judged_and_their_largest_fitted() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), 8, 200);
    let done = fit(folder.path(), "run.parquet --model gumbel --level 0.9");
    assert_snapshot!(all(&done));
    let found = json(folder.path(), "run.parquet --model r-largest --r 3");
    assert_eq!((&found["block"]["steps"], &found["r_largest"]["r"]), (&true.into(), &3.into()));
    assert_eq!(found["targets"]["ranks"].as_array().unwrap().len(), 8);
    assert!(found["targets"]["extremal"]["effective"].as_f64().unwrap() > 4.0);
    // Eight times the known distribution.
    let distribution = tail::Gev::new(0.01, 0.0003, 0.05).unwrap().max_of(8.0);
    assert!(
        holds(&found["r_largest"]["intervals"]["location"], distribution.location),
        "{}",
        found["r_largest"]
    );
}

#[test]
fn a_trend_that_was_put_in_is_found_and_leaves_clean_residuals() {
    let folder = tempfile::tempdir().unwrap();
    let distribution = tail::Gev::new(100.0, 2.0, 0.0).unwrap();
    let mut random = tail::Xoshiro::new(9);
    let lines: String = (0..400)
        .map(|i| format!("{}\n", distribution.sample(&mut random) + 6.0 * f64::from(i) / 399.0))
        .collect();
    std::fs::write(folder.path().join("drift.txt"), lines).unwrap();
    let noise: String = (0..400).map(|_| format!("{}\n", random.normal())).collect();
    std::fs::write(folder.path().join("noise.txt"), noise).unwrap();
    let found = json(folder.path(), "drift.txt --covariate trend --covariate scale:noise.txt");
    let covariates = &found["covariates"];
    let slope = covariates["coefficients"].as_array().unwrap().iter().find(|c| c["name"] == "trend").unwrap();
    assert!(holds(&slope["interval"], 6.0), "{slope}");
    assert!(covariates["terms"][0]["p"].as_f64().unwrap() < 1e-6);
    assert!(covariates["terms"][1]["p"].as_f64().unwrap() > 0.01);
    assert_eq!(covariates["residuals_pass"], true);
    assert_eq!(found["verdict"]["code"], "not-independent");
    assert_snapshot!(all(&fit(folder.path(), "drift.txt --model gumbel --covariate trend")));
}

#[test]
fn the_hour_of_the_day_and_a_column_of_the_table_are_covariates() {
    let folder = tempfile::tempdir().unwrap();
    latencies(folder.path());
    let found = json(
        folder.path(),
        "lat.csv --column us --unit us --model gpd --threshold 90% --covariate hour --covariate shape:busy",
    );
    let columns: Vec<_> = found["covariates"]["terms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|term| term["columns"].as_array().unwrap().len())
        .collect();
    assert_eq!(columns, [2, 1]);
    let parts: Vec<_> =
        found["covariates"]["coefficients"].as_array().unwrap().iter().map(|c| c["part"].clone()).collect();
    assert_eq!(parts, ["log_scale", "log_scale", "log_scale", "shape", "shape"]);
}

#[test]
fn many_single_operations_get_far_quantiles() {
    let folder = tempfile::tempdir().unwrap();
    latencies(folder.path());
    let found = json(folder.path(), "lat.csv --column us --unit us");
    let levels = found["latency"]["levels"].as_array().unwrap();
    assert!(levels.len() >= 3 && levels[0]["extrapolated"] == false, "{levels:?}");
    let truth = tail::Gpd { threshold: 20.0, scale: 1.25, shape: 0.2 }.upper_quantile(0.01) * 1e-6;
    assert!((levels[0]["level"].as_f64().unwrap() / truth - 1.0).abs() < 0.05);
}

#[test]
fn an_incomplete_run_is_fitted_without_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), 2, 60);
    let path = folder.path().join("run.parquet");
    let mut broken = store::read(&path).unwrap();
    broken.facts.complete = false;
    broken.facts.failures = vec!["rank 1 was killed by SIGKILL".into()];
    // As in a file of an earlier version.
    broken.facts.judgements = None;
    store::write(&path, &broken).unwrap();
    let done = fit(folder.path(), "run.parquet");
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("✖ run.parquet: ") && words.contains("killed by SIGKILL"), "{}", done.out);
    assert_eq!(done.status, Some(3));
    let found = json(folder.path(), "run.parquet");
    assert_eq!(found["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&found["unsound"][0]["status"], &found["verdict"]["usability"]),
        (&3.into(), &"not-usable".into())
    );
}

#[test]
fn options_that_do_not_fit_name_the_thing_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    latencies(folder.path());
    run(folder.path(), 2, 40);
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("short.txt"), (1..60).map(|i| format!("{}\n", i * i)).collect::<String>()).unwrap();
    std::fs::write(path("three.txt"), "1\n2\n3\n").unwrap();
    let whole = std::fs::read(path("run.parquet")).unwrap();
    std::fs::write(path("half.parquet"), &whole[..whole.len() / 2]).unwrap();
    let mut said = String::new();
    for arguments in [
        "short.txt --level 1",
        "short.txt --period 1",
        "short.txt --threshold 50%",
        "short.txt --r 3",
        "short.txt --model gpd --block 10",
        "short.txt --model gpd --threshold auto",
        "short.txt --model gpd --threshold 1e9",
        "short.txt --model gpd --threshold 5ms",
        "short.txt --model gpd --threshold much",
        "short.txt --model gpd --threshold 101%",
        "short.txt --model point-process",
        "short.txt --model r-largest",
        "short.txt --model r-largest --block 5 --r 6",
        "short.txt --block 1",
        "short.txt --block 10s",
        "short.txt --block 100",
        "short.txt --block 20",
        "short.txt --covariate speed",
        "short.txt --covariate hour",
        "short.txt --covariate load",
        "short.txt --covariate three.txt",
        "short.txt --covariate trend --covariate trend",
        "short.txt --model gpd --threshold 50% --covariate location:trend",
        "short.txt --model gumbel --covariate shape:trend",
        "short.txt --model r-largest --block 5 --covariate trend",
        "lat.csv --column us --covariate nope",
        "lat.csv --column us --unit us --model gpd --threshold 25",
        "run.parquet --label nope",
        "run.parquet --unit ms",
        "run.parquet --column a",
        "run.parquet --model r-largest --block 5",
        "run.parquet --covariate hour",
        "run.parquet --block 1h",
        "half.parquet",
        "--model normal short.txt",
    ] {
        said += &format!("$ lastrank fit {arguments}\n{}\n", all(&fit(folder.path(), arguments)));
    }
    assert_snapshot!(said);
}

#[test]
fn a_bare_number_is_no_share_of_values_that_have_a_unit() {
    let folder = tempfile::tempdir().unwrap();
    let distribution = tail::Gpd { threshold: 0.01, scale: 0.002, shape: 0.1 };
    let mut random = tail::Xoshiro::new(9);
    let text: String = (0..2000).map(|_| format!("{:.9}\n", distribution.sample(&mut random))).collect();
    std::fs::write(folder.path().join("secs.txt"), text).unwrap();
    let refused = fit(folder.path(), "secs.txt --unit s --model gpd --threshold 0.015");
    assert_eq!((refused.status, refused.out.as_str()), (Some(2), ""));
    assert!(refused.err.contains("0.015s") && refused.err.contains("1.5%"), "{}", refused.err);
    let threshold = |arguments: &str| {
        json(folder.path(), &format!("secs.txt {arguments} --model gpd"))["gpd"]["threshold"].clone()
    };
    for (arguments, chosen) in [("--unit s --threshold 15ms", "value"), ("--threshold 0.015", "value")] {
        let found = threshold(arguments);
        assert!(
            (found["value"].as_f64().unwrap() - 0.015).abs() < 1e-12 && found["chosen"] == chosen,
            "{found}"
        );
    }
    let share = threshold("--unit s --threshold 90%");
    assert!((share["share"].as_f64().unwrap() - 0.9).abs() < 1e-9 && share["chosen"] == "share", "{share}");
}

#[test]
fn a_pareto_fit_says_first_what_may_be_done() {
    let folder = tempfile::tempdir().unwrap();
    let said = |name: &str, phi: f64, n: usize, tail: fn(f64) -> f64| {
        let mut random = tail::Xoshiro::new(5);
        let mut state = random.normal();
        let mut next = || {
            state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
            tail(tail::special::normal_cdf(-state))
        };
        let text: String = (0..n).map(|_| format!("{:.6}\n", next())).collect();
        std::fs::write(folder.path().join(name), text).unwrap();
        let said = fit(folder.path(), &format!("{name} --unit ms --model gpd"));
        assert_eq!(said.status, Some(0), "{}", said.err);
        said.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let exponential = |p: f64| 10.0 - p.ln();
    let well = said("well.txt", 0.0, 3000, exponential);
    assert!(
        well.starts_with("✔ A Pareto distribution fits the 299 of 3,000 values above 12.24 ms (p "),
        "{well}"
    );
    let alike = said("alike.txt", 0.6, 3000, exponential);
    assert!(alike.starts_with("⚠ Usable with care: neighbouring values are correlated"), "{alike}");
    assert!(alike.contains("clusters of about 1.2; the intervals below allow for that."), "{alike}");
    assert!(alike.contains("the intervals allow for values that resemble their neighbours"), "{alike}");
    assert!(!alike.contains("too narrow"), "{alike}");
    let few = said("few.txt", 0.95, 300, exponential);
    assert!(few.contains("come together and count as about ") && few.contains("; 10 are needed"), "{few}");
    assert!(few.starts_with("⚠ Not usable to predict rarer values: the 30 of 300 values above "), "{few}");
    // Two heaps far apart above the threshold.
    let heaps: String = (0..3000)
        .map(|i| format!("{}\n", if i % 20 > 0 { 10.0 + f64::from(i % 97) } else { 900.0 }))
        .collect();
    std::fs::write(folder.path().join("heaps.txt"), heaps).unwrap();
    let heaps = fit(folder.path(), "heaps.txt --unit ms --model gpd --threshold 90%").out;
    assert!(heaps.starts_with("⚠ Not usable to predict rarer values: "), "{heaps}");
    assert!(heaps.contains("Quote what was measured."), "{heaps}");
}

#[test]
fn the_first_screen_of_a_fit_says_what_may_be_done() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), 16, 400);
    assert_snapshot!(all(&lastrank(folder.path(), &["fit", "run.parquet"])));
    let distribution = tail::Gev::new(10.0, 0.3, 0.0).unwrap();
    let mut random = tail::Xoshiro::new(6);
    let jump = |i| if i < 120 { 1.0 } else { 1.5 };
    let text: String =
        (0..400).map(|i| format!("{:.6}\n", jump(i) * distribution.sample(&mut random))).collect();
    std::fs::write(folder.path().join("jump.txt"), text).unwrap();
    let said = lastrank(folder.path(), &["fit", "jump.txt", "--unit", "ms"]).out;
    assert!(said.lines().count() <= 24, "{said}");
    assert!(said.contains("⚠ Usable with care: the level jumps up after value 1"), "{said}");
    let newest = said.lines().find(|line| line.contains("Since value 1")).unwrap_or_default();
    assert!(newest.contains("median 15.") && newest.contains(" ms"), "{said}");
    // Of too few values the distribution is not told.
    let text: String = (0..12).map(|_| format!("{:.6}\n", distribution.sample(&mut random))).collect();
    std::fs::write(folder.path().join("few.txt"), text).unwrap();
    let said = lastrank(folder.path(), &["fit", "few.txt", "--unit", "ms"]).out;
    let few = "12 values are too few to say how rare slower ones are; 100 are enough";
    assert!(said.contains(few) && !said.contains("Once in"), "{said}");
}

#[test]
fn only_values_of_a_run_are_known_to_be_single() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = tail::Xoshiro::new(9);
    // Uniform numbers, which are no maxima by any distribution.
    let text: String = (0..400).map(|_| format!("{:.6}\n", 1.0 + random.uniform())).collect();
    std::fs::write(folder.path().join("plain.txt"), text).unwrap();
    let said = |words: &[&str]| {
        let done = lastrank(folder.path(), &[&["fit"], words].concat());
        done.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let plain = said(&["plain.txt", "--unit", "ms"]);
    assert!(plain.contains("If each is one measurement, not the largest of several: `lastrank fit plain.txt --unit=ms --model gpd`"), "{plain}");
    std::fs::write(folder.path().join("p.ppl"), "define ranks 1;\nrepeat 400 create_delete(\"f\");\n")
        .unwrap();
    let distribution = "simulate:uniform(1ms,2ms)";
    let run = ["run", "p.ppl", "--backend", distribution, "--report", "none", "-o", "run.parquet"];
    let done = lastrank(folder.path(), &run);
    assert_eq!(done.status, Some(0), "{}", all(&done));
    let own = said(&["run.parquet"]);
    assert!(
        own.contains("These are single values, not maxima: `lastrank fit run.parquet --model gpd`"),
        "{own}"
    );
}

#[test]
fn a_level_has_the_same_digits_on_the_screen_and_in_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let distribution = tail::Gev::new(10.0, 0.9, 0.0).unwrap();
    let mut random = tail::Xoshiro::new(11);
    let text: String = (0..800).map(|_| format!("{:.6}\n", distribution.sample(&mut random))).collect();
    std::fs::write(folder.path().join("good.txt"), text).unwrap();
    for unit in [&[][..], &["--unit", "ms"]] {
        let said = |more: &[&str]| lastrank(folder.path(), &[&["fit", "good.txt"], unit, more].concat()).out;
        let (screen, tables) = (said(&[]), said(&["-v"]));
        let words = |line: &str| -> String {
            line.split_whitespace()
                .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        for period in ["10", "100", "1,000"] {
            let of = |text: &str, begin: &str| {
                let line = text
                    .lines()
                    .find(|line| line.trim_start().starts_with(begin))
                    .unwrap_or_default()
                    .to_owned();
                line.trim_start().trim_start_matches(begin).replace(['(', ')', ','], " ")
            };
            let levels = of(&screen, &format!("Once in {period} values:"));
            let levels = levels.replace("95%", "");
            assert_eq!(words(&levels), words(&of(&tables, &format!("{period} values "))), "{screen}{tables}");
            assert_eq!(words(&levels).split(' ').count(), 3, "{screen}");
        }
    }
}

#[test]
fn an_outlier_that_moves_the_fit_is_named_before_the_levels() {
    let folder = tempfile::tempdir().unwrap();
    let distribution = tail::Gev::new(10.0, 0.3, 0.0).unwrap();
    let mut random = tail::Xoshiro::new(5);
    let text: String = (0..400)
        .map(|i| if i == 171 { "100\n".into() } else { format!("{:.6}\n", distribution.sample(&mut random)) })
        .collect();
    std::fs::write(folder.path().join("out10.txt"), text).unwrap();
    let said = fit(folder.path(), "out10.txt").out;
    let at = |what: &str| said.find(what).unwrap_or_else(|| panic!("no `{what}` in {said}"));
    assert!(at("Verdict: ") < at("Outlier: The largest value") && at("Outlier: ") < at("Return levels"));
}

#[test]
fn return_levels_are_given_at_covariates_and_no_term_is_called_needed_and_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = tail::Xoshiro::new(17);
    let distribution = tail::Gev::new(10.0, 0.5, 0.0).unwrap();
    let text: String = (0..300)
        .map(|_| {
            let (load, idle) = (random.uniform(), random.uniform());
            format!("{:.6},{load:.6},{idle:.6}\n", 4.0 * load + distribution.sample(&mut random))
        })
        .collect();
    std::fs::write(folder.path().join("t.csv"), format!("ms,busy,idle\n{text}")).unwrap();
    let with = "t.csv --column ms --covariate busy --covariate idle --period 100";
    let said = fit(folder.path(), &format!("{with} --at busy=1 --at idle=0.5")).out;
    assert!(said.contains("location by busy: needed: without it the fit is worse"), "{said}");
    assert!(
        said.contains("location by idle: not shown to be needed")
            && said.contains("Return levels at busy 1, idle 0.5"),
        "{said}"
    );
    for busy in [0.0, 1.0] {
        let found = json(folder.path(), &format!("{with} --at busy={busy} --at idle=0.5"));
        let level = &found["covariates"]["levels_at"]["levels"][0];
        assert!(holds(&level["interval"], 4.0 * busy + distribution.return_level(100.0)), "{busy}: {level}");
    }
    let missing = fit(folder.path(), &format!("{with} --at busy=1"));
    assert!(missing.status == Some(2) && missing.err.contains("add --at idle=VALUE"), "{}", missing.err);
}

#[test]
fn parts_between_changes_are_commands_that_work() {
    let folder = tempfile::tempdir().unwrap();
    let distribution = tail::Gev::new(10.0, 0.3, 0.05).unwrap();
    let mut random = tail::Xoshiro::new(5);
    let values: String = (0..400)
        .map(|n| format!("{:.5}\n", if n < 150 { 1.0 } else { 1.6 } * distribution.sample(&mut random)))
        .collect();
    std::fs::write(folder.path().join("jump.txt"), values).unwrap();
    let told = lastrank(folder.path(), &["fit", "jump.txt", "--unit", "ms"]);
    assert!(told.out.contains("Quote each part by itself."), "{}", told.out);
    let commands: Vec<&str> = told.out.lines().filter_map(|line| line.strip_prefix("→ lastrank ")).collect();
    assert_eq!(commands.len(), 2, "{}", told.out);
    let mut covered = 400;
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let part = lastrank(folder.path(), &words);
        assert_eq!(part.status, Some(0), "{command}: {}", part.err);
        assert!(!part.out.contains("Quote each part"), "{}", part.out);
        let (from, to) = words.last().unwrap().strip_prefix("--values=").unwrap().split_once('-').unwrap();
        let [from, to]: [usize; 2] = [from, to].map(|end| end.parse().unwrap());
        assert_eq!(to, covered);
        covered = from - 1;
        let of = format!("{} values", to + 1 - from);
        assert!(
            part.out.contains(&of) && part.out.contains(&format!("values {from} to {to}")),
            "{}",
            part.out
        );
    }
    assert_eq!(covered, 0);
    let wrong = lastrank(folder.path(), &["fit", "jump.txt", "--values", "300-500"]);
    assert_eq!(wrong.status, Some(2));
    assert!(wrong.err.contains("--values 300-500: jump.txt has the values 1 to 400"), "{}", wrong.err);
    let wrong = lastrank(folder.path(), &["fit", "jump.txt", "--values", "5"]);
    assert!(wrong.err.contains("such as 1-227 or 228-"), "{}", wrong.err);
}
