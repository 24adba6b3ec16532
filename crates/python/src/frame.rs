//! Samples as Python objects: an Arrow stream for data frames, and arrays for NumPy.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::arrow::{ArrowArrayStream, ArrowSchema};
use crate::table::{ColumnValues, SampleTable};

/// Samples by column: the columns of the run file, and `host`.
#[pyclass(frozen, module = "lastrank._native")]
pub struct Frame {
    table: Arc<SampleTable>,
}

impl Frame {
    pub fn new(table: SampleTable) -> Frame {
        Frame { table: Arc::new(table) }
    }

    fn position(&self, name: &str) -> PyResult<usize> {
        self.table.position(name).ok_or_else(|| {
            let names: Vec<&str> = self.table.columns.iter().map(|column| column.name).collect();
            PyKeyError::new_err(format!("there is no column `{name}`; there are {}", names.join(", ")))
        })
    }
}

#[pymethods]
impl Frame {
    fn __len__(&self) -> usize {
        self.table.rows
    }

    /// Names of the columns in their order.
    #[getter]
    fn names(&self) -> Vec<&'static str> {
        self.table.columns.iter().map(|column| column.name).collect()
    }

    /// The numbers of a column; of a column of texts the index of each into `words`.
    fn column(&self, name: &str) -> PyResult<Column> {
        Ok(Column { at: self.position(name)?, table: Arc::clone(&self.table) })
    }

    /// The different texts of a column; None of a column of numbers.
    fn words(&self, name: &str) -> PyResult<Option<Vec<String>>> {
        Ok(match &self.table.columns[self.position(name)?].values {
            ColumnValues::Narrow(_) | ColumnValues::Wide(_) => None,
            ColumnValues::Words(words) => Some(words.list.words()),
        })
    }

    /// The samples as a stream of the Arrow C interface; `requested_schema` is not looked at.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        PyCapsule::new_with_value(py, ArrowArrayStream::of(Arc::clone(&self.table)), c"arrow_array_stream")
    }

    /// The types of the columns, as the Arrow C interface has them.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, ArrowSchema::of(&self.table), c"arrow_schema")
    }
}

/// The numbers of one column, which NumPy takes without a copy.
#[pyclass(frozen, module = "lastrank._native")]
pub struct Column {
    table: Arc<SampleTable>,
    at: usize,
}

impl Column {
    fn narrow_or_wide(&self) -> Numbers<'_> {
        match &self.table.columns[self.at].values {
            ColumnValues::Narrow(all) => Numbers::Narrow(all),
            ColumnValues::Wide(all) => Numbers::Wide(all),
            ColumnValues::Words(words) => Numbers::Narrow(&words.codes),
        }
    }
}

/// The numbers of a column.
enum Numbers<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.table.rows
    }

    /// `i` for 32 bits, `q` for 64, as the module `array` names them.
    #[getter]
    fn typecode(&self) -> &'static str {
        match self.narrow_or_wide() {
            Numbers::Narrow(_) => "i",
            Numbers::Wide(_) => "q",
        }
    }

    /// The first so many numbers.
    fn first(&self, count: usize) -> Vec<i64> {
        match self.narrow_or_wide() {
            Numbers::Narrow(all) => all.iter().take(count).map(|one| i64::from(*one)).collect(),
            Numbers::Wide(all) => all.iter().take(count).copied().collect(),
        }
    }

    /// A copy of the numbers as bytes of this machine's order.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let size = match self.narrow_or_wide() {
            Numbers::Narrow(all) => size_of_val(all),
            Numbers::Wide(all) => size_of_val(all),
        };
        PyBytes::new_with(py, size, |out| {
            match self.narrow_or_wide() {
                Numbers::Narrow(all) => {
                    out.chunks_exact_mut(4)
                        .zip(all)
                        .for_each(|(to, one)| to.copy_from_slice(&one.to_ne_bytes()));
                }
                Numbers::Wide(all) => {
                    out.chunks_exact_mut(8)
                        .zip(all)
                        .for_each(|(to, one)| to.copy_from_slice(&one.to_ne_bytes()));
                }
            }
            Ok(())
        })
    }

    /// What NumPy needs to look at the numbers where they are; they cannot be changed through it.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (address, kind) = match self.narrow_or_wide() {
            Numbers::Narrow(all) => (all.as_ptr() as usize, "<i4"),
            Numbers::Wide(all) => (all.as_ptr() as usize, "<i8"),
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.table.rows,))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }
}
