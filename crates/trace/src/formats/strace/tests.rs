//! Tests of the reader of strace.

use std::io::Read;

use proptest::prelude::*;

use super::*;
use crate::ledger::{Fate, Ledger, Missing};
use crate::model::{COPY, Call, EXPLICIT, NONE, Op};
use crate::recording::About;
use crate::select::Choice;

fn read(text: &[u8]) -> Trace {
    let mut reader = text;
    parse(&mut Input::new(&mut reader), &Reading::default()).unwrap()
}

/// The text of the files of `strace -ff`, merged.
fn merged(parts: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let parts = parts.iter().map(|(thread, text)| (*thread, text.as_slice()));
    merge_parts(parts).unwrap().read_to_end(&mut out).unwrap();
    out
}

/// Operation, name, bytes and offset of each call.
fn calls(trace: &Trace) -> Vec<(Op, String, u64, u64)> {
    let shown = |call: Call| {
        let name = String::from_utf8_lossy(trace.names.get(call.path)).into_owned();
        (call.op, name, call.bytes, call.offset)
    };
    trace.calls.iter().filter(|call| call.path != NONE).map(shown).collect()
}

#[test]
fn relative_and_absolute_names_are_one_tree_even_where_the_directory_is_told_late() {
    let trace = read(
        b"7 1.0 openat(AT_FDCWD, \"a\", O_RDONLY) = 3 <0.1>\n\
          7 2.0 getcwd(\"/home/u\", 99) = 8 <0.1>\n\
          7 3.0 stat(\"/home/u/a\", {st_mode=S_IFREG|0640, st_size=12, ...}) = 0 <0.1>\n",
    );
    let all = calls(&trace);
    assert_eq!(all[0].1, "/home/u/a");
    assert_eq!(all[1], (Op::Stat, "/home/u/a".into(), 12, 0o100_640));
    assert_eq!(trace.names.find(b"/home/u/a"), Some(trace.calls.get(1).path));
}

#[test]
fn a_call_that_is_resumed_is_one_call_with_its_own_beginning() {
    let trace = read(
        b"1 1.0 openat(AT_FDCWD, \"/a\", O_RDWR) = 3 <0.1>\n\
          1 2.0 read(3,  <unfinished ...>\n\
          2 2.1 getpid() = 2 <0.1>\n\
          1 2.5 <... read resumed>\"\\\"x) = 4\"..., 4096) = 10 <0.5>\n",
    );
    let read = trace.calls.get(1);
    assert_eq!((read.op, read.bytes, read.start, read.duration), (Op::Read, 10, 2_000_000_000, 500_000_000));
}

#[test]
fn a_number_that_one_thread_gives_free_is_that_of_a_file_of_another() {
    const BEGIN: &str = "1 1.0 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3 <0.1>\n\
        1 2.0 clone(child_stack=0x1, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.1>\n";
    let check = |text: &[u8]| {
        let trace = read(text);
        assert!(trace.left_out.is_empty(), "{:?}", trace.left_out);
        let found = trace.calls.iter().find(|call| call.op == Op::Read).unwrap();
        assert_eq!(trace.names.get(found.path), b"/b");
    };
    let together = "1 3.0 close(3</a> <unfinished ...>\n\
        2 3.1 openat(AT_FDCWD, \"/b\", O_RDONLY) = 3 <0.1>\n\
        1 3.3 <... close resumed>) = 0 <0.3>\n\
        2 4.0 read(3, \"x\", 9) = 1 <0.1>\n";
    check(format!("{BEGIN}{together}").as_bytes());
    let own = |thread: &str, text: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(thread));
        lines.map(|line| format!("{line}\n")).collect::<String>().into_bytes()
    };
    let first = format!("{BEGIN}1 3.0 close(3) = 0 <0.3>\n");
    let second = "2 2.9 openat(AT_FDCWD, \"/b\", O_RDONLY) = 3 <0.3>\n2 4.0 read(3, \"x\", 9) = 1 <0.1>\n";
    check(&merged(&[(1, own("1 ", &first)), (2, own("2 ", second))]));
}

