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

/// Longer than the slack that birth times need.
fn a_while() {
    std::thread::sleep(std::time::Duration::from_millis(50));
}

#[test]
fn a_file_that_was_there_before_is_not_removed() {
    let home = tempfile::tempdir().expect("a directory");
    let (old, new) = (home.path().join("old"), home.path().join("new"));
    std::fs::write(&old, "mine").expect("write");
    a_while();
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    for path in [&old, &new] {
        registry.intend(&c(path), Evidence::Birth);
        std::fs::write(path, "again").expect("write");
        registry.settle(&c(path), 0);
    }
    let cleaned = clean(&created(&region), None);
    assert_eq!((cleaned.removed(), old.exists(), new.exists()), (1, true, false));
}

#[test]
fn without_birth_times_the_names_before_the_first_call_tell_what_is_ours() {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("old"), "mine").expect("write");
    let around = ParentFacts { birth_times: false, place: 7, device: 0, trusted: false, replaceable: false };
    let mut earlier = EarlierNames::default();
    let new = home.path().join("new");
    assert!(earlier.was_free(&c(&new), around));
    std::fs::write(&new, "").expect("write");
    // Looked at once, before the first: what came since is not read.
    assert!(earlier.was_free(&c(&home.path().join("other")), around));
    assert!(earlier.was_free(&c(&new), around));
    assert!(!earlier.was_free(&c(&home.path().join("old")), around));
    // Of a directory that cannot be read nothing is known; in one that this rank made all is its own.
    let inside = home.path().join("made/inside");
    let within =
        |place| ParentFacts { birth_times: false, place, device: 0, trusted: false, replaceable: false };
    assert!(!earlier.clone().was_free(&c(&inside), within(9)));
    earlier.made_directory(c"made", around);
    assert!(earlier.was_free(&c(&inside), within(super::place::of_place(7, b"made"))));
}

#[test]
fn what_a_rank_was_making_when_it_died_is_named() {
    let home = tempfile::tempdir().expect("a directory");
    let (made, never) = (home.path().join("made"), home.path().join("never"));
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    registry.intend(&c(&never), Evidence::Birth);
    registry.intend(&c(&made), Evidence::Birth);
    std::fs::write(&made, "").expect("write");
    drop(registry);
    let cleaned = clean(&created(&region), None);
    assert_eq!((cleaned.removed(), cleaned.left.len(), made.exists()), (0, 1, true));
}

#[test]
fn what_was_replaced_since_is_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("file");
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    registry.intend(&c(&path), Evidence::Birth);
    std::fs::write(&path, "ours").expect("write");
    registry.settle(&c(&path), 0);
    a_while();
    std::fs::write(home.path().join("other"), "theirs").expect("write");
    std::fs::rename(home.path().join("other"), &path).expect("rename");
    assert_eq!(clean(&created(&region), None).removed(), 0);
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "theirs");
}

#[test]
fn a_second_name_of_what_was_made_long_before_is_removed() {
    let home = tempfile::tempdir().expect("a directory");
    let (first, second) = (home.path().join("first"), home.path().join("second"));
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    registry.intend(&c(&first), Evidence::Birth);
    std::fs::write(&first, "ours").expect("write");
    registry.settle(&c(&first), 0);
    a_while();
    registry.intend(&c(&second), Evidence::Birth);
    std::fs::hard_link(&first, &second).expect("link");
    registry.settle(&c(&second), 0);
    registry.linked(&c(&first), &c(&second));
    std::fs::remove_file(&first).expect("there");
    assert_eq!(clean(&created(&region), None).removed(), 1);
    assert!(!second.exists());
}

