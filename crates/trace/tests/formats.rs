//! Small traces of each format become programs whose dry run makes the same calls.

mod common;

use common::counters;
use trace::description::Description;
use trace::format::Reading;
use trace::model::Op;
use trace::{Options, Trace};

fn made(text: &str, description: Option<&str>) -> (String, Trace) {
    let description = description.map(|text| Description::read(text).unwrap());
    let reading = Reading { directory: None, description };
    let format = trace::formats::detect(text.as_bytes(), &reading).expect("a known format");
    let mut reader = text.as_bytes();
    let mut found = trace::import::read(format, &mut reader, &reading).unwrap();
    let made = trace::import(&mut found, &Options::default());
    assert_eq!(made.difference, None, "{}", made.text);
    (made.text, found)
}

#[test]
fn darshan_transfers_of_equal_ranks_are_one_text() {
    let mut text = String::from("# DXT, file_id: 1, file_name: /scratch/shared.dat\n");
    for rank in 0..4_u64 {
        for part in 0..8_u64 {
            let (offset, start) = ((part * 4 + rank) * 1_048_576, 0.5 + part as f64);
            text +=
                &format!(" X_POSIX {rank} write {part} {offset} 1048576 {start:.4} {:.4}\n", start + 0.01);
            text +=
                &format!(" X_MPIIO {rank} write {part} {offset} 1048576 {start:.4} {:.4}\n", start + 0.01);
        }
    }
    let (program, trace) = made(&text, None);
    assert_eq!(trace.calls.len(), 4 * (8 + 2));
    assert!(program.contains("define ranks 4"), "{program}");
    assert!(program.contains("$$rank * 1048576 + $j * 4194304"), "{program}");
    assert!(!program.contains("if $$rank"), "{program}");
}

#[test]
fn programs_copy_where_the_application_may_have() {
    let of = |calls: &str| {
        let opened = "openat(AT_FDCWD, \"/d/a\", O_RDONLY) = 3\nopenat(AT_FDCWD, \"/d/b\", O_RDWR|O_CREAT, 0666) = 4\n";
        let times = (0..).map(|at| format!("{at}.000000 "));
        let lines =
            opened.lines().chain(calls.lines()).zip(times).map(|(call, time)| format!("{time}{call}\n"));
        made(&lines.collect::<String>(), None).0.contains("define content \"copied\"")
    };
    let line =
        |call: &str, descriptor: u32, bytes: u32| format!("{call}({descriptor}, \"\", {bytes}) = {bytes}\n");
    let (read, write) = (line("read", 3, 8192), line("write", 4, 4096));
    let cases = [
        (read.clone() + &write + &write, true),
        (read.clone() + &write + &write + &write + &write, true),
        // Each byte is written once, and a page of the file that was read is changed.
        (read.clone() + &write + &write + &write + &write + &write, false),
        (line("read", 4, 4096) + &write, false),
        (write.clone() + &read, false),
        (read, false),
    ];
    for (calls, copies) in cases {
        assert_eq!(of(&calls), copies, "{calls}");
    }
}

#[test]
fn block_traces_are_read() {
    let (program, _) = made(
        "128166372003061629,usr,0,Read,7014400,24576,41286\n128166372016382155,usr,0,Write,7014400,4096,1\n",
        None,
    );
    assert!(program.contains("fwrite($f0, 4096, 7014400)"), "{program}");
    let (program, _) = made(
        "  8,0    1        1     0.000000000   697  Q   W 2048 + 8 [x]\n  8,0    1        2     0.100000000   697  C   W \
         2048 + 8 [0]\n",
        None,
    );
    assert!(program.contains("fwrite($f0, 4096, 1048576)"), "{program}");
}

