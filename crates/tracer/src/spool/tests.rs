//! Reads spools as the library writes them, and damaged ones.

use super::*;

/// A record as the library writes it.
fn written(kind: RecordKind, result: i64, numbers: [i64; 4], names: [&[u8]; 2]) -> Vec<u8> {
    let number = KINDS.iter().position(|known| *known == kind).unwrap() as u16 + 1;
    let shorts = [number, 0, names[0].len() as u16, names[1].len() as u16];
    let mut out: Vec<u8> = shorts.iter().flat_map(|short| short.to_le_bytes()).collect();
    for long in [10_i64, 10, result].into_iter().chain(numbers) {
        out.extend(long.to_le_bytes());
    }
    out.extend(names.concat());
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

fn spooled(records: &[Vec<u8>]) -> Spooled {
    let folder = std::env::temp_dir().join(format!("lastrank-spool-test-{:?}", std::thread::current().id()));
    std::fs::create_dir_all(&folder).unwrap();
    let bytes = [vec![0; RING], records.concat(), vec![0; 64]].concat();
    std::fs::write(folder.join("7.7.1"), bytes).unwrap();
    let read = read_files(&files::read(&[&folder]).unwrap(), b"/home", 0);
    std::fs::remove_dir_all(&folder).unwrap();
    read
}

#[test]
fn records_become_calls_and_the_share_is_counted() {
    let here = i64::from(libc::AT_FDCWD);
    let found = spooled(&[
        written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"]),
        written(RecordKind::Open, 3, [here, 0o1101, 0o644, 0], [b"out", b""]),
        written(RecordKind::Write, 100, [3, -1, 0, 0], [b"", b""]),
        written(RecordKind::Close, 0, [3, 0, 0, 0], [b"", b""]),
        written(RecordKind::Executes, -1, [8, 0, 0, 0], [b"", b""]),
        written(RecordKind::Executes, -1, [9, 0, 0, 0], [b"", b""]),
        written(RecordKind::End, 0, [10, 0, 0, 0], [b"", b""]),
    ]);
    // Five reads before it began, the one that told so, and one for each failed `execve` were not the application's.
    assert_eq!((found.seen.recorded, found.seen.counted, found.cost_ns), (1, 2, 60));
    let trace = found.follower.finish();
    let words: Vec<&str> = trace.calls.iter().map(|call| call.op.word()).collect();
    assert_eq!(words, ["open", "write", "close", "exit"]);
    assert_eq!(trace.names.get(trace.calls.get(0).path), b"/home/out");
}

#[test]
fn a_clone_is_a_copy_and_no_transfer_that_linux_counts() {
    let here = i64::from(libc::AT_FDCWD);
    let found = spooled(&[
        written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"]),
        written(RecordKind::Open, 3, [here, 0, 0, 0], [b"one", b""]),
        written(RecordKind::Open, 4, [here, 0o1101, 0o644, 0], [b"two", b""]),
        written(RecordKind::Clone, 700, [3, 4, 0, 0], [b"", b""]),
    ]);
    assert_eq!(found.seen.recorded, 0);
    let trace = found.follower.finish();
    let moved = trace.calls.iter().filter(|call| call.bytes == 700).map(|call| (call.op.word(), call.offset));
    assert_eq!(moved.collect::<Vec<_>>(), [("read", 0), ("write", 0)]);
}

#[test]
fn changes_of_attributes_are_calls() {
    let here = i64::from(libc::AT_FDCWD);
    let found = spooled(&[
        written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"]),
        written(RecordKind::Open, 3, [here, 0o1101, 0o644, 0], [b"out", b""]),
        written(RecordKind::ChmodOpen, 0, [3, 0o640, 0, 0], [b"", b""]),
        written(RecordKind::ChownOpen, 0, [3, 0, 0, 0], [b"", b""]),
        written(RecordKind::UtimesOpen, 0, [3, 0, 0, 0], [b"", b""]),
        written(RecordKind::Close, 0, [3, 0, 0, 0], [b"", b""]),
        written(RecordKind::Chmod, 0, [here, 0o600, 0, 0], [b"out", b""]),
        written(RecordKind::Chown, 0, [here, 0, 1, 0], [b"out", b""]),
        written(RecordKind::Utimes, 0, [here, 0, 0, 0], [b"out", b""]),
    ]);
    let trace = found.follower.finish();
    let changes: Vec<(&str, u64, u32, &[u8])> = trace
        .calls
        .iter()
        .filter(|call| matches!(call.op.word(), "chmod" | "chown" | "utimes"))
        .map(|call| (call.op.word(), call.offset, call.flags, trace.names.get(call.path)))
        .collect();
    let (unknown, by_file, link) = (u64::MAX, 4, 2);
    let out: &[u8] = b"/home/out";
    assert_eq!(
        changes,
        [
            ("chmod", 0o640, by_file, out),
            ("chown", unknown, by_file, out),
            ("utimes", unknown, by_file, out),
            ("chmod", 0o600, 0, out),
            ("chown", unknown, link, out),
            ("utimes", unknown, 0, out),
        ]
    );
}

#[test]
fn what_is_seen_of_a_name_later_is_not_what_was_there() {
    let here = i64::from(libc::AT_FDCWD);
    let later = |name| written(RecordKind::Sight, 0, [here, 0o100_600, 16_384, 0], [name, b""]);
    let found = spooled(&[
        written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"]),
        // The library does not look at these two names, since it is known what they are.
        written(RecordKind::Open, 3, [here, 0o302, 0o600, 0], [b"new", b""]),
        written(RecordKind::Stat, 0, [here, 0, 0o100_644, 10], [b"old", b""]),
        written(RecordKind::Open, 4, [here, 0o1001, 0, 0], [b"old", b""]),
        later(b"new"),
        later(b"old"),
        later(b"other"),
    ]);
    let trace = found.follower.finish();
    let seen: Vec<_> = trace.sightings.keys().map(|name| trace.names.get(*name)).collect();
    assert_eq!(seen, [b"/home/other"]);
}

#[test]
fn calls_tell_for_how_long_the_library_was_at_work_before() {
    let here = i64::from(libc::AT_FDCWD);
    let found = spooled(&[
        written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"]),
        written(RecordKind::Inherit, 0, [0, 0, 0, 0], [b"/dev/null", b""]),
        written(RecordKind::Own, 0, [700_000, 0, 0, 0], [b"", b""]),
        written(RecordKind::Sight, 0, [here, 0, 0, 2500], [b"out", b""]),
        written(RecordKind::Open, 3, [here, 0o1101, 0o644, 0], [b"out", b""]),
        written(RecordKind::Write, 100, [3, -1, 0, 0], [b"", b""]),
        written(RecordKind::Own, 0, [-1, 0, 0, 0], [b"", b""]),
        written(RecordKind::End, 0, [10, 9000, 0, 0], [b"", b""]),
    ]);
    let trace = found.follower.finish();
    let held: Vec<(&str, u64)> = trace.calls.iter().map(|call| (call.op.word(), call.held)).collect();
    // A record costs 60.
    assert_eq!(held[..2], [("open", 702_560), ("write", 702_620)]);
    assert_eq!(held.last(), Some(&("exit", 711_680)));
}

#[test]
fn what_a_program_waits_for_the_library_to_be_loaded_is_the_recorders() {
    let main = [
        written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"]),
        written(RecordKind::Own, 0, [700_000, 0, 0, 0], [b"", b""]),
        written(RecordKind::Open, 3, [i64::from(libc::AT_FDCWD), 0, 0, 0], [b"in", b""]),
    ];
    let trace = read_files(&[thread_file(7, &main)], b"/home", 90_000).follower.finish();
    let held = trace.calls.iter().filter(|call| call.op.word() == "open").map(|call| call.held);
    assert_eq!(held.collect::<Vec<_>>(), [790_000]);
}

#[test]
fn streams_that_are_flushed_behind_the_end_are_recorded() {
    let here = i64::from(libc::AT_FDCWD);
    let found = spooled(&[
        written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"]),
        written(RecordKind::Open, 3, [here, 0o1101, 0o644, 0], [b"out", b""]),
        written(RecordKind::End, 0, [6, 0, 0, 0], [b"", b""]),
        written(RecordKind::Write, 100, [3, -1, 0, 0], [b"", b""]),
        written(RecordKind::End, 0, [8, 0, 0, 0], [b"", b""]),
    ]);
    // The read of the counts at what was no end is none of the application's.
    assert_eq!((found.seen.recorded, found.seen.counted), (1, 1));
    let trace = found.follower.finish();
    let words: Vec<&str> = trace.calls.iter().map(|call| call.op.word()).collect();
    assert_eq!(words, ["open", "write", "close", "exit"]);
}

/// A record of a call that ran from one time to another.
fn timed(times: [i64; 2], mut record: Vec<u8>) -> Vec<u8> {
    record[8..16].copy_from_slice(&times[0].to_le_bytes());
    record[16..24].copy_from_slice(&times[1].to_le_bytes());
    record
}

fn thread_file(thread: u32, records: &[Vec<u8>]) -> ThreadFile {
    ThreadFile { process: 7, thread, bytes: [vec![0; RING], records.concat()].concat() }
}

#[test]
fn a_number_that_one_thread_gives_free_is_that_of_a_file_of_another() {
    let here = i64::from(libc::AT_FDCWD);
    let main = [
        timed([1, 1], written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"])),
        timed([2, 3], written(RecordKind::Open, 3, [here, 0, 0, 0], [b"first", b""])),
        timed([20, 30], written(RecordKind::Close, 0, [3, 0, 0, 0], [b"", b""])),
    ];
    // It began to open its file before the other one was closed, and got the number behind that.
    let other = [
        timed([10, 10], written(RecordKind::Thread, 0, [0; 4], [b"", b""])),
        timed([15, 40], written(RecordKind::Open, 3, [here, 0, 0, 0], [b"second", b""])),
        timed([50, 60], written(RecordKind::Read, 100, [3, 0, 0, 0], [b"", b""])),
        timed([70, 80], written(RecordKind::Close, 0, [3, 0, 0, 0], [b"", b""])),
    ];
    let trace = read_files(&[thread_file(7, &main), thread_file(9, &other)], b"/home", 0).follower.finish();
    assert!(trace.left_out.is_empty(), "{:?}", trace.left_out);
    let read = trace.calls.iter().find(|call| call.op.word() == "read").unwrap();
    assert_eq!(trace.names.get(read.path), b"/home/second");
}

#[test]
fn the_first_call_of_a_thread_is_on_descriptors_of_its_process() {
    let here = i64::from(libc::AT_FDCWD);
    let at = |time: i64, record| timed([time, time], record);
    let main = [
        at(1, written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"])),
        at(2, written(RecordKind::Open, 3, [here, 0, 0, 0], [b"in", b""])),
    ];
    // It is announced when the record of its first call is written.
    let other = [
        at(9, written(RecordKind::Thread, 0, [0; 4], [b"", b""])),
        at(5, written(RecordKind::Read, 100, [3, 0, 0, 0], [b"", b""])),
        at(10, written(RecordKind::Read, 100, [3, 100, 0, 0], [b"", b""])),
    ];
    let trace = read_files(&[thread_file(7, &main), thread_file(9, &other)], b"/home", 0).follower.finish();
    let read: Vec<u64> =
        trace.calls.iter().filter(|call| call.op.word() == "read").map(|call| call.bytes).collect();
    assert_eq!(read, [100, 100]);
    assert!(trace.left_out.is_empty(), "{:?}", trace.left_out);
}

#[test]
fn bytes_that_are_no_records_do_no_harm() {
    let mut state = 1_u64;
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..400)
            .map(|at| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Kinds and lengths are often small.
                if at % 8 < 2 { (state >> 40) as u8 % 48 } else { (state >> 60) as u8 * 17 }
            })
            .collect();
        let file = ThreadFile { process: 7, thread: 7, bytes: [vec![0; RING], bytes].concat() };
        let mut reader = Reader::new(b"/home", 0);
        for record in records(&file) {
            reader.take(&record);
        }
    }
}

