//! Hands samples to other libraries through the Arrow C stream interface, without a copy.
//!
//! The structs and who frees what are those of the Arrow specification ("The Arrow C data interface", "The Arrow C
//! stream interface"). Every array holds the table in an `Arc`, so that it outlives the run that it came from; a
//! consumer that moves a struct away sets its `release` to null, and then nothing of it is freed here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use crate::table::{ColumnValues, NamedColumn, SampleTable, WordList};

/// Rows of a batch.
const BATCH: usize = 1 << 16;

/// `struct ArrowSchema`.
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`.
#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: what it points to is an `Arc` of columns that nobody changes, and a position that only the holder moves.
unsafe impl Send for ArrowArrayStream {}

// SAFETY: names and formats that nobody changes.
unsafe impl Send for ArrowSchema {}

/// What a schema points to.
struct SchemaParts {
    format: &'static CStr,
    name: CString,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

/// What an array points to.
struct ArrayParts {
    /// Keeps the buffers.
    _table: Arc<SampleTable>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
}

/// Where a stream is.
struct Position {
    table: Arc<SampleTable>,
    row: usize,
}

impl ArrowSchema {
    /// The schema of all columns: a struct.
    pub fn of(table: &SampleTable) -> ArrowSchema {
        let children = table.columns.iter().map(|column| boxed(ArrowSchema::of_column(column))).collect();
        ArrowSchema::new(SchemaParts {
            format: c"+s",
            name: CString::default(),
            children,
            dictionary: ptr::null_mut(),
        })
    }

    fn of_column(column: &NamedColumn) -> ArrowSchema {
        let plain = |format, name: &str| SchemaParts {
            format,
            name: CString::new(name).unwrap_or_default(),
            children: Vec::new(),
            dictionary: ptr::null_mut(),
        };
        ArrowSchema::new(match &column.values {
            ColumnValues::Narrow(_) => plain(c"i", column.name),
            ColumnValues::Wide(_) => plain(c"l", column.name),
            ColumnValues::Words(_) => {
                let dictionary = boxed(ArrowSchema::new(plain(c"u", "")));
                SchemaParts { dictionary, ..plain(c"i", column.name) }
            }
        })
    }

    fn new(parts: SchemaParts) -> ArrowSchema {
        let mut parts = Box::new(parts);
        ArrowSchema {
            format: parts.format.as_ptr(),
            name: parts.name.as_ptr(),
            metadata: ptr::null(),
            flags: 0,
            n_children: parts.children.len() as i64,
            children: parts.children.as_mut_ptr(),
            dictionary: parts.dictionary,
            release: Some(release_schema),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

/// Frees what a schema points to.
///
/// # Safety
/// `schema` points to a schema of [`ArrowSchema::new`] that was not released.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the caller's promise; `private_data` is the box of `new`, given back once since `release` becomes null.
    let parts = unsafe {
        (*schema).release = None;
        Box::from_raw((*schema).private_data.cast::<SchemaParts>())
    };
    for child in parts.children.into_iter().chain(Some(parts.dictionary)).filter(|child| !child.is_null()) {
        // SAFETY: a box of ours; what it points to is freed unless a consumer moved it away.
        drop(unsafe { Box::from_raw(child) });
    }
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released, and of ours: others never drop their structs as Rust values.
            unsafe { release(self) };
        }
    }
}

impl ArrowArray {
    /// So many rows of all columns from `first` on.
    fn of_rows(table: &Arc<SampleTable>, first: usize, rows: usize) -> ArrowArray {
        let children =
            table.columns.iter().map(|column| boxed(ArrowArray::of_column(table, column, first, rows)));
        let children = children.collect();
        let parts = ArrayParts {
            _table: Arc::clone(table),
            buffers: vec![ptr::null()],
            children,
            dictionary: ptr::null_mut(),
        };
        ArrowArray::new(rows, parts)
    }

    fn of_column(table: &Arc<SampleTable>, column: &NamedColumn, first: usize, rows: usize) -> ArrowArray {
        let (values, dictionary): (*const c_void, _) = match &column.values {
            ColumnValues::Narrow(all) => (all[first..first + rows].as_ptr().cast(), ptr::null_mut()),
            ColumnValues::Wide(all) => (all[first..first + rows].as_ptr().cast(), ptr::null_mut()),
            ColumnValues::Words(words) => (
                words.codes[first..first + rows].as_ptr().cast(),
                boxed(ArrowArray::of_words(table, &words.list)),
            ),
        };
        let parts = ArrayParts {
            _table: Arc::clone(table),
            buffers: vec![ptr::null(), values],
            children: Vec::new(),
            dictionary,
        };
        ArrowArray::new(rows, parts)
    }

    fn of_words(table: &Arc<SampleTable>, list: &WordList) -> ArrowArray {
        let parts = ArrayParts {
            _table: Arc::clone(table),
            buffers: vec![ptr::null(), list.offsets.as_ptr().cast(), list.text.as_ptr().cast()],
            children: Vec::new(),
            dictionary: ptr::null_mut(),
        };
        ArrowArray::new(list.len(), parts)
    }

    fn new(length: usize, parts: ArrayParts) -> ArrowArray {
        let mut parts = Box::new(parts);
        ArrowArray {
            length: length as i64,
            null_count: 0,
            offset: 0,
            n_buffers: parts.buffers.len() as i64,
            n_children: parts.children.len() as i64,
            buffers: parts.buffers.as_mut_ptr(),
            children: parts.children.as_mut_ptr(),
            dictionary: parts.dictionary,
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
        }
    }

    /// The sign that a stream is at its end: an array that is released already.
    fn end() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

/// Frees what an array points to.
///
/// # Safety
/// `array` points to an array of [`ArrowArray::new`] that was not released.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as in `release_schema`.
    let parts = unsafe {
        (*array).release = None;
        Box::from_raw((*array).private_data.cast::<ArrayParts>())
    };
    for child in parts.children.iter().copied().chain(Some(parts.dictionary)).filter(|child| !child.is_null())
    {
        // SAFETY: as in `release_schema`.
        drop(unsafe { Box::from_raw(child) });
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released, and of ours.
            unsafe { release(self) };
        }
    }
}

impl ArrowArrayStream {
    /// A stream of all rows from the first on.
    pub fn of(table: Arc<SampleTable>) -> ArrowArrayStream {
        ArrowArrayStream {
            get_schema: Some(stream_schema),
            get_next: Some(stream_next),
            get_last_error: Some(stream_error),
            release: Some(release_stream),
            private_data: Box::into_raw(Box::new(Position { table, row: 0 })).cast(),
        }
    }
}

/// # Safety
/// `stream` is a stream of [`ArrowArrayStream::of`] that was not released; `out` is memory for a schema.
unsafe extern "C" fn stream_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the caller's promise; `out` need not hold a value, so none is dropped.
    unsafe {
        let position = &*(*stream).private_data.cast::<Position>();
        out.write(ArrowSchema::of(&position.table));
    }
    0
}

/// # Safety
/// As [`stream_schema`], with memory for an array.
unsafe extern "C" fn stream_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: the caller's promise; one thread at a time uses a stream.
    unsafe {
        let position = &mut *(*stream).private_data.cast::<Position>();
        let rows = (position.table.rows - position.row).min(BATCH);
        let array = match rows {
            0 => ArrowArray::end(),
            rows => ArrowArray::of_rows(&position.table, position.row, rows),
        };
        position.row += rows;
        out.write(array);
    }
    0
}

/// No call of ours fails.
///
/// # Safety
/// None is needed.
unsafe extern "C" fn stream_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

/// # Safety
/// `stream` is a stream of [`ArrowArrayStream::of`] that was not released.
unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: as in `release_schema`.
    unsafe {
        (*stream).release = None;
        drop(Box::from_raw((*stream).private_data.cast::<Position>()));
    }
}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released, and of ours.
            unsafe { release(self) };
        }
    }
}

fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}
