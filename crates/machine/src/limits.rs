//! Reads the limits of this process: control groups, resource limits, privileges.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, geteuid, getrlimit};
use samples::Limits;

use crate::files::{field, located, number, text};

/// Limits of this process and its control group.
pub fn limits() -> Limits {
    let groups = groups(&text("/proc/self/cgroup").unwrap_or_default());
    let mut found = Limits::default();
    if let Some(path) = &groups.unified {
        let places = up_to_root(Path::new("/sys/fs/cgroup"), path);
        if places.iter().any(|at| located(at.join("cgroup.controllers")).exists()) {
            found.cgroup_version = Some(2);
            version_2(&places, &mut found);
        }
    }
    if found.cgroup_version.is_none() && !groups.controllers.is_empty() {
        found.cgroup_version = Some(1);
        version_1(&groups, &mut found);
    }
    let status = text("/proc/self/status").unwrap_or_default();
    found.capabilities = field(&status, "CapEff").map(str::to_owned);
    found.filtered = field(&status, "Seccomp").is_some_and(|mode| mode != "0");
    found.root = geteuid().is_root();
    for (name, resource) in [
        ("open files", Resource::Nofile),
        ("locked memory", Resource::Memlock),
        ("file size", Resource::Fsize),
        ("stack", Resource::Stack),
    ] {
        found.resources.insert(name.into(), getrlimit(resource).current);
    }
    found
}

/// The control groups of this process.
#[derive(Debug, Default, PartialEq, Eq)]
struct Groups {
    /// Path in the version 2 tree.
    unified: Option<String>,
    /// Path by controller in version 1 trees.
    controllers: BTreeMap<String, String>,
}

fn groups(text: &str) -> Groups {
    let mut found = Groups::default();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if names.is_empty() {
            found.unified = Some(path.into());
        }
        for name in names.split(',').filter(|name| !name.is_empty() && !name.starts_with("name=")) {
            found.controllers.insert(name.into(), path.into());
        }
    }
    found
}

/// The group's directory and all its parents; the tightest of their limits applies. In a container the path
/// may not exist, and the root of the mount is the group itself.
fn up_to_root(root: &Path, path: &str) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let mut at = PathBuf::from(path.trim_start_matches('/'));
    loop {
        let folder = root.join(&at);
        if located(&folder).exists() {
            places.push(folder);
        }
        if !at.pop() {
            return places;
        }
    }
}

fn version_2(places: &[PathBuf], found: &mut Limits) {
    found.cpuset = places.iter().find_map(|place| text(place.join("cpuset.cpus.effective")));
    for place in places {
        if let Some(share) = text(place.join("cpu.max")).and_then(|line| share(&line)) {
            found.processors = Some(found.processors.map_or(share, |least| least.min(share)));
        }
        if let Some(bytes) = number::<u64>(place.join("memory.max")) {
            found.memory = Some(found.memory.map_or(bytes, |least| least.min(bytes)));
        }
        let limits = text(place.join("io.max")).unwrap_or_default();
        found.devices.extend(limits.lines().map(str::to_owned));
        let statistics = text(place.join("cpu.stat")).unwrap_or_default();
        throttling(&statistics, "throttled_usec", 1e-3, found);
    }
}

/// Adds the counters of a `cpu.stat`. Throttling of a parent group stops this group too.
fn throttling(statistics: &str, key: &str, ms: f64, found: &mut Limits) {
    let get = |key| field(statistics, key).and_then(|n| n.parse::<u64>().ok());
    if let Some(times) = get("nr_throttled") {
        found.throttled = Some(found.throttled.unwrap_or(0) + times);
    }
    if let Some(time) = get(key) {
        found.throttled_ms = Some(found.throttled_ms.unwrap_or(0.0) + time as f64 * ms);
    }
}

/// `max 100000` or `50000 100000`: quota and period in µs, as a number of processors.
fn share(line: &str) -> Option<f64> {
    let (quota, period) = line.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then_some(quota / period)
}

fn version_1(groups: &Groups, found: &mut Limits) {
    let places = |controller: &str| {
        let path = groups.controllers.get(controller).map_or("/", String::as_str);
        up_to_root(&Path::new("/sys/fs/cgroup").join(controller), path)
    };
    for place in places("cpu") {
        let quota: Option<f64> = number(place.join("cpu.cfs_quota_us"));
        let period: Option<f64> = number(place.join("cpu.cfs_period_us"));
        if let (Some(quota), Some(period)) = (quota.filter(|q| *q > 0.0), period.filter(|p| *p > 0.0)) {
            let share = quota / period;
            found.processors = Some(found.processors.map_or(share, |least| least.min(share)));
        }
        let statistics = text(place.join("cpu.stat")).unwrap_or_default();
        throttling(&statistics, "throttled_time", 1e-6, found);
    }
    found.cpuset = places("cpuset").iter().find_map(|place| {
        text(place.join("cpuset.effective_cpus")).or_else(|| text(place.join("cpuset.cpus")))
    });
    for place in places("memory") {
        // "No limit" is the greatest multiple of a page below 2⁶³.
        let limit = number::<u64>(place.join("memory.limit_in_bytes")).filter(|bytes| *bytes < 1 << 62);
        if let Some(bytes) = limit {
            found.memory = Some(found.memory.map_or(bytes, |least| least.min(bytes)));
        }
    }
    for place in places("blkio") {
        for name in ["read_bps", "write_bps", "read_iops", "write_iops"] {
            let lines = text(place.join(format!("blkio.throttle.{name}_device"))).unwrap_or_default();
            found.devices.extend(lines.lines().map(|line| format!("{line} {name}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_shown_as_processors() {
        assert_eq!(share("150000 100000"), Some(1.5));
        assert_eq!(share("max 100000"), None);
    }

    #[test]
    fn both_versions_of_control_groups_are_parsed() {
        let found = groups("9:name=systemd:/init\n4:memory:/jobs/a\n2:cpu,cpuacct:/jobs\n0::/slice\n");
        assert_eq!(found.unified.as_deref(), Some("/slice"));
        assert_eq!(found.controllers["cpuacct"], "/jobs");
        assert_eq!(found.controllers["memory"], "/jobs/a");
        assert_eq!(found.controllers.len(), 3);
    }

    #[test]
    fn a_group_is_searched_up_to_the_root() {
        let folder = std::env::temp_dir().join(format!("lastrank-groups-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a/b")).expect("a folder in the temporary folder");
        let places = up_to_root(&folder, "/a/b/missing");
        std::fs::remove_dir_all(&folder).expect("what was just made");
        assert_eq!(places, [folder.join("a/b"), folder.join("a"), folder.join("")]);
    }
}
