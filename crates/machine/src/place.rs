//! What lies under a path: which file system, mounted how, on which device, with what layout?

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::device::{self, Device};
use super::files::text;
use super::mounts::{self, Mount};
use super::nfs::{self, NfsMount};
use super::stripes::{self, Layout};

/// A path that a program uses, and what it stands on: an entry of the facts' `file_systems`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// As the program names it.
    pub path: String,
    /// Without symbolic links; of the nearest folder that exists.
    pub real_path: Option<String>,
    /// `ext4`, `xfs`, `nfs4`, `lustre`, `tmpfs` …
    pub file_system: Option<String>,
    /// Over a network, or in other processes of this machine (`fuse`)?
    pub remote: bool,
    /// In memory?
    pub in_memory: bool,
    /// Where it is mounted, from what, with which options.
    pub mount: Option<Mount>,
    /// Bytes of the file system.
    pub total: Option<u64>,
    /// Bytes that this user may still write.
    pub free: Option<u64>,
    /// Files that may still be made.
    pub free_files: Option<u64>,
    /// Bytes of a block of the file system.
    pub block_size: Option<u64>,
    /// May this user write here?
    pub writable: Option<bool>,
    /// Alignment that `O_DIRECT` asks of buffers, in bytes; 0 where it is not possible.
    pub direct_memory_align: Option<u32>,
    /// Alignment that `O_DIRECT` asks of offsets and lengths, in bytes.
    pub direct_offset_align: Option<u32>,
    /// The block device below it.
    pub device: Option<Device>,
    /// Counters of an NFS mount.
    pub nfs: Option<NfsMount>,
    /// What its inode asks for: `compressed`, `no copy on write`, `append only`, `synchronous` …
    pub flags: Vec<String>,
    /// How files here are laid over storage targets.
    pub layout: Layout,
}

/// Describes what lies under `path`, or under the nearest folder above it that exists.
pub fn describe(path: &Path) -> Place {
    let mut place = Place { path: path.display().to_string(), ..Place::default() };
    let Some(real) = nearest(path) else { return place };
    place.real_path = Some(real.display().to_string());
    let table = text("/proc/self/mountinfo").unwrap_or_default();
    place.mount = mounts::of_path(&mounts::parse(&table), &real);
    if let Some(mount) = &place.mount {
        place.file_system = Some(mount.file_system.clone());
        place.remote = mounts::is_remote(&mount.file_system);
        place.in_memory = matches!(mount.file_system.as_str(), "tmpfs" | "ramfs" | "hugetlbfs");
        place.device = device::describe(&mount.device, &mount.source, &real);
        if mount.file_system.starts_with("nfs") {
            let statistics = text("/proc/self/mountstats").unwrap_or_default();
            place.nfs = nfs::parse(&statistics).into_iter().find(|nfs| nfs.mount_point == mount.mount_point);
        }
    }
    let Ok(name) = CString::new(real.as_os_str().as_bytes()) else { return place };
    space(&name, &mut place);
    direct(&name, &mut place);
    place.flags = flags(&name);
    // SAFETY: `name` is a string that ends in zero.
    place.writable = Some(unsafe { libc::access(name.as_ptr(), libc::W_OK) } == 0);
    place.layout = stripes::describe(place.file_system.as_deref().unwrap_or_default(), &name);
    place
}

fn nearest(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.ancestors().find_map(|above| above.canonicalize().ok())
}

fn space(name: &CString, place: &mut Place) {
    // SAFETY: all-zero bytes are a valid `statvfs`.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `name` ends in zero, `found` is a valid place to write to.
    if unsafe { libc::statvfs(name.as_ptr(), &mut found) } == 0 {
        let unit = found.f_frsize;
        place.total = found.f_blocks.checked_mul(unit);
        place.free = found.f_bavail.checked_mul(unit);
        place.free_files = (found.f_files > 0).then_some(found.f_favail);
        place.block_size = Some(found.f_bsize);
    }
}

