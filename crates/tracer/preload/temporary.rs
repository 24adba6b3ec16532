//! Directories and files of names that the C library chooses.

use core::ffi::{c_char, c_int, c_void};

use crate::functions::{HERE, n};
use crate::{Kind, done, fileno, now, text};

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

/// A file without a name, opened by the C library itself: `O_RDWR|O_EXCL|O_TMPFILE`.
macro_rules! nameless_file {
    ($($name:literal $own:ident),*) => { $(
        #[unsafe(export_name = $name)]
        pub unsafe extern "C" fn $own() -> *mut c_void {
            let real = real!($name as unsafe extern "C" fn() -> *mut c_void);
            let start = now();
            // SAFETY: as the caller's call; where it gave a stream, that has a descriptor.
            unsafe {
                let stream = real();
                let file: c_int = if stream.is_null() { -1 } else { fileno(stream) };
                done(Kind::Open, start, n(file), [HERE, TEMPORARY, 0o600, 0], [b"/tmp", &[]]);
                stream
            }
        }
    )* };
}

const TEMPORARY: i64 = 0o2 | 0o200 | 0o20_200_000;

nameless_file!("tmpfile" nameless, "tmpfile64" nameless64);
