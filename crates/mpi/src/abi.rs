//! Lists the constants that differ between the binary interfaces of MPI libraries.
//!
//! Three are in use: MPICH's (MPICH, Intel, Cray, MVAPICH: `int` handles), Open MPI's (handles are
//! addresses of objects the library exports) and that of the MPI-5 standard (small pointer values).
//! A handle of any of them fits one `usize`: an `int` is passed in the lower half of a register, and the
//! callee reads no more. Sizes of `MPI_Offset`, `MPI_Aint` and `MPI_Count` are 64 bits in all of them;
//! `MPI_Status` is at most 40 bytes and only the library reads it.

use std::ffi::c_int;

use libloading::Library;

/// Any MPI object: communicator, type, file, request, …
pub(crate) type Handle = usize;

/// A binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abi {
    /// MPICH and its descendants: Intel MPI, Cray MPICH, MVAPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
    /// The standard interface of MPI-5 (`libmpi_abi.so`).
    Standard,
}

impl Abi {
    /// `MPICH ABI`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mpich => "MPICH ABI",
            Self::OpenMpi => "Open MPI ABI",
            Self::Standard => "MPI-5 standard ABI",
        }
    }
}

/// Predefined handles and the few integers that differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    pub(crate) comm_world: Handle,
    pub(crate) comm_self: Handle,
    pub(crate) comm_null: Handle,
    pub(crate) byte: Handle,
    pub(crate) uint64: Handle,
    pub(crate) max: Handle,
    pub(crate) sum: Handle,
    pub(crate) info_null: Handle,
    pub(crate) errors_return: Handle,
    pub(crate) file_null: Handle,
    pub(crate) undefined: c_int,
    pub(crate) any_source: c_int,
    pub(crate) thread_funneled: c_int,
    pub(crate) order_c: c_int,
    pub(crate) distribute_cyclic: c_int,
    pub(crate) mode_create: c_int,
    pub(crate) mode_excl: c_int,
    pub(crate) mode_rdonly: c_int,
    pub(crate) mode_wronly: c_int,
    pub(crate) mode_rdwr: c_int,
    pub(crate) err_access: c_int,
    pub(crate) err_file_exists: c_int,
    pub(crate) err_no_space: c_int,
    pub(crate) err_no_such_file: c_int,
    pub(crate) err_quota: c_int,
    pub(crate) err_read_only: c_int,
}

/// MPICH's values, `mpi.h` of MPICH 4.0 to 5.0.
const MPICH: Constants = Constants {
    comm_world: 0x4400_0000,
    comm_self: 0x4400_0001,
    comm_null: 0x0400_0000,
    byte: 0x4c00_010d,
    uint64: 0x4c00_083e,
    max: 0x5800_0001,
    sum: 0x5800_0003,
    info_null: 0x1c00_0000,
    errors_return: 0x5400_0001,
    file_null: 0,
    undefined: -32766,
    any_source: -2,
    thread_funneled: 1,
    order_c: 56,
    distribute_cyclic: 122,
    mode_create: 1,
    mode_excl: 64,
    mode_rdonly: 2,
    mode_wronly: 4,
    mode_rdwr: 8,
    err_access: 20,
    err_file_exists: 25,
    err_no_space: 36,
    err_no_such_file: 37,
    err_quota: 39,
    err_read_only: 40,
};

/// The MPI-5 standard's values (MPI 5.0, appendix A).
const STANDARD: Constants = Constants {
    comm_world: 0x101,
    comm_self: 0x102,
    comm_null: 0x100,
    byte: 0x247,
    uint64: 0x259,
    max: 0x23,
    sum: 0x21,
    info_null: 0x130,
    errors_return: 0x143,
    file_null: 0x118,
    undefined: -32766,
    any_source: -1,
    thread_funneled: 1024,
    order_c: 12,
    distribute_cyclic: 18,
    mode_create: 2,
    mode_excl: 8,
    mode_rdonly: 16,
    mode_wronly: 256,
    mode_rdwr: 32,
    err_access: 20,
    err_file_exists: 28,
    err_no_space: 41,
    err_no_such_file: 42,
    err_quota: 44,
    err_read_only: 45,
};

impl Constants {
    /// The values of `abi`; Open MPI's handles are looked up in `library`.
    pub(crate) fn of(abi: Abi, library: &Library) -> Result<Self, libloading::Error> {
        let object = |name: &[u8]| -> Result<Handle, libloading::Error> {
            // SAFETY: only the address of the object is taken; it is never read.
            unsafe { library.get::<*const u8>(name).map(|symbol| *symbol as Handle) }
        };
        Ok(match abi {
            Abi::Mpich => MPICH,
            Abi::Standard => STANDARD,
            Abi::OpenMpi => Self {
                comm_world: object(b"ompi_mpi_comm_world\0")?,
                comm_self: object(b"ompi_mpi_comm_self\0")?,
                comm_null: object(b"ompi_mpi_comm_null\0")?,
                byte: object(b"ompi_mpi_byte\0")?,
                uint64: object(b"ompi_mpi_uint64_t\0")?,
                max: object(b"ompi_mpi_op_max\0")?,
                sum: object(b"ompi_mpi_op_sum\0")?,
                info_null: object(b"ompi_mpi_info_null\0")?,
                errors_return: object(b"ompi_mpi_errors_return\0")?,
                file_null: object(b"ompi_mpi_file_null\0")?,
                any_source: -1,
                order_c: 0,
                distribute_cyclic: 1,
                err_file_exists: 28,
                err_no_space: 41,
                err_no_such_file: 42,
                err_quota: 44,
                err_read_only: 45,
                ..MPICH
            },
        })
    }

    /// The errno nearest to an MPI error class; EIO where none fits.
    pub(crate) fn errno_of(&self, class: c_int) -> i32 {
        match class {
            c if c == self.err_access => libc::EACCES,
            c if c == self.err_file_exists => libc::EEXIST,
            c if c == self.err_no_space => libc::ENOSPC,
            c if c == self.err_no_such_file => libc::ENOENT,
            c if c == self.err_quota => libc::EDQUOT,
            c if c == self.err_read_only => libc::EROFS,
            _ => libc::EIO,
        }
    }
}
