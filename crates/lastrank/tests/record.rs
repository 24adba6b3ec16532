//! Tests of `lastrank record`, `replay` and `fidelity`: an application is recorded, imported and replayed in an empty
//! directory, without failures and with the same operations, bytes and final tree.

mod common;

use std::path::Path;

use common::{lastrank, tree};

/// Records `command` in a directory that `prepare` fills, and compares its replay with it. Returns the program.
fn same(prepare: impl Fn(&Path), command: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    prepare(&home);
    let mut words = vec!["record", "-v", "-o", "../app.parquet", "--"];
    words.extend(command);
    let recorded = lastrank(&home, &words);
    assert_eq!(recorded.status, Some(0), "{}", recorded.err);
    assert!(recorded.err.contains("repeated exactly: ") && !recorded.err.contains('%'), "{}", recorded.err);
    let here = home.canonicalize().unwrap();
    let only = here.to_str().unwrap();
    let made = lastrank(folder.path(), &["import", "app.parquet", "-o", "app.ppl", "--only", only]);
    assert_eq!(made.status, Some(0), "{}", made.err);
    assert!(made.err.contains("; checked by a dry run."), "{}", made.err);
    let text = std::fs::read_to_string(folder.path().join("app.ppl")).unwrap();
    let run = lastrank(
        folder.path(),
        &["run", "app.ppl", "-s", "-o", "r.parquet", "--report", "none", "--set", "pace=0"],
    );
    let run = match run.err.contains("pace") {
        true => lastrank(folder.path(), &["run", "app.ppl", "-s", "-o", "r.parquet", "--report", "none"]),
        false => run,
    };
    assert_eq!(run.status, Some(0), "{}\n{text}", run.err);
    let alike = lastrank(folder.path(), &["fidelity", "app.parquet", "r.parquet", "--only", only]);
    assert_eq!(alike.status, Some(0), "{}\n{text}", alike.out);
    assert!(alike.out.contains("moves the same bytes, and "), "{}\n{text}", alike.out);
    let (own, replayed) = (tree(&home), tree(&folder.path().join("imported")));
    let missing: Vec<_> = replayed.iter().filter(|(name, found)| own.get(*name) != Some(found)).collect();
    assert!(missing.is_empty(), "the replay has other files: {missing:?}\n{text}");
    text
}

fn files(home: &Path) {
    std::fs::create_dir_all(home.join("src/inner")).unwrap();
    for number in 0..30 {
        std::fs::write(home.join(format!("src/inner/f-{number:03}")), vec![7; 500 * number]).unwrap();
    }
    std::os::unix::fs::symlink("f-001", home.join("src/inner/link")).unwrap();
}

#[test]
fn a_shell_with_commands_and_pipes_is_replayed() {
    let text = same(
        files,
        &[
            "sh",
            "-c",
            "mkdir out; for i in 1 2 3 4 5 6; do cat src/inner/f-00$i > out/a$i; mv out/a$i out/b$i; done; \
             cat src/inner/f-010 src/inner/f-011 | cat > out/piped; rm out/b1",
        ],
    );
    assert!(text.contains("rename("), "{text}");
}

#[test]
fn holes_and_ranges_of_files_are_replayed() {
    if !std::process::Command::new("fallocate").arg("-V").output().is_ok_and(|done| done.status.success()) {
        println!("skipped: no fallocate");
        return;
    }
    let script = "dd if=/dev/zero of=f bs=64k count=1 2>/dev/null; fallocate -p -l 32768 f; \
                  fallocate -n -l 1048576 f; fallocate -z -o 65536 -l 8192 f; fallocate -l 100000 f";
    let text = same(|_| {}, &["sh", "-c", script]);
    for mode in
        ["32768, 0, \"punch_hole\"", "1048576, 0, \"keep_size\"", "8192, 65536, \"zero_range\"", "100000, 0"]
    {
        assert!(text.contains(&format!(", {mode});")), "{mode}: {text}");
    }
}

