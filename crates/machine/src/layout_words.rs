//! Says how a parallel file system stripes a file, and which file systems do.

use samples::{FileLayout, units};

/// The layout in words, for the terminal; `None` if it is unknown.
pub fn words(layout: &FileLayout) -> Option<String> {
    match layout {
        FileLayout::Unknown => None,
        FileLayout::Striped { stripe_size, stripe_count, .. } => {
            let count = stripe_count.map_or("all".into(), |n| n.to_string());
            let size = stripe_size.map(|size| format!(" of {}", units::bytes(size)));
            let plural = if *stripe_count == Some(1) { "" } else { "s" };
            Some(format!("striped over {count} target{plural}{}", size.unwrap_or_default()))
        }
        FileLayout::Described { text } => Some(text.clone()),
    }
}

/// Whether this file system stripes files over several servers or targets, so that an unknown layout is worth
/// reporting.
pub fn is_parallel(file_system: &str) -> bool {
    const PARALLEL: [&str; 12] = [
        "lustre",
        "ceph",
        "fuse.ceph",
        "fuse.ceph-fuse",
        "beegfs",
        "beegfs_nodev",
        "fuse.glusterfs",
        "gpfs",
        "pvfs2",
        "fuse.mfs",
        "fuse.juicefs",
        "wekafs",
    ];
    PARALLEL.contains(&file_system)
}
