//! The functions of libnfs that the driver uses; versions 4 and 5 have them.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Versions of the library whose functions are those declared here.
const LIBRARIES: [&str; 2] = ["libnfs.so.13", "libnfs.so.14"];

pub type Context = *mut c_void;
pub type NfsFile = *mut c_void;
pub type Directory = *mut c_void;

/// `struct nfs_url`.
#[repr(C)]
pub struct ParsedUrl {
    pub server: *const c_char,
    pub path: *const c_char,
    file: *const c_char,
}

/// `struct nfs_stat_64`.
#[repr(C)]
#[derive(Default)]
pub struct NfsStatus {
    before: [u64; 7],
    pub size: u64,
    after: [u64; 9],
}

/// The beginning of `struct nfsdirent`.
#[repr(C)]
pub struct DirectoryEntry {
    next: *mut DirectoryEntry,
    pub name: *const c_char,
}

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the library that are used.
        pub struct Library {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Library {
            fn of(library: &libloading::Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of the library's header for the versions in LIBRARIES.
                unsafe { Ok(Self { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)* }) }
            }
        }
    };
}

functions! {
    nfs_init_context() -> Context;
    nfs_destroy_context(Context);
    nfs_set_autoreconnect(Context, c_int);
    nfs_set_timeout(Context, c_int);
    nfs_set_dircache(Context, c_int);
    nfs_parse_url_dir(Context, *const c_char) -> *mut ParsedUrl;
    nfs_destroy_url(*mut ParsedUrl);
    nfs_get_error(Context) -> *const c_char;
    nfs_mount(Context, *const c_char, *const c_char) -> c_int;
    nfs_open2(Context, *const c_char, c_int, c_int, *mut NfsFile) -> c_int;
    nfs_close(Context, NfsFile) -> c_int;
    nfs_read(Context, NfsFile, u64, *mut c_void) -> c_int;
    nfs_pread(Context, NfsFile, u64, u64, *mut c_void) -> c_int;
    nfs_write(Context, NfsFile, u64, *const c_void) -> c_int;
    nfs_pwrite(Context, NfsFile, u64, u64, *const c_void) -> c_int;
    nfs_fsync(Context, NfsFile) -> c_int;
    nfs_lseek(Context, NfsFile, i64, c_int, *mut u64) -> c_int;
    nfs_fstat64(Context, NfsFile, *mut NfsStatus) -> c_int;
    nfs_ftruncate(Context, NfsFile, u64) -> c_int;
    nfs_stat64(Context, *const c_char, *mut NfsStatus) -> c_int;
    nfs_access(Context, *const c_char, c_int) -> c_int;
    nfs_unlink(Context, *const c_char) -> c_int;
    nfs_rmdir(Context, *const c_char) -> c_int;
    nfs_mkdir2(Context, *const c_char, c_int) -> c_int;
    nfs_rename(Context, *const c_char, *const c_char) -> c_int;
    nfs_link(Context, *const c_char, *const c_char) -> c_int;
    nfs_symlink(Context, *const c_char, *const c_char) -> c_int;
    nfs_chmod(Context, *const c_char, c_int) -> c_int;
    nfs_fchmod(Context, NfsFile, c_int) -> c_int;
    nfs_chown(Context, *const c_char, c_int, c_int) -> c_int;
    nfs_fchown(Context, NfsFile, c_int, c_int) -> c_int;
    nfs_utimes(Context, *const c_char, *const libc::timeval) -> c_int;
    nfs_opendir(Context, *const c_char, *mut Directory) -> c_int;
    nfs_readdir(Context, Directory) -> *mut DirectoryEntry;
    nfs_closedir(Context, Directory);
}

/// The library, loaded once and never unloaded.
pub fn library() -> Result<&'static Library, String> {
    static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
    let load = || {
        let mut why = String::new();
        for name in LIBRARIES {
            // SAFETY: the library's initialisation does nothing that others could see.
            match unsafe { libloading::Library::new(name) } {
                Ok(found) => {
                    let functions = Library::of(&found).map_err(|error| format!("{name}: {error}"));
                    std::mem::forget(found);
                    return functions;
                }
                Err(error) => why = error.to_string(),
            }
        }
        Err(format!("libnfs cannot be loaded ({why}); install it: `apt-get install libnfs13` on Debian"))
    };
    LOADED.get_or_init(load).as_ref().map_err(String::clone)
}

/// Who runs this process, by user and group: libnfs tells servers so.
pub fn user() -> (c_int, c_int) {
    // SAFETY: plain calls.
    unsafe { (libc::geteuid().cast_signed(), libc::getegid().cast_signed()) }
}

/// Now, as times of access and of change.
pub fn now_twice() -> [libc::timeval; 2] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    [libc::timeval { tv_sec: now.as_secs().cast_signed(), tv_usec: now.subsec_micros().into() }; 2]
}
