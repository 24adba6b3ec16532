//! The keys of a configuration, by section, each in one of three classes: carried out, reporting only, or refused unless it has
//! the value that changes nothing.

/// What is done about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyClass {
    /// It is carried out.
    CarriedOut,
    /// What is measured is the same.
    Reporting,
    /// Another value than these, which `|` divides, or none is refused: why, and the way out.
    Only(&'static str, &'static str),
    /// No key of the section.
    Unknown,
}

/// Sections of phases that only the extended mode of IO500 runs: their keys change no standard run.
const EXTENDED: &[&str] = &[
    "find-easy",
    "find-hard",
    "mdworkbench",
    "mdworkbench-create",
    "mdworkbench-bench",
    "mdworkbench-delete",
    "ior-rnd4k-easy-read",
    "ior-rnd1mb-easy-read",
    "timestamp",
];

/// The sections of a standard run with the keys of each that are carried out.
const CARRIED_OUT: &[(&str, &[&str])] = &[
    (
        "global",
        &["datadir", "timestamp-datadir", "resultdir", "timestamp-resultdir", "api", "drop-caches", "scc"],
    ),
    ("debug", &["stonewall-time"]),
    ("ior-easy", &["api", "transfersize", "blocksize", "fileperproc", "run"]),
    ("ior-easy-write", &["api", "run"]),
    ("mdtest-easy", &["api", "n", "run"]),
    ("mdtest-easy-write", &["api", "run"]),
    ("ior-hard", &["api", "segmentcount", "run"]),
    ("ior-hard-write", &["api", "run"]),
    ("mdtest-hard", &["api", "n", "run"]),
    ("mdtest-hard-write", &["api", "run"]),
    ("find", &["nproc", "run"]),
    ("ior-easy-read", &["api", "run"]),
    ("mdtest-easy-stat", &["api", "run"]),
    ("ior-hard-read", &["api", "run"]),
    ("mdtest-hard-stat", &["api", "run"]),
    ("mdtest-easy-delete", &["api", "run"]),
    ("mdtest-hard-read", &["api", "run"]),
    ("mdtest-hard-delete", &["api", "run"]),
];

/// Keys that only say what is printed, or how the original divides its own work.
const REPORTING: &[(&str, &str)] = &[
    ("global", "verbosity"),
    ("ior-easy", "verbosity"),
    ("ior-hard", "verbosity"),
    ("find", "external-mpi-args"),
    ("find", "external-extra-args"),
    ("find", "pfind-queue-length"),
    ("find", "pfind-steal-next"),
];

const DROP: &str = "sudo -n bash -c \"echo 3 > /proc/sys/vm/drop_caches\"";
const COLLECTIVE: &str = "POSIX has no collective calls: write FALSE";
const CONTENT: &str =
    "content is lastrank's own, which says what it is and does not compress: leave the key out";

/// Keys that have to keep the value that changes nothing; without a value they are accepted too.
const ONLY: &[(&str, &str, &str, &str)] = &[
    (
        "global",
        "drop-caches-cmd",
        DROP,
        "no command is started: leave it out; drop-caches = TRUE empties the page cache itself, as root",
    ),
    ("global", "io-buffers-on-gpu", "false", "buffers are in the memory of the host: write FALSE"),
    ("global", "datapackettype", "timestamp|incompressible|random", CONTENT),
    ("debug", "pause-dir", "", "a run does not pause: leave it out; pauses make a result invalid anyway"),
    ("ior-easy", "uniquedir", "false", "the files lie in one directory: write FALSE"),
    ("ior-hard", "collective", "false", COLLECTIVE),
    ("ior-hard-write", "collective", "false", COLLECTIVE),
    ("ior-hard-read", "collective", "false", COLLECTIVE),
    (
        "mdtest-hard",
        "files-per-dir",
        "0",
        "all files are in one directory: leave it out, and lower n where a directory is too small; the key makes a result \
         invalid anyway",
    ),
    ("find", "external-script", "", "the search is lastrank's own, and no command is started: leave it out"),
    (
        "find",
        "pfind-parallelize-single-dir-access-using-hashing",
        "false",
        "each directory is read by one rank: write FALSE",
    ),
];

/// The sections of a standard run.
pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    CARRIED_OUT.iter().map(|(section, _)| *section)
}

/// Whether the section belongs to phases that a standard run does not have.
pub(super) fn is_extended(section: &str) -> bool {
    EXTENDED.contains(&section)
}

/// The keys of a section, in lower case.
pub(super) fn keys(section: &str) -> Vec<&'static str> {
    let carried =
        CARRIED_OUT.iter().filter(|(of, _)| *of == section).flat_map(|(_, keys)| keys.iter().copied());
    let reporting = REPORTING.iter().filter(|(of, _)| *of == section).map(|(_, key)| *key);
    let only = ONLY.iter().filter(|(of, ..)| *of == section).map(|(_, key, ..)| *key);
    carried.chain(reporting).chain(only).collect()
}

/// What is done about a key; both in lower case.
pub(super) fn class(section: &str, key: &str) -> KeyClass {
    if CARRIED_OUT.iter().any(|(of, keys)| *of == section && keys.contains(&key)) {
        return KeyClass::CarriedOut;
    }
    if is_extended(section) || REPORTING.contains(&(section, key)) {
        return KeyClass::Reporting;
    }
    let only = ONLY.iter().find(|(of, name, ..)| (*of, *name) == (section, key));
    only.map_or(KeyClass::Unknown, |(_, _, value, why)| KeyClass::Only(value, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_in_two_classes() {
        for section in sections() {
            let mut keys = keys(section);
            let all = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), all, "{section}");
            assert!(!is_extended(section), "{section}");
        }
    }
}
