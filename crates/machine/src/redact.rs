//! Removes names of hosts, people, paths and servers from a description.
//!
//! It lists what is kept, not what is removed, since a name can occur in an unexpected place.

use samples::{FileLayout, MachineFacts, PathFacts};

const HIDDEN: &str = "redacted";

/// Mount options without a value that are kept.
const PLAIN: [&str; 52] = [
    "rw",
    "ro",
    "sync",
    "async",
    "dirsync",
    "relatime",
    "noatime",
    "nodiratime",
    "strictatime",
    "lazytime",
    "nosuid",
    "nodev",
    "noexec",
    "hard",
    "soft",
    "softerr",
    "intr",
    "nointr",
    "ac",
    "noac",
    "cto",
    "nocto",
    "lock",
    "nolock",
    "posix",
    "sharecache",
    "nosharecache",
    "resvport",
    "noresvport",
    "fsc",
    "acl",
    "noacl",
    "user_xattr",
    "nouser_xattr",
    "barrier",
    "nobarrier",
    "discard",
    "nodiscard",
    "delalloc",
    "nodelalloc",
    "quota",
    "noquota",
    "usrquota",
    "grpquota",
    "prjquota",
    "ssd",
    "nossd",
    "datacow",
    "nodatacow",
    "inode64",
    "flock",
    "localflock",
];

/// Mount options that are kept with their value, which is a number or one of a few words.
const VALUED: [&str; 52] = [
    "vers",
    "minorversion",
    "rsize",
    "wsize",
    "bsize",
    "namlen",
    "proto",
    "timeo",
    "retrans",
    "sec",
    "mountvers",
    "mountproto",
    "local_lock",
    "lookupcache",
    "nconnect",
    "max_connect",
    "acregmin",
    "acregmax",
    "acdirmin",
    "acdirmax",
    "actimeo",
    "port",
    "mountport",
    "max_read",
    "max_write",
    "blksize",
    "size",
    "nr_inodes",
    "mode",
    "data",
    "commit",
    "errors",
    "barrier",
    "stripe",
    "compress",
    "compress-force",
    "space_cache",
    "logbsize",
    "logbufs",
    "sunit",
    "swidth",
    "allocsize",
    "journal_checksum",
    "max_batch_time",
    "min_batch_time",
    "cache",
    "huge",
    "mpol",
    "write",
    "xprtsec",
    "trunkdiscovery",
    "iosize",
];

/// A copy without the kernel's command line and without the names of the host, paths, servers, addresses,
/// users, pools and volumes.
#[must_use]
pub fn redact(machine: &MachineFacts) -> MachineFacts {
    let mut copy = machine.clone();
    // Fields of another version may contain names.
    copy.other.clear();
    let host = copy.host.take();
    copy.host = host.as_ref().map(|_| HIDDEN.into());
    copy.kernel.command_line = copy.kernel.command_line.map(|_| HIDDEN.into());
    if let Some(name) = &mut copy.virtualisation.container
        && !["docker", "podman", "kubernetes", "lxc", "apptainer", "systemd-nspawn"].contains(&name.as_str())
    {
        *name = "a container".into();
    }
    for (index, path) in copy.paths.iter_mut().enumerate() {
        redact_path(path, format!("path {}", index + 1));
    }
    // The texts of a kernel, distribution or device may contain the name of the machine they were made for.
    let free = [
        &mut copy.kernel.release,
        &mut copy.kernel.version,
        &mut copy.distribution,
        &mut copy.virtualisation.product,
    ];
    for text in free.into_iter().flatten() {
        for name in host.iter().chain(&user()).filter(|name| name.len() > 1) {
            *text = text.replace(name.as_str(), HIDDEN);
        }
    }
    copy
}

/// The name of this user, unless it is root.
fn user() -> Option<String> {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok().filter(|name| name != "root")
}

fn redact_path(place: &mut PathFacts, name: String) {
    place.other.clear();
    place.real_path = place.real_path.take().map(|_| name.clone());
    if let Some(mount) = &mut place.mount {
        mount.mount_point.clone_from(&name);
        mount.options.iter_mut().for_each(redact_option);
        if !is_plain_device(&mount.source) && mount.source != mount.file_system {
            mount.source = HIDDEN.into();
        }
    }
    if let Some(nfs) = &mut place.nfs {
        nfs.mount_point.clone_from(&name);
        nfs.source = HIDDEN.into();
        nfs.options.iter_mut().for_each(redact_option);
    }
    if let Some(device) = &mut place.device
        && device.disk.starts_with("dm-")
    {
        // The name that an administrator gave to a volume.
        device.model = device.model.take().map(|_| HIDDEN.into());
    }
    if let FileLayout::Striped { note: Some(note), .. } = &mut place.layout
        && note.starts_with("pool ")
    {
        *note = format!("pool {HIDDEN}");
    }
    place.path = name;
}

