//! Passes hints to MPI-IO and reads back those that it uses.

use std::ffi::{CStr, CString, c_int};

use samples::Outcome;

use super::error::outcome;
use crate::abi::Handle;
use crate::library::MpiLibrary;

/// Hints for the MPI library (`MPI_Info`), such as `cb_nodes`. The library ignores unknown ones.
pub type Hints = [(String, String)];

/// Room for a key (`MPI_MAX_INFO_KEY` is 36 to 255) and for a value (`MPI_MAX_INFO_VAL` is 256 to 1024).
const KEY: usize = 512;
const VALUE: usize = 2048;

/// Hints as an `MPI_Info`, or `MPI_INFO_NULL` if there are none.
pub(super) struct Info {
    library: &'static MpiLibrary,
    handle: Handle,
}

impl Info {
    pub(super) fn new(library: &'static MpiLibrary, hints: &Hints) -> Result<Self, Outcome> {
        let mut info = Self { library, handle: library.k.info_null };
        if hints.is_empty() {
            return Ok(info);
        }
        let mut handle: Handle = 0;
        // SAFETY: the new handle is a live zeroed variable.
        let code = unsafe { (library.f.info_create)(&raw mut handle) };
        outcome(library, "MPI_Info_create", code, 0)?;
        info.handle = handle;
        for (key, value) in hints {
            let (Ok(key), Ok(value)) = (CString::new(key.as_str()), CString::new(value.as_str())) else {
                return Err(Outcome::error(libc::EINVAL));
            };
            // SAFETY: this object owns the info; both texts are NUL-terminated and the library copies them.
            let code = unsafe { (library.f.info_set)(handle, key.as_ptr(), value.as_ptr()) };
            outcome(library, "MPI_Info_set", code, 0)?;
        }
        Ok(info)
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        if self.handle != self.library.k.info_null {
            // SAFETY: this object owns the info; files keep their own copy.
            unsafe { (self.library.f.info_free)(&raw mut self.handle) };
        }
    }
}

/// The hints that the library reports for an open file, in its order.
pub(super) fn used(library: &'static MpiLibrary, file: Handle) -> Vec<(String, String)> {
    let f = &library.f;
    let mut info = Info { library, handle: library.k.info_null };
    let mut handle: Handle = 0;
    // SAFETY: the file is open; the new handle is a live zeroed variable.
    if unsafe { (f.file_get_info)(file, &raw mut handle) } != 0 || handle == library.k.info_null {
        return Vec::new();
    }
    info.handle = handle;
    let mut count: c_int = 0;
    // SAFETY: the info was created by the call above; the count is a live integer.
    if unsafe { (f.info_get_nkeys)(handle, &raw mut count) } != 0 {
        return Vec::new();
    }
    (0..count)
        .filter_map(|number| {
            let mut key = [0_u8; KEY];
            // SAFETY: the index is below the number of keys, and no key is longer than the buffer.
            let code = unsafe { (f.info_get_nthkey)(handle, number, key.as_mut_ptr().cast()) };
            let key = CStr::from_bytes_until_nul(&key).ok().filter(|_| code == 0)?;
            Some((key.to_string_lossy().into_owned(), value_of(library, handle, key)?))
        })
        .collect()
}

fn value_of(library: &MpiLibrary, info: Handle, key: &CStr) -> Option<String> {
    let mut value = [0_u8; VALUE];
    let (mut length, mut found) = (VALUE as c_int - 1, 0);
    let to = value.as_mut_ptr().cast();
    // SAFETY: the key is NUL-terminated, the value has room for `length` bytes and a NUL.
    let code = unsafe {
        match (library.f.info_get_string, library.f.info_get) {
            (Some(get), _) => get(info, key.as_ptr(), &raw mut length, to, &raw mut found),
            (None, Some(get)) => get(info, key.as_ptr(), length, to, &raw mut found),
            (None, None) => return None,
        }
    };
    let text = CStr::from_bytes_until_nul(&value).ok().filter(|_| code == 0 && found != 0)?;
    Some(text.to_string_lossy().into_owned())
}
