//! Forked ranks meet, exchange and end as they should, also when one of them dies.
//!
//! Ranks are forked, which needs a process with one thread. So each test runs itself again in a
//! process of its own and judges what that process left in a file.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use engine::comm::{Comm, Processes};
use engine::launch::{End, Launch, Outcome, processes};

const RESULT: &str = "LASTRANK_TEST_RESULT";

/// Runs `scene` in a process with one thread and returns what it wrote.
fn alone(test: &str, scene: impl FnOnce() -> String) -> String {
    if let Some(path) = std::env::var_os(RESULT) {
        std::fs::write(path, scene()).unwrap();
        std::process::exit(0);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(RESULT, file.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{test} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::read_to_string(file.path()).unwrap()
}

/// Lines that ranks leave for the test: an anonymous file that all of them append to.
struct Notes(std::fs::File);

impl Notes {
    fn new() -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        Self(std::fs::OpenOptions::new().append(true).read(true).open(file.path()).unwrap())
    }

    fn add(&self, text: &str) {
        (&self.0).write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    fn sorted(mut self) -> String {
        use std::io::{Read, Seek};
        let mut text = String::new();
        self.0.rewind().unwrap();
        self.0.read_to_string(&mut text).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    }
}

fn run(ranks: u32, body: impl FnMut(Processes) -> Result<(), String>) -> Outcome {
    processes(&Launch::new(ranks), body, |_| ()).unwrap()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[test]
fn a_barrier_returns_the_largest_value_of_every_round() {
    let seen = alone("a_barrier_returns_the_largest_value_of_every_round", || {
        let outcome = run(16, |comm| {
            for round in 0..2000_u64 {
                let mine = round * 100 + (u64::from(comm.rank()) * 7 + round) % 16;
                let largest = comm.barrier(mine).map_err(text)?;
                if largest != round * 100 + 15 {
                    return Err(format!("round {round}: {largest}"));
                }
            }
            Ok(())
        });
        format!("{:?}", outcome.failures())
    });
    assert_eq!(seen, "[]");
}

#[test]
fn nobody_leaves_a_barrier_before_the_last_has_come() {
    let seen = alone("nobody_leaves_a_barrier_before_the_last_has_come", || {
        let notes = Notes::new();
        run(3, |comm| {
            if comm.rank() == 2 {
                std::thread::sleep(Duration::from_millis(80));
                notes.add("1 the last comes");
            }
            comm.barrier(0).map_err(text)?;
            notes.add("2 leaves");
            Ok(())
        });
        let Notes(file) = notes;
        Notes(file).sorted()
    });
    assert_eq!(seen, "1 the last comes\n2 leaves\n2 leaves\n2 leaves");
}

#[test]
fn broadcast_and_gather_carry_any_length() {
    let seen = alone("broadcast_and_gather_carry_any_length", || {
        let outcome = run(3, |comm| {
            for length in [0_usize, 1, 65_535, 65_536, 65_537, 300_000] {
                let letter: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
                let mut heard = if comm.rank() == 1 { letter.clone() } else { vec![9; 5] };
                comm.broadcast(1, &mut heard).map_err(text)?;
                if heard != letter {
                    return Err(format!("broadcast of {length}"));
                }
                let mine = vec![comm.rank() as u8; length * comm.rank() as usize];
                let all = comm.gather(2, &mine).map_err(text)?;
                let wanted =
                    (comm.rank() == 2).then(|| (0..3).map(|r| vec![r as u8; length * r]).collect::<Vec<_>>());
                if all != wanted {
                    return Err(format!("gather of {length}"));
                }
            }
            Ok(())
        });
        format!("{:?}", outcome.failures())
    });
    assert_eq!(seen, "[]");
}

#[test]
fn groups_number_their_ranks_by_key_and_meet_apart() {
    let seen = alone("groups_number_their_ranks_by_key_and_meet_apart", || {
        let notes = Notes::new();
        run(5, |comm| {
            let me = comm.rank();
            // 0, 2, 4 in reverse order; 1 in a group of its own; 3 in none.
            let color = [Some(7), Some(9), Some(7), None, Some(7)][me as usize];
            let group = comm.split(color, 10 - me).map_err(text)?;
            let line = match &group {
                None => format!("{me} in none"),
                Some(group) => {
                    let largest = group.barrier(u64::from(me)).map_err(text)?;
                    format!("{me} is {} of {}, largest {largest}", group.rank(), group.size())
                }
            };
            notes.add(&line);
            comm.barrier(0).map_err(text)?;
            Ok(())
        });
        notes.sorted()
    });
    assert_eq!(
        seen,
        "0 is 2 of 3, largest 4\n1 is 0 of 1, largest 1\n2 is 1 of 3, largest 4\n3 in none\n4 is 0 of 3, largest 4"
    );
}

#[test]
fn a_killed_rank_is_named_and_the_others_leave_at_once() {
    let seen = alone("a_killed_rank_is_named_and_the_others_leave_at_once", || {
        // They leave by themselves: none was ended after the grace period.
        let outcome = run(4, |comm| {
            if comm.rank() == 3 {
                std::thread::sleep(Duration::from_millis(30));
                // SAFETY: a process may send itself a signal.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            }
            comm.barrier(0).map(drop).map_err(text)
        });
        format!("{:?} {:?}", outcome.failures(), outcome.ends[0])
    });
    assert_eq!(seen, r#"["rank 3 was killed by SIGKILL"] Left("rank 3 was killed by SIGKILL")"#);
}

#[test]
fn a_rank_that_fails_is_the_only_failure() {
    let seen = alone("a_rank_that_fails_is_the_only_failure", || {
        let outcome = run(3, |comm| {
            if comm.rank() == 1 {
                return Err("write of /x: No space left on device".into());
            }
            comm.barrier(0).map(drop).map_err(text)
        });
        format!("{:?} {:?}", outcome.failures(), outcome.ends[2])
    });
    let why = "rank 1 gave up: write of /x: No space left on device";
    assert_eq!(seen, format!("[{why:?}] Left({why:?})"));
}

#[test]
fn a_panic_in_a_rank_becomes_a_message() {
    let seen = alone("a_panic_in_a_rank_becomes_a_message", || {
        let outcome = run(2, |comm| {
            assert!(comm.rank() == 1, "rank zero is odd");
            comm.barrier(0).map(drop).map_err(text)
        });
        assert!(matches!(&outcome.ends[0], End::Panicked(why) if why.starts_with("rank zero is odd (")));
        outcome.failures()[0].clone()
    });
    assert!(seen.starts_with("rank 0 met a defect of lastrank: rank zero is odd"), "{seen}");
}

#[test]
fn a_barrier_nobody_completes_times_out_and_says_who_is_missing() {
    let seen = alone("a_barrier_nobody_completes_times_out_and_says_who_is_missing", || {
        let launch = Launch {
            timeout: Some(Duration::from_millis(300)),
            grace: Duration::from_millis(300),
            ..Launch::new(3)
        };
        let outcome = processes(
            &launch,
            |comm| {
                comm.standing().set_line(if comm.rank() == 2 { 4 } else { 12 });
                while comm.rank() == 2 {
                    std::thread::sleep(Duration::from_secs(60));
                }
                comm.barrier(0).map(drop).map_err(text)
            },
            |_| (),
        )
        .unwrap();
        outcome.failures().join("\n")
    });
    assert!(
        seen.contains("the barrier at line 12 timed out after 0 s, rank 2 never came (it is at line 4)"),
        "{seen}"
    );
}

#[test]
fn a_rank_that_ended_early_does_not_make_others_wait() {
    let seen = alone("a_rank_that_ended_early_does_not_make_others_wait", || {
        let outcome = run(2, |comm| {
            if comm.rank() == 0 {
                comm.barrier(0).map_err(text)?;
            }
            Ok(())
        });
        outcome.failures().join("\n")
    });
    assert_eq!(
        seen,
        "rank 0 gave up: rank 1 reached the end of its program, but a barrier still waits for it"
    );
}

#[test]
fn ctrl_c_stops_ranks_between_operations() {
    let seen = alone("ctrl_c_stops_ranks_between_operations", || {
        let mut sent = false;
        let outcome = processes(
            &Launch::new(2),
            |comm| loop {
                comm.standing().set_recorded(1, 0);
                std::thread::sleep(Duration::from_millis(5));
                if let Some(why) = comm.stopped() {
                    return Err(why.to_string());
                }
            },
            |watch| {
                if !sent && watch.recorded().0 == 2 {
                    sent = true;
                    // SAFETY: a thread may send itself a signal; it is this one that takes them.
                    unsafe { libc::raise(libc::SIGINT) };
                }
            },
        )
        .unwrap();
        format!("{:?} {:?}", outcome.failures(), outcome.ends[1])
    });
    assert_eq!(seen, r#"["the run was stopped by Ctrl-C"] Left("the run was stopped by Ctrl-C")"#);
}
