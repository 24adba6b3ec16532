//! In tests: counts what each thread asks the allocator for.

use std::alloc::{GlobalAlloc, Layout as Request, System};
use std::cell::Cell;

/// The system's allocator, which counts what each thread asks it for.
struct Counted;

thread_local! {
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all is done by the system's allocator; counting asks for nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, request: Request) -> *mut u8 {
        REQUESTS.set(REQUESTS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(request) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, request: Request) {
        REQUESTS.set(REQUESTS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, request) };
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// Requests of this thread so far.
pub(super) fn requests() -> u64 {
    REQUESTS.get()
}