/// A parent with a thread and a child, and between them a record of every kind.
fn everything() -> Vec<ThreadFile> {
    let here = i64::from(libc::AT_FDCWD);
    let record =
        |kind, result, numbers, one: &'static [u8]| written(kind, result, numbers, [one, b"/home/two"]);
    let of = |kind: &RecordKind| match kind {
        RecordKind::Begin => record(*kind, 0, [1, 5, 60, 0], b"/bin/app"),
        RecordKind::Sight => record(*kind, 0, [here, 0o100_644, 4096, 0], b"out"),
        RecordKind::Open => record(*kind, 3, [here, 0o1102, 0o644, 0], b"out"),
        RecordKind::Read | RecordKind::Write => record(*kind, 100, [3, 4096, 0, 0], b""),
        RecordKind::Copy | RecordKind::Duplicate => record(*kind, 4, [3, 4, 0, 0], b""),
        RecordKind::Stat | RecordKind::Rename | RecordKind::Link => {
            record(*kind, 0, [here, here, 0o100_644, 9], b"out")
        }
        RecordKind::Pipe => record(*kind, 0, [5, 6, 0, 0], b""),
        RecordKind::Spawn | RecordKind::Wait => record(*kind, 8, [0; 4], b""),
        _ => record(*kind, 0, [here, 3, 4096, 1], b"name"),
    };
    let begun =
        [written(RecordKind::Begin, 0, [1, 5, 60, 0], [b"/bin/app", b"/home"]), of(&RecordKind::Open)]
            .concat();
    // What follows the end of a thread is of none.
    let ends = |kind: &&RecordKind| matches!(kind, RecordKind::ThreadEnd | RecordKind::End);
    let (last, first): (Vec<_>, Vec<_>) = KINDS.iter().partition(ends);
    let all: Vec<u8> = first.into_iter().chain(last).flat_map(of).collect();
    let thread = [written(RecordKind::Thread, 0, [0; 4], [b"", b""]), all.clone()].concat();
    let child = [written(RecordKind::Forked, 0, [7, 0, 0, 0], [b"", b""]), all.clone()].concat();
    [(7, 7, [begun, all].concat()), (7, 9, thread), (8, 8, child)]
        .map(|(process, thread, records)| ThreadFile {
            process,
            thread,
            bytes: [vec![0; RING], records].concat(),
        })
        .into()
}