/// Asks `statx` (Linux 6.1) about `O_DIRECT`. A folder has no answer of its own, so a file without a
/// name is made in it; where that is not possible the answer stays open.
fn direct(name: &CString, place: &mut Place) {
    const DIRECT_ALIGN: u32 = 0x2000;
    // SAFETY: `name` ends in zero; the descriptor is closed below.
    let file = unsafe { libc::open(name.as_ptr(), libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC, 0o600) };
    // SAFETY: all-zero bytes are a valid `statx`.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    let (folder, path, flags) = if file >= 0 {
        (file, c"".as_ptr(), libc::AT_EMPTY_PATH)
    } else {
        (libc::AT_FDCWD, name.as_ptr(), 0)
    };
    // SAFETY: path ends in zero, `found` is a valid place to write to.
    let result = unsafe { libc::statx(folder, path, flags, DIRECT_ALIGN, &mut found) };
    if result == 0 && found.stx_mask & DIRECT_ALIGN != 0 {
        place.direct_memory_align = Some(found.stx_dio_mem_align);
        place.direct_offset_align = Some(found.stx_dio_offset_align);
    }
    if file >= 0 {
        // SAFETY: the descriptor was opened here and is used no more.
        unsafe { libc::close(file) };
    }
}

/// The flags of `FS_IOC_GETFLAGS` that change how writes are made; empty where the file system has none.
fn flags(name: &CString) -> Vec<String> {
    // SAFETY: `name` ends in zero; the descriptor is closed below.
    let file = unsafe { libc::open(name.as_ptr(), libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC) };
    if file < 0 {
        return Vec::new();
    }
    let mut found: libc::c_long = 0;
    // SAFETY: the request writes at most a long, which `found` has room for.
    let result = unsafe { libc::ioctl(file, libc::FS_IOC_GETFLAGS as _, &mut found) };
    // SAFETY: the descriptor was opened here and is used no more.
    unsafe { libc::close(file) };
    if result == 0 { flag_names(found as u32) } else { Vec::new() }
}

fn flag_names(flags: u32) -> Vec<String> {
    const NAMES: [(u32, &str); 8] = [
        (0x4, "compressed"),
        (0x8, "synchronous"),
        (0x10, "immutable"),
        (0x20, "append only"),
        (0x800, "encrypted"),
        (0x4000, "data journalled"),
        (0x80_0000, "no copy on write"),
        (0x200_0000, "direct access"),
    ];
    NAMES.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| (*name).to_owned()).collect()
}

impl Place {
    /// One line for the terminal: `/tmp on ext4 (/dev/vda, virtio disk, scheduler none), 80 GiB free`.
    pub fn line(&self) -> String {
        let mut line = self.path.clone();
        let Some(file_system) = &self.file_system else { return format!("{line}: unknown file system") };
        line += &format!(" on {file_system}");
        let source = self.mount.as_ref().map(|mount| mount.source.as_str());
        let mut details: Vec<String> =
            source.filter(|s| *s != file_system && *s != "none").map(str::to_owned).into_iter().collect();
        if let Some(device) = &self.device {
            details.push(device.kind.clone());
            details.extend(device.scheduler.as_ref().map(|name| format!("scheduler {name}")));
        }
        if let Some(nfs) = &self.nfs {
            details.extend(["rsize", "wsize"].iter().filter_map(|key| nfs.option(key)).map(|o| o.to_owned()));
        }
        let parallel = self.file_system.as_deref().is_some_and(stripes::is_parallel);
        details.extend(self.layout.words().or_else(|| parallel.then(|| "layout unknown".into())));
        details.extend(self.flags.iter().cloned());
        if !details.is_empty() {
            line += &format!(" ({})", details.join(", "));
        }
        match self.free {
            Some(free) => format!("{line}, {} free", samples::units::bytes(free)),
            None => line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_exist_yet_stands_on_the_nearest_folder() {
        let folder = std::env::temp_dir();
        let found = describe(&folder.join("not/yet/made"));
        let expected = folder.canonicalize().map(|p| p.display().to_string()).ok();
        assert_eq!(found.real_path, expected);
        assert!(found.free.is_some());
    }

    #[test]
    fn a_layout_that_is_not_told_is_unknown_where_there_must_be_one() {
        let on = |name: &str| Place { path: "/d".into(), file_system: Some(name.into()), ..Place::default() };
        assert_eq!(on("lustre").line(), "/d on lustre (layout unknown)");
        assert_eq!(on("xfs").line(), "/d on xfs");
        assert_eq!(flag_names(0x80_0004), ["compressed", "no copy on write"]);
    }

    #[test]
    fn the_line_names_file_system_device_and_space() {
        let place = Place {
            path: "/data".into(),
            file_system: Some("ext4".into()),
            mount: Some(Mount { source: "/dev/vda".into(), ..Mount::default() }),
            device: Some(Device {
                kind: "virtio disk".into(),
                scheduler: Some("none".into()),
                ..Device::default()
            }),
            free: Some(80 << 30),
            ..Place::default()
        };
        assert_eq!(place.line(), "/data on ext4 (/dev/vda, virtio disk, scheduler none), 80 GiB free");
    }
}