#[test]
fn an_archive_is_written_and_read() {
    let text = same(files, &["tar", "cf", "all.tar", "src"]);
    assert!(text.contains("stat($f"), "tar asks by descriptor: {text}");
    let archive = |home: &Path| {
        files(home);
        let made =
            std::process::Command::new("tar").args(["cf", "all.tar", "src"]).current_dir(home).status();
        assert!(made.is_ok_and(|status| status.success()));
        std::fs::remove_dir_all(home.join("src")).unwrap();
    };
    same(archive, &["tar", "xf", "all.tar"]);
}

#[test]
fn a_tree_is_copied_and_searched() {
    same(files, &["cp", "-r", "src", "copy"]);
    same(files, &["grep", "-r", "-c", "", "src"]);
}

#[test]
fn threads_become_workers() {
    let program = "import threading\n\
        def work(k):\n    for i in range(5):\n        with open(f't{k}-{i}', 'wb', buffering=0) as f:\n            \
        for _ in range(3): f.write(b'x' * 4096)\n\
        all = [threading.Thread(target=work, args=(k,)) for k in range(4)]\n\
        [one.start() for one in all]\n[one.join() for one in all]\n";
    if !Path::new("/usr/bin/python3").exists() {
        eprintln!("skipped: /usr/bin/python3 is not installed");
        return;
    }
    same(|home| std::fs::write(home.join("app.py"), program).unwrap(), &["/usr/bin/python3", "-S", "app.py"]);
}

#[test]
fn the_status_of_the_application_and_a_missing_one_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let missing = lastrank(folder.path(), &["record", "--", "no-such-program-here"]);
    assert_eq!(missing.status, Some(2), "{}", missing.err);
    assert!(missing.err.contains("no program no-such-program-here in PATH"), "{}", missing.err);
    let failed =
        lastrank(folder.path(), &["record", "-o", "f.parquet", "--", "sh", "-c", "echo x > f; exit 4"]);
    assert_eq!(failed.status, Some(4), "{}", failed.err);
    assert!(failed.err.contains("ended with status 4"), "{}", failed.err);
    // Calls of an application that was killed are kept.
    let killed = lastrank(
        folder.path(),
        &["record", "-o", "k.parquet", "--", "sh", "-c", "echo x > kept; kill -9 $$"],
    );
    assert!(killed.err.contains("was ended by signal 9"), "{}", killed.err);
    assert_eq!(killed.status, Some(137), "{}", killed.err);
    let made = lastrank(folder.path(), &["import", "k.parquet", "--only", "."]);
    assert!(made.out.contains("$dir/kept") && made.out.contains("fwrite("), "{}{}", made.out, made.err);
}

#[test]
fn the_quiet_recorder_sees_what_the_complete_one_sees() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    files(&home);
    let calls = |quiet: bool, copy: &str| {
        let mut words = vec!["record", "-o", "../app.parquet", "--", "cp", "-r", "src", copy];
        if quiet {
            words.insert(1, "--quiet");
        }
        let recorded = lastrank(&home, &words);
        assert_eq!(recorded.status, Some(0), "{}", recorded.err);
        let only = home.canonicalize().unwrap();
        let import = ["import", "../app.parquet", "--verbatim", "--only", only.to_str().unwrap()];
        let program = lastrank(&home, &import).out;
        ["mkdir(", "fopen(", "fcopy(", "fclose("].map(|call| program.matches(call).count())
    };
    let complete = calls(false, "one");
    assert!(complete.iter().all(|count| *count > 0), "{complete:?}");
    assert_eq!(calls(true, "two"), complete);
}

