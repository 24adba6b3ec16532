//! Directories of names that the C library chooses.

use core::ffi::c_char;

use crate::functions::HERE;
use crate::{Kind, done, now, text};

#[unsafe(export_name = "mkdtemp")]
pub unsafe extern "C" fn temporary_directory(template: *mut c_char) -> *mut c_char {
    let real = real!("mkdtemp" as unsafe extern "C" fn(*mut c_char) -> *mut c_char);
    let start = now();
    // SAFETY: the argument is the caller's; where the call was done, it holds the name.
    unsafe {
        let made = real(template);
        let result = if made.is_null() { -1 } else { 0 };
        let name = if made.is_null() { &[] } else { text(made) };
        done(Kind::Mkdir, start, result, [HERE, 0o700, 0, 0], [name, &[]]);
        made
    }
}
