//! What is removed when all processes of a run were killed: what it made, whoever has its names and directories by now.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use record::SampleRegion;

use super::*;

fn c(path: &str) -> CString {
    CString::new(path).expect("no NUL")
}

/// A run in a folder, which keeps what it makes in a file.
struct Killed {
    home: tempfile::TempDir,
    kept: File,
    own: Ownership,
    region: Arc<SampleRegion>,
    registry: Registry,
}

impl Killed {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let region = Arc::new(SampleRegion::new(0, 64, &std::env::temp_dir()).expect("a region"));
        let registry = Registry::new(&region, Moment::now());
        let kept = tempfile::tempfile().expect("a file");
        let own = Ownership::kept_in(&kept);
        Self { home, kept, own, region, registry }
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.home.path().join(path)
    }

    fn made(&mut self, path: &str, make: impl FnOnce(&Path)) {
        self.registry.intend(&c(path), Evidence::Birth);
        make(&self.at(path));
        let real = CString::new(self.at(path).as_os_str().as_bytes()).expect("no NUL");
        self.own.made(look(&real).expect("there").object());
        self.registry.settle(&c(path), 0);
    }

    fn file(&mut self, path: &str) {
        self.made(path, |path| fs::write(path, "made").expect("written"));
    }

    fn folder(&mut self, path: &str) {
        self.made(path, |path| fs::create_dir(path).expect("mkdir"));
    }

    fn renamed(&mut self, from: &str, to: &str) {
        fs::rename(self.at(from), self.at(to)).expect("a rename");
        self.registry.renamed(&c(from), &c(to), true);
    }

    /// What `recover` does when nobody is left who knows more than the files.
    fn recovered(&self) -> Cleaned {
        let own = Ownership::left(self.kept.try_clone().expect("a descriptor")).expect("kept whole");
        clean_in(self.home.path(), &created(&self.region), Some(&own))
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }
}

#[test]
fn what_the_user_renamed_over_a_name_of_the_run_stays() {
    let mut run = Killed::new();
    run.file("result");
    run.file("other");
    fs::write(run.at(".tmp"), "thesis").expect("written");
    fs::rename(run.at(".tmp"), run.at("result")).expect("a rename");
    // The program writes to the name again, and is refused, or has it open still.
    run.registry.intend(&c("result"), Evidence::Birth);
    run.registry.settle(&c("result"), 0);
    assert_eq!(run.recovered(), Cleaned { files: 1, ..Cleaned::default() });
    assert_eq!((run.text("result").as_deref(), run.text("other")), (Some("thesis"), None));
}

#[test]
fn no_link_of_the_run_leads_what_is_removed_to_files_of_the_user() {
    for target in [".", "..", "docs"] {
        let mut run = Killed::new();
        fs::create_dir(run.at("docs")).expect("mkdir");
        run.folder("mine");
        run.folder("mine/docs");
        run.file("x");
        let (from, to) = (run.at("x"), run.at("mine/docs/thesis"));
        run.made("mine/docs/thesis", |_| fs::hard_link(from, to).expect("a link"));
        run.registry.linked(&c("x"), &c("mine/docs/thesis"));
        run.file("mine/thesis");
        run.registry.intend(&c("mine/cut"), Evidence::Birth);
        for name in ["thesis", "docs/thesis", "docs/cut", "cut"] {
            fs::write(run.at(name), "").expect("written");
        }
        // Another rank renames: this one's names are as they were.
        fs::rename(run.at("mine"), run.at("o")).expect("a rename");
        let mine = run.at("mine");
        run.made("l", |path| symlink(target, path).expect("a link"));
        fs::rename(run.at("l"), &mine).expect("a rename");
        let cleaned = run.recovered();
        for name in ["thesis", "docs/thesis", "docs/cut", "cut"] {
            assert!(run.at(name).exists(), "{target}: {name} {cleaned:?}");
        }
        assert!(!run.at("x").exists() && !cleaned.left.is_empty(), "{target}: {cleaned:?}");
    }
}