#[test]
fn the_quiet_recorder_knows_descriptors_of_any_number_that_were_open_before() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    // More than the listing of them gives at once.
    let opens = "import os, sys; many = os.open('many', 66); [os.dup2(many, at) for at in range(40, 250)]; \
                 os.dup2(os.open('last', 66), 250); os.execvp(sys.argv[1], sys.argv[1:])";
    let words =
        ["-S", "-c", opens, env!("CARGO_BIN_EXE_lastrank"), "record", "--quiet", "-o", "../app.parquet"];
    let writes = "import os; os.write(40, b'x' * 1234); os.write(250, b'x' * 5678)";
    let mut python = std::process::Command::new("python3");
    python.current_dir(&home).args(words).args(["--", "python3", "-S", "-c", writes]);
    let recorded = common::of(python.output().unwrap());
    assert_eq!(recorded.status, Some(0), "{}", recorded.err);
    let only = home.canonicalize().unwrap();
    let made = lastrank(&home, &["import", "../app.parquet", "--only", only.to_str().unwrap()]);
    let program: Vec<&str> = made.out.lines().filter(|line| !line.starts_with('#')).collect();
    let has = |words: &str| program.iter().any(|line| line.contains(words));
    assert!(has("/many\"") && has("/last\"") && has(", 1234") && has(", 5678"), "{}{}", made.out, made.err);
}

#[test]
fn the_quiet_recorder_keeps_of_many_processes_what_they_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let loops = "i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done";
    let words = ["record", "--quiet", "-o", "app.parquet", "--", "sh", "-c", loops];
    // Half a gibibyte of addresses: a file of a mebibyte for each of 800 beginnings of processes and programs is more.
    let mut limited = std::process::Command::new("sh");
    let limits = "ulimit -S -v 524288; exec \"$0\" \"$@\"";
    limited.current_dir(&folder).args(["-c", limits, env!("CARGO_BIN_EXE_lastrank")]).args(words);
    let recorded = common::of(limited.output().unwrap());
    assert_eq!(recorded.status, Some(0), "{}", recorded.err);
    assert!(recorded.err.contains(" of 401 threads"), "{}", recorded.err);
}

#[test]
fn the_quiet_recorder_sees_streams_of_the_c_library() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let calls = |how: &[&str], command: &[&str]| {
        std::fs::write(home.join("in"), "a line\n".repeat(3000)).unwrap();
        let record = [&["record", "-o", "../app.parquet"], how, &["--"], command].concat();
        let recorded = lastrank(&home, &record);
        assert_eq!(recorded.status, Some(0), "{}", recorded.err);
        let only = home.canonicalize().unwrap();
        let import = ["import", "../app.parquet", "--verbatim", "--only", only.to_str().unwrap()];
        let program = lastrank(&home, &import).out;
        ["fopen(", "fread(", "fwrite(", "fclose(", "rename(", "stat($f"]
            .map(|call| program.matches(call).count())
    };
    // Awk writes to streams: one that it closes, and one that is flushed when it exits. Sed makes a temporary file.
    let script = r#"{ print > "closed" } END { close("closed"); print "last" > "open" }"#;
    for command in [&["awk", script, "in"][..], &["sed", "-i", "s/a/b/", "in"]] {
        let complete = calls(&[], command);
        assert!(complete[2] > 1, "{complete:?}");
        assert_eq!(calls(&["--quiet"], command), complete);
    }
}

/// Who waits for its commands is one rank with them.
#[test]
fn the_quiet_recorder_sees_a_process_wait() {
    let shell = ["sh", "-c", "cat a > b; cat a > c; cat c > d; :"];
    let python = "import os\n\
        for to in 'bcd':\n    child = os.spawnlp(os.P_NOWAIT, 'cp', 'cp', 'a', to)\n    \
        os.waitid(os.P_PID, child, os.WEXITED)\n";
    let python = ["/usr/bin/python3", "-S", "-c", python];
    for command in [&shell[..], &python] {
        if command[0].starts_with('/') && !Path::new(command[0]).exists() {
            println!("skipped: {} is not installed", command[0]);
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("a"), "a line\n").unwrap();
        let words = [&["record", "--quiet", "-o", "../app.parquet", "--"], command].concat();
        let recorded = lastrank(&home, &words);
        assert_eq!(recorded.status, Some(0), "{}", recorded.err);
        let only = home.canonicalize().unwrap();
        let made = lastrank(&home, &["import", "../app.parquet", "--only", only.to_str().unwrap()]);
        assert!(made.out.contains("define ranks 1\n"), "{}{}", made.out, made.err);
    }
}

