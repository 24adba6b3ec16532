//! What programs call that were linked with a C library before 2.33 (conda's, those of vendors): `stat` was another function there.

use core::ffi::{c_char, c_int, c_void};

use crate::functions::{AT_SYMLINK_NOFOLLOW, Buffer, HERE, NO, Path, at_kind, n, stated};
use crate::{Kind, dlsym, done, now, text};

/// The versions of the C library in which these functions came.
#[cfg(target_arch = "x86_64")]
const VERSIONS: [&core::ffi::CStr; 2] = [c"GLIBC_2.2.5", c"GLIBC_2.4"];
#[cfg(not(target_arch = "x86_64"))]
const VERSIONS: [&core::ffi::CStr; 1] = [c"GLIBC_2.17"];

/// The address of the next function of a name behind ours that only older programs can call, so that it must be asked for by
/// its version; 0 where there is none.
///
/// # Safety
/// The name ends in NUL.
pub unsafe fn found(name: &[u8]) -> usize {
    type Find = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    // SAFETY: RTLD_DEFAULT, then RTLD_NEXT; where there is a function `dlvsym`, it has this type.
    unsafe {
        let find = dlsym(core::ptr::null_mut(), c"dlvsym".as_ptr());
        if find.is_null() {
            return 0;
        }
        let find = core::mem::transmute::<*mut c_void, Find>(find);
        let of = |version: &core::ffi::CStr| {
            find(usize::MAX as *mut c_void, name.as_ptr().cast(), version.as_ptr())
        };
        VERSIONS.iter().map(|version| of(version) as usize).find(|address| *address != 0).unwrap_or(0)
    }
}

stands_before! {
    "__xstat" xstat(version: c_int, path: Path, out: Buffer) -> c_int;
        Kind::Stat => |r| stated(HERE, 1, r, out), |r| [text(path), &[]];
    "__xstat64" xstat64(version: c_int, path: Path, out: Buffer) -> c_int;
        Kind::Stat => |r| stated(HERE, 1, r, out), |r| [text(path), &[]];
    "__lxstat" lxstat(version: c_int, path: Path, out: Buffer) -> c_int;
        Kind::Stat => |r| stated(HERE, 0, r, out), |r| [text(path), &[]];
    "__lxstat64" lxstat64(version: c_int, path: Path, out: Buffer) -> c_int;
        Kind::Stat => |r| stated(HERE, 0, r, out), |r| [text(path), &[]];
    "__fxstat" fxstat(version: c_int, file: c_int, out: Buffer) -> c_int;
        Kind::StatOpen => |r| stated(n(file), 1, r, out), |_| NO;
    "__fxstat64" fxstat64(version: c_int, file: c_int, out: Buffer) -> c_int;
        Kind::StatOpen => |r| stated(n(file), 1, r, out), |_| NO;
    "__fxstatat" fxstatat(version: c_int, at: c_int, path: Path, out: Buffer, flags: c_int) -> c_int;
        at_kind(path) => |r| stated(n(at), n(flags & AT_SYMLINK_NOFOLLOW == 0), r, out), |r| [text(path), &[]];
    "__fxstatat64" fxstatat64(version: c_int, at: c_int, path: Path, out: Buffer, flags: c_int) -> c_int;
        at_kind(path) => |r| stated(n(at), n(flags & AT_SYMLINK_NOFOLLOW == 0), r, out), |r| [text(path), &[]];
}