/// Whether `source` is a kernel name such as `/dev/nvme0n1p2`, not one chosen by a person (`/dev/mapper/…`,
/// `/dev/disk/by-label/…`).
fn is_plain_device(source: &str) -> bool {
    const KINDS: [&str; 11] = ["sd", "vd", "hd", "xvd", "nvme", "mmcblk", "md", "dm-", "loop", "nbd", "rbd"];
    source.strip_prefix("/dev/").is_some_and(|name| {
        let rest = KINDS.iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or("/");
        let letters = rest.chars().take_while(char::is_ascii_lowercase).count();
        letters <= 2 && rest[letters..].chars().all(|c| c.is_ascii_digit() || c == 'p' || c == 'n')
    })
}

/// Hides addresses, users and directories in a mount option. A directory name with a comma looks like several
/// options, so unknown words are hidden too.
fn redact_option(option: &mut String) {
    let number = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit());
    let known = match option.split_once('=') {
        None => PLAIN.contains(&option.as_str()),
        Some((key, value)) => {
            VALUED.contains(&key) && value.len() < 16 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b':')
                // A number with a dot is not an address.
                && (value.matches(['.', ':']).count() < 2 || number(value))
        }
    };
    if known {
        return;
    }
    let key = option.split_once('=').map(|(key, _)| key).unwrap_or_default();
    let tell = key.len() < 20 && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    *option = if tell && !key.is_empty() { format!("{key}={HIDDEN}") } else { HIDDEN.into() };
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{BlockDevice, Mount, NfsMount, OsKernel, Virtualisation};

    fn hidden(source: &str) -> String {
        let mount = Mount { source: source.into(), ..Mount::default() };
        let place = PathFacts { mount: Some(mount), ..PathFacts::default() };
        let shown = redact(&MachineFacts { paths: vec![place], ..MachineFacts::default() });
        shown.paths[0].mount.as_ref().map(|mount| mount.source.clone()).unwrap_or_default()
    }

    #[test]
    fn devices_keep_kernel_names_and_lose_names_chosen_by_people() {
        for plain in ["/dev/sda1", "/dev/nvme0n1p2", "/dev/vda", "/dev/dm-3", "/dev/md127"] {
            assert_eq!(hidden(plain), plain);
        }
        let given = [
            "/dev/mapper/vg-alice",
            "/dev/disk/by-label/alice",
            "/dev/sdalice",
            "tank/alice",
            "10.1.2.3@tcp:/alice",
        ];
        for name in given {
            assert_eq!(hidden(name), HIDDEN, "{name}");
        }
    }

    #[test]
    fn no_name_is_left_in_any_field() {
        let secret = "alice-x1";
        let options = [
            "rw",
            "relatime",
            "vers=4.2",
            "rsize=1048576",
            "addr=10.9.8.7",
            "clientaddr=fe80::1",
            "username=alice-x1",
            "lowerdir=/home/alice-x1/a",
            "alice-x1",
            "/home/alice-x1",
            "sec=alice-x1@REALM",
            "fsname=alice-x1",
            "alice-x1=1",
            "data=ordered",
        ]
        .map(str::to_owned);
        let mount = Mount {
            mount_point: "/home/alice-x1/data".into(),
            source: "alice-x1:/export".into(),
            options: options.to_vec(),
            ..Mount::default()
        };
        let nfs = NfsMount {
            mount_point: "/home/alice-x1/data".into(),
            source: "alice-x1:/export".into(),
            options: options.to_vec(),
            ..NfsMount::default()
        };
        let place = PathFacts {
            path: "/home/alice-x1/data/x".into(),
            real_path: Some("/home/alice-x1/data/x".into()),
            mount: Some(mount),
            nfs: Some(nfs),
            device: Some(BlockDevice {
                disk: "dm-0".into(),
                model: Some("vg-alice-x1".into()),
                ..BlockDevice::default()
            }),
            layout: FileLayout::Striped {
                stripe_size: Some(1 << 20),
                stripe_count: Some(4),
                targets: vec![1],
                note: Some("pool alice-x1".into()),
            },
            ..PathFacts::default()
        };
        let machine = MachineFacts {
            host: Some(secret.into()),
            kernel: OsKernel {
                command_line: Some("root=LABEL=alice-x1".into()),
                release: Some("6.1.0-alice-x1".into()),
                ..OsKernel::default()
            },
            virtualisation: Virtualisation {
                container: Some("alice-x1".into()),
                ..Virtualisation::default()
            },
            paths: vec![place],
            ..MachineFacts::default()
        };
        let shown = redact(&machine);
        let json = serde_json::to_string(&shown).expect("plain data") + &crate::lines(&shown).join("\n");
        for name in ["alice", "10.9.8.7", "fe80", "REALM", "/home"] {
            assert!(!json.contains(name), "{name}: {json}");
        }
        // Options that describe behaviour are kept.
        for kept in ["rw", "vers=4.2", "rsize=1048576", "data=ordered", "6.1.0"] {
            assert!(json.contains(kept), "{kept}: {json}");
        }
        let findings = serde_json::to_string(&crate::judge(&shown)).expect("plain data");
        assert!(!findings.contains("alice"), "{findings}");
    }
}