#[test]
fn the_worked_descriptions_are_read() {
    let nfs = include_str!("../../../docs/traces/nfsdump.trace");
    let (program, _) = made("t,c,p,f,o,n\n1.5,a,WRITE,/home/x,0,8192\n1.6,a,GETATTR,/home/x,,\n", Some(nfs));
    assert!(program.contains("fwrite($f0, 8192, 0)") && program.contains("stat(\"$dir/x\")"), "{program}");
    let snoop = include_str!("../../../docs/traces/biosnoop.trace");
    let (program, trace) =
        made("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.5 fio 7 vda W 88 4096 0.25\n", Some(snoop));
    assert!(program.contains("fwrite($f0, 4096, 0)"), "{program}");
    assert_eq!(trace.calls.get(1).duration, 250_000);
    let blocks = include_str!("../../../docs/traces/blocks.trace");
    let (program, _) = made("W 17 2\nR 17 1\n", Some(blocks));
    assert!(program.contains("fwrite($f0, 8192, 69632)"), "{program}");
}

#[test]
fn a_description_names_what_is_done_to_whole_files() {
    let index = include_str!("../../../docs/traces/index.trace");
    let mut text = String::from("time,rank,call,path,size,to\n");
    for n in 0..40 {
        let at = f64::from(n);
        for (part, line) in [
            "bfCreate,/index/new,,",
            "bfAppend,/index/new,4096,",
            "bfAppend,/index/new,512,",
            "bfTruncate,/index/new,4096,",
            "bfCopy,/index/new,4096,/index/copy",
            "csRename,/index/new,,/index/NAME",
        ]
        .iter()
        .enumerate()
        {
            text +=
                &format!("{:.1},0,{}\n", at + part as f64 / 10.0, line.replace("NAME", &format!("{n}.idx")));
        }
    }
    let (program, trace) = made(&text, Some(index));
    let count = |op: Op| trace.calls.iter().filter(|call| call.op == op && call.errno == 0).count();
    // Two appends and the write of the copy.
    let counts = [Op::Create, Op::Write, Op::Truncate, Op::Rename, Op::Unlink].map(count);
    assert_eq!(counts, [40, 120, 40, 40, 0], "{program}");
    let appends: Vec<_> = trace
        .calls
        .iter()
        .filter(|call| call.op == Op::Write && call.bytes == 512)
        .map(|call| call.offset)
        .collect();
    assert_eq!(appends, vec![4096; 40]);
    for line in ["create(\"$dir/new\")", "rename(\"$dir/new\", ", ", 4096, 0)", "ftruncate($f", "fcopy($f"] {
        assert!(program.contains(line), "{line} in\n{program}");
    }
    let one = Description::read("columns = operation path\nrename = mv\n").unwrap();
    let reading = Reading { directory: None, description: Some(one) };
    let format = trace::formats::detect(b"", &reading).unwrap();
    let error = trace::import::read(format, &mut b"mv a\n".as_slice(), &reading).unwrap_err();
    assert_eq!(error.to_string(), "line 1: `mv` names one file only: the field `other` is the second");
}

#[test]
fn errors_name_the_line() {
    let blocks = include_str!("../../../docs/traces/blocks.trace");
    let description = Some(Description::read(blocks).unwrap());
    let reading = Reading { directory: None, description };
    let format = trace::formats::detect(b"", &reading).unwrap();
    let mut text: &[u8] = b"R 1 1\nW x 2\n";
    let error = trace::import::read(format, &mut text, &reading).unwrap_err();
    assert_eq!(error.to_string(), "line 2: `x` is no offset");
    let wrong = Description::read("separator = comma\nnonsense = 1\n").unwrap_err();
    assert_eq!(wrong.to_string(), "description, line 2: `nonsense` is no key of a description");
    let mut text: &[u8] = b"fio version 3 iolog\n1 f read 0 x\n";
    let format = trace::formats::detect(text, &Reading::default()).unwrap();
    let error = trace::import::read(format, &mut text, &Reading::default()).unwrap_err();
    assert_eq!(error.to_string(), "line 2: `x` is no length");
}

