//! Makes unique names for the files of kernels.

use std::collections::hash_map::RandomState;
use std::ffi::CStr;
use std::hash::{BuildHasher, Hasher};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The file of a kernel: by its path, or by its name in a directory that is held, whatever the directory is called by then.
#[derive(Debug, Default)]
pub struct OwnFile {
    /// As it was drawn.
    pub path: PathBuf,
    /// Its directory.
    pub held: Option<OwnedFd>,
}

/// A name in `directory` that no other kernel uses, in this process, in another rank or on another host that
/// shares the directory. It contains the host, the process, a counter and 64 random bits, since containers
/// can share host names and process numbers.
pub fn own_file(directory: &Path, what: &str) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let host: String = host_name().chars().filter(|letter| *letter != '/').take(64).collect();
    // A forked process inherits its parent's random keys, so its process number and the time are mixed in.
    let mut random = RandomState::new().build_hasher();
    random.write_u32(process);
    random.write_u64(number);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    random.write_u128(now.as_nanos());
    directory.join(format!(".lastrank-{what}-{host}-{process}-{number}-{:016x}", random.finish()))
}

fn host_name() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer has room for one byte more than passed, and the last one stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_process_get_different_names() {
        let make = || (0..100).map(|_| own_file(Path::new("d"), "names")).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(make)).collect();
        let mut names: Vec<_> = threads.into_iter().flat_map(|one| one.join().expect("names")).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 400);
    }
}