#[test]
fn a_second_name_whose_link_was_cut_short_is_known_by_the_first() {
    let home = tempfile::tempdir().expect("a directory");
    let path = |name: &str| home.path().join(name);
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    std::fs::write(path("user"), "theirs").expect("write");
    registry.intend(&c(&path("first")), Evidence::Birth);
    std::fs::write(path("first"), "ours").expect("write");
    registry.settle(&c(&path("first")), 0);
    a_while();
    for (from, to) in [("first", "second"), ("user", "third")] {
        registry.intend(&c(&path(to)), Evidence::Birth);
        std::fs::hard_link(path(from), path(to)).expect("link");
    }
    // Nobody says that the calls are over.
    assert_eq!(clean(&created(&region), None).removed(), 2);
    assert!(path("user").exists() && path("third").exists() && !path("second").exists());
}

#[test]
fn only_an_errno_that_says_so_takes_a_path_back() {
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    for (errno, kept) in [(0, true), (libc::ENOSPC, true), (libc::EEXIST, false), (libc::EACCES, false)] {
        let path = CString::new(format!("/nowhere/{errno}")).expect("no NUL");
        registry.intend(&path, Evidence::Certain);
        registry.settle(&path, errno);
        assert_eq!(registry.knows(&path), kept, "{errno}");
    }
}

#[test]
fn what_a_worker_made_is_removed_and_known_to_its_rank() {
    let home = tempfile::tempdir().expect("a directory");
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    let path = |worker: usize, n: usize| c(&home.path().join(format!("w{worker}-{n}")));
    for round in 0..30 {
        let workers: Vec<_> = (0..4).map(|_| registry.of_worker()).collect();
        std::thread::scope(|scope| {
            for (worker, mut own) in workers.into_iter().enumerate() {
                let path = &path;
                scope.spawn(move || {
                    for n in 0..100 {
                        own.intend(&path(worker, n), Evidence::Birth);
                        if n % 10 == 0 && round == 29 {
                            std::fs::write(home_of(&path(worker, n)), "").expect("write");
                        }
                        own.settle(&path(worker, n), 0);
                    }
                });
            }
        });
        registry.joined();
        // The rank takes all but the last round's back.
        for (worker, n) in (0..4).flat_map(|worker| (0..100).map(move |n| (worker, n))) {
            assert!(registry.knows(&path(worker, n)));
            if round < 29 {
                registry.forget(&path(worker, n));
            }
        }
    }
    // Chunks and entries are used again.
    assert!(region.registry().1.load(std::sync::atomic::Ordering::Relaxed) <= 1 << 20);
    assert_eq!(created(&region).len(), 400);
    assert_eq!(clean(&created(&region), None).removed(), 40);
}

fn home_of(path: &std::ffi::CStr) -> std::path::PathBuf {
    std::path::PathBuf::from(std::ffi::OsStr::from_bytes(path.to_bytes()))
}

#[test]
fn directories_go_after_their_files_and_stay_when_not_empty() {
    let home = tempfile::tempdir().expect("a directory");
    let (outer, inner) = (home.path().join("a"), home.path().join("a/b"));
    let full = home.path().join("full");
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    for directory in [&outer, &inner, &full] {
        registry.intend(&c(directory), Evidence::Birth);
        std::fs::create_dir(directory).expect("mkdir");
        registry.settle(&c(directory), 0);
    }
    let file = inner.join("f");
    registry.intend(&c(&file), Evidence::Birth);
    std::fs::write(&file, "").expect("write");
    registry.settle(&c(&file), 0);
    std::fs::write(full.join("not ours"), "").expect("write");
    let cleaned = clean(&created(&region), None);
    assert_eq!((cleaned.removed(), outer.exists()), (3, false));
    assert_eq!(cleaned.left.len(), 1);
    assert!(full.join("not ours").exists());
}

