//! Tests of `Watch`: it reports the causes that occurred, and no others.

use super::*;

/// Sleeps and touches fresh pages, to cause context switches and page faults.
fn cause_switches_and_faults() {
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    const LENGTH: usize = 64 * 4096;
    // SAFETY: a new private mapping, whose pages are each written once before it is unmapped.
    unsafe {
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let pages = libc::mmap(std::ptr::null_mut(), LENGTH, writable, flags, -1, 0);
        assert_ne!(pages, libc::MAP_FAILED);
        for offset in (0..LENGTH).step_by(4096) {
            pages.cast::<u8>().add(offset).write_volatile(1);
        }
        libc::munmap(pages, LENGTH);
    }
}

#[test]
fn counts_equal_those_of_getrusage() {
    let accounting = Accounting::of_this_thread();
    let mut watch = Watch::of_this_thread();
    if !watch.is_cheap() {
        eprintln!("skipped: {:?}", watch.coverage().blind);
        return;
    }
    // A switch may fall between two successive readings; such a round is repeated.
    let exact = (0..20).any(|_| {
        let outer = accounting.read();
        let seen = watch.totals();
        let inner = accounting.read();
        cause_switches_and_faults();
        let inner_end = accounting.read();
        let seen_end = watch.totals();
        let outer_end = accounting.read();
        assert_eq!(seen_end.lost, 0);
        let switches = |c: Counters| [c.voluntary, c.involuntary, c.minor_faults];
        if switches(outer) != switches(inner) || switches(inner_end) != switches(outer_end) {
            return false;
        }
        let records = |t: Totals| [t.voluntary, t.involuntary, t.minor_faults];
        let grew = |new: [u64; 3], old: [u64; 3]| [0, 1, 2].map(|i| new[i] - old[i]);
        let used = grew(switches(outer_end), switches(outer));
        assert_eq!(grew(records(seen_end), records(seen)), used);
        used[0] >= 20 && used[2] >= 64
    });
    assert!(exact, "no round without a switch between the readings");
}

#[test]
fn every_tier_sees_a_sleep_as_blocking_and_counts_faults() {
    for tier in [Tier::Accounting, Tier::Events, Tier::Tracepoints] {
        let mut watch = Watch::at_most(tier);
        watch.before();
        cause_switches_and_faults();
        let seen = watch.after();
        assert!(seen.causes.has(Cause::Blocked), "{tier:?} {seen:?}");
        assert!(seen.causes.has(Cause::MinorFault), "{tier:?} {seen:?}");
    }
}

#[test]
fn the_queue_wait_is_the_growth_of_schedstat() {
    let accounting = Accounting::of_this_thread();
    let mut watch = Watch::of_this_thread();
    watch.before();
    let begin = accounting.queue_ns();
    cause_switches_and_faults();
    let end = accounting.queue_ns();
    let seen = watch.after();
    // The difference is what happened between the inner and outer readings: one or two switches at most.
    assert!(seen.queue_ns >= end - begin, "{seen:?} {begin} {end}");
}

#[test]
fn an_operation_without_events_has_no_cause() {
    let mut watch = Watch::of_this_thread();
    let quiet = (0..10_000).any(|_| {
        watch.before();
        let seen = watch.after();
        seen.causes == Causes::default() && seen.queue_ns == 0
    });
    assert!(quiet);
}

/// Binds the calling thread to one processor.
fn move_to(processor: usize) {
    // SAFETY: all-zero bytes are an empty set, which lives during the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}

#[test]
fn the_processor_is_that_of_the_end_and_a_move_is_seen_by_the_operation_that_moved() {
    // SAFETY: all-zero bytes are an empty set, which lives during the call.
    let allowed: Vec<usize> = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
        (0..libc::CPU_SETSIZE as usize).filter(|processor| libc::CPU_ISSET(*processor, &set)).collect()
    };
    let [here, there, ..] = allowed[..] else {
        eprintln!("skipped: there is one processor");
        return;
    };
    for tier in [Tier::Accounting, Tier::Events, Tier::Tracepoints] {
        move_to(here);
        let mut watch = Watch::at_most(tier);
        for n in 0..1000 {
            let [from, to] = if n % 2 == 0 { [here, there] } else { [there, here] };
            watch.before();
            let stayed = watch.after();
            assert_eq!(
                (stayed.cpu, stayed.causes.has(Cause::Migration)),
                (from as u16, false),
                "{tier:?} {n}"
            );
            watch.before();
            move_to(to);
            let moved = watch.after();
            assert_eq!((moved.cpu, moved.causes.has(Cause::Migration)), (to as u16, true), "{tier:?} {n}");
            // Between operations a move is of none.
            move_to(from);
            move_to(to);
        }
    }
}

