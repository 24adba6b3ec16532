//! Reads how a parallel file system stripes a file: over which storage targets, in pieces of what size.

use std::ffi::CStr;
use std::path::Path;

use rustix::fs::{Mode, OFlags, getxattr, open};
use rustix::ioctl::{Getter, Opcode, ioctl};
use samples::{FileLayout, units};

use crate::layout_words::words;

/// Asks the file system of `path` for the layout, through its own interface.
pub fn describe(file_system: &str, path: &Path) -> FileLayout {
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

/// An extended attribute; `None` if it is missing or unreadable.
fn attribute(path: &Path, name: &CStr) -> Option<Vec<u8>> {
    let mut value = vec![0u8; 65_536];
    let length = getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

const LUSTRE_PLAIN: u32 = 0x0BD1_0BD0;
const LUSTRE_WITH_POOL: u32 = 0x0BD3_0BD0;
/// As [`LUSTRE_WITH_POOL`], with the targets listed one by one.
const LUSTRE_CHOSEN: u32 = 0x0BD5_0BD0;
const LUSTRE_COMPOSITE: u32 = 0x0BD6_0BD0;
/// The stripe count of a directory that means all targets.
const LUSTRE_ALL: u16 = 0xffff;
/// The pattern bit of data on the metadata server.
const LUSTRE_ON_METADATA: u32 = 0x100;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

/// Lustre's `lov_user_md`: magic, pattern, object id, stripe size and count, then (version 3) the pool's
/// name and the objects; a composite layout has another magic and several of them.
fn lustre(bytes: &[u8]) -> Option<FileLayout> {
    let magic = word(bytes, 0)?;
    let objects = match magic {
        LUSTRE_COMPOSITE => return lustre_composite(bytes),
        LUSTRE_PLAIN => 32,
        LUSTRE_WITH_POOL | LUSTRE_CHOSEN => 48,
        _ => return None,
    };
    let (size, count) = (word(bytes, 24)?, half(bytes, 28)?);
    if word(bytes, 4)? & LUSTRE_ON_METADATA != 0 {
        return Some(FileLayout::Described { text: "on the metadata server".into() });
    }
    let targets = (0..usize::from(if count == LUSTRE_ALL { 0 } else { count }))
        .map_while(|index| word(bytes, objects + index * 24 + 20))
        .collect();
    let pool = bytes
        .get(32..48)
        .filter(|_| magic != LUSTRE_PLAIN)
        .map(|name| String::from_utf8_lossy(name).trim_end_matches('\0').to_owned());
    Some(FileLayout::Striped {
        stripe_size: (size > 0).then_some(u64::from(size)),
        stripe_count: (count != LUSTRE_ALL && count > 0).then_some(u32::from(count)),
        targets,
        note: pool.filter(|name| !name.is_empty()).map(|name| format!("pool {name}")),
    })
}

/// Lustre's `lov_comp_md_v1`: 32 bytes with the number of parts at 14, then 48 bytes a part: where in the
/// file it begins and ends (at 8 and 16) and where in these bytes its own layout stands (at 24).
fn lustre_composite(bytes: &[u8]) -> Option<FileLayout> {
    let long = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let part = |index: usize| {
        let entry = 32 + 48 * index;
        let (begin, end, at) = (long(entry + 8)?, long(entry + 16)?, word(bytes, entry + 24)?);
        let inside = bytes.get(usize::try_from(at).ok()?..)?;
        // Lustre does not write components inside components.
        let layout = (word(inside, 0)? != LUSTRE_COMPOSITE).then(|| lustre(inside))??;
        let place = match (begin, end) {
            (_, u64::MAX) => format!("from {}", units::bytes(begin)),
            _ => format!("to {}", units::bytes(end)),
        };
        Some(format!("{place} {}", words(&layout)?))
    };
    let count = half(bytes, 14)?;
    let parts: Vec<String> = (0..usize::from(count)).map_while(part).collect();
    let text = match parts.len() {
        0 => format!("composite layout of {count} parts"),
        _ => parts.join("; "),
    };
    Some(FileLayout::Described { text })
}

/// CephFS: `stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=cephfs_data`.
fn ceph(text: &str) -> Option<FileLayout> {
    let get = |key: &str| text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    Some(FileLayout::Striped {
        stripe_size: get("stripe_unit").and_then(|n| n.parse().ok()),
        stripe_count: Some(get("stripe_count")?.parse().ok()?),
        targets: Vec::new(),
        note: get("pool").map(|pool| format!("pool {pool}")),
    })
}

/// BeeGFS answers an ioctl, `_IOR('f', 25, struct of 12 bytes)`.
fn beegfs(path: &Path) -> Option<FileLayout> {
    #[repr(C)]
    struct StripeInfo {
        pattern: u32,
        chunk_size: u32,
        targets: u16,
    }
    const GET_STRIPE_INFO: Opcode = 0x800C_6619;
    const _: () = assert!(size_of::<StripeInfo>() == 12);
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    // SAFETY: BeeGFS writes the twelve bytes of the structure; other file systems refuse the request.
    let found: StripeInfo = unsafe { ioctl(&file, Getter::<GET_STRIPE_INFO, StripeInfo>::new()) }.ok()?;
    Some(beegfs_layout(found.pattern, found.chunk_size, found.targets))
}

fn beegfs_layout(pattern: u32, chunk_size: u32, targets: u16) -> FileLayout {
    let pattern = ["invalid", "RAID0", "RAID10", "buddy mirror"].get(pattern as usize);
    FileLayout::Striped {
        stripe_size: Some(u64::from(chunk_size)),
        stripe_count: Some(u32::from(targets)),
        targets: Vec::new(),
        note: pattern.map(|name| format!("pattern {name}")),
    }
}

/// Gluster lists the bricks of a file or directory in a virtual attribute. On a volume with shards, that of a
/// file covers its first shard only, and that of a directory all bricks.
fn gluster(path: &Path) -> Option<FileLayout> {
    let value =
        attribute(path, c"trusted.glusterfs.pathinfo").or_else(|| attribute(path, c"glusterfs.pathinfo"))?;
    gluster_bricks(&String::from_utf8_lossy(&value))
}

/// `(<DISTRIBUTE:v-dht> (<REPLICATE:v-replicate-0> <POSIX(/b1):host:/b1/f> <POSIX(/b2):…>) …)`.
fn gluster_bricks(pathinfo: &str) -> Option<FileLayout> {
    let bricks = pathinfo.matches("<POSIX(").count();
    let kinds = [("<STRIPE:", "striped"), ("<EC:", "dispersed"), ("<REPLICATE:", "replicated")];
    let kind = kinds.iter().find(|(mark, _)| pathinfo.contains(mark)).map_or("distributed", |(_, kind)| kind);
    let plural = if bricks == 1 { "" } else { "s" };
    (bricks > 0).then(|| FileLayout::Described { text: format!("{bricks} brick{plural}, {kind}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layout in Lustre's binary form.
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
        let Some(FileLayout::Striped { stripe_size, stripe_count, targets, .. }) = first else {
            panic!("{first:?}")
        };
        assert_eq!((stripe_size, stripe_count, targets), (Some(1 << 20), Some(2), vec![7, 3]));
        let Some(FileLayout::Striped { note, targets, .. }) = third else { panic!("{third:?}") };
        assert_eq!((note.as_deref(), targets), (Some("pool flash"), vec![12]));
    }

    #[test]
    fn a_lustre_folder_may_stripe_over_all_targets() {
        let all = lustre(&lov(0x0BD1_0BD0, 1 << 20, 0xffff, "", &[]));
        assert_eq!(
            all.and_then(|layout| words(&layout)).as_deref(),
            Some("striped over all targets of 1 MiB")
        );
    }

    #[test]
    fn a_truncated_layout_is_rejected() {
        assert_eq!(lustre(&[0xd0, 0x0b]), None);
        assert_eq!(lustre(&lov(0x0BD1_0BD0, 1, 1, "", &[])[..20]), None);
    }

    #[test]
    fn ceph_and_gluster_layouts_are_parsed_from_text() {
        let found = ceph("stripe_unit=4194304 stripe_count=8 object_size=4194304 pool=data");
        assert_eq!(
            found.and_then(|layout| words(&layout)).as_deref(),
            Some("striped over 8 targets of 4 MiB")
        );
        let info = "(<DISTRIBUTE:s-dht> <POSIX(/b1):h:/b1/> <POSIX(/b2):h:/b2/>)";
        let words = |info: &str| gluster_bricks(info).and_then(|layout| words(&layout));
        assert_eq!(words(info).as_deref(), Some("2 bricks, distributed"));
        let info = "(<REPLICATE:v-replicate-0> <POSIX(/b1):h:/b1/> <POSIX(/b2):h:/b2/>)";
        assert_eq!(words(info).as_deref(), Some("2 bricks, replicated"));
        assert_eq!(words("(<DISTRIBUTE:s-dht> )"), None);
    }

    #[test]
    fn a_composite_lustre_layout_is_described_part_by_part() {
        let parts = [
            (0u64, 64u64 << 20, lov(0x0BD1_0BD0, 1 << 20, 1, "", &[5])),
            (64 << 20, u64::MAX, lov(0x0BD3_0BD0, 4 << 20, 0xffff, "flash", &[])),
        ];
        let mut bytes = LUSTRE_COMPOSITE.to_le_bytes().to_vec();
        bytes.extend([0u8; 10]);
        bytes.extend(2u16.to_le_bytes());
        bytes.extend([0u8; 16]);
        let mut at = 32 + 2 * 48;
        for (begin, end, layout) in &parts {
            bytes.extend([0u8; 8]);
            bytes.extend([begin.to_le_bytes(), end.to_le_bytes()].concat());
            bytes.extend([at as u32, layout.len() as u32].map(u32::to_le_bytes).concat());
            bytes.extend([0u8; 16]);
            at += layout.len();
        }
        parts.iter().for_each(|part| bytes.extend(&part.2));
        let found = lustre(&bytes).and_then(|layout| words(&layout));
        assert_eq!(
            found.as_deref(),
            Some("to 64 MiB striped over 1 target of 1 MiB; from 64 MiB striped over all targets of 4 MiB")
        );
        // A truncated layout is reported as far as it was read.
        let cut = lustre(&bytes[..40]).and_then(|layout| words(&layout));
        assert_eq!(cut.as_deref(), Some("composite layout of 2 parts"));
    }

    #[test]
    fn a_beegfs_layout_has_a_pattern_a_chunk_size_and_targets() {
        let found = beegfs_layout(3, 512 << 10, 4);
        assert_eq!(words(&found).as_deref(), Some("striped over 4 targets of 512 KiB"));
        let FileLayout::Striped { note, .. } = found else { panic!("{found:?}") };
        assert_eq!(note.as_deref(), Some("pattern buddy mirror"));
    }
}
