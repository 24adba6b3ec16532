//! Small limits, signals at the wrong moment, unwritable directories: a message, and no sample lost.

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Done, command, lastrank, of};

const WRITES: &str = "repeat $i 20 { time[\"w\"] write(\"f$$rank\", 100k); }\ndelete(\"f$$rank\");\n";

/// Waits in the shell until the program has made the file `begun`: its rank runs, and its parent has its memory.
const WAIT_FOR_BEGUN: &str =
    "for turn in $(seq 6000); do [ -e begun ] && break; sleep 0.01; done; [ -e begun ] || exit 99";

/// Runs `line` in a shell, where `$L` is the binary.
fn shell(folder: &Path, line: &str) -> Done {
    let output = Command::new("bash")
        .args(["-c", line])
        .current_dir(folder)
        .env("L", env!("CARGO_BIN_EXE_lastrank"))
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    of(output)
}

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), text).unwrap();
    folder
}

fn samples(folder: &Path) -> usize {
    store::read(&folder.join("a.parquet")).unwrap().samples.len()
}

/// How much memory is enough depends on the machine and its load. Certain is only that a run either has all
/// its samples, or did not begin and says which limit to raise.
#[test]
fn little_address_space_is_enough_or_the_way_out_is_named() {
    let folder = folder(WRITES);
    let run = "exec \"$L\" run a.ppl -n 2 -o a.parquet --report none -s";
    for kilobytes in [1_500_000, 300_000, 60_000] {
        let _ = std::fs::remove_file(folder.path().join("a.parquet"));
        let done = shell(folder.path(), &format!("ulimit -v {kilobytes}; {run}"));
        match done.status {
            Some(0) => assert!(samples(folder.path()) >= 80, "ulimit -v {kilobytes}"),
            Some(2) => {
                let way_out = ["ulimit -v", "start fewer"].iter().any(|words| done.err.contains(words));
                assert!(way_out, "ulimit -v {kilobytes}: {}", done.err);
            }
            other => panic!("ulimit -v {kilobytes}: status {other:?}, {}", done.err),
        }
    }
}

#[test]
fn a_write_beyond_the_limit_of_file_sizes_fails_and_ends_nothing() {
    let folder = folder("repeat 3 { time[\"w\"] write(\"f\", 200m); }\n");
    let done = shell(folder.path(), "ulimit -f 100000; exec \"$L\" run a.ppl -o a.parquet --report none -s");
    assert_eq!(done.status, Some(3), "{}", done.err);
    assert!(done.err.contains("EFBIG") && done.err.contains("`ulimit -f` limits"), "{}", done.err);
    assert!(samples(folder.path()) >= 3);
    // Too little for the memory of the samples, too.
    let done = shell(folder.path(), "ulimit -f 100; exec \"$L\" run a.ppl -o b.parquet --report none -s");
    assert_eq!(done.status, Some(2), "{}", done.err);
    assert!(done.err.contains("raise `ulimit -f`"), "{}", done.err);
}

#[test]
fn what_there_is_no_room_for_and_a_packed_file_that_was_cut_end_with_3() {
    let folder = folder("repeat 400 { time[\"w\"] stat(\".\"); }\n");
    assert_eq!(shell(folder.path(), "\"$L\" run a.ppl -o a.parquet --report none -s").status, Some(0));
    for line in
        ["fit a.parquet -o x.html", "report a.parquet -o x.html", "export a.parquet --to csv -o x.csv"]
    {
        let done = shell(folder.path(), &format!("ulimit -f 4; exec \"$L\" {line} > /dev/null"));
        assert_eq!(done.status, Some(3), "{line}: {}", done.err);
        assert!(done.err.contains("cannot write"), "{line}: {}", done.err);
    }
    let cut = "seq 1 5000 | gzip | head -c 4000 > cut.txt.gz; exec \"$L\" fit cut.txt.gz";
    let done = shell(folder.path(), cut);
    assert_eq!(done.status, Some(3), "{}", done.err);
    // What is no number is another matter: the file is whole.
    assert_eq!(shell(folder.path(), "echo a b | gzip > no.gz; exec \"$L\" fit no.gz").status, Some(2));
}