#[test]
fn lines_of_a_child_may_come_before_its_start_is_told() {
    let trace = read(
        b"1 1.0 openat(AT_FDCWD, \"/log\", O_WRONLY|O_APPEND) = 5 <0.1>\n\
          1 2.0 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n\
          9 2.1 write(5, \"x\", 1) = 1 <0.1>\n\
          1 2.2 <... clone resumed>, child_tidptr=0x7f) = 9 <0.3>\n\
          9 2.3 +++ exited with 0 +++\n\
          1 3.0 wait4(9, NULL, 0, NULL) = 9 <0.1>\n",
    );
    let ops: Vec<Op> = trace.calls.iter().map(|call| call.op).collect();
    assert_eq!(ops, [Op::Open, Op::Spawn, Op::Write, Op::Exit, Op::Wait]);
    assert_eq!(trace.names.get(trace.calls.get(2).path), b"/log");
    assert_eq!(trace.calls.get(4).file, trace.calls.get(2).thread);
}

#[test]
fn threads_whose_start_is_not_told_come_in_the_order_of_their_first_lines() {
    let mut text = b"1 1.0 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n".to_vec();
    for (thread, at) in (2..30).rev().zip(2..) {
        text.extend(format!("{thread} {at}.0 mkdir(\"/{at}\", 0777) = 0 <0.1>\n").into_bytes());
    }
    let names: Vec<String> = calls(&read(&text)).into_iter().map(|(_, name, ..)| name).collect();
    assert_eq!(names, (2..30).map(|at| format!("/{at}")).collect::<Vec<_>>());
}

#[test]
fn descriptors_follow_dup_and_close_on_exec() {
    let trace = read(
        b"1 1.0 openat(AT_FDCWD, \"/a\", O_RDWR|O_CLOEXEC) = 3 <0.1>\n\
          1 2.0 dup2(3, 7) = 7 <0.1>\n\
          1 3.0 close(3) = 0 <0.1>\n\
          1 4.0 write(7, \"abc\"..., 300) = 300 <0.1>\n\
          1 5.0 lseek(7, 0, SEEK_CUR) = 300 <0.1>\n\
          1 6.0 fcntl(7, F_SETFD, FD_CLOEXEC) = 0 <0.1>\n\
          1 7.0 execve(\"/bin/true\", [\"true\"], 0x7 /* 9 vars */) = 0 <0.1>\n\
          1 8.0 write(7, \"abc\", 3) = -1 EBADF (Bad file descriptor) <0.1>\n",
    );
    let ops: Vec<(Op, u64)> = trace.calls.iter().map(|call| (call.op, call.offset)).collect();
    assert_eq!(ops[1..3], [(Op::Write, 0), (Op::Seek, 300)]);
    assert_eq!((trace.calls.get(3).op, trace.calls.get(3).flags), (Op::Close, crate::model::IMPLIED));
    assert_eq!(trace.threads[0].name, "true");
}

