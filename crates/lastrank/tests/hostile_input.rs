//! Wrong files, endless input and huge numbers: each soon gives an error that names the problem.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use common::{Done, command, lastrank, of};

/// Feeds `text` to the binary, which may stop reading.
fn fed(folder: &Path, arguments: &[&str], text: &[u8]) -> Done {
    let mut child = command(folder, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(text);
    of(child.wait_with_output().unwrap())
}

fn refused(folder: &Path, arguments: &[&str], why: &str) {
    let done = lastrank(folder, arguments);
    assert_eq!(done.status, Some(2), "{arguments:?}: {}{}", done.out, done.err);
    assert!(done.err.contains(why), "{arguments:?}: {}", done.err);
}

#[test]
fn a_file_without_end_is_refused_soon() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), "include \"/dev/zero\";\n").unwrap();
    refused(folder.path(), &["fit", "/dev/zero"], "line 1 is longer than a MiB");
    refused(folder.path(), &["compare", "/dev/zero", "/dev/zero"], "line 1 is longer than a MiB");
    refused(folder.path(), &["check", "/dev/zero"], "longer than 256 MiB");
    refused(folder.path(), &["check", "a.ppl"], "below the folder of the program");
    // What could block is not opened, and what is no program does not come into a run file.
    std::fs::write(folder.path().join("notes.txt"), "print(1);\n").unwrap();
    std::fs::create_dir(folder.path().join("d.ppl")).unwrap();
    let around = tempfile::tempdir().unwrap();
    std::fs::write(around.path().join("secret.ppl"), "print(\"a secret\");\n").unwrap();
    std::os::unix::fs::symlink(around.path().join("secret.ppl"), folder.path().join("out.ppl")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.ppl")).unwrap();
    std::os::unix::fs::symlink("notes.txt", folder.path().join("text.ppl")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.ppl")).status().unwrap();
    assert!(made.success());
    for (name, why) in [
        ("notes.txt", "ends in .ppl"),
        ("text.ppl", "ends in .ppl"),
        ("d.ppl", "no ordinary file"),
        ("pipe.ppl", "no ordinary file"),
        ("zero.ppl", "folder"),
        ("out.ppl", "folder"),
        ("/proc/kmsg", "folder"),
    ] {
        std::fs::write(folder.path().join("b.ppl"), format!("include \"{name}\";\n")).unwrap();
        refused(folder.path(), &["check", "b.ppl"], why);
    }
    refused(folder.path(), &["report", "/dev/zero"], "not an ordinary file");
}

#[test]
fn a_program_may_come_through_a_pipe_and_begin_with_a_byte_order_mark() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\u{feff}repeat 3 stat(\".\");\r\nprint(\"x\");\r\n".as_bytes();
    for source in ["-", "/dev/stdin"] {
        let done = fed(folder.path(), &["check", source], text);
        assert_eq!(done.status, Some(0), "{source}: {}", done.err);
    }
    std::fs::write(folder.path().join("part.ppl"), text).unwrap();
    std::fs::write(folder.path().join("a.ppl"), "include \"part.ppl\";\n").unwrap();
    let done = lastrank(folder.path(), &["check", "a.ppl"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
}

#[test]
fn a_directory_is_no_program_and_is_called_one() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["check", "run"] {
        refused(folder.path(), &[command, "."], "`.` is a directory");
    }
}

#[test]
fn absurd_numbers_on_the_command_line_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ppl"), "stat(\".\");\n").unwrap();
    refused(folder.path(), &["run", "a.ppl", "-n", "1000000"], "start fewer with `-n`");
    refused(folder.path(), &["run", "a.ppl", "-n", "4294967296"], "4294967296");
    refused(folder.path(), &["run", "a.ppl", "--timeout", "0"], "--timeout");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn a_root_confines_includes_too() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(folder.path().join("secret.ppl"), "print(\"a secret\");\n").unwrap();
    std::fs::write(inside.join("part.ppl"), "print(\"a part\");\n").unwrap();
    std::os::unix::fs::symlink("../secret.ppl", inside.join("link.ppl")).unwrap();
    for (name, allowed) in [("part.ppl", true), ("../secret.ppl", false), ("link.ppl", false)] {
        std::fs::write(inside.join("a.ppl"), format!("include \"{name}\";\n")).unwrap();
        let done = lastrank(&inside, &["run", "a.ppl", "--root", ".", "-s", "-o", "a", "--report", "none"]);
        assert_eq!(done.status, Some(if allowed { 0 } else { 2 }), "{name}: {}", done.err);
        assert!(!done.out.contains("secret") && (allowed || done.err.contains("--root")), "{}", done.err);
    }
}

#[test]
fn ranks_cannot_leave_their_place_by_changing_it_behind_each_other() {
    let home = tempfile::tempdir().unwrap();
    let inside = home.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let by_dots = "if $$rank == 0 { mkdir(\"m\"); }\nbarrier;\nif $$rank == 1 { write(\"m/../z\", 1); }\nbarrier;\n\
                   if $$rank == 0 { rmdir(\"m\"); symlink(\".\", \"m\"); }\nbarrier;\n\
                   if $$rank == 1 { write(\"m/../escaped\", 1); }\n";
    let by_links = "if $$rank == 0 { mkdir(\"m\"); symlink(\"..\", \"m/l\"); }\nbarrier;\n\
                    if $$rank == 1 { write(\"m/l/z\", 1); }\nbarrier;\n\
                    if $$rank == 0 { rename(\"m\", \"o\"); mkdir(\"d\"); mkdir(\"d/m\"); symlink(\"../..\", \"d/m/l\"); \
                    rename(\"d/m\", \"m\"); }\nbarrier;\nif $$rank == 1 { write(\"m/l/escaped\", 1); }\n";
    for text in [by_dots, by_links] {
        std::fs::write(inside.join("a.ppl"), text).unwrap();
        let arguments = ["run", "a.ppl", "-n", "2", "-s", "-o", "a", "--report", "none"];
        // The directory for temporary files is an allowed place: it must not be the one around.
        let mut run = command(&inside, &arguments);
        run.env("TMPDIR", &inside);
        let done = of(run.output().unwrap());
        assert_eq!(done.status, Some(2), "{}", done.err);
        assert!(!home.path().join("escaped").exists(), "{text}");
    }
}
