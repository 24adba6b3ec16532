//! What was once lost without a word: each of these traces is read right, told by name, or refused.

use trace::format::Reading;
use trace::ledger::{Fate, Ledger, Missing};
use trace::model::Op;
use trace::recording::About;
use trace::select::Choice;
use trace::{Options, Trace};

/// Reads a trace; its program is checked by a dry run.
fn made(text: &str) -> (String, Trace, Ledger) {
    let reading = Reading::default();
    let format = trace::formats::detect(text.as_bytes(), &reading).expect("strace");
    let mut found = trace::import::read(format, &mut text.as_bytes(), &reading).unwrap();
    let made = trace::import(&mut found, &Options::default());
    assert_eq!(made.difference, None, "{}", made.text);
    let ledger = Ledger::of(&found, &About::default(), &Choice::default(), Some(&made.done));
    (made.text, found, ledger)
}

/// What is not repeated, with calls and bytes.
fn not_repeated(ledger: &Ledger) -> Vec<(&str, u64, u64)> {
    ledger.of_fate(Fate::NotRepeated).map(|line| (line.what.as_str(), line.calls, line.bytes)).collect()
}

#[test]
fn modes_of_fallocate_are_repeated_and_names_change_places() {
    let (program, _, ledger) = made(include_str!("lost/strace-modes.strace"));
    assert_eq!(not_repeated(&ledger), [("mknod", 1, 0)]);
    assert_eq!(ledger.missing(), Missing::Changes);
    assert!(program.contains("fallocate($f0, 4096, 8192, \"punch_hole\");"), "{program}");
    assert!(program.contains("fallocate($f0, 65536, 65536, \"keep_size\");"), "{program}");
    assert!(program.contains("# Left out: 1 mknod, which no program repeats."), "{program}");
    assert!(program.contains("setxattr(\"$dir/b\", \"user.k\", 1);"), "{program}");
    assert_eq!(
        program.lines().filter(|line| line.trim_start().starts_with("rename(")).count(),
        3,
        "{program}"
    );
    let nearly: Vec<&str> = ledger.of_fate(Fate::Nearly).map(|line| line.what.as_str()).collect();
    assert_eq!(nearly, ["exchange of two names, which becomes three renames"]);
    // open, write, twice fallocate, setxattr, close
    assert_eq!(ledger.sum(Fate::Exactly), (6, 65536));
}

#[test]
fn what_is_read_after_an_exchange_is_what_was_written_under_the_other_name() {
    let (_, trace, ledger) = made(include_str!("lost/exch.strace"));
    assert_eq!(ledger.missing(), Missing::Nothing, "{ledger:?}");
    let read = trace.calls.iter().find(|call| call.op == Op::Read).unwrap();
    assert_eq!((trace.names.get(read.path), read.bytes), (&b"/w/a"[..], 200));
}

#[test]
fn close_range_may_close_at_the_next_program_alone() {
    let (program, trace, ledger) = made(include_str!("lost/cloexec.strace"));
    assert!(program.contains("fwrite(") && program.contains("100"), "{program}");
    assert_eq!(trace.calls.iter().filter(|call| call.op == Op::Close).count(), 1);
    assert_eq!(not_repeated(&ledger), []);
}

#[test]
fn names_of_systems_of_32_bits_are_those_of_64() {
    let (program, trace, ledger) = made(include_str!("lost/strace-arm32.strace"));
    let of = |op| trace.calls.iter().filter(move |call| call.op == op);
    assert_eq!(of(Op::Seek).next().map(|call| call.offset), Some(4096));
    assert_eq!(of(Op::Truncate).next().map(|call| call.bytes), Some(10_000));
    assert_eq!(of(Op::Stat).last().map(|call| call.bytes), Some(20_000));
    assert_eq!(of(Op::Read).map(|call| (call.offset, call.bytes)).collect::<Vec<_>>(), [(4096, 8192)]);
    assert!(program.contains("ftruncate($f"), "{program}");
    assert_eq!(not_repeated(&ledger), []);
}