#[test]
fn a_copy_is_a_read_and_a_write_of_one_call_and_names_its_offsets() {
    let trace = read(
        b"1 1.0 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3 <0.1>\n\
          1 2.0 openat(AT_FDCWD, \"/b\", O_WRONLY|O_CREAT, 0666) = 4 <0.1>\n\
          1 3.0 copy_file_range(3, NULL, 4, NULL, 9223372035781033984, 0) = 300 <0.1>\n\
          1 4.0 sendfile(4, 3, [100] => [150], 50) = 50 <0.1>\n\
          1 5.0 copy_file_range(3, [7], 4, [9] => [10], 1, 0) = 1 <0.1>\n\
          1 6.0 pipe2([5, 6], 0) = 0 <0.1>\n\
          1 7.0 splice(3, NULL, 6, NULL, 10, 0) = 10 <0.1>\n\
          1 8.0 copy_file_range(3, NULL, 4, NULL, 10, 0) = -1 EXDEV (Invalid cross-device link) <0.1>\n",
    );
    let found: Vec<_> = trace
        .calls
        .iter()
        .filter(|call| call.op != Op::Open)
        .map(|call| (call.op, call.flags, call.offset, call.bytes))
        .collect();
    let expected = [
        (Op::Read, COPY, 0, 300),
        (Op::Write, COPY, 0, 300),
        (Op::Read, COPY | EXPLICIT, 100, 50),
        (Op::Write, COPY, 300, 50),
        (Op::Read, COPY | EXPLICIT, 7, 1),
        (Op::Write, COPY | EXPLICIT, 9, 1),
        (Op::Read, 0, 300, 10),
    ];
    assert_eq!(found[..7], expected);
    assert!(found[7..].iter().all(|(op, flags, ..)| *op == Op::PipeWrite || *flags == 0), "{found:?}");
}

#[test]
fn paths_behind_descriptors_and_hexadecimal_strings_are_read() {
    let trace = read(
        b"1 1.0 openat(AT_FDCWD</w>, \"\\x61\\x2f\\xff\", O_RDONLY) = 3</w/a/\\377> <0.1>\n\
          1 2.0 read(0</w/in) = 3, [>, \"\"..., 9) = 9 <0.1>\n\
          1 3.0 write(1<pipe:[77]>, \"x\", 1) = 1 <0.1>\n",
    );
    assert_eq!(trace.names.get(trace.calls.get(0).path), b"/w/a/\xff");
    assert_eq!(trace.names.get(trace.calls.get(1).path), b"/w/in) = 3, [");
    assert_eq!(trace.calls.get(2).op, Op::PipeWrite);
}

#[test]
fn names_may_hold_quotes_and_line_feeds() {
    let trace = read(b"1 1.0 mkdir(\"/a\\\"b) = 0\\nc\\303\\251\", 0777) = 0 <0.1>\n");
    assert_eq!(trace.names.get(trace.calls.get(0).path), "/a\"b) = 0\nc\u{e9}".as_bytes());
}

#[test]
fn files_of_strace_ff_are_merged_by_time() {
    let parts = [
        (5, b"1.0 chdir(\"/w\") = 0 <0.1>\n3.0 mkdir(\"x\", 0777) = 0 <0.1>\n".to_vec()),
        (6, b"2.0 mkdir(\"/y\", 0777) = 0 <0.1>\n".to_vec()),
    ];
    let merged = merged(&parts);
    let names: Vec<String> = calls(&read(&merged)).into_iter().map(|(_, name, ..)| name).collect();
    assert_eq!(names, ["/y", "/w/x"]);
}

#[test]
fn lines_that_are_cut_or_no_calls_are_told_and_not_taken_as_whole() {
    let trace = read(
        b"1 1.000001 openat(AT_FDCWD, \"f\", O_RDWR|O_CREAT, 0644) = 3 <0.000010>\n\
          1 1.000101 write(3, \"abc\"..., 4096) = 4096 <0.000010>\n\
          1 1.000201 write(3, \"abc\"..., 40\n\
          1 1.000301 this is no call\n\
          1 1.000401 write(3, \"abc\"..., 4096) = 40",
    );
    let left: Vec<(&str, u64)> = trace.left_out.iter().map(|(what, count)| (what.as_str(), *count)).collect();
    assert_eq!(left, [(crate::model::NO_CALLS, 1)]);
    assert_eq!(lost(&trace), [("write whose line is cut", Missing::Changes, 2)]);
    assert_eq!(calls(&trace).iter().filter(|call| call.2 == 4096 || call.3 == 4096).count(), 1);
    assert!(trace.notes.iter().all(|note| !note.contains("without times")), "{:?}", trace.notes);
}

