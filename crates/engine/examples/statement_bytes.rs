//! Counts, by the allocator, the bytes of memory that a parsed and checked statement keeps.
//!
//! `cargo run --release -p lastrank-engine --example statement_bytes`

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ppl::{Source, check, syntax};

/// The system's allocator, which counts the bytes that are alive.
struct Counting;

static ALIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn more(bytes: usize) {
    let now = ALIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is passed to the system's allocator as it is; the counters touch no memory of others.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
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

fn main() {
    let million = 1_000_000;
    let mixed = ["$x = $x + 1;\n", "write(\"f\", 4k);\n", "stat(\"f-$x\");\n", "print($x);\n"];
    let text: String =
        std::iter::once("$x = 0;\n").chain(mixed.into_iter().cycle().take(million - 1)).collect();
    let source = Source::new("bytes", &text);
    let before = ALIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let checked = {
        let parsed = syntax::parse(&text);
        check::check(&parsed.tree, &source)
    };
    assert!(checked.diagnostics.is_empty());
    let each = |bytes: usize| (bytes - before) as f64 / million as f64;
    println!(
        "1,000,000 mixed statements: {:.1} bytes a statement kept, {:.1} at most while checking, by the allocator's \
         count; {:.1} by capacities",
        each(ALIVE.load(Ordering::Relaxed)),
        each(MOST.load(Ordering::Relaxed)),
        checked.code.bytes() as f64 / million as f64
    );
}
