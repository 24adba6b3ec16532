//! Numbers of files that others made, as the command line reads them.

use std::path::PathBuf;

use intake::{Filter, Unit, Wanted};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raised;

/// What was taken of a file.
#[pyclass(frozen, get_all, module = "lastrank._native")]
pub struct Numbers {
    /// 64-bit floating-point numbers of this machine's byte order.
    values: Py<PyBytes>,
    /// `ns`, `us`, `ms` or `s`.
    unit: Option<&'static str>,
    /// The column or series.
    name: String,
    format: Option<&'static str>,
    /// The texts of the column `by`, one for each value.
    by: Option<Vec<String>>,
    rows: u64,
    /// One line that says what was taken, and what was left out.
    took: Option<String>,
}

/// The numbers of one column or series of a file.
#[pyfunction]
#[pyo3(signature = (path, column, by, filters, signs, skip, header, drop_missing, failed))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the command line; Python names them")]
pub fn read_numbers(
    py: Python<'_>,
    path: PathBuf,
    column: Option<String>,
    by: Option<String>,
    filters: Vec<String>,
    signs: (char, Option<char>),
    skip: usize,
    header: Option<bool>,
    drop_missing: bool,
    failed: bool,
) -> PyResult<Numbers> {
    let filters: Result<Vec<Filter>, String> = filters.iter().map(|filter| filter.parse()).collect();
    let has_by = by.is_some();
    let wanted = Wanted {
        column,
        filters: filters.map_err(raised)?,
        drop_missing,
        decimal: signs.0,
        thousands: signs.1,
        skip,
        failed,
        header,
        beside: by,
    };
    let taken = py.detach(|| intake::read(&path, &wanted)).map_err(raised)?;
    let bytes: Vec<u8> = taken.values.iter().flat_map(|number| number.to_ne_bytes()).collect();
    Ok(Numbers {
        values: PyBytes::new(py, &bytes).unbind(),
        unit: taken.unit.map(|unit| match unit {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
        }),
        name: taken.series,
        format: taken.format,
        by: has_by.then_some(taken.beside),
        rows: taken.rows,
        took: taken.told,
    })
}
