//! MPI-IO, whichever library it is: open, view, transfer, close, hints.

mod hints;
mod library;

pub use library::{File, delete};

/// Hints for the MPI library (`MPI_Info`), such as `cb_nodes`; unknown ones are ignored by it.
pub type Hints = [(String, String)];

thread_local! {
    static ERROR: std::cell::RefCell<Option<String>> = const { std::cell::RefCell::new(None) };
}

/// The MPI library's words for the failure that came last, once.
pub fn take_error() -> Option<String> {
    ERROR.take()
}

/// The failure at hand is one that the library has no words for.
#[cold]
fn forget_error() {
    ERROR.take();
}

fn keep_error(words: String) {
    ERROR.set(Some(words));
}
