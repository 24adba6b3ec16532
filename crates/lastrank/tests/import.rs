//! Tests of `lastrank import`: the program of a trace does what the application did.

mod common;

use std::process::Command;

use common::{all, lastrank};

const TRACE: &str = r#"100 10.000000 getcwd("/home/u/app", 4096) = 12 <0.000010>
100 10.000100 openat(AT_FDCWD, "/usr/lib/libc.so", O_RDONLY|O_CLOEXEC) = 3 <0.000010>
100 10.000200 read(3, "\177ELF"..., 832) = 832 <0.000010>
100 10.000300 close(3)        = 0 <0.000010>
100 10.001000 mkdir("data", 0777) = 0 <0.000100>
100 10.002000 openat(AT_FDCWD, "data/a \303\251.bin", O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0666) = 3 <0.000030>
100 10.002100 write(3, "x, \") = 4096 <1>"..., 4096) = 4096 <0.000020>
100 10.002121 write(3, "x"..., 4096) = 4096 <0.000020>
100 10.002142 write(3, "x"..., 4096) = 4096 <0.000020>
100 10.002200 dup(3) = 4 <0.000005>
100 10.002300 close(3) = 0 <0.000005>
100 10.002400 pwrite64(4, "y", 1, 8192) = 1 <0.000005>
100 10.002500 fsync(4) = 0 <0.002000>
100 10.005000 close(4) = 0 <0.000005>
100 10.006000 openat(AT_FDCWD, "/home/u/app/in/old.csv", O_RDONLY) = 3 <0.000010>
100 10.006100 read(3, "1,2"..., 65536) = 1000 <0.000010>
100 10.006200 read(3, "", 65536) = 0 <0.000005>
100 10.006300 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 101 <0.000050>
101 10.006500 lseek(3, 500, SEEK_SET) = 500 <0.000001>
101 10.006600 read(3,  <unfinished ...>
100 10.006700 newfstatat(AT_FDCWD, "nothing", 0x7ffd, 0) = -1 ENOENT (No such file or directory) <0.000010>
101 10.006800 <... read resumed>"3"..., 100) = 100 <0.000200>
100 10.020000 rename("data/a \303\251.bin", "data/b.bin") = 0 <0.000020>
100 10.020100 unlinkat(AT_FDCWD, "data/b.bin", 0) = 0 <0.000020>
100 10.020200 rmdir("data") = 0 <0.000020>
101 10.020300 +++ exited with 0 +++
"#;

#[test]
fn a_trace_of_two_processes_becomes_a_program_of_two_ranks_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.strace"), TRACE).unwrap();
    let shown = lastrank(folder.path(), &["import", "app.strace"]);
    insta::assert_snapshot!(all(&shown));
    let made = lastrank(folder.path(), &["import", "app.strace", "-o", "app.ppl"]);
    assert_eq!(made.status, Some(0), "{}", made.err);
    let run = lastrank(folder.path(), &["run", "app.ppl", "-c", "-s", "-o", "r.parquet", "--report", "none"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    let formatted = lastrank(folder.path(), &["fmt", "--check", "app.ppl"]);
    assert_eq!(formatted.status, Some(0), "{}", formatted.err);
    assert!(!folder.path().join("imported").exists());
}

#[test]
fn a_log_of_fio_becomes_a_program_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let log = "fio version 3 iolog\n37 f add\n189 f open\n194 f write 0 16384\n2997 f write 16384 16384\n\
               5000 f sync\n5001 f read 0 16384\n5100 f trim 0 512\n6000 f close\n";
    std::fs::write(folder.path().join("job.log"), log).unwrap();
    let shown = lastrank(folder.path(), &["import", "job.log"]);
    insta::assert_snapshot!(all(&shown));
    std::fs::write(folder.path().join("job.ppl"), &shown.out).unwrap();
    let run = lastrank(folder.path(), &["run", "job.ppl", "-c", "-s", "-o", "r.parquet", "--report", "none"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
}

#[test]
fn what_is_no_trace_is_refused_with_the_way_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "hello\n").unwrap();
    std::fs::write(folder.path().join("v9.log"), "fio version 9 iolog\n").unwrap();
    std::fs::write(
        folder.path().join("none.strace"),
        "1 1.5 openat(AT_FDCWD, \"/etc/x\", O_RDONLY) = 3 <0.1>\n",
    )
    .unwrap();
    for (file, words) in [
        ("notes.txt", "strace -f -ttt -T -o FILE COMMAND"),
        ("v9.log", "versions 2 and 3 are known"),
        ("none.strace", "with --all"),
        ("missing", "cannot read missing"),
    ] {
        let done = lastrank(folder.path(), &["import", file]);
        assert_eq!(done.status, Some(2), "{file}: {}", done.err);
        assert!(done.err.contains(words), "{file}: {}", done.err);
    }
}

#[test]
fn a_real_trace_of_cp_runs_where_strace_is_installed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("from"), vec![7; 300_000]).unwrap();
    let traced = Command::new("strace")
        .args(["-f", "-ttt", "-T", "-o", "cp.strace", "cp", "from", "to"])
        .current_dir(folder.path())
        .status();
    if !traced.is_ok_and(|status| status.success()) {
        eprintln!("skipped: strace is not installed, or may not trace here");
        return;
    }
    let home = folder.path().canonicalize().unwrap();
    let home = home.to_str().unwrap();
    let made = lastrank(
        &folder.path().join("."),
        &["import", "cp.strace", "--cwd", home, "--only", home, "-o", "cp.ppl"],
    );
    assert_eq!(made.status, Some(0), "{}", made.err);
    let run = lastrank(folder.path(), &["run", "cp.ppl", "-s", "-o", "r.parquet", "--report", "none"]);
    assert_eq!(
        run.status,
        Some(0),
        "{}\n{}",
        run.err,
        std::fs::read_to_string(folder.path().join("cp.ppl")).unwrap()
    );
    assert_eq!(std::fs::metadata(folder.path().join("imported/to")).unwrap().len(), 300_000);
}