/// What is not repeated, with what is missed and how often.
fn lost(trace: &Trace) -> Vec<(&str, Missing, u64)> {
    let ledger = Ledger::of(trace, &About::default(), &Choice::default(), None);
    let lines = ledger.of_fate(Fate::NotRepeated).filter(|line| line.what != crate::model::NO_CALLS);
    let known = |what: &str| &*trace.unrepeated.iter().find(|known| known.what == what).unwrap().what;
    lines.map(|line| (known(&line.what), line.missing, line.calls)).collect()
}

#[test]
fn calls_without_a_result_are_told_by_what_they_may_have_done() {
    let trace = read(
        b"1 1.0 openat(AT_FDCWD, \"/d/f\", O_RDWR|O_CREAT, 0644) = 3 <0.1>\n\
          1 2.0 write(3, \"abc\"..., 4096) = ? <0.1>\n\
          1 3.0 write(3, \"abc\"..., 4096) = ?\n\
          1 4.0 read(3, 0x7f, 4096) = ? <unavailable>\n\
          1 5.0 write(2, \"x\", 1) = ?\n\
          1 6.0 read(3, 0x7f, 9) = ? ERESTARTSYS (To be restarted)\n\
          1 7.0 rename(\"/usr/f\", \"/usr/g\") = ? <0.1>\n\
          1 7.5 openat(AT_FDCWD, \"/d/f\", O_RDONLY) = ?\n\
          1 7.6 socket(AF_INET, SOCK_STREAM, 0) = 5 <0.1>\n\
          1 7.7 sendfile(5, 3, NULL, 300) = ?\n\
          1 7.8 ioctl(3, TCGETS, 0x7f) = ?\n\
          1 8.0 close(3) = ?\n\
          1 9.0 exit_group(0) = ?\n",
    );
    let expected = [
        ("write whose result the trace does not tell", Missing::Changes, 2),
        ("read whose result the trace does not tell", Missing::Reads, 1),
        ("write whose result the trace does not tell", Missing::Nothing, 1),
    ];
    assert_eq!(lost(&trace), expected);
    assert!(trace.left_out.keys().all(|why| why == "calls that a signal broke off"), "{:?}", trace.left_out);
}

#[test]
fn damaged_lines_are_told_by_what_they_may_have_done() {
    let trace = read(
        b"1 1.0 openat(AT_FDCWD, \"/d/f\", O_RDWR|O_CREAT, 0644) = 3 <0.1>\n\
          1 2.0 write(3, \"abc\"..., 4096) = 4096 <nan>\n\
          1 3.0 read(3, \"abc\"..., 4096) = 4096 <-5.0>\n\
          1 4.0 rename(\"/d/f\", \"/d/g\") = 0 <\n\
          1 5.0 rename(\"/usr/f\", \"/us\n\
          1 6.0 unlink(\"/d/none\") = -1 ENO\n\
          1 7.0 stat(\"/d/f\", {st_mode\n\
          1 8.0 futex(0x7f, FUTEX_W\n",
    );
    let left: Vec<(&str, u64)> = trace.left_out.iter().map(|(what, count)| (what.as_str(), *count)).collect();
    assert_eq!(left, [(crate::model::CUT_CALLS, 3)]);
    let lost = lost_with_cut(&trace);
    assert_eq!(
        lost[..3].iter().map(|(_, missing, _)| *missing).collect::<Vec<_>>(),
        [Missing::Changes, Missing::Changes, Missing::Reads]
    );
    assert_eq!(lost.len(), 4, "{lost:?}");
}

/// As [`lost`], with the lines that are cut and did nothing.
fn lost_with_cut(trace: &Trace) -> Vec<(String, Missing, u64)> {
    let ledger = Ledger::of(trace, &About::default(), &Choice::default(), None);
    ledger.of_fate(Fate::NotRepeated).map(|line| (line.what.clone(), line.missing, line.calls)).collect()
}

