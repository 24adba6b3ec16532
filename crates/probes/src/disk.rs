//! Implements the kernels of small file accesses, through the page cache and with `O_DIRECT`.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::OFlags;

use crate::buffer::KernelMemory;
use crate::error::Error;
use crate::kernel::Probe;
use crate::own_file::own_file;
use crate::system::{c_path, errno, failed, open};
use samples::random::Random;

/// The kind of one file access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `pread` at a random offset of a file that is in the page cache.
    CachedRead,
    /// `pread` with `O_DIRECT` at a random offset.
    DirectRead,
    /// `pwrite` with `O_DIRECT` at a random offset that was written before.
    DirectWrite,
    /// `pwrite` with `O_DIRECT | O_DSYNC` at a random offset: on stable storage when it returns.
    SyncWrite,
    /// Buffered `pwrite` at a random offset, and `fdatasync`.
    WriteFdatasync,
    /// Buffered `pwrite` at a random offset, and `fsync`.
    WriteFsync,
}

/// Random accesses of one size to an existing file.
#[derive(Debug)]
pub struct FileAccess {
    access: Access,
    file: OwnedFd,
    buffer: KernelMemory,
    blocks: u64,
    random: Random,
}

/// A file of random bytes, removed on drop.
#[derive(Debug)]
pub struct ScratchFile {
    path: CString,
    bytes: u64,
}

impl ScratchFile {
    /// Writes `bytes` of random data (so that nothing is compressed or left as a hole) to a new file in
    /// `directory` and syncs it. Calls `keep_going` after each piece and ends the file early if it returns
    /// false.
    pub fn new(directory: &Path, bytes: u64, mut keep_going: impl FnMut() -> bool) -> Result<Self, Error> {
        let path = c_path(&own_file(directory, "scratch"))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = open(&path, flags)?;
        let mut scratch = Self { path, bytes: 0 };
        let mut piece = KernelMemory::touched(1 << 20, false)?;
        let mut random = Random::new(0x5eed);
        for word in piece.as_slice().chunks_exact_mut(8) {
            word.copy_from_slice(&random.next().to_ne_bytes());
        }
        while scratch.bytes < bytes && keep_going() {
            match rustix::io::write(&file, piece.as_slice()) {
                Ok(0) => return Err(failed("write", rustix::io::Errno::NOSPC)),
                Ok(done) => scratch.bytes += done as u64,
                Err(error) => return Err(failed("write", error)),
            }
        }
        rustix::fs::fsync(&file).map_err(|error| failed("fsync", error))?;
        Ok(scratch)
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        let _ = rustix::fs::unlink(&self.path);
    }
}

impl FileAccess {
    /// Accesses of `size` bytes to `scratch`. Fails if the access needs `O_DIRECT` and the file system does
    /// not support it.
    pub fn new(access: Access, scratch: &ScratchFile, size: u64, seed: u64) -> Result<Self, Error> {
        let flags = match access {
            Access::CachedRead | Access::WriteFdatasync | Access::WriteFsync => OFlags::empty(),
            Access::DirectRead | Access::DirectWrite => OFlags::DIRECT,
            Access::SyncWrite => OFlags::DIRECT | OFlags::DSYNC,
        };
        let file = open(&scratch.path, flags | OFlags::RDWR | OFlags::NOFOLLOW)?;
        let mut buffer = KernelMemory::touched(size, false)?;
        let mut random = Random::new(seed);
        for byte in buffer.as_slice() {
            *byte = random.next() as u8;
        }
        let blocks = (scratch.bytes / size.max(1)).max(1);
        let mut probe = Self { access, file, buffer, blocks, random };
        if access == Access::CachedRead {
            probe.fill_cache();
        }
        Ok(probe)
    }

    fn fill_cache(&mut self) {
        let size = self.buffer.bytes();
        for block in 0..self.blocks {
            let offset = block * size as u64;
            // A failure will occur again, and be reported, when it is timed.
            let _ = rustix::io::pread(&self.file, self.buffer.as_slice(), offset);
        }
    }
}

impl Probe for FileAccess {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        let (file, size) = (self.file.as_raw_fd(), self.buffer.bytes());
        let place = self.buffer.start().as_ptr().cast::<libc::c_void>();
        for _ in 0..count {
            let offset = (self.random.below(self.blocks) * size as u64) as libc::off_t;
            // SAFETY: the buffer holds, and has room for, `size` bytes.
            let done = unsafe {
                match self.access {
                    Access::CachedRead | Access::DirectRead => libc::pread(file, place, size, offset),
                    Access::DirectWrite | Access::SyncWrite => libc::pwrite(file, place, size, offset),
                    Access::WriteFdatasync => match libc::pwrite(file, place, size, offset) {
                        done if done > 0 && libc::fdatasync(file) != 0 => -1,
                        done => done,
                    },
                    Access::WriteFsync => match libc::pwrite(file, place, size, offset) {
                        done if done > 0 && libc::fsync(file) != 0 => -1,
                        done => done,
                    },
                }
            };
            if done != size as isize {
                return if done < 0 { errno() } else { libc::EIO };
            }
        }
        0
    }

    fn bytes_each(&self) -> u64 {
        self.buffer.bytes() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_works_or_fails_for_lack_of_o_direct() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scratch = ScratchFile::new(folder.path(), 3 << 20, || true).expect("three MiB");
        assert_eq!(scratch.bytes(), 3 << 20);
        for access in [
            Access::CachedRead,
            Access::DirectRead,
            Access::DirectWrite,
            Access::SyncWrite,
            Access::WriteFdatasync,
            Access::WriteFsync,
        ] {
            match FileAccess::new(access, &scratch, 4096, 1) {
                Ok(mut probe) => assert_eq!(probe.run(4), 0, "{access:?}"),
                // A file system without O_DIRECT (an old tmpfs) refuses the open.
                Err(Error::Open { source, .. }) => assert_eq!(source.raw_os_error(), Some(libc::EINVAL)),
                Err(other) => panic!("{access:?}: {other}"),
            }
        }
        drop(scratch);
        assert_eq!(std::fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(0));
    }

    #[test]
    fn a_scratch_file_ends_early_when_its_callback_says_so() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut pieces = 0;
        let scratch = ScratchFile::new(folder.path(), 1 << 30, || {
            pieces += 1;
            pieces <= 2
        });
        assert_eq!(scratch.map(|scratch| scratch.bytes()).ok(), Some(2 << 20));
    }
}
