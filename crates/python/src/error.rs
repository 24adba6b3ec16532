//! Turns errors of the other crates into the Python exception `lastrank.Error`, with the same words.

use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};

create_exception!(
    lastrank,
    Error,
    PyException,
    "What lastrank refuses or cannot do, in the words of its command line."
);

/// The exception for an error, with its words; what would control the terminal of a traceback is escaped.
pub fn raised(error: impl std::fmt::Display) -> PyErr {
    Error::new_err(samples::visible(&error.to_string()).into_owned())
}

/// Prints nothing of a panic by which the Parquet library answers damage: it becomes an error.
pub fn keep_expected_panics_silent() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !store::panic_is_expected() {
            usual(info);
        }
    }));
}