#[test]
fn calls_of_a_thread_keep_the_order_of_their_lines_where_the_clock_goes_back() {
    let text = |read: &str| {
        format!(
            "1 1700000000.000 openat(AT_FDCWD, \"/d/f\", O_RDWR|O_CREAT, 0644) = 3 <0.000050>\n\
             1 1700000000.001 write(3, \"abc\"..., 4096) = 4096 <0.0001>\n\
             1 {read} rename(\"/d/f\", \"/d/g\") = 0 <0.0001>\n\
             1 1700000000.006 close(3) = 0 <0.00001>\n"
        )
    };
    for (at, by) in [("1700000000.0005", "0.0005 s"), ("1600000000.0", "100000000.001 s")] {
        let mut trace = read(text(at).as_bytes());
        let ops: Vec<Op> = trace.calls.iter().map(|call| call.op).collect();
        assert_eq!(ops, [Op::Open, Op::Write, Op::Rename, Op::Close]);
        assert!(trace.calls.iter().is_sorted_by_key(|call| call.start));
        assert!(trace.notes.iter().any(|note| note.contains("went back once") && note.contains(by)));
        let made = crate::import::import(&mut trace, &crate::import::Options::default());
        let at =
            |command: &str| made.text.find(command).unwrap_or_else(|| panic!("{command}: {}", made.text));
        assert!(at("fwrite(") < at("rename(") && at("rename(") < at("fclose("), "{}", made.text);
        assert!(!made.text.contains("00000000us"), "{}", made.text);
    }
}

#[test]
fn what_is_no_call_is_an_error_and_odd_lines_do_no_harm() {
    let mut text: &[u8] = b"hello\nworld\n";
    let error = parse(&mut Input::new(&mut text), &Reading::default()).unwrap_err();
    assert!(error.to_string().contains("none of its 2 lines"));
    let mut odd = b"1 1.0 mkdir(\"/a\", 0777) = 0 <0.1>\n1 2.0 write(3, \"\0\xff".to_vec();
    odd.extend(vec![b'x'; 1_000_000]);
    odd.extend(b"\n1 3.0 <... read resumed>) = 3\n1 4.0 clone(= ?\n1 5.0 +++ killed by SIGKILL +++\n");
    assert_eq!(calls(&read(&odd)).len(), 1);
}

/// Lines of all kinds; what is said of them must not depend on which are cut together.
const KINDS: [&[u8]; 18] = [
    b"openat(AT_FDCWD, \"/a\", O_RDWR|O_CREAT, 0644) = 3 <0.1>",
    b"openat(AT_FDCWD, \"b\\377\xff\", O_RDONLY) = 4 <0.1>",
    b"write(3, \"\xfe) = 4\"..., 4096) = 4096 <0.1>",
    b"read(3,  <unfinished ...>",
    b"<... read resumed>\"x\"..., 4096) = 10 <0.5>",
    b"close(3 <unfinished ...>",
    b"<... close resumed>) = 0 <0.3>",
    b"close(4) = 0 <0.1>",
    b"clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>",
    b"<... clone resumed>, child_tidptr=0x7f) = 9 <0.3>",
    b"clone(child_stack=0x1, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 8 <0.1>",
    b"rename(\"/a\", \"/d/e\") = 0 <0.1>",
    b"wait4(9, NULL, 0, NULL) = 9 <0.1>",
    b"read(3, 0x1, 9) = ? ERESTARTSYS (To be restarted)",
    b"--- SIGCHLD {si_signo=SIGCHLD} ---",
    b"+++ exited with 0 +++",
    b"mkdir(\"/a",
    b"",
];

/// All that a trace says.
fn said(trace: &Trace) -> impl PartialEq + std::fmt::Debug + use<> {
    let names: Vec<Vec<u8>> = trace.names.iter().map(<[u8]>::to_vec).collect();
    let calls: Vec<Call> = trace.calls.iter().collect();
    (calls, names, trace.threads.clone(), trace.left_out.clone(), trace.notes.clone())
}