#[test]
fn links_of_the_user_and_those_within_what_the_run_made_are_followed() {
    let mut run = Killed::new();
    let scratch = tempfile::tempdir().expect("a directory");
    symlink(scratch.path(), run.at("data")).expect("a link");
    run.file("data/f");
    run.folder("a");
    run.made("l", |path| symlink("a", path).expect("a link"));
    run.file("l/f");
    let cleaned = run.recovered();
    assert_eq!((cleaned.removed(), cleaned.left.len()), (4, 0));
    assert_eq!(fs::read_dir(scratch.path()).expect("there").count(), 0);
}

#[test]
fn of_a_call_that_was_cut_short_nothing_goes_that_the_user_may_have_made() {
    let mut run = Killed::new();
    type Makes = fn(&Path) -> std::io::Result<()>;
    let makes: [(&str, Makes); 4] = [
        ("empty", |path| fs::write(path, "")),
        ("written", |path| fs::write(path, "thesis")),
        ("folder", |path| fs::create_dir(path)),
        ("link", |path| symlink("thesis", path)),
    ];
    for (name, make) in makes {
        run.registry.intend(&c(name), Evidence::Birth);
        make(&run.at(name)).expect("made");
    }
    // What the run said of before it was killed is its own, and so are names that lastrank drew.
    run.file("made");
    run.registry.intend(&c("made"), Evidence::Birth);
    run.registry.intend(&c(".lastrank-names-1"), Evidence::Birth);
    fs::write(run.at(".lastrank-names-1"), "").expect("written");
    for own in [Some(()), None] {
        let cleaned = match own {
            Some(()) => run.recovered(),
            None => clean_in(run.home.path(), &created(&run.region), None),
        };
        assert_eq!((cleaned.removed(), cleaned.left.len()), (if own.is_some() { 2 } else { 0 }, makes.len()));
        for (name, _) in makes {
            assert!(run.at(name).symlink_metadata().is_ok(), "{name}");
            assert!(cleaned.left.iter().any(|(path, _)| *path == run.at(name)), "{name}");
        }
    }
}

#[test]
fn what_an_earlier_run_left_and_this_one_emptied_stays() {
    let mut run = Killed::new();
    fs::write(run.at("old"), "").expect("written");
    std::thread::sleep(std::time::Duration::from_millis(50));
    let run = {
        let home = std::mem::replace(&mut run.home, tempfile::tempdir().expect("a directory"));
        let mut later = Killed { home, ..Killed::new() };
        later.file("old");
        later.folder("d");
        later.renamed("d", "e");
        later.file("e/f");
        later
    };
    assert_eq!(run.recovered().removed(), 2);
    assert!(run.at("old").exists());
}

/// Without confinement nobody looks at what is made.
#[test]
fn a_run_that_knows_no_objects_leaves_what_is_younger_than_its_calls_and_names_it() {
    let mut run = Killed::new();
    run.file("f");
    run.file("g");
    std::thread::sleep(std::time::Duration::from_millis(50));
    fs::write(run.at(".tmp"), "thesis").expect("written");
    fs::rename(run.at(".tmp"), run.at("f")).expect("a rename");
    run.registry.settle(&c("f"), 0);
    fs::write(run.at("user"), "").expect("written");
    run.renamed("user", "u");
    let cleaned = clean_in(run.home.path(), &created(&run.region), None);
    let left: Vec<_> = cleaned.left.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!((cleaned.removed(), left), (1, vec![run.at("f"), run.at("u")]));
}

#[test]
fn a_table_is_read_back_as_it_was_kept() {
    let file = tempfile::tempfile().expect("a file");
    let own = Ownership::kept_in(&file);
    let object = |inode| Object { device: (8, 1), inode, born_ns: 1, changed_ns: 0 };
    (0..50_000).for_each(|inode| own.made(&object(inode)));
    own.gone(&object(7));
    drop(own);
    let left = Ownership::left(file.try_clone().expect("a descriptor")).expect("whole");
    assert!((0..50_000).all(|inode| left.is_made(&object(inode)) == (inode != 7)));
    assert!(!left.forgets());
    left.made(&object(50_001));
    file.set_len(4096).expect("cut");
    assert!(Ownership::left(file).is_none());
    assert!(Ownership::left(tempfile::tempfile().expect("a file")).is_none());
}