#[test]
fn calls_of_recorder_are_read_rank_by_rank() {
    let rank = |own: u32| {
        let text = format!(
            "0.000100 0.000200 MPI_File_open 0 1 ( /scratch/shared 9 )\n\
             0.000110 0.000190 open 1 0 ( /scratch/shared 66 420 )\n\
             0.001000 0.001100 pwrite 1 0 ( /scratch/shared %p 4096 {} )\n\
             0.002000 0.002100 write 0 0 ( /scratch/shared %p 100 )\n\
             0.002200 0.002300 lseek 0 0 ( /scratch/shared 50 0 )\n\
             0.003000 0.003100 read 0 0 ( /scratch/shared %p 25 )\n\
             0.004000 0.004100 close 0 0 ( /scratch/shared )\n",
            own * 4096
        );
        (own, text.into_bytes())
    };
    let whole = trace::formats::merge_ranks(&[rank(0), rank(1)]);
    let (program, trace) = made(std::str::from_utf8(&whole).unwrap(), None);
    assert_eq!(trace.threads.len(), 2);
    assert_eq!(trace.left_out.get("calls of MPI_File_open"), Some(&2));
    assert!(program.contains("define ranks 2") && program.contains("fwrite($f0, 4096, 4096)"), "{program}");
    assert!(program.contains("fwrite($f0, 100, 0)") && program.contains("fread($f0, 25, 50)"), "{program}");
}

#[test]
fn a_line_that_recorder_does_not_write_is_named() {
    let text = "0.1 0.2 close 0 0 ( /a )\nnonsense\n";
    let mut reader = text.as_bytes();
    let format = trace::formats::detect(text.as_bytes(), &Reading::default()).expect("a known format");
    let refused = trace::import::read(format, &mut reader, &Reading::default()).map(drop).unwrap_err();
    assert_eq!(refused.to_string(), "line 2: `nonsense` is no line of recorder2text");
}

#[test]
fn counters_of_darshan_become_a_synthetic_program() {
    let (program, trace) = made(&counters(), None);
    let written = |thread: u32| {
        let own = trace.calls.iter().filter(|call| call.op == trace::Op::Write && call.thread == thread);
        own.map(|call| call.bytes).sum::<u64>()
    };
    assert_eq!((written(0), written(1)), (131_072, 131_072));
    let read: Vec<u64> =
        trace.calls.iter().filter(|call| call.op == trace::Op::Read).map(|call| call.bytes).collect();
    assert_eq!((read.len(), read.iter().sum::<u64>()), (3, 3100));
    assert!(trace.notes.iter().any(|note| note.starts_with("synthetic")), "{:?}", trace.notes);
    assert!(program.contains("4096"), "{program}");
}

#[test]
fn counters_of_too_many_calls_are_refused() {
    let text = counters().replace("POSIX_WRITES\t64", "POSIX_WRITES\t9000000000");
    let format = trace::formats::detect(text.as_bytes(), &Reading::default()).expect("a known format");
    let refused =
        trace::import::read(format, &mut text.as_bytes(), &Reading::default()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("at most 1000000 are made of counters"), "{refused}");
    let shared = |at: u32| format!("POSIX\t-1\t77\tPOSIX_OPENS\t0\t/scratch/{at}\t/scratch\text4\n");
    let mut text = String::from("# darshan log version: 3.41\n# nprocs: 1048576\n");
    text.extend((0..5).map(shared));
    let refused =
        trace::import::read(format, &mut text.as_bytes(), &Reading::default()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("5 records of files that 1048576 ranks share"), "{refused}");
}

/// A trace of strace with writes at random places of one file.
fn scattered() -> String {
    let mut text =
        String::from("7 1.000000 openat(AT_FDCWD, \"/w/db\", O_RDWR|O_CREAT|O_EXCL, 0644) = 3 <0.000010>\n");
    for at in 0..200_u64 {
        let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9) % 1009 * 4096;
        let second = 2.0 + at as f64 / 1000.0;
        text += &format!("7 {second:.6} pwrite64(3, \"x\"..., 4096, {place}) = 4096 <0.000010>\n");
    }
    text + "7 3.000000 close(3) = 0 <0.000010>\n"
}

fn with(text: &str, options: &Options) -> trace::import::Imported {
    let format = trace::formats::detect(text.as_bytes(), &Reading::default()).expect("a known format");
    let mut found = trace::import::read(format, &mut text.as_bytes(), &Reading::default()).unwrap();
    let made = trace::import(&mut found, options);
    assert_eq!(made.difference, None, "{}", made.text);
    made
}

