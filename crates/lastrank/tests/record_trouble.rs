//! Tests of `lastrank record` in trouble: signals that it and the application get, and file systems that are full.

mod common;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::lastrank;

/// The two recorders.
const RECORDERS: [&[&str]; 2] = [&[], &["--quiet"]];

/// What `lastrank record` is to run.
fn record<'a>(how: &[&'a str], command: &[&'a str]) -> Vec<&'a str> {
    [&["record", "-o", "app.parquet"], how, &["--"], command].concat()
}

fn verbatim(folder: &Path) -> String {
    lastrank(folder, &["import", "app.parquet", "--verbatim", "--only", "."]).out
}

/// It ended its application with it before, or its recording.
#[test]
fn a_recorder_that_is_to_terminate_passes_that_on_and_keeps_what_was_recorded() {
    for how in RECORDERS {
        let folder = tempfile::tempdir().unwrap();
        // A shell that cleans up, as applications do when they are to terminate. By a signal that cannot be lost: between its fork and
        // its exec the child of a shell forgets those that the shell has a trap for.
        let script = "trap 'echo bye > bye; kill -KILL $!; exit 7' TERM; echo x > begun; sleep 600 & wait";
        let mut child = common::command(folder.path(), &record(how, &["sh", "-c", script])).spawn().unwrap();
        while !folder.path().join("begun").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = child.id().to_string();
        // The shell may be between the file and its `wait`: its trap counts from before.
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(7), "{how:?}");
        let program = verbatim(folder.path());
        assert!(program.contains("$dir/begun") && program.contains("$dir/bye"), "{how:?}: {program}");
    }
}

/// Rust programs ignore the signal of a broken pipe: applications that inherit that see errors in place of it.
#[test]
fn an_application_ends_at_a_broken_pipe_as_without_the_recorder() {
    for how in RECORDERS {
        let folder = tempfile::tempdir().unwrap();
        let recorded = lastrank(folder.path(), &record(how, &["sh", "-c", "yes | head -n 1 > one"]));
        assert_eq!(recorded.status, Some(0), "{how:?}: {}", recorded.err);
        assert!(!recorded.err.contains("roken pipe"), "{how:?}: {}", recorded.err);
    }
}

/// Memory files of a full file system end who writes to them.
#[test]
fn the_quiet_recorder_leaves_an_application_alone_whose_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["disk", "memory"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    // The application fills what the recorder writes to, goes on for some 10,000 calls, and says so.
    let script = "dd if=/dev/zero of=disk/full bs=64k 2>&-; dd if=/dev/zero of=disk/full bs=1 oflag=append conv=notrunc 2>&-\n\
        i=0; while [ $i -lt 10000 ]; do [ -e . ]; i=$((i+1)); done; echo went on";
    let lastrank = env!("CARGO_BIN_EXE_lastrank");
    let mounts = "mount -t tmpfs -o size=1m none disk && mount -t tmpfs -o size=1m none /dev/shm || exit 99";
    let text = format!("{mounts}; exec '{lastrank}' record --quiet -o app.parquet -- sh -c \"$1\"");
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", &text, "sh", script]).current_dir(folder.path());
    let Ok(done) = unshare.env("TMPDIR", folder.path().join("disk")).output() else {
        println!("skipped: no unshare");
        return;
    };
    let done = common::of(done);
    if done.status == Some(99) || done.err.contains("unshare failed") {
        println!("skipped: no right to mount a file system");
        return;
    }
    assert!(done.out.contains("went on"), "{:?} {}{}", done.status, done.out, done.err);
    assert_eq!(done.status, Some(3), "{}", done.err);
    assert!(done.err.contains("Calls are missing: no room for the last records"), "{}", done.err);
}

/// What neither recorder may pass over in silence: both have the same.
#[test]
fn extended_attributes_are_replayed_and_pipes_with_names_told_by_both_recorders() {
    let script = "import os; open('f', 'w').close(); os.setxattr('f', 'user.k', b'v' * 9); file = os.open('f', os.O_RDWR)\n\
                  os.setxattr(file, 'user.l', b'w' * 5); os.removexattr('f', 'user.k')\n\
                  os.mkfifo('pipe'); os.mknod('node', 0o600)";
    for how in RECORDERS {
        let folder = tempfile::tempdir().unwrap();
        let recorded = lastrank(folder.path(), &record(how, &["python3", "-I", "-S", "-c", script]));
        if recorded.err.contains("Operation not supported") || recorded.err.contains("no program") {
            println!("skipped: no Python, or a file system without attributes");
            return;
        }
        assert_eq!(recorded.status, Some(3), "{how:?} {}", recorded.err);
        assert!(recorded.err.contains("Not repeated: 2 × mknod"), "{how:?}: {}", recorded.err);
        let imported = lastrank(folder.path(), &["import", "app.parquet", "-o", "app.ppl", "--only", "."]);
        let program = std::fs::read_to_string(folder.path().join("app.ppl")).unwrap();
        let calls = [
            "setxattr(\"$dir/f\", \"user.k\", 9);",
            ", \"user.l\", 5);",
            "removexattr(\"$dir/f\", \"user.k\");",
        ];
        for call in calls {
            assert!(program.contains(call), "{how:?} {call}: {}{program}", imported.err);
        }
        let asks = format!("{program}\n$size = getxattr(\"$dir/f\", \"user.l\"); print(\"$size bytes\");\n");
        std::fs::write(folder.path().join("asks.ppl"), asks).unwrap();
        let replayed =
            lastrank(folder.path(), &["run", "asks.ppl", "-o", "run.parquet", "--set", "dir=there"]);
        assert_eq!(replayed.status, Some(0), "{how:?}: {}{}\n{program}", replayed.out, replayed.err);
        assert!(replayed.out.contains("5 bytes"), "{how:?}: {}", replayed.out);
    }
}