#[test]
fn causes_that_cannot_be_seen_are_listed() {
    let blind = &Watch::at_most(Tier::Accounting).coverage().blind.join("\n");
    assert!(blind.contains("interrupts") && blind.contains("hypervisor"), "{blind}");
}

#[test]
fn an_uncached_read_waits_for_the_device_and_a_sleep_does_not() {
    use std::os::unix::fs::OpenOptionsExt;
    let mut watch = Watch::of_this_thread();
    if !watch.coverage().sees.contains(&Cause::Device) {
        eprintln!("skipped: {:?}", watch.coverage().blind);
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder on a disk");
    let path = folder.path().join("data");
    std::fs::write(&path, vec![7u8; 1 << 20]).expect("a file");
    let mut options = std::fs::OpenOptions::new();
    let Ok(file) = options.read(true).custom_flags(libc::O_DIRECT).open(&path) else {
        eprintln!("skipped: no O_DIRECT here");
        return;
    };
    file.sync_all().expect("on the disk");
    #[repr(align(4096))]
    struct PageBlock([u8; 4096]);
    let mut block = Box::new(PageBlock([0; 4096]));
    let (mut found, mut waited, mut blocked_ns, mut device_ns) = (0, 0, 0, 0);
    // A fast device ends most reads before the thread can sleep: only reads that slept can have waited for it.
    for n in (0..256).cycle().take(100_000) {
        use std::os::unix::fs::FileExt;
        watch.before();
        let got = file.read_at(&mut block.0, n * 4096);
        let seen = watch.after();
        assert_eq!(got.expect("a read"), 4096);
        found += u32::from(seen.causes.has(Cause::Device));
        waited += u32::from(seen.causes.has(Cause::Blocked));
        assert!(seen.device_ns <= seen.blocked_ns, "{seen:?}");
        blocked_ns += seen.blocked_ns;
        device_ns += seen.device_ns;
        assert!(seen.causes.has(Cause::Blocked) || !seen.causes.has(Cause::Device), "{seen:?}");
        if waited == 50 {
            break;
        }
    }
    // A file system in memory or in user space has no device; then no time may be attributed to one.
    let place = machine::describe(&[folder.path()]).paths.remove(0);
    match place.device {
        Some(_) => {
            let told = format!("{found} of {waited} reads that slept, device {device_ns} of {blocked_ns} ns");
            // Beside other work reads sleep for more than their own requests.
            assert!(waited > 0 && found * 5 >= waited, "{told}");
        }
        None => assert_eq!(found, 0),
    }
    watch.before();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let seen = watch.after();
    assert!(seen.causes.has(Cause::Blocked) && !seen.causes.has(Cause::Device), "{seen:?}");
}

#[test]
fn the_processor_is_known_only_after_an_observation() {
    assert_eq!(Observed::default().cpu, u16::MAX);
    let mut watch = Watch::of_this_thread();
    watch.before();
    assert_ne!(watch.after().cpu, u16::MAX);
}

#[test]
fn events_stop_while_nothing_is_watched_and_start_again_with_the_next_operation() {
    let mut watch = Watch::of_this_thread();
    if !watch.is_cheap() {
        eprintln!("skipped: {:?}", watch.coverage().blind);
        return;
    }
    let before = watch.totals();
    for _ in 0..2 * u32::from(UNWATCHED) {
        watch.pass_over();
    }
    cause_switches_and_faults();
    // They are not counted: the events stood still.
    let passed = watch.totals();
    assert_eq!(passed.lost, before.lost);
    assert!(passed.voluntary < before.voluntary + 20, "{before:?} {passed:?}");
    // A few do not stop them.
    for _ in 1..UNWATCHED {
        watch.pass_over();
    }
    watch.before();
    cause_switches_and_faults();
    let seen = watch.after();
    assert!(seen.causes.has(Cause::Blocked) && seen.causes.has(Cause::MinorFault), "{seen:?}");
    assert!(watch.totals().voluntary >= passed.voluntary + 20);
    // What was waited before is not waited in the next operation.
    for _ in 0..UNWATCHED {
        watch.pass_over();
    }
    cause_switches_and_faults();
    watch.before();
    let seen = watch.after();
    assert!(!seen.causes.has(Cause::Blocked), "{seen:?}");
}

#[test]
fn a_watch_at_rest_records_nothing_until_the_next_operation() {
    let mut watch = Watch::of_this_thread();
    if !watch.is_cheap() {
        eprintln!("skipped: {:?}", watch.coverage().blind);
        return;
    }
    let before = watch.totals();
    watch.rest();
    watch.rest();
    cause_switches_and_faults();
    let rested = watch.totals();
    assert!(rested.voluntary < before.voluntary + 20, "{before:?} {rested:?}");
    watch.rest();
    watch.before();
    cause_switches_and_faults();
    let seen = watch.after();
    assert!(seen.causes.has(Cause::Blocked) && seen.causes.has(Cause::MinorFault), "{seen:?}");
}
