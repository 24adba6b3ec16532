//! What a run leaves is read back, and nothing else is believed or removed.

use std::sync::Arc;

use rustix::process::geteuid;
use samples::Sample;

use super::*;
use crate::{Recorder, read};

fn folder_with_samples(home: &Path) -> LiveFolder {
    let live = LiveFolder::make(&home.join("live"), home, b"{}").expect("a folder");
    let region = Arc::new(live.region(0, 1000).expect("a region"));
    let mut recorder = Recorder::new(region).expect("memory");
    let site = recorder.site(&samples::Site::default()).expect("room");
    for n in 0..100 {
        recorder.push(Sample { start_ns: n, site, batch: 1, ..Sample::default() }).expect("room");
    }
    live
}

#[test]
fn samples_are_read_back_when_every_process_is_gone() {
    let home = tempfile::tempdir().expect("a directory");
    let live = folder_with_samples(home.path());
    let path = live.path().to_owned();
    assert!(matches!(LeftFolder::look(&path), Ok(Found::UnderWay)));
    drop(live);
    let Ok(Found::Left(left)) = LeftFolder::look(&path) else { panic!("nobody holds it") };
    let record = read(&left.region(0).expect("whole")).expect("whole");
    assert_eq!(record.samples.len(), 100);
    left.remove(&[]);
    assert_eq!(std::fs::read_dir(home.path()).expect("there").count(), 0);
}

#[test]
fn a_file_that_is_changed_anywhere_in_its_header_is_read_within_its_length_or_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let live = folder_with_samples(home.path());
    let path = live.path().join("rank-0.live");
    let (length, folder) = (path.metadata().expect("there").len(), live.path().to_owned());
    drop(live);
    for at in (0..512).step_by(4) {
        for value in [0xff_u8, 0x7f, 1] {
            let file = File::options().write(true).read(true).open(&path).expect("there");
            let mut before = [0; 4];
            use std::os::unix::fs::FileExt;
            file.read_exact_at(&mut before, at).expect("in it");
            file.write_all_at(&[value; 4], at).expect("in it");
            let Ok(Found::Left(left)) = LeftFolder::look(&folder) else { panic!("nobody holds it") };
            if let Ok(region) = left.region(0) {
                // Whatever it says: a result, no crash.
                let _ = read(&region);
            }
            file.write_all_at(&before, at).expect("in it");
        }
    }
    for cut in [0, 100, 4096, length - 1] {
        File::options().write(true).open(&path).and_then(|file| file.set_len(cut)).expect("cut");
        let Ok(Found::Left(left)) = LeftFolder::look(&folder) else { panic!("nobody holds it") };
        assert!(left.region(0).is_err(), "{cut}");
    }
}

#[test]
fn a_link_in_the_place_of_a_file_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let live = folder_with_samples(home.path());
    let (path, folder) = (live.path().join("rank-0.live"), live.path().to_owned());
    drop(live);
    std::fs::rename(&path, home.path().join("moved")).expect("rename");
    std::os::unix::fs::symlink(home.path().join("moved"), &path).expect("symlink");
    let Ok(Found::Left(left)) = LeftFolder::look(&folder) else { panic!("nobody holds it") };
    assert!(left.region(0).is_err());
    std::os::unix::fs::symlink(&folder, home.path().join("link")).expect("symlink");
    assert!(LeftFolder::look(&home.path().join("link")).is_err());
}

#[test]
fn a_folder_that_is_being_made_has_no_name_before_its_lock() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("live");
    let (hidden, manifest) = LiveFolder::make_hidden(&path, b"{}").expect("a folder");
    // What `recover` does at this very moment finds nothing to recover, and leaves what it finds.
    assert!(matches!(LeftFolder::look(&path), Ok(Found::Gone)));
    assert!(matches!(LeftFolder::look(&hidden), Ok(Found::UnderWay)));
    sweep(home.path());
    assert!(hidden.join(MANIFEST).exists(), "its process lives");
    publish(&hidden, &path).expect("a free name");
    assert!(matches!(LeftFolder::look(&path), Ok(Found::UnderWay)), "it is locked from its first moment on");
    drop(manifest);
    assert!(matches!(LeftFolder::look(&path), Ok(Found::Left(_))));
}

