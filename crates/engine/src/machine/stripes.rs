//! Over how many storage targets, in pieces of what size, does a parallel file system lay a file?

use std::ffi::{CStr, CString};

use serde::{Deserialize, Serialize};

/// The layout of a file, or the one a folder gives to new files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Layout {
    /// Not a parallel file system, or it did not say.
    #[default]
    Unknown,
    /// Pieces of `stripe_size` bytes over `stripe_count` targets.
    Striped {
        /// Bytes in a piece; none where the file system's default holds.
        stripe_size: Option<u64>,
        /// Targets; none means all of them.
        stripe_count: Option<u32>,
        /// Which targets, where that is known.
        targets: Vec<u32>,
        /// Pool or pattern, in words.
        note: Option<String>,
    },
    /// What the file system says of itself, where it is not a plain striping.
    Described {
        /// Its own words.
        text: String,
    },
}

impl Layout {
    /// A few words for the terminal; none where nothing is known.
    pub fn words(&self) -> Option<String> {
        match self {
            Layout::Unknown => None,
            Layout::Striped { stripe_size, stripe_count, .. } => {
                let count = stripe_count.map_or("all".into(), |n| n.to_string());
                let size = stripe_size.map(|bytes| format!(" of {}", samples::units::bytes(bytes)));
                Some(format!("striped over {count} targets{}", size.unwrap_or_default()))
            }
            Layout::Described { text } => Some(text.clone()),
        }
    }
}

/// Asks the file system below `path`, in its own way.
pub fn describe(file_system: &str, path: &CString) -> Layout {
    let found = match file_system {
        "lustre" => attribute(path, c"lustre.lov").and_then(|bytes| lustre(&bytes)),
        "ceph" | "fuse.ceph" | "fuse.ceph-fuse" => attribute(path, c"ceph.file.layout")
            .or_else(|| attribute(path, c"ceph.dir.layout"))
            .and_then(|bytes| ceph(&String::from_utf8_lossy(&bytes))),
        "beegfs" | "beegfs_nodev" => beegfs(path),
        "fuse.glusterfs" => gluster(path),
        _ => None,
    };
    found.unwrap_or_default()
}

/// An extended attribute; none where there is none or it may not be read.
fn attribute(path: &CString, name: &CStr) -> Option<Vec<u8>> {
    let mut value = vec![0u8; 65_536];
    // SAFETY: both strings end in zero; `value` has room for its length.
    let got = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    value.truncate(usize::try_from(got).ok()?);
    Some(value)
}

/// Lustre's `lov_user_md`: magic, pattern, object id, stripe size and count, then (version 3) the pool's
/// name and the objects; a composite layout has another magic and several of them.
fn lustre(bytes: &[u8]) -> Option<Layout> {
    const VERSION_1: u32 = 0x0BD1_0BD0;
    const VERSION_3: u32 = 0x0BD3_0BD0;
    const COMPOSITE: u32 = 0x0BD6_0BD0;
    const ALL: u16 = 0xffff;
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let half = |at: usize| bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes);
    let magic = word(0)?;
    if magic == COMPOSITE {
        return Some(Layout::Described { text: format!("composite layout of {} parts", half(14)?) });
    }
    let objects = match magic {
        VERSION_1 => 32,
        VERSION_3 => 48,
        _ => return None,
    };
    let (size, count) = (word(24)?, half(28)?);
    let targets = (0..usize::from(if count == ALL { 0 } else { count }))
        .map_while(|index| word(objects + index * 24 + 20))
        .collect();
    let pool = bytes
        .get(32..48)
        .filter(|_| magic == VERSION_3)
        .map(|name| String::from_utf8_lossy(name).trim_end_matches('\0').to_owned());
    Some(Layout::Striped {
        stripe_size: (size > 0).then_some(u64::from(size)),
        stripe_count: (count != ALL && count > 0).then_some(u32::from(count)),
        targets,
        note: pool.filter(|name| !name.is_empty()).map(|name| format!("pool {name}")),
    })
}

/// CephFS: `stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=cephfs_data`.
fn ceph(text: &str) -> Option<Layout> {
    let get = |key: &str| text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    Some(Layout::Striped {
        stripe_size: get("stripe_unit").and_then(|n| n.parse().ok()),
        stripe_count: Some(get("stripe_count")?.parse().ok()?),
        targets: Vec::new(),
        note: get("pool").map(|pool| format!("pool {pool}")),
    })
}

