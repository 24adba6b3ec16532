//! Numbers of files that others made, as the command line reads them.

use std::path::PathBuf;

use intake::{Filter, Unit, Wanted};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raised;

/// What was taken of a file.
#[pyclass(frozen, get_all, module = "lastrank._native")]
pub struct FileNumbers {
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

/// The options of the command line that choose numbers, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    column: Option<String>,
    by: Option<String>,
    r#where: Vec<String>,
    decimal: char,
    thousands: Option<char>,
    skip: usize,
    header: Option<bool>,
    drop: bool,
    failed: bool,
}

impl Options {
    fn wanted(self) -> Result<Wanted, String> {
        Ok(Wanted {
            column: self.column,
            filters: self
                .r#where
                .iter()
                .map(|filter| filter.parse())
                .collect::<Result<Vec<Filter>, String>>()?,
            drop_missing: self.drop,
            decimal: self.decimal,
            thousands: self.thousands,
            skip: self.skip,
            failed: self.failed,
            header: self.header,
            beside: self.by,
            dates: false,
            bare: false,
        })
    }
}

/// The numbers of one column or series of a file.
#[pyfunction]
pub fn read_numbers(py: Python<'_>, path: PathBuf, options: Options) -> PyResult<FileNumbers> {
    let wanted = options.wanted().map_err(raised)?;
    let has_by = wanted.beside.is_some();
    let taken = py.detach(|| intake::read(&path, &wanted)).map_err(raised)?;
    let values = PyBytes::new_with(py, 8 * taken.values.len(), |bytes| {
        let (places, _) = bytes.as_chunks_mut::<8>();
        for (place, number) in places.iter_mut().zip(&taken.values) {
            *place = number.to_ne_bytes();
        }
        Ok(())
    })?;
    Ok(FileNumbers {
        values: values.unbind(),
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