proptest! {
    #[test]
    fn what_comes_of_lines_does_not_depend_on_how_they_are_cut(
        kinds in prop::collection::vec((0_usize..KINDS.len(), 0_u32..4, 0_u32..12), 1..60),
        threads in 1_usize..4,
        ends in any::<bool>(),
    ) {
        let mut text = Vec::new();
        for (at, (kind, thread, odd)) in kinds.iter().enumerate() {
            if *odd > 1 {
                text.extend(format!("{} {at}.5 ", [1, 2, 8, 9][*thread as usize]).into_bytes());
            }
            text.extend_from_slice(KINDS[*kind]);
            text.extend_from_slice(if *odd == 3 { b"\r\n" } else { b"\n" });
        }
        if ends {
            text.pop();
        }
        let by = |threads, block| {
            let mut reader = text.as_slice();
            let read = parse_by(&mut Input::new(&mut reader), &Reading::default(), Cutting { threads, block });
            read.map(|trace| said(&trace)).map_err(|error| error.to_string())
        };
        let plain = by(0, usize::MAX);
        // Borders between all lines, between some, and none.
        for block in [1, 2, 40, 100, 333, 1 << 20] {
            prop_assert_eq!(&by(threads, block), &plain);
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_named_whichever_thread_would_cut_it() {
    let mut text = b"1 1.0 close(3) = 0\n".repeat(50);
    text.extend(vec![b'x'; (1 << 24) + 1]);
    for threads in [0, 2] {
        let mut reader = text.as_slice();
        let cutting = Cutting { threads, block: 100 };
        let error = parse_by(&mut Input::new(&mut reader), &Reading::default(), cutting).unwrap_err();
        assert!(error.to_string().starts_with("line 51: "), "{error}");
    }
}

#[test]
fn a_clone_is_a_copy_of_what_fstat_told_or_of_its_range() {
    let trace = read(
        b"1 1.0 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3 <0.1>\n\
          1 2.0 openat(AT_FDCWD, \"/b\", O_WRONLY|O_CREAT, 0666) = 4 <0.1>\n\
          1 3.0 ioctl(4, BTRFS_IOC_CLONE or FICLONE, 3) = 0 <0.1>\n\
          1 4.0 fstat(3, {st_mode=S_IFREG|0644, st_size=700, ...}) = 0 <0.1>\n\
          1 5.0 ioctl(4, BTRFS_IOC_CLONE or FICLONE, 3) = -1 EOPNOTSUPP (Operation not supported) <0.1>\n\
          1 6.0 ioctl(4, BTRFS_IOC_CLONE or FICLONE, 3) = 0 <0.1>\n\
          1 7.0 ioctl(4, BTRFS_IOC_CLONE_RANGE or FICLONERANGE, {src_fd=3, src_offset=100, src_length=50, dest_offset=9}) = 0 <0.1>\n\
          1 8.0 ioctl(4, BTRFS_IOC_CLONE_RANGE or FICLONERANGE, {src_fd=3, src_offset=100, src_length=0, dest_offset=9}) = 0 <0.1>\n\
          1 9.0 ioctl(1, TCGETS, {c_iflag=ICRNL}) = 0 <0.1>\n",
    );
    let transfers = trace.calls.iter().filter(|call| matches!(call.op, Op::Read | Op::Write));
    let found: Vec<_> = transfers.map(|call| (call.op, call.flags, call.offset, call.bytes)).collect();
    let how = COPY | EXPLICIT;
    assert_eq!(
        found,
        [
            (Op::Read, how, 0, 700),
            (Op::Write, how, 0, 700),
            (Op::Read, how, 100, 50),
            (Op::Write, how, 9, 50),
            (Op::Read, how, 100, 600),
            (Op::Write, how, 9, 600),
        ]
    );
    let missed = trace.calls.iter().filter(|call| call.op == Op::Unrepeated);
    let missed: Vec<&str> = missed.map(|call| &*trace.unrepeated[call.flags as usize].what).collect();
    assert_eq!(missed, ["clones of files whose size is not told"]);
}