#[test]
fn offsets_at_random_are_drawn_where_a_model_is_asked_for() {
    let exact = with(&scattered(), &Options::default());
    assert!(exact.modelled == 0 && exact.text.contains("$offsets1 = ["), "{}", exact.text);
    let model = with(&scattered(), &Options { model: true, ..Options::default() });
    assert!(model.modelled == 1 && model.text.contains(" + uniform(0, "), "{}", model.text);
    assert!(model.lines < 20, "{}", model.text);
}

#[test]
fn an_open_loop_starts_calls_when_they_did() {
    let made = with(&scattered(), &Options { open_loop: true, ..Options::default() });
    assert!(made.text.contains("at $begin + 0us * $pace $f0 = fopen("), "{}", made.text);
    assert!(made.text.contains("at $begin + ($i * 1000 + 1000000) * 1us * $pace fwrite("), "{}", made.text);
    assert!(!made.text.contains("think"), "{}", made.text);
}

#[test]
fn copies_of_an_application_have_directories_of_their_own() {
    let made = with(&scattered(), &Options { copies: 3, ..Options::default() });
    assert!(
        made.text.contains("define ranks 3") && made.text.contains("$home = \"$dir/copy-$copy\""),
        "{}",
        made.text
    );
    assert!(made.text.contains("fopen(\"$home/db\""), "{}", made.text);
}

/// What `cp` does with each of a few files: one copy of all of it, and one at its end.
fn copied(more: &str) -> String {
    let mut text = String::new();
    for file in 0..5 {
        let second = 1.0 + f64::from(file);
        let more = match more {
            "" => String::new(),
            call => format!("7 {second:.4}40 {call} <0.000010>\n"),
        };
        text += &format!(
            "7 {second:.6} openat(AT_FDCWD, \"/s/from-{file}\", O_RDONLY) = 3 <0.000010>\n\
             7 {second:.4}10 openat(AT_FDCWD, \"/s/to/{file}\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 4 <0.000010>\n\
             7 {second:.4}20 copy_file_range(3, NULL, 4, NULL, 9223372035781033984, 0) = {} <0.000010>\n\
             7 {second:.4}30 copy_file_range(3, NULL, 4, NULL, 9223372035781033984, 0) = 0 <0.000010>\n{more}\
             7 {second:.4}90 close(4) = 0 <0.000010>\n7 {second:.4}95 close(3) = 0 <0.000010>\n",
            4096 * (file + 1)
        );
    }
    text
}

#[test]
fn what_the_system_copied_is_copied_and_counts_once() {
    let made = with(&copied(""), &Options::default());
    assert!(made.text.contains("fcopy($f0, $f1, $i * 4096 + 4096);"), "{}", made.text);
    assert!(made.text.contains("expect errno == ENODATA fcopy($f0, $f1, 1);"), "{}", made.text);
    assert!(!made.text.contains("fread") && !made.text.contains("fwrite"), "{}", made.text);
    assert_eq!((made.calls, made.done.len(), made.checked), (30, 30, Some(30)));
    // The files that it came from are as long before.
    assert!(made.text.contains("write(\"$dir/from-$i\", $i * 4096 + 4096)"), "{}", made.text);
    let model = with(&copied(""), &Options { model: true, open_loop: true, ..Options::default() });
    assert!(model.text.contains("fcopy($f0, $f1, $i * 4096 + 4096);"), "{}", model.text);
}

#[test]
fn a_copy_counts_as_the_command_that_does_it() {
    let text = copied("");
    let format = trace::formats::detect(text.as_bytes(), &Reading::default()).expect("a known format");
    let side = |options: &Options| {
        let mut found = trace::import::read(format, &mut text.as_bytes(), &Reading::default()).unwrap();
        let made = trace::import(&mut found, options);
        trace::fidelity::Side::of_trace(&found, &made.done)
            .operations
            .into_iter()
            .map(|(name, tally)| (name, tally.calls, tally.bytes))
            .filter(|(name, ..)| !name.starts_with("fo") && !name.starts_with("fcl"))
            .collect::<Vec<_>>()
    };
    assert_eq!(side(&Options::default()), [("fcopy".to_owned(), 10, 15 * 4096)]);
    let mut parts = Options::default();
    parts.choice.read_and_write = true;
    let expected = [("fread".to_owned(), 10, 15 * 4096), ("fwrite".to_owned(), 5, 15 * 4096)];
    assert_eq!(side(&parts), expected);
}

