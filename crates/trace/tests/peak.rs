//! How much memory an import takes at its peak, by an allocator that counts: what a call more costs.
//!
//! Sizes are those of requests, so that they do not depend on the machine. How far threads that work side by side are apart
//! does: up to some 600 KB of cut lines, or 300 KB of a program that is checked, wait to be taken. That is four bytes a call of
//! the longer traces, which the bounds leave room for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{BufRead, BufReader, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use trace::format::Reading;
use trace::recording::About;
use trace::{Options, Trace, formats, recording};

/// The system's allocator, which counts the bytes that are alive.
struct Counting;

static ALIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system's allocator as it is; the counters touch no memory of others.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = ALIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time is measured.
static MEASURED: Mutex<()> = Mutex::new(());

/// Most bytes that were alive at once while `what` was done, beyond those that were before.
fn peak(what: impl FnOnce()) -> usize {
    let before = ALIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    what();
    MOST.load(Ordering::Relaxed) - before
}

/// Bytes that what is made keeps alive.
fn held<T>(make: impl FnOnce() -> T) -> usize {
    let before = ALIVE.load(Ordering::Relaxed);
    let _made = make();
    ALIVE.load(Ordering::Relaxed) - before
}

/// What each further call costs, from two traces of different length.
fn bytes_a_call(of: impl Fn(u64) -> usize) -> f64 {
    let _alone = MEASURED.lock().unwrap();
    const CALLS: [u64; 2] = [16_000, 160_000];
    // What is made once, such as tables of commands, is there before.
    of(200);
    let [small, large] = CALLS.map(&of);
    large.saturating_sub(small) as f64 / (CALLS[1] - CALLS[0]) as f64
}

/// The text of a trace, made while it is read: a line for each of so many calls.
struct TraceText<F> {
    calls: std::ops::Range<u64>,
    line: F,
    left: Vec<u8>,
}

impl<F: Fn(u64) -> String> Read for TraceText<F> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if self.left.is_empty()
            && let Some(call) = self.calls.next()
        {
            self.left = format!("{}\n", (self.line)(call)).into_bytes();
        }
        let count = to.len().min(self.left.len());
        to[..count].copy_from_slice(&self.left[..count]);
        self.left.drain(..count);
        Ok(count)
    }
}

fn text<F: Fn(u64) -> String>(calls: u64, line: F) -> impl BufRead {
    BufReader::new(TraceText { calls: 0..calls, line, left: Vec::new() })
}

fn read(reader: &mut dyn BufRead) -> Trace {
    let format = formats::ALL.into_iter().find(|format| format.name == "strace").unwrap();
    trace::import::read(format, reader, &Reading::default()).unwrap()
}

fn import(mut trace: Trace, calls: u64) {
    let made = trace::import(&mut trace, &Options::default());
    assert_eq!((made.difference, made.checked, made.calls), (None, Some(calls), calls));
}

/// Some time between calls, as a machine has it.
fn jitter(call: u64) -> u64 {
    call.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59
}

/// Two processes in turn write files of which there are a few, 48 blocks each.
fn looping(call: u64) -> String {
    let (session, at) = (call / 50, call % 50);
    let (thread, file) = (100 + session % 2, session % 100);
    let what = match at {
        0 => format!("openat(AT_FDCWD, \"/w/d{}/f-{file:04}\", O_RDWR|O_CREAT, 0644) = 3", file % 10),
        49 => "close(3) = 0".to_owned(),
        at => format!("pwrite64(3, \"abc\"..., 4096, {}) = 4096", (at - 1) * 4096),
    };
    format!(
        "{thread} {:.6} {what} <0.0000{}>",
        1e9 + (call * 60 + jitter(call)) as f64 * 1e-6,
        10 + jitter(call + 7)
    )
}

/// Every fourth call makes a new file.
fn of_many_names(call: u64) -> String {
    let what = match call % 4 {
        0 => format!("openat(AT_FDCWD, \"/w/f-{:07}\", O_WRONLY|O_CREAT, 0644) = 3", call / 4),
        1 => "write(3, \"abc\"..., 4096) = 4096".to_owned(),
        2 => "fsync(3) = 0".to_owned(),
        _ => "close(3) = 0".to_owned(),
    };
    format!(
        "100 {:.6} {what} <0.0000{}>",
        1e9 + (call * 60 + jitter(call)) as f64 * 1e-6,
        10 + jitter(call + 7)
    )
}

#[test]
fn a_call_of_a_loop_takes_few_bytes() {
    let bytes = bytes_a_call(|calls| peak(|| import(read(&mut text(calls, looping)), calls)));
    assert!(bytes < 24.0, "{bytes} bytes a call");
}

#[test]
fn a_call_on_files_of_ever_new_names_takes_less_than_64_bytes() {
    let bytes = bytes_a_call(|calls| peak(|| import(read(&mut text(calls, of_many_names)), calls)));
    assert!(bytes < 64.0, "{bytes} bytes a call");
}

#[test]
fn a_call_of_a_recording_takes_few_bytes_the_file_among_them() {
    let bytes = bytes_a_call(|calls| {
        let mut file = Vec::new();
        recording::write(&mut file, &read(&mut text(calls, looping)), &About::default()).unwrap();
        peak(|| import(recording::read(file.into()).unwrap().0, calls))
    });
    assert!(bytes < 34.0, "{bytes} bytes a call");
}

#[test]
fn the_model_alone_takes_few_bytes_of_a_loop_and_60_at_most() {
    let bytes = bytes_a_call(|calls| held(|| read(&mut text(calls, looping))));
    assert!(bytes < 10.0, "{bytes} bytes a call");
    // Numbers that have nothing to do with each other.
    let random = |call: u64| {
        let of = |seed: u64| (call + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let what = format!("pwrite64(3</w/{}>, \"abc\"..., 4096, {}) = {}", call % 7, of(1) >> 2, of(2) >> 2);
        format!(
            "{} {}.{:09} {what} <{}.{:06}>",
            call % 300,
            of(3) >> 31,
            of(4) >> 35,
            of(5) >> 62,
            of(6) >> 45
        )
    };
    let bytes = bytes_a_call(|calls| held(|| read(&mut text(calls, random))));
    assert!((20.0..60.0).contains(&bytes), "{bytes} bytes a call");
}
