//! Alarms on a stream: their rates, their words, the state kept for the next call.
//!
//! Long because: it has one baseline and what is told of each kind of stream.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use common::{Done, all, command, lastrank, of};
use insta::assert_snapshot;
use serde_json::Value;

/// `n` values of an exponential tail around 11 (milliseconds, say), `factor` times as long.
fn values(n: usize, factor: f64, seed: u64) -> String {
    let distribution = tail::Gev::new(11.17, 0.21, 0.0).unwrap();
    let mut random = tail::Xoshiro::new(seed);
    (0..n).map(|_| format!("{:.5}\n", factor * distribution.sample(&mut random))).collect()
}

/// A folder with a baseline of 400 quiet runs.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quiet.txt"), values(400, 1.0, 1)).unwrap();
    folder
}

fn piped(folder: &Path, arguments: &[&str], input: &str) -> Done {
    let mut child = command(folder, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    of(child.wait_with_output().unwrap())
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The kinds of events, one word each.
fn events(done: &Done) -> Vec<String> {
    lines(&done.out).iter().map(|line| line["event"].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_slow_down_is_told_once_in_words_with_the_promise_before_it() {
    let folder = folder();
    let stream = values(60, 1.0, 2) + "15.5\n" + &values(30, 1.0, 3) + &values(60, 1.06, 4);
    std::fs::write(folder.path().join("stream.txt"), stream).unwrap();
    let done = lastrank(folder.path(), &["watch", "quiet.txt", "stream.txt", "--unit", "ms"]);
    assert_snapshot!(all(&done));
}

#[test]
fn runs_that_are_faster_are_told_as_compare_tells_them_and_are_no_alarm() {
    let folder = folder();
    std::fs::write(folder.path().join("new.txt"), values(100, 1.0 / 1.22, 4)).unwrap();
    let done = lastrank(folder.path(), &["watch", "quiet.txt", "new.txt", "--unit", "ms"]);
    let said = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(done.status == Some(0) && said.contains("fast since value 1"), "{said}");
    assert!(said.contains("no alarm; the level is fast. Only slower values are an alarm."), "{said}");
    // One median: the value of rank 200 of 400, in both commands.
    let mut quiet: Vec<f64> = values(400, 1.0, 1).lines().map(|line| line.parse().unwrap()).collect();
    quiet.sort_by(f64::total_cmp);
    let median = format!("{:.1} ms", quiet[199]);
    assert!(said.contains(&format!("400 values, median {median}")), "{said}");
    let compared = lastrank(folder.path(), &["compare", "quiet.txt", "new.txt", "--unit", "ms"]).out;
    assert!(compared.contains("Faster: 0.8") && compared.contains(" times as long"), "{compared}");
    assert!(compared.contains(&median), "{compared}");
}

#[test]
fn a_difference_that_no_change_of_level_shows_is_pointed_out() {
    let folder = tempfile::tempdir().unwrap();
    // Log-normal times over two decades: twenty-five runs of 0.8 times are no change by themselves.
    let mut random = tail::Xoshiro::new(3);
    let mut of = |n: usize, factor: f64| -> String {
        (0..n).map(|_| format!("{:.5}\n", factor * (0.2 * random.normal()).exp())).collect()
    };
    std::fs::write(folder.path().join("quiet.txt"), of(400, 1.0)).unwrap();
    std::fs::write(folder.path().join("new.txt"), of(25, 0.93)).unwrap();
    let done = lastrank(folder.path(), &["watch", "quiet.txt", "new.txt", "--unit", "ms"]);
    let said = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("no alarm; the level is that of the baseline. The median of the last 25 values is 0."),
        "{said}"
    );
}

#[test]
fn a_baseline_is_refused_for_the_reason_that_fit_gives() {
    let folder = tempfile::tempdir().unwrap();
    let distribution = tail::Gev::new(0.36, 0.03, 0.0).unwrap();
    let mut random = tail::Xoshiro::new(11);
    let moved: String = (0..400)
        .map(|at| format!("{:.5}\n", distribution.sample(&mut random) * if at < 115 { 1.0 } else { 1.1 }))
        .collect();
    std::fs::write(folder.path().join("moved.txt"), moved).unwrap();
    let words = |done: Done| all(&done).split_whitespace().collect::<Vec<_>>().join(" ");
    let refused = words(lastrank(folder.path(), &["watch", "moved.txt", "moved.txt", "--unit", "ms"]));
    let fitted = words(lastrank(folder.path(), &["fit", "moved.txt", "--unit", "ms"]));
    let of_fit = fitted.split("Usable with care: ").nth(1).unwrap().split('.').next().unwrap();
    assert!(of_fit.starts_with("the level jumps up after value 1"), "{fitted}");
    assert!(refused.contains(&format!("its level moves ({of_fit})")), "{refused}");
}

#[test]
fn a_stream_of_plain_numbers_is_in_the_unit_of_the_column_of_the_baseline() {
    let folder = folder();
    let rows: String = values(400, 1.0, 1).lines().map(|value| format!("a,{value}\n")).collect();
    std::fs::write(folder.path().join("base.csv"), format!("node,lat_ms\n{rows}")).unwrap();
    let stream = values(60, 1.0, 2) + "15.5\n";
    std::fs::write(folder.path().join("plain.txt"), &stream).unwrap();
    let watch = |stream: &str, more: &[&str]| {
        [&["watch", "base.csv", stream, "--column", "lat_ms"], more]
            .concat()
            .iter()
            .map(|w| (*w).to_owned())
            .collect()
    };
    let run = |words: Vec<String>, input: &str| {
        piped(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>(), input)
    };
    for (name, more, input, is_said) in [
        ("plain.txt", &[][..], "", true),
        ("-", &[], stream.as_str(), true),
        ("-", &["--unit", "ms"], stream.as_str(), false),
    ] {
        let done = run(watch(name, more), input);
        let told = all(&done);
        assert_eq!(done.status, Some(1), "{told}");
        assert!(done.out.contains("SPIKE 15.5 ms") && done.out.contains("61 values"), "{told}");
        assert_eq!(done.err.contains("plain numbers, taken in ms as the baseline is"), is_said, "{told}");
    }
    // Another unit that is stated is theirs.
    let in_us: String =
        stream.lines().map(|value| format!("{}\n", 1e3 * value.parse::<f64>().unwrap())).collect();
    assert!(run(watch("-", &["--unit", "us"]), &in_us).out.contains("SPIKE 15.5 ms"));
    // Several columns without names leave open which is meant.
    let done = run(watch("-", &[]), "1,10.2\n2,10.3\n");
    assert!(done.status == Some(2) && done.err.contains("choose a column by position"), "{}", all(&done));
}

#[test]
fn a_quiet_stream_ends_with_status_0_and_says_nothing_if_asked_to() {
    let folder = folder();
    let done = piped(folder.path(), &["watch", "quiet.txt", "-", "--quiet"], &values(200, 1.0, 5));
    assert_eq!((done.status, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
}

#[test]
fn each_line_of_json_is_an_event_with_schema_and_time() {
    let folder = folder();
    let stream = values(50, 1.0, 6) + &values(30, 1.1, 7) + &values(60, 1.0, 8);
    let done = piped(folder.path(), &["watch", "quiet.txt", "-", "--unit", "ms", "--json"], &stream);
    let found = lines(&done.out);
    assert!(found.iter().all(|line| line["schema"] == "lastrank.watch-event/1" && line["time"].is_string()));
    let kinds = events(&done);
    assert_eq!((kinds[0].as_str(), kinds.last().unwrap().as_str()), ("baseline", "end"));
    let told: Vec<&str> =
        kinds.iter().map(String::as_str).filter(|kind| ["slow", "recovered"].contains(kind)).collect();
    assert_eq!(told, ["slow", "recovered"]);
    let slow = found.iter().find(|line| line["event"] == "slow").unwrap();
    assert!((48..=56).contains(&slow["since"].as_u64().unwrap()), "{slow}");
    assert!((1.07..1.13).contains(&slow["factor"].as_f64().unwrap()), "{slow}");
    // There was an alarm in this call, though it is over.
    assert_eq!((done.status, found.last().unwrap()["alarmed"].as_bool()), (Some(1), Some(false)));
}

#[test]
fn a_new_level_that_lasts_becomes_the_baseline_where_that_is_wanted() {
    let folder = folder();
    let stream = values(20, 1.0, 9) + &values(200, 1.1, 10);
    let arguments = ["watch", "quiet.txt", "-", "--json", "--rebaseline", "60"];
    let done = piped(folder.path(), &arguments, &stream);
    let kinds = events(&done);
    assert!(kinds.contains(&"rebaselined".into()), "{kinds:?}");
    assert_eq!(lines(&done.out).last().unwrap()["level"], "quiet");
}

#[test]
fn one_value_a_call_with_a_state_finds_what_one_long_stream_finds() {
    let folder = folder();
    let stream = values(8, 1.0, 11) + &values(14, 1.08, 12);
    let whole = piped(folder.path(), &["watch", "quiet.txt", "-", "--unit", "ms"], &stream);
    let mut told = String::new();
    let mut statuses = Vec::new();
    for line in stream.lines() {
        let arguments = ["watch", "quiet.txt", "-", "--unit", "ms", "--state", "s.json", "--quiet"];
        let done = piped(folder.path(), &arguments, &format!("{line}\n"));
        assert_eq!(done.err, "");
        told += &done.out;
        statuses.push(done.status.unwrap());
    }
    assert!(told.contains("SLOW since value"), "{told}");
    assert!(whole.out.contains(told.trim()), "{}\nagainst\n{told}", whole.out);
    let alarm = statuses.iter().position(|status| *status == 1).unwrap();
    assert!(statuses[..alarm].iter().all(|s| *s == 0) && statuses[alarm..].iter().all(|s| *s == 1));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn two_at_once_with_one_state_lose_nothing_silently() {
    let folder = folder();
    let state = folder.path().join("s.json");
    let arguments = ["watch", "quiet.txt", "-", "--unit", "ms", "--state", "s.json", "--quiet"];
    let mut first = std::process::Command::new(env!("CARGO_BIN_EXE_lastrank"))
        .args(arguments)
        .current_dir(folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !state.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let second = piped(folder.path(), &arguments, &values(8, 1.0, 11));
    assert_eq!((second.status, second.err.as_str()), (Some(0), ""));
    let kept = std::fs::read(&state).unwrap();
    first.stdin.take().unwrap().write_all(values(5, 1.0, 12).as_bytes()).unwrap();
    let first = first.wait_with_output().unwrap();
    let said = String::from_utf8(first.stderr).unwrap();
    assert!(
        first.status.code() == Some(3) && said.contains("another one uses it"),
        "{:?} {said}",
        first.status
    );
    assert_eq!(std::fs::read(&state).unwrap(), kept, "what the second one saw stays");
}

#[test]
fn runs_are_matched_with_the_baseline_by_label_and_operation_and_the_rest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, blocks: &[(&str, u32)]| {
        let text: Vec<String> = blocks
            .iter()
            .map(|(label, count)| format!("time[\"{label}\"] {{ repeat {count} {{ write(\"a\", 4k); }} }}\n"))
            .collect();
        std::fs::write(folder.path().join("p.ppl"), text.concat()).unwrap();
        let backend = "simulate:gev(10ms,300us,0.05)";
        let arguments = ["run", "p.ppl", "--backend", backend, "--report", "none", "-o", name];
        let done = lastrank(folder.path(), &arguments);
        assert_eq!(done.status, Some(0), "{}", done.err);
    };
    run("quiet.parquet", &[("one", 200)]);
    run("more.parquet", &[("three", 300), ("one", 30)]);
    run("both.parquet", &[("one", 100), ("two", 100)]);
    let values = |arguments: &[&str]| {
        let done =
            lastrank(folder.path(), &[&["watch"], arguments, &["--label", "write", "--json"]].concat());
        (lines(&done.out).pop().and_then(|end| end["values"].as_u64()), done.err)
    };
    // All of `one`, also where another label has more time and stands before it.
    let (count, told) = values(&["quiet.parquet", "more.parquet"]);
    assert_eq!(count, Some(30), "{told}");
    assert!(
        told.contains("note: `three / write` of more.parquet has no counterpart in quiet.parquet"),
        "{told}"
    );
    // A baseline over two operations cannot serve one of them.
    let (_, told) = values(&["both.parquet", "quiet.parquet"]);
    assert!(told.contains("`two / write` of both.parquet") && told.contains("no counterpart in"), "{told}");
}

#[test]
fn runs_on_another_number_of_ranks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |ranks: &str, out: &str| {
        std::fs::write(folder.path().join("p.ppl"), "repeat 200 getpid();").unwrap();
        let words = ["run", "p.ppl", "-n", ranks, "-o", out, "--report", "none", "--quiet"];
        lastrank(folder.path(), &[&words[..], &["--backend", "simulate:normal(1ms,10us)"]].concat())
    };
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    for (ranks, out) in [("1", "one.parquet"), ("1", "again.parquet"), ("2", "runs/two.parquet")] {
        assert_eq!(run(ranks, out).status, Some(0));
    }
    assert!(matches!(
        lastrank(folder.path(), &["watch", "one.parquet", "again.parquet"]).status,
        Some(0 | 1)
    ));
    for stream in ["runs/two.parquet", "runs"] {
        let done = lastrank(folder.path(), &["watch", "one.parquet", stream]);
        assert_eq!(done.status, Some(2), "{}{}", done.out, done.err);
        assert!(done.err.contains("is of 2 ranks, and"), "{}", done.err);
    }
}

#[test]
fn a_growing_file_is_read_from_where_the_last_call_ended() {
    let folder = folder();
    let path = folder.path().join("stream.txt");
    let call = || {
        let done =
            lastrank(folder.path(), &["watch", "quiet.txt", "stream.txt", "--state", "s.json", "--json"]);
        let end = lines(&done.out).pop().unwrap();
        (end["values"].as_u64().unwrap(), end["runs"].as_u64().unwrap())
    };
    std::fs::write(&path, values(10, 1.0, 13) + "11.").unwrap();
    assert_eq!(call(), (10, 10));
    // The line that was being written is whole now.
    let text = std::fs::read_to_string(&path).unwrap() + "25\n11.3\n";
    std::fs::write(&path, &text).unwrap();
    assert_eq!(call(), (2, 12));
    assert_eq!(call(), (0, 12));
    std::fs::write(&path, "11.2\n").unwrap();
    assert_eq!(call(), (1, 13));
    // A rotated log is known by its beginning, however long it is.
    std::fs::write(&path, values(20, 1.0, 19)).unwrap();
    assert_eq!(call(), (20, 33));
}

#[test]
fn bad_lines_are_named_and_only_a_stream_of_nothing_else_is_broken() {
    let folder = folder();
    let some = piped(folder.path(), &["watch", "quiet.txt", "-", "-q"], "11.2\nslow\n\n11.3\nNaN\n");
    assert_eq!(some.status, Some(0));
    assert!(some.err.contains("line 2 of standard input `slow` is not a number"), "{}", some.err);
    assert!(some.err.contains("line 5 of"), "{}", some.err);
    let mut said = String::new();
    for input in ["slow\n", "1 1\n2 2\n", "", "inf\ninf\n"] {
        let done = piped(folder.path(), &["watch", "quiet.txt", "-", "-q"], input);
        said += &format!("input {input:?}\n{}\n", all(&done));
    }
    assert_snapshot!(said);
}

#[test]
fn metrics_are_written_in_seconds_beside_and_renamed() {
    let folder = folder();
    let stream = values(30, 1.0, 14) + "15.5\n";
    let arguments = ["watch", "quiet.txt", "-", "--unit", "ms", "-q", "--prometheus", "write.prom"];
    let done = piped(folder.path(), &arguments, &stream);
    assert_eq!(done.status, Some(1), "{}", done.err);
    let text = std::fs::read_to_string(folder.path().join("write.prom")).unwrap();
    // Evidence and thresholds are tested with the statistics, and the time is that of the call.
    let varies = ["lastrank_watch_updated_timestamp_seconds{", "lastrank_watch_cusum"];
    let stable: Vec<&str> =
        text.lines().filter(|line| !varies.iter().any(|start| line.starts_with(start))).collect();
    assert_snapshot!(stable.join("\n"));
    // Each metric has its help and type before its samples, and no sample has a timestamp.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once('{').unwrap();
        // A summary has two samples of longer names.
        let name = name.trim_end_matches("_sum").trim_end_matches("_count");
        assert!(text.contains(&format!("# HELP {name} ")) && text.contains(&format!("# TYPE {name} ")));
        assert_eq!(rest.rsplit_once("} ").unwrap().1.split(' ').count(), 1);
    }
}

#[test]
fn new_run_files_of_a_directory_are_watched_in_the_order_they_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let run = |distribution: &str, seed: &str, repeat: &str, file: &str| {
        let backend = format!("simulate:gev({distribution},0)");
        let repeat = format!("repeat={repeat}");
        let arguments =
            ["run", "parallel_write", "--backend", &backend, "--seed", seed, "--set", &repeat, "-o", file];
        let done = lastrank(folder.path(), &[&arguments[..], &["--report", "none", "-n", "4"]].concat());
        assert_eq!(done.status, Some(0), "{}", done.err);
    };
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    run("10ms,300us", "1", "200", "quiet.parquet");
    run("10ms,300us", "2", "20", "runs/b.parquet");
    let labelled =
        ["watch", "quiet.parquet", "runs", "--of", "write/fwrite", "-q", "--prometheus", "of.prom"];
    assert!(lastrank(folder.path(), &labelled).status.is_some_and(|status| status < 2));
    let text = std::fs::read_to_string(folder.path().join("of.prom")).unwrap();
    let labels = "lastrank_watch_alarmed{baseline=\"quiet.parquet\",stream=\"runs\",of=\"write/fwrite\"} ";
    assert!(text.contains(labels), "{text}");
    let arguments = ["watch", "quiet.parquet", "runs", "--state", "s.json", "--json"];
    let end = |done: &Done| lines(&done.out).pop().unwrap()["values"].as_u64();
    let first = lastrank(folder.path(), &arguments);
    assert_eq!((end(&first), first.status), (Some(20), Some(0)), "{}", first.out);
    run("10.6ms,318us", "3", "40", "runs/a.parquet");
    let second = lastrank(folder.path(), &arguments);
    assert_eq!((end(&second), second.status), (Some(40), Some(1)), "{}", second.out);
    assert_eq!(end(&lastrank(folder.path(), &arguments)), Some(0));
    // The same operation on another number of ranks is another distribution.
    let wrong =
        ["run", "parallel_write", "--backend", "simulate:gev(10ms,1ms,0)", "-n", "2", "-o", "two.parquet"];
    lastrank(folder.path(), &[&wrong[..], &["--report", "none", "--set", "targets=2"]].concat());
    let done = lastrank(folder.path(), &["watch", "quiet.parquet", "two.parquet"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("cannot be compared with"), "{}", done.err);
}

#[test]
fn following_a_file_ends_with_ctrl_c_and_everything_stored() {
    let folder = folder();
    std::fs::write(folder.path().join("stream.txt"), values(5, 1.0, 15)).unwrap();
    let arguments =
        ["watch", "quiet.txt", "stream.txt", "-f", "--every", "0.02", "--state", "s.json", "--json"];
    let mut child = command(folder.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(out.next().unwrap().unwrap().contains("\"baseline\""));
    let mut file = std::fs::OpenOptions::new().append(true).open(folder.path().join("stream.txt")).unwrap();
    file.write_all(b"19.5\n").unwrap();
    assert!(out.next().unwrap().unwrap().contains("\"spike\""));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let end: Value = serde_json::from_str(&out.next().unwrap().unwrap()).unwrap();
    assert_eq!((end["event"].as_str(), end["runs"].as_u64()), (Some("end"), Some(6)));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let state = std::fs::read_to_string(folder.path().join("s.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(
        (state["schema"].as_str(), state["watch"]["runs"].as_u64()),
        (Some("lastrank.watch-state/1"), Some(6))
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_the_status_is_that_of_all_values() {
    let folder = folder();
    std::fs::write(folder.path().join("slow.txt"), values(40, 1.3, 16)).unwrap();
    std::fs::write(folder.path().join("healthy.txt"), values(40, 1.0, 16)).unwrap();
    for (stream, status) in [("slow.txt", 1), ("healthy.txt", 0)] {
        for form in [&["--json"][..], &[]] {
            let state = format!("{stream}{}.json", form.len());
            let arguments = [&["watch", "quiet.txt", stream, "--state", &state], form].concat();
            let mut child = command(folder.path(), &arguments)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            drop(child.stdout.take());
            let done = of(child.wait_with_output().unwrap());
            assert_eq!((done.status, done.err.as_str()), (Some(status), ""), "{arguments:?}");
            let kept: Value =
                serde_json::from_str(&std::fs::read_to_string(folder.path().join(&state)).unwrap()).unwrap();
            assert_eq!(kept["watch"]["runs"], 40, "{arguments:?}");
        }
    }
}

/// An endless stream ends when nobody reads the events; the alarm that was told is the status.
#[test]
fn a_pipe_whose_reader_goes_away_after_an_alarm_ends_with_1() {
    let folder = folder();
    let mut child = command(folder.path(), &["watch", "quiet.txt", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines();
    events.next().unwrap().unwrap();
    input.write_all(b"40\n").unwrap();
    assert!(events.next().unwrap().unwrap().contains("spike"));
    drop(events);
    // Until the next event nothing shows that nobody reads.
    input.write_all(b"11\n40\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    drop(input);
}

/// A slow-down is a factor: what is below zero is no duration, in a baseline and in a stream.
#[test]
fn negative_numbers_are_neither_slow_nor_a_baseline() {
    let folder = folder();
    let below = |text: String| text.lines().map(|line| format!("-{line}\n")).collect::<String>();
    std::fs::write(folder.path().join("negative.txt"), below(values(100, 1.0, 3))).unwrap();
    std::fs::write(folder.path().join("mixed.txt"), format!("11.2\n-40\n{}", values(30, 1.0, 4))).unwrap();
    let mut said = String::new();
    for arguments in
        [["quiet.txt", "negative.txt"], ["quiet.txt", "mixed.txt"], ["negative.txt", "quiet.txt"]]
    {
        let all_arguments = [&["watch"][..], &arguments].concat();
        let done = lastrank(folder.path(), &all_arguments);
        assert!(!all(&done).contains("SLOW"), "{}", all(&done));
        said += &format!("$ lastrank {}\n{}\n", all_arguments.join(" "), all(&done));
    }
    assert_snapshot!(said);
}

#[test]
fn mistakes_name_the_thing_and_the_way_out() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("few.txt"), values(30, 1.0, 17)).unwrap();
    std::fs::write(path("equal.txt"), "7\n".repeat(60)).unwrap();
    std::fs::write(path("drift.txt"), (0..200).map(|i| format!("{}\n", 100 + i)).collect::<String>())
        .unwrap();
    std::fs::write(path("stream.txt"), values(3, 1.0, 18)).unwrap();
    std::fs::write(path("broken.json"), "{").unwrap();
    std::fs::write(path("other.json"), "{\"schema\": \"lastrank.watch-state/7\"}").unwrap();
    std::fs::write(path("half.parquet"), b"PAR1 and no more").unwrap();
    std::fs::write(path("good.txt"), values(400, 1.0, 2)).unwrap();
    lastrank(folder.path(), &["watch", "quiet.txt", "stream.txt", "--state", "good.json", "-q"]);
    let mut said = String::new();
    for arguments in [
        &["nope.txt", "stream.txt"][..],
        &["few.txt", "stream.txt"],
        &["equal.txt", "stream.txt"],
        &["drift.txt", "stream.txt"],
        &["quiet.txt", "nope.txt"],
        &["quiet.txt", "half.parquet"],
        &["quiet.txt", "stream.txt", "--false-alarm-rate", "1e-5"],
        &["quiet.txt", "stream.txt", "--false-alarm-rate", "2"],
        &["quiet.txt", "stream.txt", "--run-length", "0"],
        &["quiet.txt", "stream.txt", "--shift", "0.9"],
        &["quiet.txt", "stream.txt", "--shift", "much"],
        &["quiet.txt", "stream.txt", "--rebaseline", "10"],
        &["quiet.txt", "-", "--follow"],
        &["quiet.txt", "stream.txt", "--prometheus", "m.prom"],
        &["quiet.txt", "stream.txt", "--prometheus", "nope/m.prom", "--unit", "ms"],
        &["quiet.txt", "stream.txt", "--state", "nope/s.json"],
        &["quiet.txt", "stream.txt", "--state", "broken.json"],
        &["quiet.txt", "stream.txt", "--state", "other.json"],
        &["quiet.txt", "stream.txt", "--state", "good.json", "--shift", "10%"],
        &["stream.txt", "stream.txt", "--state", "good.json"],
        &["good.txt", "stream.txt", "--state", "good.json"],
        &["quiet.txt", "stream.txt", "--state", "good.json", "--unit", "ms"],
        &["quiet.txt", "stream.txt", "--gate"],
        &["quiet.txt", "stream.txt", "--unit", "min"],
    ] {
        let all_arguments = [&["watch"], arguments].concat();
        let done = lastrank(folder.path(), &all_arguments);
        said += &format!("$ lastrank {}\n{}\n", all_arguments.join(" "), all(&done));
    }
    assert_snapshot!(said);
}

#[test]
fn a_run_file_of_a_directory_that_cannot_be_read_is_told_and_the_watch_is_not_well() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, seed: &str| {
        let arguments = ["run", "parallel_write", "--backend", "simulate:gev(10ms,1ms,0.1)", "--seed", seed];
        let done =
            lastrank(folder.path(), &[&arguments[..], &["-s", "--report", "none", "-o", name]].concat());
        assert_eq!(done.status, Some(0), "{}", done.err);
    };
    std::fs::create_dir(folder.path().join("stream")).unwrap();
    made("healthy.parquet", "1");
    made("stream/a.parquet", "2");
    let watched = |more: &[&str]| {
        lastrank(folder.path(), &[&["watch", "healthy.parquet", "stream"][..], more].concat())
    };
    assert_eq!(watched(&["--quiet"]).status, Some(0));
    let whole = std::fs::read(folder.path().join("stream/a.parquet")).unwrap();
    std::fs::write(folder.path().join("stream/b.parquet"), &whole[..5000]).unwrap();
    for more in [&["--quiet"][..], &[], &["--json"]] {
        let done = watched(more);
        assert_eq!(done.status, Some(3), "{more:?}: {}", done.out);
        assert!(done.out.contains("stream/b.parquet") && done.out.contains("cut short"), "{}", done.out);
    }
}