#[test]
fn a_damaged_spool_loses_what_is_damaged_and_nothing_else() {
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let whole = everything();
    let calls = |files: &[ThreadFile]| read_files(files, b"/home", 0).follower.finish().calls.len();
    let all = calls(&whole);
    assert!(all > 45, "the spool has calls of every kind, and gives {all}");
    for _ in 0..400 {
        let mut files = whole.clone();
        for _ in 0..=random(3) {
            let which = random(files.len());
            let bytes = &mut files[which].bytes;
            let at = RING + random(bytes.len() - RING);
            match random(4) {
                0 => bytes.truncate(at.max(RING + 1)),
                1 => bytes[at] ^= 1 << random(8),
                2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random(5)],
                _ => {
                    let end = (at + 1 + random(200)).min(bytes.len());
                    let from = RING + random(bytes.len() - RING);
                    let moved = bytes[at..end].to_vec();
                    let end = (from + moved.len()).min(bytes.len());
                    bytes[from..end].copy_from_slice(&moved[..end - from]);
                }
            }
        }
        let mut trace = read_files(&files, b"/home", 0).follower.finish();
        trace::import::import(&mut trace, &trace::import::Options::default());
    }
    // What is cut off takes no earlier record with it.
    let mut cut = whole.clone();
    cut[2].bytes.truncate(RING + 8);
    assert_eq!(calls(&cut), calls(&cut[..2]));
}