/// BeeGFS answers an ioctl, `_IOR('f', 25, struct of 12 bytes)`.
fn beegfs(path: &CString) -> Option<Layout> {
    #[repr(C)]
    #[derive(Default)]
    struct StripeInfo {
        pattern: u32,
        chunk_size: u32,
        targets: u16,
    }
    const GET_STRIPE_INFO: u64 = 0x800C_6619;
    const _: () = assert!(size_of::<StripeInfo>() == 12);
    let mut found = StripeInfo::default();
    // SAFETY: `path` ends in zero; the descriptor is closed below.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: BeeGFS writes the twelve bytes of `found`; other file systems refuse the request.
    let result = unsafe { libc::ioctl(file, GET_STRIPE_INFO as _, &mut found) };
    // SAFETY: the descriptor was opened here and is used no more.
    unsafe { libc::close(file) };
    let pattern = ["invalid", "RAID0", "RAID10", "buddy mirror"].get(found.pattern as usize);
    (result == 0).then(|| Layout::Striped {
        stripe_size: Some(u64::from(found.chunk_size)),
        stripe_count: Some(u32::from(found.targets)),
        targets: Vec::new(),
        note: pattern.map(|name| format!("pattern {name}")),
    })
}

/// Gluster names the bricks of a file or folder in an attribute it makes up.
fn gluster(path: &CString) -> Option<Layout> {
    let value =
        attribute(path, c"trusted.glusterfs.pathinfo").or_else(|| attribute(path, c"glusterfs.pathinfo"))?;
    let bricks = gluster_bricks(&String::from_utf8_lossy(&value));
    (bricks > 0).then(|| Layout::Described { text: format!("{bricks} bricks") })
}

fn gluster_bricks(pathinfo: &str) -> usize {
    pathinfo.matches("<POSIX(").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layout in Lustre's own bytes.
    fn lov(magic: u32, size: u32, count: u16, pool: &str, targets: &[u32]) -> Vec<u8> {
        let mut bytes = [magic.to_le_bytes(), 1u32.to_le_bytes()].concat();
        bytes.extend([0u8; 16]);
        bytes.extend(size.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend([0u8; 2]);
        if magic == 0x0BD3_0BD0 {
            let mut name = pool.as_bytes().to_vec();
            name.resize(16, 0);
            bytes.extend(name);
        }
        for target in targets {
            bytes.extend([0u8; 20]);
            bytes.extend(target.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn both_plain_versions_of_lustre_layouts_are_read() {
        let first = lustre(&lov(0x0BD1_0BD0, 1 << 20, 2, "", &[7, 3]));
        let third = lustre(&lov(0x0BD3_0BD0, 4 << 20, 1, "flash", &[12]));
        let Some(Layout::Striped { stripe_size, stripe_count, targets, .. }) = first else {
            panic!("{first:?}")
        };
        assert_eq!((stripe_size, stripe_count, targets), (Some(1 << 20), Some(2), vec![7, 3]));
        let Some(Layout::Striped { note, targets, .. }) = third else { panic!("{third:?}") };
        assert_eq!((note.as_deref(), targets), (Some("pool flash"), vec![12]));
    }

    #[test]
    fn a_lustre_folder_may_stripe_over_all_targets() {
        let all = lustre(&lov(0x0BD1_0BD0, 1 << 20, 0xffff, "", &[]));
        assert_eq!(all.and_then(|l| l.words()).as_deref(), Some("striped over all targets of 1 MiB"));
    }

    #[test]
    fn a_truncated_layout_is_not_believed() {
        assert_eq!(lustre(&[0xd0, 0x0b]), None);
        assert_eq!(lustre(&lov(0x0BD1_0BD0, 1, 1, "", &[])[..20]), None);
    }

    #[test]
    fn ceph_and_gluster_speak_text() {
        let found = ceph("stripe_unit=4194304 stripe_count=8 object_size=4194304 pool=data");
        assert_eq!(found.and_then(|l| l.words()).as_deref(), Some("striped over 8 targets of 4 MiB"));
        let info = "(<DISTRIBUTE:s-dht> <POSIX(/b1):h:/b1/> <POSIX(/b2):h:/b2/>)";
        assert_eq!(gluster_bricks(info), 2);
    }
}
