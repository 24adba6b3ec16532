//! The Python extension `lastrank._native`: run files, their results and their reports.
//!
//! It reads and computes; it starts no process and measures nothing, since forked ranks and a Python interpreter do not
//! go together. The package `lastrank` in `python/` starts the executable for that. Whatever may take more than a
//! millisecond releases the interpreter. Documents cross as JSON text, samples as Arrow streams and NumPy arrays
//! without a copy.

mod arrow;
mod error;
mod frame;
mod numbers;
mod run_file;
mod table;

use pyo3::prelude::*;

/// Text for a terminal: characters that would control it or change the order of text are escaped.
#[pyfunction]
fn visible(text: &str) -> String {
    samples::visible(text).into_owned()
}

/// The part of lastrank that is compiled: see the package `lastrank` for what is meant to be used.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::keep_expected_panics_silent();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add_function(wrap_pyfunction!(visible, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::read_numbers, module)?)?;
    module.add_class::<run_file::RunFile>()?;
    module.add_class::<frame::Frame>()?;
    module.add_class::<frame::Column>()?;
    module.add_class::<numbers::FileNumbers>()?;
    Ok(())
}