#[test]
fn a_directory_of_recorder_is_one_trace_with_a_rank_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("_text");
    std::fs::create_dir(&text).unwrap();
    for rank in 0..2 {
        let lines = format!(
            "0.0001 0.0002 open 1 0 ( /scratch/own.{rank} 66 420 )\n\
             0.0010 0.0011 pwrite 1 0 ( /scratch/own.{rank} %p 4096 {} )\n\
             0.0040 0.0041 close 0 0 ( /scratch/own.{rank} )\n",
            rank * 4096
        );
        std::fs::write(text.join(format!("{rank}.txt")), lines).unwrap();
    }
    let made = lastrank(folder.path(), &["import", "_text"]);
    assert_eq!(made.status, Some(0), "{}", made.err);
    assert!(made.out.contains("define ranks 2") && made.out.contains("own.$$rank"), "{}", made.out);
    let none = lastrank(folder.path(), &["import", "."]);
    assert_eq!(none.status, Some(2), "{}", none.err);
    assert!(none.err.contains("a directory without files 0.txt, 1.txt"), "{}", none.err);
}

#[test]
fn the_replay_of_a_copy_is_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("a"), [7; 20_000]).unwrap();
    let dd = ["record", "-o", "../app.parquet", "--", "dd", "if=a", "of=b", "bs=4k"];
    assert_eq!(lastrank(&home, &dd).status, Some(0));
    let only = home.canonicalize().unwrap();
    let import = ["import", "app.parquet", "-o", "app.ppl", "--only", only.to_str().unwrap()];
    assert_eq!(lastrank(folder.path(), &import).status, Some(0));
    // Below the working directory, and in a directory that the user gave as a place to do anything in.
    for command in ["run", "replay"] {
        let done = lastrank(folder.path(), &[command, "app.ppl", "--set", &format!("dir={command}")]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        let read = |name: &str| std::fs::read(folder.path().join(command).join(name)).unwrap();
        let (a, b) = (read("a"), read("b"));
        assert_eq!((a.len(), a == b), (20_000, true), "{command}");
        // What a write has of its own says where it stands: no two blocks are alike.
        assert_ne!(a[..512], a[512..1024]);
    }
}

#[test]
fn what_a_damaged_trace_hides_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let whole = "100 1700000000.000000 openat(AT_FDCWD, \"/data/x/f\", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3 <0.000050>\n\
        100 1700000000.001000 write(3, \"abc\"..., 4096) = 4096 <0.000100>\n\
        100 1700000000.002000 write(3, \"abc\"..., 4096) = 4096 <0.000100>\n\
        100 1700000000.003000 close(3) = 0 <0.000010>\n\
        100 1700000000.004000 exit_group(0) = ?\n\
        100 1700000000.005000 +++ exited with 0 +++\n";
    for (name, damaged, told) in [
        ("whole", whole.to_owned(), ""),
        (
            "lost",
            whole.replace("= 4096 <", "= ? <"),
            "Not repeated: 2 × write whose result the trace does not tell",
        ),
        ("cut", whole.replace("<0.000100>", "<nan>"), "Not repeated: 2 × write whose line is cut"),
    ] {
        let (trace, made, ran) = (format!("{name}.strace"), format!("{name}.ppl"), format!("{name}.parquet"));
        std::fs::write(folder.path().join(&trace), damaged).unwrap();
        let imported = lastrank(folder.path(), &["import", &trace, "-o", &made]);
        let status = if told.is_empty() { 0 } else { 3 };
        assert_eq!(imported.status, Some(status), "{}", imported.err);
        assert!(imported.err.contains(told), "{}", imported.err);
        let run = ["run", &made, "-c", "-o", &ran, "--report", "none", "--quiet"];
        assert_eq!(lastrank(folder.path(), &run).status, Some(0));
        let compared = lastrank(folder.path(), &["fidelity", &trace, &ran]);
        assert_eq!(compared.status, Some(status), "{}", compared.out);
        assert_eq!(compared.out.starts_with('✔'), told.is_empty(), "{}", compared.out);
    }
}

#[test]
fn a_replay_that_did_not_reach_its_end_is_named_and_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.strace"), TRACE).unwrap();
    assert_eq!(lastrank(folder.path(), &["import", "app.strace", "-o", "app.ppl"]).status, Some(0));
    let program = std::fs::read_to_string(folder.path().join("app.ppl")).unwrap();
    std::fs::write(
        folder.path().join("app.ppl"),
        program + "\non_error stop;\nstat(\"nothing of this name\");\n",
    )
    .unwrap();
    let run = lastrank(folder.path(), &["run", "app.ppl", "-c", "-o", "r.parquet", "--report", "none"]);
    assert_eq!(run.status, Some(3), "{}{}", run.out, run.err);
    let compared = lastrank(folder.path(), &["fidelity", "app.strace", "r.parquet"]);
    assert_eq!(compared.status, Some(3), "{}{}", compared.out, compared.err);
    assert!(compared.out.starts_with("✖ r.parquet: "), "{}", compared.out);
    assert!(compared.out.contains("The run is incomplete, so this is other work"), "{}", compared.out);
    let json = lastrank(folder.path(), &["fidelity", "app.strace", "r.parquet", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["unsound"][0]["run"], "r.parquet");
}