/// The first records of a thread lie in memory, those behind the first 16 MiB on a disk.
#[test]
fn the_quiet_recorder_keeps_long_recordings_whole() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("i=0; while [ $i -lt 80000 ]; do [ -e {}$i ]; i=$((i+1)); done", "x".repeat(200));
    let words = ["record", "--quiet", "-o", "app.parquet", "--", "sh", "-c", &script];
    let recorded = lastrank(folder.path(), &words);
    assert_eq!(recorded.status, Some(0), "{}", recorded.err);
    let here = folder.path().canonicalize().unwrap();
    let only = here.to_str().unwrap();
    let made = lastrank(folder.path(), &["import", "app.parquet", "-o", "app.ppl", "--only", only]);
    let text = std::fs::read_to_string(folder.path().join("app.ppl")).unwrap();
    assert!(text.contains("$rows 80000 "), "{}\n{text}", made.err);
}

#[test]
fn the_quiet_recorder_refuses_what_it_cannot_see() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    // An ELF program of this processor without a table of segments: it has no dynamic linker.
    let mut program = vec![0; 64];
    program[..6].copy_from_slice(b"\x7fELF\x02\x01");
    program[18] = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    let path = folder.path().join("static");
    std::fs::write(&path, program).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = lastrank(folder.path(), &["record", "--quiet", "--", "./static"]);
    assert_eq!(refused.status, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("sees nothing of ./static, a program without a dynamic linker"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("without --quiet every program is recorded"), "{}", refused.err);
}

#[test]
fn the_quiet_recorder_follows_a_process_that_becomes_another_user() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), "text").unwrap();
    // For the other user, too.
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), all).unwrap();
    let command = ["setpriv", "--reuid=12345", "--clear-groups", "cat", "f"];
    let may = std::process::Command::new("setpriv").args(&command[1..3]).arg("true").status();
    if !may.is_ok_and(|status| status.success()) {
        println!("skipped: no setpriv, or no right to become another user");
        return;
    }
    let words = [&["record", "--quiet", "-o", "app.parquet", "--"], &command[..]].concat();
    let recorded = lastrank(folder.path(), &words);
    assert!(!recorded.err.contains("did not enter"), "{}", recorded.err);
    let only = folder.path().canonicalize().unwrap();
    let import = ["import", "app.parquet", "--verbatim", "--only", only.to_str().unwrap()];
    let program = lastrank(folder.path(), &import).out;
    assert!(program.contains("$dir/f") && program.contains("fread("), "{program}");
}

#[test]
fn the_quiet_recorder_says_what_it_did_not_enter() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["record", "--quiet", "-o", "app.parquet", "--", "env", "-i", "/bin/cat", "/dev/null"];
    let recorded = lastrank(folder.path(), &words);
    assert_eq!(recorded.status, Some(3), "{}", recorded.err);
    assert!(recorded.err.contains("Calls are missing: 1 program was started"), "{}", recorded.err);
}

