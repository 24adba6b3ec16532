//! Describes the storage of a path: file system, mount, device, space, layout.

use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, StatxFlags, access, ioctl_getflags, open, statvfs, statx,
};
use samples::PathFacts;

use crate::files::text;
use crate::{device, layout, mount, nfs};

/// Describes the storage of `path`, or of its nearest parent directory that exists.
pub fn describe(path: &Path) -> PathFacts {
    let mut found = PathFacts { path: path.display().to_string(), ..PathFacts::default() };
    let Some(real) = nearest(path) else { return found };
    found.real_path = Some(real.display().to_string());
    let table = text("/proc/self/mountinfo").unwrap_or_default();
    found.mount = mount::of_path(&mount::parse(&table), &real);
    if let Some(mount) = &found.mount {
        found.file_system = Some(mount.file_system.clone());
        found.remote = mount::is_remote(&mount.file_system);
        found.in_memory = matches!(mount.file_system.as_str(), "tmpfs" | "ramfs" | "hugetlbfs");
        found.device = device::describe(&mount.device, &mount.source, &real);
        if mount.file_system.starts_with("nfs") {
            let statistics = text("/proc/self/mountstats").unwrap_or_default();
            found.nfs = nfs::parse(&statistics).into_iter().find(|nfs| nfs.mount_point == mount.mount_point);
        }
    }
    space(&real, &mut found);
    direct(&real, &mut found);
    found.flags = flags(&real);
    found.writable = Some(access(&real, Access::WRITE_OK).is_ok());
    found.layout = layout::describe(found.file_system.as_deref().unwrap_or_default(), &real);
    found
}

fn nearest(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.ancestors().find_map(|above| above.canonicalize().ok())
}

fn space(path: &Path, found: &mut PathFacts) {
    let Ok(space) = statvfs(path) else { return };
    found.total = space.f_blocks.checked_mul(space.f_frsize);
    found.free = space.f_bavail.checked_mul(space.f_frsize);
    found.free_files = (space.f_files > 0).then_some(space.f_favail);
    found.block_size = Some(space.f_bsize);
}

/// Asks `statx` (Linux 6.1) about `O_DIRECT`. A directory has no answer of its own, so an unnamed temporary
/// file is created in it; if that fails, the fields stay empty.
fn direct(path: &Path, found: &mut PathFacts) {
    let unnamed = open(path, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    let answer = match &unnamed {
        Ok(file) => statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN),
        Err(_) => statx(CWD, path, AtFlags::empty(), StatxFlags::DIOALIGN),
    };
    if let Ok(answer) = answer
        && answer.stx_mask & StatxFlags::DIOALIGN.bits() != 0
    {
        found.direct_memory_align = Some(answer.stx_dio_mem_align);
        found.direct_offset_align = Some(answer.stx_dio_offset_align);
    }
}

/// The inode flags that change how data are written; empty if the file system has none.
fn flags(path: &Path) -> Vec<String> {
    let file = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    file.and_then(ioctl_getflags).map_or(Vec::new(), |flags| flag_names(flags.bits()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::path_line;
    use samples::{BlockDevice, Mount};

    #[test]
    fn a_path_that_does_not_exist_yet_has_the_facts_of_the_nearest_directory() {
        let folder = std::env::temp_dir();
        let found = describe(&folder.join("not/yet/made"));
        let expected = folder.canonicalize().map(|p| p.display().to_string()).ok();
        assert_eq!(found.real_path, expected);
        assert!(found.free.is_some());
    }

    #[test]
    fn a_missing_layout_is_reported_on_a_parallel_file_system_only() {
        let on = |name: &str| PathFacts {
            path: "/d".into(),
            file_system: Some(name.into()),
            ..PathFacts::default()
        };
        assert_eq!(path_line(&on("lustre")), "/d on lustre (layout unknown)");
        assert_eq!(path_line(&on("xfs")), "/d on xfs");
        assert_eq!(flag_names(0x80_0004), ["compressed", "no copy on write"]);
    }

    #[test]
    fn the_line_names_file_system_device_and_space() {
        let place = PathFacts {
            path: "/data".into(),
            file_system: Some("ext4".into()),
            mount: Some(Mount { source: "/dev/vda".into(), ..Mount::default() }),
            device: Some(BlockDevice {
                kind: "virtio disk".into(),
                scheduler: Some("none".into()),
                ..BlockDevice::default()
            }),
            free: Some(80 << 30),
            ..PathFacts::default()
        };
        assert_eq!(path_line(&place), "/data on ext4 (/dev/vda, virtio disk, scheduler none), 80 GiB free");
    }
}