#[test]
fn a_copy_of_which_a_part_is_left_out_or_cannot_be_said_is_a_read_and_a_write() {
    let mut only = Options::default();
    only.choice.only = vec![b"/s/to".to_vec()];
    let written = with(&copied(""), &only).text;
    assert!(written.contains("fwrite($f0, $i * 4096 + 4096);") && !written.contains("fcopy"), "{written}");
    only.choice = trace::select::Choice { read_and_write: true, ..trace::select::Choice::default() };
    let both = with(&copied(""), &only).text;
    assert!(both.contains("fread($f0, $i * 4096 + 4096);") && !both.contains("fcopy"), "{both}");
    // At an offset of its own in the file that it comes from, and in that to which it goes.
    let from = "sendfile(4, 3, [100] => [150], 50) = 50";
    let text = with(&copied(from), &Options::default()).text;
    assert!(text.contains("fcopy($f0, $f1, 50, 100);"), "{text}");
    let to = "copy_file_range(3, [100], 4, [7], 50, 0) = 50";
    let text = with(&copied(to), &Options::default()).text;
    assert!(text.contains("fread($f0, 50, 100);") && text.contains("fwrite($f1, 50, 7);"), "{text}");
}

#[test]
fn stamps_that_lie_centuries_apart_make_a_program_that_can_be_read() {
    let text = "100 1700000000.000100 openat(AT_FDCWD, \"/tmp/f\", O_WRONLY|O_CREAT, 0644) = 3 <0.000050>\n\
                100 11700000000.000200 write(3, \"x\", 4096) = 4096 <0.000020>\n\
                100 21700000000.000200 write(3, \"x\", 4096) = 4096 <0.000020>\n";
    for open_loop in [false, true] {
        with(text, &Options { open_loop, ..Options::default() });
    }
}