#[test]
fn copies_and_an_open_loop_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    files(&home);
    let recorded = lastrank(&home, &["record", "-o", "../app.parquet", "--", "cp", "-r", "src", "copy"]);
    assert_eq!(recorded.status, Some(0), "{}", recorded.err);
    let only = home.canonicalize().unwrap();
    let only = ["--only", only.to_str().unwrap(), "--set", "dir=here", "-o", "r.parquet"];
    let mut words = vec!["replay", "app.parquet", "--as-recorded", "--speed", "50", "--copies", "2"];
    words.extend(only);
    let replayed = lastrank(folder.path(), &words);
    assert_eq!(replayed.status, Some(0), "{}", replayed.err);
    for copy in ["here/copy-0", "here/copy-1"] {
        assert_eq!(tree(&folder.path().join(copy)), tree(&home), "{copy}");
    }
    // The program that came of it starts calls at times, and one with pauses does not.
    let again = [
        "replay",
        "r.ppl",
        "--as-recorded",
        "--set",
        "dir=again",
        "-c",
        "-o",
        "again.parquet",
        "--unconfined",
    ];
    assert_eq!(lastrank(folder.path(), &again).status, Some(0));
    let is_free = |file: &str| {
        String::from_utf8_lossy(&std::fs::read(folder.path().join(file)).unwrap())
            .contains(r#""confinement":{"by":"nobody""#)
    };
    assert_eq!((is_free("r.parquet"), is_free("again.parquet")), (false, true));
    let mut import = vec!["import", "app.parquet", "-o", "pauses.ppl"];
    import.extend(&only[..2]);
    assert_eq!(lastrank(folder.path(), &import).status, Some(0));
    let refused = lastrank(folder.path(), &["replay", "pauses.ppl", "--as-recorded"]);
    assert!(refused.err.contains("has pauses, not the times at which calls start"), "{}", refused.err);
}

#[test]
fn calls_that_failed_as_in_the_application_are_no_errors_of_the_replay() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let probes = "for i in 1 2 3 4 5 6; do test -e none-$i; done; echo done > file";
    let recorded = lastrank(&home, &["record", "-o", "../app.parquet", "--", "sh", "-c", probes]);
    assert_eq!(recorded.status, Some(0), "{}", recorded.err);
    let only = home.canonicalize().unwrap();
    let only = only.to_str().unwrap();
    let words = ["replay", "app.parquet", "--only", only, "--set", "dir=here", "-o", "r.parquet"];
    let replayed = lastrank(folder.path(), &words);
    assert_eq!(replayed.status, Some(0), "{}", replayed.err);
    assert!(replayed.out.contains("0 errors, 6 failed as expected"), "{}", replayed.out);
    let alike = lastrank(folder.path(), &["fidelity", "app.parquet", "r.parquet", "--only", only]);
    let said = alike.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("6 fail, as they did in the application"), "{said}");
    let words = ["fidelity", "app.parquet", "r.parquet", "--only", only, "--json"];
    let json: serde_json::Value = serde_json::from_str(&lastrank(folder.path(), &words).out).unwrap();
    assert_eq!(json["schema"], "lastrank.fidelity/1");
    assert_eq!((&json["failed_as_recorded"], &json["more_failures"]), (&6.into(), &0.into()));
    let seconds = |key: &str| json["application"][key].as_f64().unwrap();
    assert!(seconds("ran_s") < seconds("recorded_s") && seconds("elapsed_s") <= seconds("ran_s"), "{json}");
    let replay = &json["replays"][0];
    let of = |key: &str| replay[key].as_f64().unwrap();
    let more = of("more_in_operations_s") + of("more_between_s");
    assert!((of("elapsed_s") - seconds("elapsed_s") - more).abs() < 1e-8, "{json}");
    // Recording costs more than these calls take: nothing is said of likeness, in time.
    let known = replay["operations_ratio"].as_f64();
    assert_eq!(
        replay["within_5_percent"].as_bool(),
        known.map(|ratio| (ratio - 1.0).abs() <= 0.05),
        "{json}"
    );
    assert_eq!(said.contains("within 5%"), known.is_some(), "{}", alike.out);
    assert_eq!(said.contains("operations take as long is not known"), known.is_none(), "{}", alike.out);
    assert!(!said.contains(" 0 ns"), "{said}");
    assert_eq!(
        said.contains(", the time between them "),
        replay["within_5_percent"] == false,
        "{}",
        alike.out
    );
    // A replay in which one of these names is there does something else.
    std::fs::create_dir(folder.path().join("there")).unwrap();
    std::fs::write(folder.path().join("there/none-3"), "").unwrap();
    let words = ["replay", "app.parquet", "--only", only, "--set", "dir=there", "-o", "other.parquet"];
    lastrank(folder.path(), &words);
    let differs = lastrank(folder.path(), &["fidelity", "app.parquet", "other.parquet", "--only", only]);
    assert_eq!(differs.status, Some(1), "{}", differs.out);
    assert!(differs.out.contains("failed in the application and not in the replay: 1"), "{}", differs.out);
}