#[test]
fn what_lies_in_a_renamed_directory_is_removed_under_its_new_name() {
    let home = tempfile::tempdir().expect("a directory");
    let (old, new) = (home.path().join("old"), home.path().join("new"));
    let (region, begun) = (region(), Moment::now());
    let mut registry = Registry::new(&region, begun);
    registry.intend(&c(&old), Evidence::Birth);
    std::fs::create_dir(&old).expect("mkdir");
    registry.settle(&c(&old), 0);
    registry.intend(&c(&old.join("f")), Evidence::Certain);
    std::fs::write(old.join("f"), "").expect("write");
    registry.settle(&c(&old.join("f")), 0);
    std::fs::rename(&old, &new).expect("rename");
    registry.renamed(&c(&old), &c(&new), true);
    // A name that was taken over by something of somebody else is not ours any more.
    std::fs::write(home.path().join("theirs"), "").expect("write");
    registry.renamed(&c(&home.path().join("theirs")), &c(&new.join("f")), false);
    std::fs::rename(home.path().join("theirs"), new.join("f")).expect("rename");
    let cleaned = clean(&created(&region), None);
    assert_eq!((cleaned.removed(), cleaned.left.len(), new.join("f").exists()), (0, 1, true));
}

/// Killed between the rename and its entry: the run made what lies there, and nothing that somebody put there since.
#[test]
fn what_was_being_renamed_is_removed_under_its_new_name() {
    for is_taken in [false, true] {
        let home = tempfile::tempdir().expect("a directory");
        let (old, new) = (home.path().join("old"), home.path().join("new"));
        let (region, own) = (region(), Ownership::new());
        let mut registry = Registry::new(&region, Moment::now());
        registry.intend(&c(&old), Evidence::Birth);
        std::fs::write(&old, "").expect("write");
        own.made(look(&c(&old)).expect("there").object());
        registry.settle(&c(&old), 0);
        assert!(registry.intend_rename(&c(&old), &c(&new)));
        std::fs::rename(&old, &new).expect("rename");
        if is_taken {
            a_while();
            std::fs::write(home.path().join("theirs"), "").expect("write");
            std::fs::rename(home.path().join("theirs"), &new).expect("rename");
        }
        let cleaned = clean(&created(&region), Some(&own));
        assert_eq!((cleaned.removed(), new.exists()), (usize::from(!is_taken), is_taken));
    }
}