/// Attributes of other name spaces give rights.
#[test]
fn a_program_sets_no_extended_attribute_that_gives_rights() {
    let folder = tempfile::tempdir().unwrap();
    for key in ["security.capability", "system.posix_acl_access", "trusted.k", "user"] {
        let text = format!("create(\"f\");\nsetxattr(\"f\", \"{key}\", 20);\n");
        std::fs::write(folder.path().join("rights.ppl"), text).unwrap();
        let done = lastrank(folder.path(), &["run", "rights.ppl", "-o", "run.parquet"]);
        assert!(!matches!(done.status, Some(0)), "{key}: {}{}", done.out, done.err);
        assert!(done.err.contains("line 2") && done.err.contains("begin with"), "{key}: {}", done.err);
    }
}

/// Programs that do what no recorder follows, and a reservation that fails.
const OTHER_WAYS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static long by_32(long n, long a, long b, long c) {
#ifdef __x86_64__
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
    return r;
#else
    return -1;
#endif
}
int main(int count, char **words) {
    if (words[1][0] == 'i') {
        char *name = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        strcpy(name, "by32.dat");
        return by_32(5, (long)name, 01102, 0644) < 0 ? 77 : 0;
    }
    if (words[1][0] == 'p') {
        int file = open("p.dat", O_RDONLY | O_CREAT, 0644);
        return posix_fallocate(file, 0, 4096) == 9 ? 0 : 1;
    }
    // No function of the C library, and no read or write that is counted.
    if (words[1][0] == 's') return syscall(SYS_mkdirat, AT_FDCWD, "raw", 0755);
    if (words[1][0] == 'm') {
        const size_t size = 8 << 20;
        int file = open("mapped", O_RDWR | O_CREAT, 0644);
        if (ftruncate(file, size)) return 1;
        char *at = mmap(0, size, 3, MAP_SHARED, file, 0);
        memset(at, 1, size);
        return munmap(at, size) | close(file);
    }
    uint32_t given[30] = {0};
    int ring = syscall(425, 8, given);
    if (ring < 0) return 77;
    char *queue = mmap(0, given[16] + 8 * 4 + 4096, 3, MAP_SHARED, ring, 0);
    char *entries = mmap(0, 8 * 64, 3, MAP_SHARED, ring, 0x10000000);
    if (queue == MAP_FAILED || entries == MAP_FAILED) return 77;
    for (uint32_t at = 0; at < 5; at++) ((uint32_t *)(queue + given[16]))[at] = at;
    *(volatile uint32_t *)(queue + given[11]) = 5;
    long taken = syscall(426, ring, 5, 0, 0, 0, 0);
    close(ring);
    return taken == 5 ? 0 : 77;
}
"#;

/// Without it a recording holds nothing of them, and seems to be whole.
#[test]
fn what_a_recorder_does_not_follow_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("other.c"), OTHER_WAYS).unwrap();
    let compiled = Command::new("cc").args(["-o", "other", "other.c"]).current_dir(folder.path()).status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("skipped: no C compiler");
        return;
    }
    const MAPPED: &str =
        "shared writable mapping, through which memory is stored without calls, 8388608 bytes";
    let cases: [(&[&str], &str, &str); 7] = [
        (&[], "i", "calls of another architecture (32 bits), of which none is recorded"),
        (&["--quiet"], "u", "5 × submissions to io_uring, or more, which --quiet counts and does not see"),
        (&["--quiet"], "p", ""),
        (&[], "s", ""),
        (&["--quiet"], "s", "1 × files that changed although no recorded call did it"),
        (&[], "m", MAPPED),
        (&["--quiet"], "m", MAPPED),
    ];
    for (how, what, told) in cases {
        let recorded = lastrank(folder.path(), &record(how, &["./other", what]));
        if recorded.status == Some(77) {
            println!("skipped: {what} is not to be had here");
            continue;
        }
        let expected = if told.is_empty() { 0 } else { 3 };
        assert_eq!(recorded.status, Some(expected), "{what}: {}", recorded.err);
        assert!(recorded.err.contains(told), "{what}: {}", recorded.err);
        // As often as a recorder says so, it can be made again.
        let _ = std::fs::remove_dir(folder.path().join("raw"));
        if what == "p" {
            // It failed for a reason that is not in the names: no program repeats it as one that worked.
            assert!(!verbatim(folder.path()).contains("fallocate("));
        }
        if what == "m" {
            let imported =
                lastrank(folder.path(), &["import", "app.parquet", "-o", "app.ppl", "--only", "."]);
            let replayed =
                lastrank(folder.path(), &["run", "app.ppl", "-o", "run.parquet", "--set", "dir=there"]);
            let compared = lastrank(folder.path(), &["fidelity", "app.parquet", "run.parquet"]);
            for (done, says) in [(&imported, &imported.err), (&compared, &compared.out)] {
                assert_eq!(done.status, Some(3), "{}{}{}", done.out, done.err, replayed.err);
                let says = says.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(says.contains(MAPPED), "{}{}", done.out, done.err);
            }
            assert!(!compared.out.contains("the same bytes"), "{}", compared.out);
        }
    }
}