#[test]
fn links_that_lie_beside_a_recording_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (home, beside, outside) =
        (folder.path().join("home"), folder.path().join("beside"), folder.path().join("out"));
    for made in [&home, &beside, &outside] {
        std::fs::create_dir(made).unwrap();
    }
    files(&home);
    let recorded =
        lastrank(&home, &["record", "-o", "../beside/app.parquet", "--", "cp", "-r", "src", "copy"]);
    assert_eq!(recorded.status, Some(0), "{}", recorded.err);
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "not yours").unwrap();
    for name in ["app-replay.ppl", "app-replay.parquet", "app-replay.html", "mine.ppl"] {
        std::os::unix::fs::symlink(&victim, beside.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(&outside, beside.join("imported")).unwrap();
    let only = home.canonicalize().unwrap();
    let only = only.to_str().unwrap();
    let replayed = lastrank(&beside, &["replay", "app.parquet", "--only", only]);
    assert_eq!(replayed.status, Some(2), "{}", replayed.err);
    assert!(replayed.err.contains("--allow"), "{}", replayed.err);
    assert_eq!(
        lastrank(&beside, &["import", "app.parquet", "--only", only, "-o", "mine.ppl"]).status,
        Some(0)
    );
    assert!(std::fs::read_to_string(beside.join("mine.ppl")).unwrap().contains("imported"));
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "not yours");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn the_quiet_recorder_preloads_nothing_of_half_a_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a b", "a:b"] {
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap();
        let mut record =
            common::command(folder.path(), &["record", "--quiet", "-o", "app.parquet", "--", "true"]);
        let refused = common::of(record.env("TMPDIR", &place).output().unwrap());
        assert_eq!(refused.status, Some(2), "{}", refused.err);
        assert!(refused.err.contains("a space or a colon in its name"), "{}", refused.err);
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    }
}

#[test]
fn an_application_sees_its_processors_as_without_the_recorder() {
    let folder = tempfile::tempdir().unwrap();
    // `nproc` asks the system which processors it may use, alone and as the child of a shell that waits for it.
    let all = std::thread::available_parallelism().unwrap().to_string();
    for command in [&["nproc"][..], &["sh", "-c", "nproc; nproc"]] {
        let mut words = vec!["record", "-o", "app.parquet", "--"];
        words.extend(command);
        let recorded = lastrank(folder.path(), &words);
        assert_eq!(recorded.status, Some(0), "{}", recorded.err);
        let seen: Vec<&str> = recorded.out.lines().collect();
        assert!(!seen.is_empty() && seen.iter().all(|one| *one == all), "{seen:?} of {all}");
    }
}

#[test]
fn a_time_that_an_application_asked_to_sleep_stays_in_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let script = "echo a > a; sleep 0.2; echo b > b";
    let words = ["record", "-o", "../app.parquet", "--", "sh", "-c", script];
    let recorded = lastrank(&home, &words);
    assert_eq!(recorded.status, Some(0), "{}", recorded.err);
    let here = home.canonicalize().unwrap();
    let only = here.to_str().unwrap();
    let made =
        lastrank(folder.path(), &["import", "app.parquet", "-o", "app.ppl", "--verbatim", "--only", only]);
    assert_eq!(made.status, Some(0), "{}", made.err);
    let text = std::fs::read_to_string(folder.path().join("app.ppl")).unwrap();
    // `sleep` does nothing on files of the application, so that the shell's wait for it is a pause.
    let pauses: Vec<u64> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("think ")?.split_once("us ")?.0.parse().ok())
        .collect();
    assert!(pauses.iter().sum::<u64>() >= 190_000, "{text}");
}