#[test]
fn numbers_in_place_of_words_are_the_same() {
    let (program, trace, _) = made(include_str!("lost/strace-X-raw.strace"));
    let opened = trace.calls.iter().find(|call| call.op == Op::Open).unwrap();
    assert_eq!(opened.flags, 0o102);
    assert!(program.contains("\"O_RDWR|O_CREAT\"") && program.contains("fsync($f"), "{program}");
    let punched =
        "1 1.0 openat(-100, \"/w/a\", 0x42, 0644) = 3 <0.1>\n1 2.0 fallocate(3, 0x3, 0, 4096) = 0 <0.1>\n";
    let (program, _, ledger) = made(punched);
    assert_eq!(not_repeated(&ledger), []);
    assert!(program.contains("fallocate($f0, 4096, 0, \"punch_hole\");"), "{program}");
    // Of a mode that is not known nothing is repeated.
    let strange = made(&punched.replace("0x3", "0x83")).2;
    assert_eq!(not_repeated(&strange), [("fallocate with the flag 0x80", 1, 4096)]);
}

#[test]
fn times_since_the_line_before_are_added_up() {
    let (_, trace, _) = made(include_str!("lost/strace-r-T.strace"));
    let starts: Vec<u64> = trace.calls.iter().map(|call| call.start / 1000).collect();
    assert_eq!(starts, [0, 60, 480, 502, 1502, 1583, 1724, 5924]);
    let (_, trace, _) = made(include_str!("lost/strace-r-tt.strace"));
    let starts: Vec<u64> = trace.calls.iter().map(|call| call.start / 1000).collect();
    let since: Vec<u64> = starts.iter().map(|start| start - starts[0]).collect();
    assert_eq!(since, [0, 100, 1_000_100, 1_000_300]);
}

#[test]
fn what_is_no_trace_of_calls_is_refused_by_its_name() {
    let refused = |text: &str| trace::formats::refused(text.as_bytes()).unwrap_or("");
    assert!(refused(include_str!("lost/strace-c.txt")).contains("strace -c"));
    assert!(
        refused("SYSCALL(args) \t\t = return\nopen(\"/a\\0\", 0x0, 0x1B6)\t\t = 3 0\n").contains("dtruss")
    );
    assert!(
        refused("     0.000 ( 0.012 ms): cat/77 openat(dfd: CWD, filename: 0x7f) = 3\n")
            .contains("perf trace")
    );
    for whole in [include_str!("lost/strace-r-T.strace"), include_str!("lost/strace-modes.strace")] {
        assert_eq!(refused(whole), "");
    }
}

#[test]
fn a_shell_loop_of_mv_can_be_replayed() {
    let mut text = String::from("1 1.0 getcwd(\"/w\", 4096) = 3 <0.0001>\n");
    for (round, name) in ["f.0", "f.1", "f.0"].into_iter().enumerate() {
        let at = 2 + round;
        text +=
            &format!("1 {at}.1 openat(AT_FDCWD, \"f.tmp\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3 <0.0001>\n");
        text += &format!("1 {at}.2 close(3) = 0 <0.0001>\n");
        let first = "renameat2(AT_FDCWD, \"f.tmp\", AT_FDCWD";
        if round < 2 {
            text += &format!("1 {at}.3 {first}, \"{name}\", RENAME_NOREPLACE) = 0 <0.0001>\n");
        } else {
            text += &format!(
                "1 {at}.3 {first}, \"{name}\", RENAME_NOREPLACE) = -1 EEXIST (File exists) <0.0001>\n"
            );
            text += &format!("1 {at}.4 renameat(AT_FDCWD, \"f.tmp\", AT_FDCWD, \"{name}\") = 0 <0.0001>\n");
        }
    }
    let (program, _, ledger) = made(&text);
    assert!(!program.contains("EEXIST"), "{program}");
    assert_eq!(not_repeated(&ledger), [("renameat2 with RENAME_NOREPLACE that found the new name", 1, 0)]);
    assert_eq!(ledger.missing(), Missing::Nothing);
}

#[test]
fn a_file_without_a_name_gets_one_and_is_linked() {
    let text = "1 1.0 openat(AT_FDCWD, \"/w/d\", O_WRONLY|O_TMPFILE, 0600) = 3 <0.1>\n\
        1 2.0 write(3, \"x\"..., 700) = 700 <0.1>\n\
        1 3.0 linkat(AT_FDCWD, \"/proc/self/fd/3\", AT_FDCWD, \"/w/d/named\", AT_SYMLINK_FOLLOW) = 0 <0.1>\n\
        1 4.0 close(3) = 0 <0.1>\n\
        1 5.0 openat(AT_FDCWD, \"/w/d/named\", O_RDONLY) = 3 <0.1>\n1 6.0 read(3, \"x\"..., 4096) = 700 <0.1>\n1 7.0 close(3) = 0 <0.1>\n";
    let (program, _, ledger) = made(text);
    for part in ["fwrite(", "link(", "unlink(", "fread("] {
        assert!(program.contains(part), "{part}: {program}");
    }
    assert_eq!((not_repeated(&ledger), ledger.missing()), (vec![], Missing::Nothing));
    assert_eq!(ledger.sum(Fate::Exactly).1, 1400);
}

