//! `posix_fallocate`, which is not like other functions.

use core::ffi::c_int;

use crate::functions::{NO, n};
use crate::{Kind, errno, now, put, set_errno};

/// They give the errno, and set none.
macro_rules! reserves {
    ($($name:literal $own:ident)*) => { $(
        #[unsafe(export_name = $name)]
        pub unsafe extern "C" fn $own(file: c_int, at: i64, count: i64) -> c_int {
            let real = real!($name as unsafe extern "C" fn(c_int, i64, i64) -> c_int);
            let start = now();
            // SAFETY: the arguments are the caller's.
            let error = unsafe { real(file, at, count) };
            let result = if error == 0 { 0 } else { -1 };
            let (end, before) = (now(), errno());
            put(Kind::Allocate, (start, end), (result, error), [n(file), at, count, 0], NO);
            set_errno(before);
            error
        }
    )* };
}

reserves! { "posix_fallocate" posix_fallocate "posix_fallocate64" posix_fallocate64 }