#[test]
fn a_name_that_is_taken_is_not_replaced() {
    let home = tempfile::tempdir().expect("a directory");
    let live = folder_with_samples(home.path());
    assert!(LiveFolder::make(live.path(), home.path(), b"{}").is_err());
    assert!(live.path().join("rank-0.live").exists());
    let hidden = |entry: io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(BEGINS))
    };
    assert!(!std::fs::read_dir(home.path()).expect("there").any(hidden));
}

#[test]
fn what_a_process_did_not_live_to_finish_is_swept() {
    let home = tempfile::tempdir().expect("a directory");
    let (hidden, _) = LiveFolder::make_hidden(&home.path().join("live"), b"{}").expect("a folder");
    // The number of a process that is gone, or was given to another one since.
    let (process, start) = (std::process::id(), start_of("self").expect("there"));
    for dead in [format!("{BEGINS}4294967295-1-x"), format!("{BEGINS}{process}-{}-x", start + 1)] {
        std::fs::rename(&hidden, home.path().join(&dead)).expect("a rename");
        std::fs::create_dir(home.path().join(format!("{BEGINS}nonsense"))).expect("mkdir");
        sweep(home.path());
        assert!(!home.path().join(&dead).exists(), "{dead}");
        std::fs::remove_dir(home.path().join(format!("{BEGINS}nonsense"))).expect("left alone");
        std::fs::create_dir(&hidden).expect("mkdir");
    }
}

#[test]
fn a_folder_that_was_recovered_while_it_was_looked_at_is_gone() {
    let home = tempfile::tempdir().expect("a directory");
    let path = folder_with_samples(home.path()).path().to_owned();
    let late = own(CWD, &path.join(MANIFEST), OFlags::RDWR).expect("there");
    let Ok(Found::Left(first)) = LeftFolder::look(&path) else { panic!("nobody holds it") };
    first.remove(&[]);
    rustix::fs::flock(&late, FlockOperation::NonBlockingLockExclusive).expect("free");
    assert_eq!(fstat(&late).expect("open").st_nlink, 0, "by which the second one knows");
    assert!(matches!(LeftFolder::look(&path), Ok(Found::Gone)));
}

#[test]
fn only_a_file_of_the_name_that_a_run_gives_is_removed_with_it() {
    let home = tempfile::tempdir().expect("a directory");
    let path = folder_with_samples(home.path()).path().to_owned();
    let victim = home.path().join("mine.spill");
    std::fs::write(&victim, "the user's").expect("room");
    std::fs::remove_file(path.join("rank-0.spill")).expect("there");
    std::os::unix::fs::symlink(&victim, path.join("rank-0.spill")).expect("symlink");
    // It came in an archive, and somebody works in it.
    std::fs::write(path.join("thesis.live"), "the user's").expect("room");
    let Ok(Found::Left(left)) = LeftFolder::look(&path) else { panic!("nobody holds it") };
    left.remove(&[]);
    assert!(victim.exists() && path.join("thesis.live").exists() && !path.join("rank-0.live").exists());
}

#[test]
fn folders_of_others_are_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let path = folder_with_samples(home.path()).path().to_owned();
    let open_to = |mode| std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("chmod");
    for mode in [0o770, 0o707] {
        open_to(mode);
        assert!(LeftFolder::look(&path).is_err(), "{mode:o}");
    }
    open_to(0o700);
    if !geteuid().is_root() {
        println!("skipped: only root can give a folder away");
        return;
    }
    std::os::unix::fs::chown(&path, Some(65534), None).expect("root may");
    assert!(LeftFolder::look(&path).is_err());
    assert!(remove(&path).is_err() && path.join("rank-0.live").exists());
}

#[test]
fn what_a_removal_left_that_was_cut_short_is_removed_and_nothing_else() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("live");
    let made = LiveFolder::make(&path, home.path(), b"{}").expect("made");
    made.objects().expect("made");
    assert!(!LeftFolder::remove_rest(&path), "it has its manifest");
    std::fs::remove_file(path.join(MANIFEST)).expect("there");
    std::fs::write(path.join("thesis.txt"), "mine").expect("written");
    assert!(!LeftFolder::remove_rest(&path) && path.join(OBJECTS).exists());
    std::fs::remove_file(path.join("thesis.txt")).expect("there");
    assert!(LeftFolder::remove_rest(&path) && !path.exists());
}
