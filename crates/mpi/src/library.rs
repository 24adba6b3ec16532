//! Opens an MPI library and looks up the functions that are called.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Unix, RTLD_GLOBAL, RTLD_NOW};

use ranks::CommError;

use crate::abi::{Abi, Constants, Handle};

/// Reason why a library cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenError {
    /// There is no such file.
    #[error("{0}")]
    Missing(String),
    /// The dynamic linker refuses it.
    #[error("{0}")]
    Unloadable(String),
    /// It lacks a function.
    #[error("it has no {0}")]
    Symbol(&'static str),
}

/// Storage for an `MPI_Status` of any library, with sufficient alignment.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(8))]
pub(crate) struct MpiStatus([u64; 8]);

macro_rules! functions {
    (required { $($name:ident = $symbol:literal ($($argument:ty),*);)* }
     optional { $($opt:ident = $osymbol:literal ($($oargument:ty),*);)* }) => {
        /// Addresses of the functions.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
            $(pub(crate) $opt: Option<unsafe extern "C" fn($($oargument),*) -> c_int>,)*
        }

        impl Functions {
            fn load(library: &libloading::Library) -> Result<Self, OpenError> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the MPI standard fixes the parameters of the function; handles are
                        // passed as `usize`, see `abi`.
                        *unsafe { library.get(concat!($symbol, "\0").as_bytes()) }
                            .map_err(|_| OpenError::Symbol($symbol))?
                    },)*
                    $($opt: {
                        // SAFETY: as above.
                        unsafe { library.get(concat!($osymbol, "\0").as_bytes()) }.ok().map(|symbol| *symbol)
                    },)*
                })
            }
        }
    };
}