#[test]
fn creating_and_deleting_for_ever_takes_no_more_memory() {
    let region = region();
    let mut registry = Registry::new(&region, Moment::now());
    for n in 0..100_000 {
        let path = CString::new(format!("/nowhere/{n:06}")).expect("no NUL");
        registry.intend(&path, Evidence::Birth);
        registry.forget(&path);
    }
    assert!(region.registry().1.load(std::sync::atomic::Ordering::Relaxed) <= 1 << 16);
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
fn no_name_that_a_shell_would_hand_on_as_an_option_is_made() {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(home.path().join("-d")).expect("mkdir");
    let mut rule = confinement(home.path());
    for name in ["-rf", "--checkpoint=1", "sub/-x", "-x/", "-"] {
        for what in ["make", "write to", "rename to"] {
            let refused = rule.check(what, &c(&home.path().join(name))).expect_err(name).to_string();
            assert!(refused.contains("begins with a dash"), "{refused}");
        }
    }
    for name in ["a-b", "-d/f", "sub-/x"] {
        assert!(rule.check("write to", &c(&home.path().join(name))).is_ok(), "{name}");
    }
    for what in ["read", "remove"] {
        assert!(rule.check(what, &c(&home.path().join("-d"))).is_ok(), "{what}");
    }
    let mut allowed = Confinement::new(&[], &[home.path().to_path_buf()]);
    assert!(allowed.check("write to", &c(&home.path().join("-f"))).is_ok());
}

#[test]
fn a_read_reaches_what_lies_inside_and_no_link_that_leads_out() {
    let home = tempfile::tempdir().expect("a directory");
    let inside = home.path().join("inside");
    std::fs::create_dir_all(inside.join("sub")).expect("mkdir");
    for file in ["x", "sub/x", ".hidden", "../outside"] {
        std::fs::write(inside.join(file), "text").expect("write");
    }
    std::os::unix::fs::symlink("sub/x", inside.join("in")).expect("symlink");
    std::os::unix::fs::symlink("../outside", inside.join("out")).expect("symlink");
    std::os::unix::fs::symlink("../missing", inside.join("dangling")).expect("symlink");
    std::os::unix::fs::symlink("..", inside.join("up")).expect("symlink");
    let mut rule = confinement(&inside);
    for fine in ["x", "sub/x", "sub", "sub/", "in", "missing", "."] {
        assert!(rule.reach_to_read(&c(&inside.join(fine))).is_ok(), "{fine} was refused");
    }
    for outside in [".hidden", "out", "dangling", "up", "up/outside", "..", "sub/../..", "sub/../../outside"]
    {
        assert!(rule.reach_to_read(&c(&inside.join(outside))).is_err(), "{outside} was allowed");
    }
    // A call that follows no link at the end needs no more than its directory.
    for (name, alone) in [("x", true), ("sub/x", true), ("out", true), ("sub/", false), (".hidden", false)] {
        let may = rule.may_read_unfollowed(&c(&inside.join(name))).expect("inside");
        assert_eq!(may, alone, "{name}");
    }
    assert!(rule.may_read_unfollowed(&c(&inside.join("up/outside"))).is_err());
}

#[test]
fn what_is_held_lies_inside_whether_a_link_leads_to_it_or_not() {
    let home = tempfile::tempdir().expect("a directory");
    let inside = home.path().join("inside");
    std::fs::create_dir_all(inside.join("sub")).expect("mkdir");
    for (file, mode) in [("sub/x", 0o100_604), (".hidden", 0o100_644), ("../outside", 0o100_644)] {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::write(inside.join(file), "text").expect("write");
        std::fs::set_permissions(inside.join(file), permissions).expect("chmod");
    }
    std::os::unix::fs::symlink("sub/x", inside.join("in")).expect("symlink");
    std::os::unix::fs::symlink("sub", inside.join("way")).expect("symlink");
    std::os::unix::fs::symlink("../outside", inside.join("out")).expect("symlink");
    let mut rule = confinement(&inside);
    for fine in ["sub/x", "./sub//x", "in", "way/x"] {
        let (_, mode, _) = rule.hold("change", &c(&inside.join(fine))).expect(fine).expect("there");
        assert_eq!(mode, 0o100_604, "{fine}");
    }
    assert!(rule.hold("change", &c(&inside.join("missing"))).expect("inside").is_none());
    for outside in [".hidden", "out", "../outside", "sub/../../outside"] {
        assert!(rule.hold("change", &c(&inside.join(outside))).is_err(), "{outside} was allowed");
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
fn a_link_may_lead_up_but_not_outside() {
    let home = tempfile::tempdir().expect("a directory");
    let inside = home.path().join("inside");
    std::fs::create_dir_all(inside.join("a/b")).expect("mkdir");
    let rule = confinement(&inside);
    for target in [c"../../..", c"../../../x", c"/etc", c"/etc/passwd", c"x/.."] {
        let refused = rule.check_target(target, &c(&inside.join("a/b/link")));
        assert!(refused.is_err(), "{target:?} was allowed");
    }
    for target in [c"x", c".", c"x../y", c"../x", c"..", c"../.."] {
        assert!(rule.check_target(target, &c(&inside.join("a/b/link"))).is_ok(), "{target:?} was refused");
    }
    assert!(rule.check_target(&c(&inside.join("a")), &c(&inside.join("a/b/link"))).is_ok());
}

#[test]
fn a_link_that_is_moved_leads_inside_from_there_too() {
    use std::os::unix::fs::symlink;
    let home = tempfile::tempdir().expect("a directory");
    let inside = home.path().join("inside");
    std::fs::create_dir_all(inside.join("a/b/c")).expect("mkdir");
    symlink("../outside", inside.join("a/l")).expect("symlink");
    let rule = confinement(&inside);
    let link = |to: &str| rule.check_moved_link(&c(&inside.join("a/l")), &c(&inside.join(to)));
    assert!(link("a/b/l").is_ok() && link("l").is_err());
    let moved =
        |from: &str, to: &str| rule.check_moved_directory(&c(&inside.join(from)), &c(&inside.join(to)));
    // It still leads to a neighbour of its directory.
    assert!(moved("a", "z").is_ok());
    symlink("../../x", inside.join("a/b/c/m")).expect("symlink");
    assert!(moved("a/b", "b").is_ok(), "what stays in the tree goes with it");
    symlink("../../../x", inside.join("a/b/c/n")).expect("symlink");
    assert!(moved("a/b", "b").is_err() && moved("a", "z").is_ok());
    std::fs::remove_file(inside.join("a/b/c/n")).expect("unlink");
    symlink("../../x", inside.join("a/b/o")).expect("symlink");
    assert!(moved("a/b", "b").is_err() && moved("a/b", "a/z").is_ok());
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
    let mut rule = Confinement::new(&[home.path().to_owned()], &[]);
    let refusal = rule.check("write to", c"/etc/../etc/passwd").expect_err("refused");
    let text = refusal.to_string();
    assert!(text.contains("\"/etc/../etc/passwd\" (that is /etc/passwd)"), "{text}");
    // The file itself where it is there, else where it is to be.
    assert!(text.ends_with("add --allow /etc/passwd"), "{text}");
    let refusal = rule.check("write to", c"/etc/no-such-file").expect_err("refused").to_string();
    assert!(refusal.ends_with("add --allow /etc"), "{refusal}");
    assert!(rule.check("write to", &c(&home.path().join("x"))).is_ok());
}

#[test]
fn a_directory_that_the_run_can_replace_is_known_as_such_while_a_link_stands_in_its_place() {
    let home = tempfile::tempdir().expect("a directory");
    let folder = home.path().canonicalize().expect("there");
    std::fs::create_dir(folder.join("steady")).expect("mkdir");
    std::os::unix::fs::symlink(".", folder.join("link")).expect("symlink");
    let mut confinement = confinement(&folder);
    confinement.set_concurrent();
    for (directory, replaceable) in [("steady", false), ("link", true), ("link/steady", true), ("none", true)]
    {
        for end in ["f", "./f"] {
            let around = confinement
                .check("write to", &c(&folder.join(format!("{directory}/{end}"))))
                .expect("allowed");
            assert_eq!(around.replaceable, replaceable, "{directory}/{end}");
            assert_eq!(confinement.must_hold(around), replaceable);
        }
    }
}

/// Another rank still runs, and puts a link to the user's directory in the place of the run's, all the time.
#[test]
fn what_is_removed_is_what_was_looked_at_while_directories_change_their_places() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let home = tempfile::tempdir().expect("a directory");
    let folder = home.path();
    let users = folder.join("thesis.txt");
    std::fs::write(&users, "the user's").expect("write");
    std::fs::create_dir(folder.join("a")).expect("mkdir");
    std::os::unix::fs::symlink(".", folder.join("l")).expect("symlink");
    let inside = std::fs::File::open(folder.join("a")).expect("there");
    let inside = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&inside));
    let over = std::sync::atomic::AtomicBool::new(false);
    let (mut removed, rounds) = (0, 25);
    let own = Ownership::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let (a, l) = (folder.join("a"), folder.join("l"));
                renameat_with(CWD, a, CWD, l, RenameFlags::EXCHANGE).expect("exchanged");
            }
        });
        for _ in 0..rounds {
            let region = region();
            let mut registry = Registry::new(&region, Moment::now());
            for name in std::iter::once("thesis.txt".to_owned()).chain((0..150).map(|n| n.to_string())) {
                let (real, path) = (Path::new(&inside).join(&name), folder.join("a").join(&name));
                // Left by the round before, where a link stood there.
                drop(std::fs::remove_file(&real));
                registry.intend(&c(&path), Evidence::Birth);
                std::fs::write(&real, "ours").expect("write");
                registry.settle(&c(&path), 0);
                own.made(look(&c(&real)).expect("there").object());
            }
            removed += clean(&created(&region), Some(&own)).removed();
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(std::fs::read_to_string(&users).expect("there"), "the user's");
    assert!(removed > rounds, "what is found is removed: {removed}");
}