#[test]
fn extended_attributes_of_users_are_repeated_and_others_told() {
    let trace = "1 1.0 openat(AT_FDCWD, \"/w/x/a\", O_RDWR|O_CREAT, 0644) = 3 <0.1>\n\
                 1 2.0 fsetxattr(3, \"user.$one\", \"v\", 700, 0) = 0 <0.1>\n\
                 1 3.0 removexattr(\"/w/x/b\", \"user.two\") = -1 ENODATA (No data available) <0.1>\n\
                 1 4.0 lsetxattr(\"/w/x/b\", \"security.capability\", \"\\x01\", 20, 0) = 0 <0.1>\n\
                 1 5.0 removexattr(\"/w/x/b\", \"user.three\") = 0 <0.1>\n1 6.0 close(3) = 0 <0.1>\n";
    let (program, _, ledger) = made(trace);
    assert!(program.contains(r#"setxattr($f0, "user.\$one", 700);"#), "{program}");
    assert!(program.contains(r#"removexattr("$dir/b", "user.three");"#), "{program}");
    assert_eq!(
        not_repeated(&ledger),
        [
            ("calls that failed for a reason that is not in the names", 1, 0),
            ("setxattr of a name that does not begin with user.", 1, 0)
        ]
    );
    assert_eq!(ledger.missing(), Missing::Nothing);
}

#[test]
fn an_unknown_call_is_told_and_never_silent() {
    let text = "1 1.0 openat(AT_FDCWD, \"/w/a\", O_RDWR|O_CREAT, 0644) = 3 <0.1>\n\
        1 2.0 newcall(3, 4096) = 0 <0.1>\n1 3.0 futex(0x7f, FUTEX_WAKE, 1) = 0 <0.1>\n\
        1 4.0 othercall(\"/usr/x\", 1) = 0 <0.1>\n1 5.0 io_uring_enter(9, 8, 0, 0, NULL, 8) = 8 <0.1>\n\
        1 6.0 io_uring_enter(9, 0, 8, IORING_ENTER_GETEVENTS, NULL, 8) = 0 <0.1>\n1 7.0 close(3) = 0 <0.1>\n";
    let (_, _, ledger) = made(text);
    assert_eq!(not_repeated(&ledger), [("submissions to io_uring", 8, 0), ("newcall", 1, 0)]);
    assert_eq!(ledger.elsewhere, 1);
}

#[test]
fn open_files_below_a_directory_that_is_renamed_have_its_new_name() {
    let text = "1 1.0 mkdir(\"/w/d\", 0755) = 0 <0.1>\n\
        1 2.0 openat(AT_FDCWD, \"/w/d/a\", O_RDWR|O_CREAT, 0644) = 3 <0.1>\n1 3.0 rename(\"/w/d\", \"/w/e\") = 0 <0.1>\n\
        1 4.0 fchmod(3, 0600) = 0 <0.1>\n1 5.0 close(3) = 0 <0.1>\n";
    let (_, trace, _) = made(text);
    let changed = trace.calls.iter().find(|call| call.op == Op::Chmod).unwrap();
    assert_eq!(trace.names.get(changed.path), b"/w/e/a");
}

#[test]
fn an_open_that_failed_since_a_file_is_no_directory_fails_again() {
    let text = "1 1.0 openat(AT_FDCWD, \"/w/a\", O_WRONLY|O_CREAT, 0644) = 3 <0.1>\n1 2.0 close(3) = 0 <0.1>\n\
        1 3.0 openat(AT_FDCWD, \"/w/a\", O_RDONLY|O_DIRECTORY) = -1 ENOTDIR (Not a directory) <0.1>\n";
    let (program, _, ledger) = made(text);
    assert!(program.contains("fopen(\"$dir/a\", \"O_RDONLY|O_DIRECTORY\")"), "{program}");
    assert_eq!(not_repeated(&ledger), []);
}
