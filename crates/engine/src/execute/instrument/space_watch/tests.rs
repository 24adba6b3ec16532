//! Whether a tenth stays free, and no more than that.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::files::Taken;

const MIB: u64 = 1 << 20;

fn free(bytes: u64) -> Free {
    Free { device: 1, bytes, files: None }
}

/// So many takers that know of each other.
fn takers(count: u32) -> Vec<SpaceWatch> {
    let own = Ownership::new();
    (0..count).map(|_| SpaceWatch::of(count, own.clone())).collect()
}

/// May so many bytes be written where so much is free now?
fn may_take(room: &mut SpaceWatch, now: Free, bytes: u64) -> bool {
    let there = room.number(now.device);
    !room.must_look(there, bytes) || room.look(there, bytes, || Some(now)).is_ok()
}

/// As `may_take`, and it is written at once.
fn takes(room: &mut SpaceWatch, now: Free, bytes: u64) -> bool {
    let there = room.number(now.device);
    let looked = room.must_look(there, bytes);
    let may = !looked || room.look(there, bytes, || Some(now)).is_ok();
    if looked && may {
        room.wrote(there, bytes);
    }
    may
}

/// What `count` take in pieces of `piece` from a disk of so many bytes until one is refused.
fn filled(disk: u64, count: u32, piece: u64) -> u64 {
    let mut rooms = takers(count);
    let mut taken = 0;
    loop {
        for room in &mut rooms {
            if !takes(room, free(disk.saturating_sub(taken)), piece) {
                return taken;
            }
            taken += piece;
        }
    }
}

#[test]
fn a_tenth_stays_free_however_many_write_in_whatever_pieces() {
    for count in [1, 2, 16, 64] {
        for piece in [4096, MIB, 300 * MIB] {
            let disk = 64 << 30;
            let share = filled(disk, count, piece) as f64 / disk as f64;
            assert!((0.8..=0.9).contains(&share), "{count} in pieces of {piece}: {share}");
        }
    }
}

#[test]
fn many_who_write_to_a_small_disk_take_no_more_than_they_may() {
    let disk = 300 * MIB;
    for (count, piece) in [(1, MIB), (4, 4096), (32, 64 << 10), (512, 4096)] {
        let filled = filled(disk, count, piece);
        assert!((disk / 10 * 8..=disk / 10 * 9).contains(&filled), "{count} in pieces of {piece}: {filled}");
    }
}

#[test]
fn what_others_are_writing_at_the_same_time_is_left_to_them() {
    // Nothing of it is on the disk when the last one looks.
    let mut rooms = takers(8);
    let may = rooms.iter_mut().map(|room| may_take(room, free(64 * MIB), 8 * MIB));
    let taken = may.filter(|may| *may).count() as u64 * 8 * MIB;
    assert!((40 * MIB..=64 * MIB / 10 * 9).contains(&taken), "{taken}");
    // Those that are over take nothing more.
    rooms.truncate(1);
    assert!(may_take(&mut rooms[0], free(24 * MIB), 8 * MIB));
}

#[test]
fn who_was_promised_much_and_waits_fills_nothing_later() {
    let (disk, mut rooms, mut taken) = (100_u64 << 30, takers(8), 0);
    for room in &mut rooms {
        assert!(takes(room, free(disk), 1));
    }
    for number in [0, 1, 2, 3, 4, 5, 6, 7] {
        while takes(&mut rooms[number], free(disk - taken), MIB) {
            taken += MIB;
        }
    }
    assert!((disk / 10 * 8..=disk / 10 * 9).contains(&taken), "{taken}");
}

#[test]
fn operations_under_way_count_until_they_are_done() {
    let mut room = takers(1).remove(0);
    let there = room.number(1);
    let mut begun = 0;
    while begun < 100 && room.look(there, MIB, || Some(free(64 * MIB))).is_ok() {
        begun += 1;
        room.set_beside(begun * MIB);
    }
    assert!((50..=57).contains(&begun), "{begun}");
}

#[test]
fn a_second_file_system_has_its_own_allowance() {
    let mut room = SpaceWatch::of(1, Ownership::new());
    let small = |bytes| Free { device: 2, ..free(bytes) };
    assert!(takes(&mut room, free(1 << 40), MIB));
    let mut taken = 0;
    while takes(&mut room, small(64 * MIB - taken), MIB) {
        taken += MIB;
        assert!(takes(&mut room, free(1 << 40), MIB), "the large one has as much as before");
    }
    assert!((50 * MIB..=58 * MIB).contains(&taken), "{taken}");
    // More than shared memory has room for are watched all the same.
    for device in 3..20 {
        assert!(takes(&mut room, Free { device, ..free(64 * MIB) }, MIB), "{device}");
        assert!(!takes(&mut room, Free { device, ..free(6 * MIB) }, 60 * MIB), "{device}");
    }
}

#[test]
fn names_do_not_run_out_where_there_is_plenty_of_room_for_bytes() {
    let mut rooms = takers(4);
    let (all, mut made) = (1_000_000, 0);
    'full: loop {
        for room in &mut rooms {
            let now = Free { files: Some(all - made), ..free(1 << 50) };
            if !takes(room, now, OF_A_NAME) {
                break 'full;
            }
            made += 1;
        }
    }
    assert!((all / 2..=all / 10 * 9 + 2000).contains(&made), "{made}");
}

