//! Only what the program created is removed, and only what the user allowed is touched.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::*;
use record::SampleRegion;

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no NUL")
}

fn region() -> Arc<SampleRegion> {
    Arc::new(SampleRegion::new(0, 64, &std::env::temp_dir()).expect("a region"))
}

fn confinement(allowed: &Path) -> Confinement {
    Confinement::rooted(allowed)
}

#[test]
fn a_file_that_was_there_before_is_not_removed() {
    for birth_times in [true, false] {
        let home = tempfile::tempdir().expect("a directory");
        let (old, new) = (home.path().join("old"), home.path().join("new"));
        std::fs::write(&old, "mine").expect("write");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (region, begun) = (region(), Moment::now());
        let mut registry = Registry::new(&region, begun);
        for path in [&old, &new] {
            registry.intend(&c(path), birth_times);
            std::fs::write(path, "again").expect("write");
            registry.settle(&c(path), birth_times);
        }
        let cleaned = clean(&created(&region, begun));
        assert_eq!((cleaned.removed, old.exists(), new.exists()), (1, true, false));
    }
}

#[test]
fn a_rank_that_died_inside_the_call_leaves_a_trace() {
    let home = tempfile::tempdir().expect("a directory");
    let (made, never) = (home.path().join("made"), home.path().join("never"));
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    registry.intend(&c(&never), true);
    registry.intend(&c(&made), true);
    std::fs::write(&made, "").expect("write");
    drop(registry);
    assert_eq!(clean(&created(&region, begun)).removed, 1);
    assert!(!made.exists());
}

#[test]
fn what_was_replaced_since_is_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("file");
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    registry.intend(&c(&path), true);
    std::fs::write(&path, "ours").expect("write");
    registry.settle(&c(&path), true);
    std::fs::write(home.path().join("other"), "theirs").expect("write");
    std::fs::rename(home.path().join("other"), &path).expect("rename");
    assert_eq!(clean(&created(&region, begun)).removed, 0);
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "theirs");
}

#[test]
fn directories_go_after_their_files_and_stay_when_not_empty() {
    let home = tempfile::tempdir().expect("a directory");
    let (outer, inner) = (home.path().join("a"), home.path().join("a/b"));
    let full = home.path().join("full");
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    for directory in [&outer, &inner, &full] {
        registry.intend(&c(directory), true);
        std::fs::create_dir(directory).expect("mkdir");
        registry.settle(&c(directory), true);
    }
    let file = inner.join("f");
    registry.intend(&c(&file), true);
    std::fs::write(&file, "").expect("write");
    registry.settle(&c(&file), true);
    std::fs::write(full.join("not ours"), "").expect("write");
    let cleaned = clean(&created(&region, begun));
    assert_eq!((cleaned.removed, outer.exists()), (3, false));
    assert_eq!(cleaned.left.len(), 1);
    assert!(full.join("not ours").exists());
}

#[test]
fn creating_and_deleting_for_ever_takes_no_more_memory() {
    let region = region();
    let mut registry = Registry::new(&region, Moment::now());
    for n in 0..100_000 {
        let path = CString::new(format!("/nowhere/{n:06}")).expect("no NUL");
        registry.intend(&path, true);
        registry.forget(&path);
    }
    assert!(region.registry().1.load(std::sync::atomic::Ordering::Relaxed) <= 128);
}

#[test]
fn a_path_outside_is_refused_however_it_is_written() {
    let home = tempfile::tempdir().expect("a directory");
    let inside = home.path().join("inside");
    std::fs::create_dir(&inside).expect("mkdir");
    std::os::unix::fs::symlink("/etc", inside.join("link")).expect("symlink");
    std::os::unix::fs::symlink("/etc/new-file", inside.join("dangling")).expect("symlink");
    let mut rule = confinement(&inside);
    for outside in ["../sibling", "link/passwd", "sub/../../x", "..", "missing/../../x"] {
        let refused = rule.check("write to", &c(&inside.join(outside)));
        assert!(refused.is_err(), "{outside} was allowed");
    }
    assert!(rule.check("write to", c"/etc/passwd").is_err());
    assert!(rule.check_followed("write to", &c(&inside.join("dangling"))).is_err());
    for fine in ["x", "new/deeper/x", "./x"] {
        assert!(rule.check("write to", &c(&inside.join(fine))).is_ok(), "{fine} was refused");
    }
}

#[test]
fn where_dots_lead_is_looked_up_each_time() {
    let home = tempfile::tempdir().expect("a directory");
    let inside = home.path().join("inside");
    let place = inside.join("m");
    std::fs::create_dir_all(&place).expect("mkdir");
    let mut rule = confinement(&inside);
    let path = c(&inside.join("m/../x"));
    assert!(rule.check("write to", &path).is_ok());
    // Another rank does this, without this rank's confinement.
    std::fs::remove_dir(&place).expect("rmdir");
    std::os::unix::fs::symlink(".", &place).expect("symlink");
    assert!(rule.check("write to", &path).is_err(), "m/.. is the parent of the allowed place now");
}

#[test]
fn a_link_may_not_lead_up_since_it_may_be_moved() {
    let home = tempfile::tempdir().expect("a directory");
    let inside = home.path().join("inside");
    std::fs::create_dir_all(inside.join("a/b")).expect("mkdir");
    let rule = confinement(&inside);
    for target in [c"..", c"../x", c"x/../../y", c"/etc", c"/etc/passwd"] {
        let refused = rule.check_target(target, &c(&inside.join("a/b/link")));
        assert!(refused.is_err(), "{target:?} was allowed");
    }
    for target in [c"x", c".", c"..x/y"] {
        assert!(rule.check_target(target, &c(&inside.join("a/b/link"))).is_ok(), "{target:?} was refused");
    }
    assert!(rule.check_target(&c(&inside.join("a")), &c(&inside.join("a/b/link"))).is_ok());
}

#[test]
fn the_null_device_may_be_written_and_not_removed() {
    let home = tempfile::tempdir().expect("a directory");
    let mut rule = confinement(home.path());
    assert!(rule.check("write to", c"/dev/null").is_ok() && rule.check("read", c"/dev/null").is_ok());
    for what in ["remove", "rename", "rename to", "create", "change"] {
        assert!(rule.check(what, c"/dev/null").is_err(), "{what}");
    }
}

#[test]
fn a_refusal_names_path_place_and_flag() {
    let home = tempfile::tempdir().expect("a directory");
    let mut rule = Confinement::new(&[home.path().to_owned()]);
    let refusal = rule.check("write to", c"/etc/../etc/passwd").expect_err("refused");
    let text = refusal.to_string();
    assert!(text.contains("\"/etc/../etc/passwd\" (that is /etc/passwd)"), "{text}");
    assert!(text.ends_with("add --allow /etc"), "{text}");
    assert!(rule.check("write to", &c(&home.path().join("x"))).is_ok());
}