#[test]
fn changes_of_attributes_are_repeated_by_name_and_of_open_files() {
    let text = "\
7 1.000000 openat(AT_FDCWD, \"/w/a\", O_WRONLY|O_CREAT, 0600) = 3 <0.000010>
7 1.000100 utimensat(3, NULL, [{tv_sec=1, tv_nsec=2}, {tv_sec=3, tv_nsec=4}], 0) = 0 <0.000001>
7 1.000200 fchown(3, 0, 0) = 0 <0.000001>
7 1.000300 fchmod(3, 0644) = 0 <0.000001>
7 1.000400 fchownat(3, \"\", 0, 0, AT_EMPTY_PATH) = 0 <0.000001>
7 1.000500 close(3) = 0 <0.000001>
7 1.000600 mkdirat(AT_FDCWD, \"/w/d\", 0700) = 0 <0.000010>
7 1.000700 utimensat(AT_FDCWD, \"/w/d\", NULL, AT_SYMLINK_NOFOLLOW) = 0 <0.000001>
7 1.000800 chown(\"/w/d\", 5, 5) = 0 <0.000001>
7 1.000900 symlink(\"a\", \"/w/l\") = 0 <0.000001>
7 1.001000 lchown(\"/w/l\", 5, 5) = 0 <0.000001>
7 1.001100 utimes(\"/w/l\", NULL) = 0 <0.000001>
7 1.001200 chown(\"/w/a\", 9, 9) = -1 EPERM (Operation not permitted) <0.000001>
7 1.001300 openat(AT_FDCWD, \"/w/d\", O_RDONLY|O_PATH) = 4 <0.000010>
7 1.001400 chmod(\"/proc/self/fd/4\", 0750) = 0 <0.000001>
7 1.001500 futimesat(4, \"x\", NULL) = -1 ENOENT (No such file or directory) <0.000001>
";
    let (program, trace) = made(text, None);
    let changes = ["utimes", "chown", "chmod"];
    let lines: Vec<&str> = program
        .lines()
        .map(str::trim)
        .filter(|line| changes.iter().any(|word| line.contains(&format!("{word}("))))
        .collect();
    assert_eq!(
        lines,
        [
            "utimes($f0);",
            "chown($f0);",
            "chmod($f0, 0o644);",
            "chown($f0);",
            "utimes(\"$dir/d\");",
            "chown(\"$dir/d\");",
            "utimes(\"$dir/l\");",
            "chmod(\"$dir/d\", 0o750);",
            "expect errno == ENOENT utimes(\"$dir/d/x\");",
        ],
        "{program}"
    );
    let left_out: Vec<&str> = trace.left_out.keys().map(|why| &**why).collect();
    assert_eq!(
        left_out,
        [
            "attributes of symbolic links themselves",
            "calls that failed for a reason that is not in the names"
        ]
    );
}

#[test]
fn as_recorded_a_call_without_a_pause_follows_at_once() {
    let mut text = String::new();
    for round in 0..40_u64 {
        // One pause in twenty is short, so that `chown` follows as well; one before `chmod` is long.
        let short = 5 * u64::from(round % 20 == 0);
        let long = 200 * u64::from(round == 7);
        for (after, call) in [
            (0, "stat(\"/w/a\", {st_mode=S_IFREG|0644, st_size=1, ...})"),
            (10, "access(\"/w/a\", F_OK)"),
            (20 + short, "chown(\"/w/a\", 0, 0)"),
            (500, "utimes(\"/w/a\", NULL)"),
            (510 + long, "chmod(\"/w/a\", 0600)"),
        ] {
            text += &format!("7 1.{:06} {call} = 0 <0.000010>\n", round * 1000 + after);
        }
    }
    let format = trace::formats::detect(text.as_bytes(), &Reading::default()).expect("a known format");
    let mut found = trace::import::read(format, &mut text.as_bytes(), &Reading::default()).unwrap();
    let mut timed = |least_gap| {
        let options = Options { open_loop: true, least_gap, ..Options::default() };
        let made = trace::import(&mut found, &options);
        assert_eq!(made.difference, None, "{}", made.text);
        ["stat", "lookup", "chown", "utimes", "chmod"].map(|word| {
            let of = |line: &&str| line.contains(&format!("{word}(\"$dir/a\""));
            made.text.lines().find(of).expect(word).trim().starts_with("at ")
        })
    };
    assert_eq!(timed(1000), [true, false, false, true, true]);
    assert_eq!(timed(0), [true; 5]);
}

#[test]
fn as_recorded_an_iteration_begins_when_it_did_in_equal_processes_as_well() {
    for processes in [1, 2] {
        let mut text = String::new();
        // Two loops, one behind the other, without a pause.
        for round in 0..80 {
            let calls = if round < 40 { ["access", "unlink"] } else { ["rmdir", "chmod"] };
            for (after, call) in (0..).step_by(10).zip(calls) {
                for process in 0..processes {
                    let (id, us) = (7 + process, round * 20 + after);
                    let more = if ["access", "chmod"].contains(&call) { ", 0600" } else { "" };
                    text += &format!(
                        "{id} 1.{us:06} {call}(\"/w/{id}\"{more}) = -1 ENOENT (No such file or directory) <0.000010>\n"
                    );
                }
            }
        }
        let format = trace::formats::detect(text.as_bytes(), &Reading::default()).expect("a known format");
        let mut found = trace::import::read(format, &mut text.as_bytes(), &Reading::default()).unwrap();
        let options = Options { open_loop: true, least_gap: 1000, ..Options::default() };
        let made = trace::import(&mut found, &options);
        assert_eq!((made.difference, made.ranks), (None, processes), "{}", made.text);
        let line =
            |word: &str| made.text.lines().find(|line| line.contains(word)).expect(word).trim().to_owned();
        let timed = ["lookup(", "unlink(", "rmdir(", "chmod("].map(|word| line(word).starts_with("at "));
        assert_eq!(timed, [true, false, true, false], "{}", made.text);
    }
}