#[test]
fn a_run_file_that_cannot_be_written_leaves_nothing_behind_and_is_named() {
    let many: String = (0..2000).map(|n| format!("time[\"label {n}\"] stat(\".\");\n")).collect();
    let folder = folder(&("create(\"begun\");\nsleep(1s);\n".to_owned() + &many));
    std::fs::create_dir(folder.path().join("out")).unwrap();
    // The limit is for the parent alone, and comes when it has its memory.
    let line = format!(
        "\"$L\" run a.ppl -o out/a.parquet --report none -s & \
                {WAIT_FOR_BEGUN}; prlimit --pid $! --fsize=8192:unlimited; wait $!"
    );
    let done = shell(folder.path(), &line);
    assert_eq!(done.status, Some(3), "{}", done.err);
    assert!(done.err.contains("out/a.parquet") && done.err.contains("File too large"), "{}", done.err);
    assert!(done.err.contains("`lastrank recover`"), "{}", done.err);
    assert_eq!(std::fs::read_dir(folder.path().join("out")).unwrap().count(), 0);
    // Nothing is lost.
    let recovered = lastrank(folder.path(), &["recover", "."]);
    // Folders of others, which it leaves alone, are told by the status.
    let others = recovered.err.contains("is left alone");
    assert!(recovered.status == Some(0) || others, "{}", recovered.err);
    assert_eq!(samples(folder.path()), 4001);
}

#[test]
fn nohup_lets_a_run_live_on() {
    let folder = folder("create(\"begun\");\nrepeat 20 { time[\"s\"] sleep(50ms); }\n");
    let line = format!(
        "trap '' HUP; \"$L\" run a.ppl -o a.parquet --report none -s & \
                {WAIT_FOR_BEGUN}; kill -HUP $!; wait $!"
    );
    let done = shell(folder.path(), &line);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    assert!(store::read(&folder.path().join("a.parquet")).unwrap().facts.complete);
}

#[test]
fn a_signal_while_the_samples_are_written_does_not_lose_them() {
    let folder = folder("time[\"look\"] repeat 300000 stat(\".\");\n");
    let arguments = ["run", "a.ppl", "--backend", "simulate", "-o", "a.parquet", "--report", "none"];
    let is_partial = |name: &str| name.starts_with(".a.parquet.") && name.ends_with(".partial");
    let partial = || {
        let entries = std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
        let lengths = entries
            .filter(|entry| is_partial(&entry.file_name().to_string_lossy()))
            .filter_map(|entry| Some(entry.metadata().ok()?.len()));
        lengths.max()
    };
    // An empty one only shows, before the run, that it can be made.
    let begun = || partial().is_some_and(|length| length > 0);
    // On a busy machine the file is sometimes written before it is seen, or before the signal comes.
    for _ in 0..20 {
        let mut child = command(folder.path(), &arguments).stdout(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !begun() && child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "no file was begun");
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_none() {
            terminate(&child);
        }
        // The signal counts when the samples are safe.
        let stopped = !child.wait().unwrap().success();
        assert_eq!(partial(), None);
        assert_eq!(samples(folder.path()), 300_001);
        if stopped {
            return;
        }
        std::fs::remove_file(folder.path().join("a.parquet")).unwrap();
    }
    panic!("no signal came while the samples were written");
}

#[test]
fn a_storm_of_signals_cuts_no_pause_short_and_loses_no_sample() {
    let text = "repeat $i 15 { sleep(40ms); barrier; write(\"f-$$rank\", 100k); read(\"f-$$rank\"); }\n\
                delete(\"f-$$rank\");\n";
    let folder = folder(text);
    // SIGTERM interrupts whatever a rank waits in, so that it looks for a request to stop.
    let line = "\"$L\" run a.ppl -n 2 -o a.parquet --report none -s & \
                for wait in $(seq 6000); do ranks=$(cat /proc/$!/task/$!/children); set -- $ranks; \
                [ $# = 2 ] && break; sleep 0.01; done; \
                sent=0; while kill -TERM $ranks; do sent=$((sent + 1)); done 2>/dev/null; wait $!; \
                status=$?; echo $sent; exit $status";
    let done = shell(folder.path(), line);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    let sent: u32 = done.out.trim().parse().unwrap();
    assert!(sent > 100, "only {sent} signals");
    let run = store::read(&folder.path().join("a.parquet")).unwrap();
    let count = |operation: &str| {
        let of_it = |sample: &&samples::Sample| run.sites[sample.site as usize].operation == operation;
        (
            run.samples.iter().filter(of_it).count(),
            run.samples.iter().filter(of_it).any(samples::Sample::failed),
        )
    };
    for operation in ["write", "read", "barrier"] {
        assert_eq!(count(operation), (30, false), "{operation}");
    }
    assert!(
        run.facts.spans.iter().all(|span| span.end_ns - span.begin_ns >= 15 * 40_000_000),
        "{:?}",
        run.facts.spans
    );
}

fn terminate(child: &Child) {
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
}
