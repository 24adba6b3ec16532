//! Reads the operation counters of NFS mounts and where the operations spent their time.

use samples::{NfsMount, NfsOperation};

/// All NFS mounts of `/proc/self/mountstats`.
pub fn parse(mountstats: &str) -> Vec<NfsMount> {
    let mut found: Vec<NfsMount> = Vec::new();
    let mut inside = false;
    for line in mountstats.lines() {
        if let Some(rest) = line.strip_prefix("device ") {
            inside = false;
            if let Some((source, rest)) = rest.split_once(" mounted on ")
                && let Some((mount_point, kind)) = rest.split_once(" with fstype ")
                && kind.starts_with("nfs")
            {
                inside = true;
                found.push(NfsMount {
                    mount_point: mount_point.into(),
                    source: source.into(),
                    ..NfsMount::default()
                });
            }
            continue;
        }
        let (true, Some(mount)) = (inside, found.last_mut()) else { continue };
        let line = line.trim();
        if let Some(options) = line.strip_prefix("opts:") {
            mount.options = options.trim().split(',').map(str::to_owned).collect();
        } else if let Some((name, numbers)) = line.split_once(": ")
            && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        {
            let numbers: Vec<u64> = numbers.split_whitespace().filter_map(|n| n.parse().ok()).collect();
            if let [count, transmissions, timeouts, sent, received, queue_ms, round_trip_ms, total_ms, ..] =
                numbers[..]
                && count > 0
            {
                let operation = NfsOperation {
                    count,
                    transmissions,
                    timeouts,
                    sent,
                    received,
                    queue_ms,
                    round_trip_ms,
                    total_ms,
                };
                mount.operations.insert(name.into(), operation);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
device /dev/vda mounted on / with fstype ext4
device server:/export mounted on /mnt/nfs with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=262144,hard,proto=tcp
\tage:\t1234
\tbytes:\t1 2 3 4 5 6 7 8
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 1 2 0 11 1000 1000 0 1000 0 2 0 0
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0 0
\t        READ: 10 11 0 2000 40960 5 120 130 0
\t       WRITE: 400 400 1 1638400 80000 40 900 950 0
device none mounted on /proc with fstype proc
";

    #[test]
    fn operations_that_occurred_are_counted_with_their_times() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 1);
        let nfs = &mounts[0];
        assert_eq!((nfs.mount_point.as_str(), nfs.option("wsize")), ("/mnt/nfs", Some("wsize=262144")));
        assert_eq!(nfs.operations.keys().collect::<Vec<_>>(), ["READ", "WRITE"]);
        let write = nfs.operations["WRITE"];
        assert_eq!((write.timeouts, write.queue_ms, write.round_trip_ms, write.total_ms), (1, 40, 900, 950));
    }
}
