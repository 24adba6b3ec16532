//! Whether other users can put something else in the place of a directory.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// May others put names into this directory, or take some out of it? Its owner may, unless that is this user or root.
pub fn is_open_to_others(directory: &Path, found: &Metadata) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let of_others = |number: u32| number != user && number != 0;
    // Many systems give each user a group of the same number, with nobody else in it. The bit of the group also stands for
    // those that an access list names.
    let by_group = || of_others(found.gid()) || has_access_list(directory);
    of_others(found.uid()) || found.mode() & 0o002 != 0 || found.mode() & 0o020 != 0 && by_group()
}

fn has_access_list(directory: &Path) -> bool {
    rustix::fs::getxattr(directory, "system.posix_acl_access", &mut [0u8; 0]).is_ok()
}

/// A directory of the path `real`, without links, in which others can exchange what lies on the way. In one with the sticky
/// bit only the owners of names can, and root.
pub fn exchangeable(real: &Path) -> Option<&Path> {
    real.ancestors().skip(1).find(|around| {
        let Ok(found) = around.symlink_metadata() else { return true };
        let is_sticky =
            found.mode() & 0o1000 != 0 && [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
        !is_sticky && is_open_to_others(around, &found)
    })
}

/// Can nobody else put something in the place of `real`, a directory or a directory on the way to it?
pub fn is_steady(real: &Path) -> bool {
    let Ok(found) = real.symlink_metadata() else { return false };
    // Its owner may rename it, also where the sticky bit is set.
    let owners = [0, rustix::process::geteuid().as_raw()];
    owners.contains(&found.uid()) && exchangeable(real).is_none()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn others_exchange_a_name_where_they_may_write_without_the_sticky_bit() {
        let home = tempfile::tempdir().expect("a directory");
        let (around, inner) = (home.path().join("around"), home.path().join("around/inner"));
        std::fs::create_dir_all(inner.join("own")).expect("mkdir");
        let real = inner.join("own").canonicalize().expect("there");
        let set = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&around, mode).expect("chmod");
        };
        for (mode, steady) in [(0o755, true), (0o777, false), (0o1777, true), (0o702, false), (0o700, true)] {
            set(mode);
            assert_eq!(is_steady(&real), steady, "{mode:o}");
            assert_eq!(
                exchangeable(&real).is_some_and(|found| found.ends_with("around")),
                !steady,
                "{mode:o}"
            );
            // What is in it can be exchanged, not the directory itself.
            assert!(is_steady(&around.canonicalize().expect("there")));
        }
    }

    #[test]
    fn a_group_or_an_owner_that_is_not_the_users_counts_as_others() {
        let home = tempfile::tempdir().expect("a directory");
        let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
        let own = home.path().join("own");
        std::fs::create_dir(&own).expect("mkdir");
        set(home.path(), 0o770).expect("chmod");
        if std::os::unix::fs::chown(home.path(), None, Some(1234)).is_err() {
            println!("skipped: only root gives a directory to another group");
            return;
        }
        assert!(!is_steady(&own));
        set(home.path(), 0o750).expect("chmod");
        assert!(is_steady(&own));
        std::os::unix::fs::chown(&own, Some(1234), None).expect("chown");
        assert!(!is_steady(&own));
        std::os::unix::fs::chown(&own, Some(0), None).expect("chown");
        std::os::unix::fs::chown(home.path(), Some(1234), None).expect("chown");
        set(home.path(), 0o1755).expect("chmod");
        assert!(!is_steady(&own), "the owner of a directory with the sticky bit renames what is in it");
    }
}
