//! Keeps the error text of the last failed MPI-IO call and makes outcomes.

use std::cell::RefCell;
use std::ffi::c_int;

use samples::Outcome;

use crate::library::MpiLibrary;

thread_local! {
    static ERROR: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Takes the MPI library's text of the last failure; later calls return `None`.
pub fn take_error() -> Option<String> {
    ERROR.take()
}

/// Drops the text of an earlier, unreported failure.
#[cold]
pub(super) fn forget_error() {
    ERROR.take();
}

pub(super) fn keep_error(text: String) {
    ERROR.set(Some(text));
}

/// The outcome of a call: `value`, or the errno of `code`; the library's text is kept for [`take_error`].
#[inline]
pub(crate) fn outcome(library: &MpiLibrary, call: &str, code: c_int, value: u64) -> Result<Outcome, Outcome> {
    if code == 0 {
        return Ok(Outcome::value(value));
    }
    keep_error(format!("{call}: {}", library.error_text(code)));
    Err(Outcome::error(library.errno(code)))
}
