//! Finds the mount that a path lies on.

use std::path::Path;

use samples::Mount;

/// All mounts, in the order in which they were made.
pub fn parse(mountinfo: &str) -> Vec<Mount> {
    mountinfo.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.split(' ');
    let file_system = unescape(right.next()?);
    let source = unescape(right.next()?);
    let mut options: Vec<String> = left.get(5)?.split(',').map(str::to_owned).collect();
    for option in right.next().unwrap_or_default().split(',').filter(|option| !option.is_empty()) {
        if !options.iter().any(|known| known == option) {
            options.push(unescape(option));
        }
    }
    Some(Mount {
        device: (*left.get(2)?).into(),
        mount_point: unescape(left.get(4)?),
        file_system,
        source,
        options,
    })
}

/// The kernel writes space, tab, newline and backslash as `\040` and so on.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal =
            tail.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        if let Some(digits) = octal {
            bytes.push(digits.iter().fold(0u8, |sum, d| sum.wrapping_mul(8).wrapping_add(d - b'0')));
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The mount that holds `path` (absolute, without symbolic links): the one with the longest matching mount
/// point, and the last of several on the same point.
pub fn of_path(mounts: &[Mount], path: &Path) -> Option<Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| Path::new(&mount.mount_point).components().count()).cloned()
}

/// Whether the file system is reached through a network or another process. All FUSE file systems count as remote,
/// since their storage is unknown.
pub fn is_remote(file_system: &str) -> bool {
    const REMOTE: [&str; 14] = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "lustre",
        "beegfs",
        "beegfs_nodev",
        "ceph",
        "gpfs",
        "9p",
        "afs",
        "orangefs",
        "virtiofs",
    ];
    REMOTE.contains(&file_system) || file_system == "fuse" || file_system.starts_with("fuse.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,errors=remount-ro
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
90 27 0:60 / /mnt/nfs rw,noatime shared:12 - nfs4 server:/export rw,vers=4.2,rsize=1048576,wsize=1048576,hard
91 27 0:61 / /mnt/with\\040space rw - fuse.glusterfs 10.0.0.1:/vol rw,user_id=0
92 27 0:62 / /mnt/nfs rw - tmpfs over rw
";

    #[test]
    fn the_longest_mount_point_wins_and_of_equals_the_last() {
        let mounts = parse(TABLE);
        let on = |path: &str| of_path(&mounts, Path::new(path)).map(|mount| mount.source);
        assert_eq!(on("/mnt/nfs/a/b").as_deref(), Some("over"));
        assert_eq!(on("/mnt/nfsx").as_deref(), Some("/dev/vda"));
        assert_eq!(on("/dev/shm").as_deref(), Some("tmpfs"));
        assert_eq!(on("/mnt/with space/f").as_deref(), Some("10.0.0.1:/vol"));
    }

    #[test]
    fn optional_fields_and_both_lists_of_options_are_read() {
        let nfs = &parse(TABLE)[2];
        assert_eq!((nfs.file_system.as_str(), nfs.device.as_str()), ("nfs4", "0:60"));
        assert_eq!(nfs.options, ["rw", "noatime", "vers=4.2", "rsize=1048576", "wsize=1048576", "hard"]);
        assert!(is_remote("nfs4") && is_remote("fuse.sshfs") && !is_remote("ext4"));
    }
}