functions! {
required {
    init_thread = "MPI_Init_thread" (*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    finalize = "MPI_Finalize" ();
    library_version = "MPI_Get_library_version" (*mut c_char, *mut c_int);
    error_string = "MPI_Error_string" (c_int, *mut c_char, *mut c_int);
    error_class = "MPI_Error_class" (c_int, *mut c_int);
    comm_rank = "MPI_Comm_rank" (Handle, *mut c_int);
    comm_size = "MPI_Comm_size" (Handle, *mut c_int);
    comm_dup = "MPI_Comm_dup" (Handle, *mut Handle);
    comm_split = "MPI_Comm_split" (Handle, c_int, c_int, *mut Handle);
    comm_free = "MPI_Comm_free" (*mut Handle);
    comm_set_errhandler = "MPI_Comm_set_errhandler" (Handle, Handle);
    send = "MPI_Send" (*const c_void, c_int, Handle, c_int, c_int, Handle);
    isend = "MPI_Isend" (*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    recv = "MPI_Recv" (*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut MpiStatus);
    iprobe = "MPI_Iprobe" (c_int, c_int, Handle, *mut c_int, *mut MpiStatus);
    test = "MPI_Test" (*mut Handle, *mut c_int, *mut MpiStatus);
    get_count = "MPI_Get_count" (*const MpiStatus, Handle, *mut c_int);
    iallreduce = "MPI_Iallreduce" (*const c_void, *mut c_void, c_int, Handle, Handle, Handle, *mut Handle);
    iallgather = "MPI_Iallgather"
        (*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle, *mut Handle);
    bcast = "MPI_Bcast" (*mut c_void, c_int, Handle, c_int, Handle);
    allreduce = "MPI_Allreduce" (*const c_void, *mut c_void, c_int, Handle, Handle, Handle);
    alltoall = "MPI_Alltoall" (*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle);
    sendrecv = "MPI_Sendrecv"
        (*const c_void, c_int, Handle, c_int, c_int, *mut c_void, c_int, Handle, c_int, c_int, Handle, *mut MpiStatus);
    info_create = "MPI_Info_create" (*mut Handle);
    info_set = "MPI_Info_set" (Handle, *const c_char, *const c_char);
    info_free = "MPI_Info_free" (*mut Handle);
    type_contiguous = "MPI_Type_contiguous" (c_int, Handle, *mut Handle);
    type_subarray = "MPI_Type_create_subarray"
        (c_int, *const c_int, *const c_int, *const c_int, c_int, Handle, *mut Handle);
    type_hvector = "MPI_Type_create_hvector" (c_int, c_int, i64, Handle, *mut Handle);
    type_hindexed = "MPI_Type_create_hindexed" (c_int, *const c_int, *const i64, Handle, *mut Handle);
    type_darray = "MPI_Type_create_darray"
        (c_int, c_int, c_int, *const c_int, *const c_int, *const c_int, *const c_int, c_int, Handle, *mut Handle);
    type_resized = "MPI_Type_create_resized" (Handle, i64, i64, *mut Handle);
    type_commit = "MPI_Type_commit" (*mut Handle);
    type_free = "MPI_Type_free" (*mut Handle);
    file_open = "MPI_File_open" (Handle, *const c_char, c_int, Handle, *mut Handle);
    file_close = "MPI_File_close" (*mut Handle);
    file_delete = "MPI_File_delete" (*const c_char, Handle);
    file_set_errhandler = "MPI_File_set_errhandler" (Handle, Handle);
    file_get_info = "MPI_File_get_info" (Handle, *mut Handle);
    info_get_nkeys = "MPI_Info_get_nkeys" (Handle, *mut c_int);
    info_get_nthkey = "MPI_Info_get_nthkey" (Handle, c_int, *mut c_char);
    file_set_view = "MPI_File_set_view" (Handle, i64, Handle, Handle, *const c_char, Handle);
    file_read_at = "MPI_File_read_at" (Handle, i64, *mut c_void, c_int, Handle, *mut MpiStatus);
    file_read_at_all = "MPI_File_read_at_all" (Handle, i64, *mut c_void, c_int, Handle, *mut MpiStatus);
    file_write_at = "MPI_File_write_at" (Handle, i64, *const c_void, c_int, Handle, *mut MpiStatus);
    file_write_at_all = "MPI_File_write_at_all" (Handle, i64, *const c_void, c_int, Handle, *mut MpiStatus);
}
optional {
    abi_version = "MPI_Abi_get_version" (*mut c_int, *mut c_int);
    info_get = "MPI_Info_get" (Handle, *const c_char, c_int, *mut c_char, *mut c_int);
    info_get_string = "MPI_Info_get_string" (Handle, *const c_char, *mut c_int, *mut c_char, *mut c_int);
    get_elements_x = "MPI_Get_elements_x" (*const MpiStatus, Handle, *mut i64);
}
}

/// An open MPI library. It is never closed: MPI libraries do not support unloading.
pub(crate) struct MpiLibrary {
    pub(crate) path: PathBuf,
    pub(crate) abi: Abi,
    pub(crate) k: Constants,
    pub(crate) f: Functions,
    /// Whether setting a view with a subarray crashes the process, as in `libmpi_abi.so.1` of Intel MPI
    /// 2021.18 (from C too, with the header of the standard). Vectors work there.
    pub(crate) no_subarrays: bool,
}

impl MpiLibrary {
    /// Opens `name` (a path, or a name for the dynamic linker) with global symbols, which the plug-ins of
    /// Open MPI and Intel MPI need.
    pub(crate) fn open(name: &Path) -> Result<Self, OpenError> {
        // SAFETY: the initialisers of an MPI library only prepare the library.
        let library = unsafe { Unix::open(Some(name), RTLD_NOW | RTLD_GLOBAL) }
            .map_err(|error| refusal(name, &error))?;
        let library: libloading::Library = library.into();
        let f = Functions::load(&library)?;
        let path = origin(f.init_thread as *const c_void).unwrap_or_else(|| name.to_path_buf());
        let abi = abi_of(&library, &f, &path);
        let k = Constants::of(abi, &library).map_err(|error| OpenError::Unloadable(cause(&error)))?;
        std::mem::forget(library);
        let mut opened = Self { path, abi, k, f, no_subarrays: false };
        opened.no_subarrays = abi == Abi::Standard && opened.version().starts_with("Intel");
        Ok(opened)
    }

    /// The library's description of itself, its first line.
    pub(crate) fn version(&self) -> String {
        let mut text = vec![0_u8; 8193];
        let mut length = 0;
        // SAFETY: the buffer is at least MPI_MAX_LIBRARY_VERSION_STRING (8192) bytes, of which the last stays
        // zero; the call is permitted before MPI_Init.
        unsafe { (self.f.library_version)(text.as_mut_ptr().cast(), &raw mut length) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines.as_slice() {
            // MPICH: "MPICH Version: 4.0.2", followed by build details.
            [first, ..] if first.starts_with("MPICH Version") => {
                format!("MPICH {}", first.split(':').nth(1).unwrap_or_default().trim())
            }
            // Open MPI: "Open MPI v4.1.4, package: …".
            [first, ..] => first.split(", package").next().unwrap_or(first).to_string(),
            [] => "unnamed MPI library".into(),
        }
    }

    /// `Ok` for `MPI_SUCCESS`, otherwise the library's error text.
    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<(), CommError> {
        if code == 0 { Ok(()) } else { Err(CommError::Mpi { call, text: self.error_text(code) }) }
    }

    /// The library's own text for an error code.
    pub(crate) fn error_text(&self, code: c_int) -> String {
        let mut text = vec![0_u8; 1025];
        let mut length = 0;
        // SAFETY: the buffer is longer than MPI_MAX_ERROR_STRING (512 at most); its last byte stays zero.
        unsafe { (self.f.error_string)(code, text.as_mut_ptr().cast(), &raw mut length) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
        let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        if line.is_empty() { format!("MPI error {code}") } else { line }
    }

    /// The errno nearest to an MPI error code.
    pub(crate) fn errno(&self, code: c_int) -> i32 {
        let mut class = 0;
        // SAFETY: the code came from this library; class is a live integer.
        unsafe { (self.f.error_class)(code, &raw mut class) };
        self.k.errno_of(class)
    }
}

fn abi_of(library: &libloading::Library, f: &Functions, path: &Path) -> Abi {
    // SAFETY: only tests whether the symbol exists.
    if unsafe { library.get::<*const u8>(b"ompi_mpi_comm_world\0") }.is_ok() {
        return Abi::OpenMpi;
    }
    if path.file_name().is_some_and(|name| name.to_string_lossy().contains("mpi_abi")) {
        return Abi::Standard;
    }
    let named = path.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name.starts_with("libmpi.so.12") || name.starts_with("libmpich")
    });
    let (mut major, mut minor) = (-1, -1);
    if let (false, Some(ask)) = (named, f.abi_version) {
        // SAFETY: both are live integers; the call is allowed before MPI_Init (MPI 5.0, 20.2).
        unsafe { ask(&raw mut major, &raw mut minor) };
    }
    if major >= 1 { Abi::Standard } else { Abi::Mpich }
}

/// The file that holds `address`, as the dynamic linker knows it.
fn origin(address: *const c_void) -> Option<PathBuf> {
    // SAFETY: `dladdr` fills the structure for any address; the name belongs to the linker and is valid while
    // the library is open, which is never closed.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        let path = PathBuf::from(CStr::from_ptr(info.dli_fname).to_str().ok()?);
        Some(path.canonicalize().unwrap_or(path))
    }
}

/// Classifies an error of the dynamic linker. Only its text tells whether the file itself is missing.
fn refusal(name: &Path, error: &libloading::Error) -> OpenError {
    let text = cause(error);
    let missing = format!("{}: cannot open shared object file: No such file or directory", name.display());
    if text == missing { OpenError::Missing(text) } else { OpenError::Unloadable(text) }
}

fn cause(error: &libloading::Error) -> String {
    use std::error::Error;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_distinguished_from_a_file_that_is_not_a_library() {
        let missing = MpiLibrary::open(Path::new("libno-such-mpi.so.1")).err();
        assert!(matches!(missing, Some(OpenError::Missing(_))), "{missing:?}");
        let none = MpiLibrary::open(Path::new("libm.so.6")).err();
        assert_eq!(none, Some(OpenError::Symbol("MPI_Init_thread")));
    }
}