#[test]
fn what_is_written_over_is_not_taken() {
    let mut room = SpaceWatch::of(4, Ownership::new());
    for _ in 0..1_000_000 {
        assert!(takes(&mut room, free(1 << 30), MIB), "nothing is taken");
    }
}

#[test]
fn files_run_out_as_bytes_do() {
    let mut room = SpaceWatch::default();
    let there = room.number(1);
    let now = |files| Free { files: Some(files), ..free(1 << 40) };
    let mut look = |files| room.look(there, OF_A_NAME, || Some(now(files)));
    look(1000).expect("the first look");
    look(100).expect("a tenth");
    assert_eq!(look(99), Err((now(99), now(1000))));
}

#[test]
fn workers_share_what_their_rank_may_take() {
    let room = SpaceWatch::of(2, Ownership::new());
    let mut worker = room.of_worker(8);
    assert!(takes(&mut worker, free(1 << 40), 1));
    let there = worker.known(1);
    assert!(worker.all[usize::from(there.0)].slice * 16 * PART <= 1 << 40);
    assert_eq!(worker.all[1].left, u64::MAX);
}

#[test]
fn no_number_is_too_large() {
    let mut room = SpaceWatch::of(u32::MAX, Ownership::new());
    assert!(!may_take(&mut room, free(u64::MAX), u64::MAX));
    assert!(!may_take(&mut room, free(0), 1));
    room.set_beside(u64::MAX);
    assert!(!may_take(&mut room, free(u64::MAX), u64::MAX));
}

#[test]
fn what_a_taker_was_promised_is_the_others_when_it_is_over() {
    let own = Ownership::new();
    let mut room = SpaceWatch::of(1, own.clone());
    assert!(may_take(&mut room, free(64 * MIB), 50 * MIB));
    let mut other = SpaceWatch::of(1, own.clone());
    assert!(!may_take(&mut other, free(64 * MIB), 50 * MIB));
    drop(room);
    assert!(may_take(&mut other, free(64 * MIB), 50 * MIB));
    drop(other);
    assert_eq!(own.taken(1).map(Taken::promised), Some(0));
}

/// The whole disk but a tenth.
fn to_take(disk: u64) -> u64 {
    disk - disk / 10
}

#[test]
fn who_is_refused_leaves_no_more_free_than_is_kept_and_one_piece_of_each() {
    // All take turns in some order; at the first refusal the run ends.
    for (disk, count, piece) in
        [(8 * MIB, 2, 64 << 10), (8 * MIB, 4, 4096), (64 * MIB, 8, MIB), (64 << 30, 16, MIB)]
    {
        let pieces = u64::from(count) * piece;
        for order in 0..20_u64 {
            let (mut rooms, mut taken, mut drawn) = (takers(count), 0, order);
            loop {
                drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Some are slow.
                let first = (drawn >> 33) % u64::from(count);
                let number = if drawn >> 60 > order % 16 { 0 } else { first };
                if !takes(&mut rooms[number as usize], free(disk - taken), piece) {
                    break;
                }
                taken += piece;
            }
            let least = to_take(disk) - pieces - disk / 100;
            assert!((least..=to_take(disk)).contains(&taken), "{count} of {disk}, {order}: {taken}");
        }
    }
}

#[test]
fn nobody_is_refused_for_what_others_have_written_meanwhile() {
    let (disk, written) = (8 * MIB, AtomicU64::new(0));
    let mut rooms = takers(2);
    let mut other = rooms.remove(1);
    let there = other.number(1);
    // Another one is about to write all but a piece of what may be taken, and has in a moment.
    let much = to_take(disk) - MIB;
    assert!(may_take(&mut other, free(disk), much));
    let mut room = rooms.remove(0);
    let now = || Some(free(disk - written.load(Ordering::SeqCst)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            written.fetch_add(much, Ordering::SeqCst);
            // As if it was not told at once that it is written.
            std::thread::sleep(Duration::from_millis(5));
            other.wrote(there, much);
        });
        while written.load(Ordering::SeqCst) == 0 {
            std::hint::spin_loop();
        }
        assert!(room.look(room.known(1), MIB / 2, now).is_ok());
    });
}

#[test]
fn threads_that_write_as_fast_as_they_can_fill_what_they_may_and_no_more() {
    let (disk, piece, count) = (8 * MIB, 16 << 10, 8);
    for _ in 0..20 {
        let (written, reserved, full) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for mut room in takers(count) {
                scope.spawn({
                    let (written, reserved, full) = (&written, &reserved, &full);
                    move || {
                        let there = room.number(1);
                        let now = || Some(free(disk - written.load(Ordering::SeqCst)));
                        loop {
                            let looked = room.must_look(there, piece);
                            if looked && room.look(there, piece, now).is_err() {
                                full.fetch_max(written.load(Ordering::SeqCst), Ordering::SeqCst);
                                return;
                            }
                            // Allowed, and not written for a moment.
                            let sum = reserved.fetch_add(piece, Ordering::SeqCst) + piece;
                            assert!(sum <= to_take(disk), "{sum}");
                            std::thread::yield_now();
                            written.fetch_add(piece, Ordering::SeqCst);
                            if looked {
                                room.wrote(there, piece);
                            }
                        }
                    }
                });
            }
        });
        let full = full.load(Ordering::SeqCst);
        assert!(full > to_take(disk) - 2 * piece, "{full}");
    }
}
