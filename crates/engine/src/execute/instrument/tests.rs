//! Between the two clock reads of an operation no memory is asked for.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use super::*;
use crate::content::Author;
use crate::driver::AttributeChange;
use crate::execute::call::Target;
use crate::files::{Confinement, Moment, Ownership, Registry};
use ranks::layout::{Direction, Layout, ParallelMode, Pieces, SharedPieces, View, ViewKind};
use ranks::{ControlBlock, Processes, StopFlag};
use record::SampleRegion;

fn posix(home: &std::path::Path) -> Instrument {
    let region = Arc::new(SampleRegion::new(0, 64, &std::env::temp_dir()).expect("a region"));
    let settings = InstrumentSettings {
        clock: clock::Clock::monotonic(),
        author: Author::default(),
        registry: Registry::new(&region, Moment::now()),
        ownership: Ownership::new(),
        confinement: Confinement::rooted(home),
        stop: StopFlag::default(),
        causes: false,
    };
    Instrument::new(AnyDriver::Posix(crate::driver::Posix::default()), settings)
}

/// A number for each kind of call: a new kind does not compile without its place in the test below.
fn kind(call: &Call<'_>) -> u32 {
    match call {
        Call::Open { .. } => 0,
        Call::Close { .. } => 1,
        Call::Sync { .. } => 2,
        Call::Write { .. } => 3,
        Call::Read { .. } => 4,
        Call::Seek { .. } => 5,
        Call::WriteFile { .. } => 6,
        Call::ReadFile { .. } => 7,
        Call::MapFile { .. } => 8,
        Call::Create { .. } => 9,
        Call::Delete { .. } => 10,
        Call::Unlink { .. } => 11,
        Call::RemoveDirectory { .. } => 12,
        Call::MakeDirectory { .. } => 13,
        Call::Rename { .. } => 14,
        Call::Link { .. } => 15,
        Call::SymbolicLink { .. } => 16,
        Call::Stat { .. } => 17,
        Call::Lookup { .. } => 18,
        Call::Change { .. } => 19,
        Call::Truncate { .. } => 20,
        Call::Allocate { .. } => 21,
        Call::Advise { .. } => 22,
        Call::Cached { .. } => 23,
        Call::DirectAlignment { .. } => 24,
        Call::ReadDirectory { .. } => 25,
        Call::SyncAll => 26,
        Call::DropCaches => 27,
        Call::TakeMemory { .. } => 28,
        Call::GiveBackMemory { .. } => 29,
        Call::Stripe { .. } => 30,
        Call::StatOpen { .. } => 31,
        Call::Copy { .. } => 32,
        Call::ChangeOpen { .. } => 33,
        Call::Attribute { .. } => 34,
        Call::AttributeOpen { .. } => 35,
    }
}

#[test]
fn no_memory_is_asked_for_between_the_clock_reads_of_any_command() {
    let home = tempfile::tempdir().expect("a directory");
    let path = |name: &str| CString::new(home.path().join(name).as_os_str().as_bytes()).expect("no NUL");
    let (a, b, c, d, l, s) = (path("a"), path("b"), path("c"), path("d"), path("l"), path("s"));
    let (file, length) = (0, 5000);
    let calls = [
        Call::Open { path: &a, flags: libc::O_RDWR | libc::O_CREAT, mode: 0o600 },
        Call::Write { file, length, offset: None, buffer: None },
        Call::Write { file, length, offset: Some(7), buffer: None },
        Call::Read { file, length: Some(length), offset: Some(7) },
        Call::Read { file, length: None, offset: None },
        Call::Copy { from: file, to: file, length: 100, offsets: (Some(0), Some(length)) },
        Call::Sync { file, data_only: false },
        Call::Sync { file, data_only: true },
        Call::Seek { file, offset: 5, whence: libc::SEEK_SET },
        Call::Truncate { file, length: 100 },
        Call::Allocate { file, offset: 0, length: 1 << 16, mode: 0 },
        Call::Advise { file, offset: 0, length: 0, advice: libc::POSIX_FADV_RANDOM },
        Call::StatOpen { file },
        Call::ChangeOpen { file, change: AttributeChange::Mode(0o600) },
        Call::ChangeOpen { file, change: AttributeChange::Owner },
        Call::ChangeOpen { file, change: AttributeChange::Times },
        Call::Cached { file },
        Call::DirectAlignment { file },
        Call::TakeMemory { length, filled: true },
        Call::Write { file, length: 100, offset: None, buffer: Some(0) },
        Call::GiveBackMemory { buffer: 0 },
        Call::Close { file },
        Call::WriteFile { path: &b, length, offset: 0, flags: 0, buffer: None },
        Call::WriteFile { path: &b, length, offset: 0, flags: libc::O_APPEND, buffer: None },
        Call::ReadFile { path: &b, length: None, offset: 0, flags: 0 },
        Call::MapFile { path: &b, length: None, offset: 0 },
        Call::Stat { path: &b },
        Call::Lookup { path: &b },
        Call::Change { path: &b, change: AttributeChange::Mode(0o600) },
        Call::Change { path: &b, change: AttributeChange::Owner },
        Call::Change { path: &b, change: AttributeChange::Times },
        Call::Create { path: &c },
        Call::MakeDirectory { path: &d, mode: 0o700 },
        Call::ReadDirectory { path: &d },
        Call::Link { from: &b, to: &l },
        Call::SymbolicLink { target: &b, path: &s },
        Call::Stripe { path: &d, count: 1, size: None },
        Call::RemoveDirectory { path: &d },
        Call::Unlink { path: &l },
        Call::Delete { path: &s },
        Call::Rename { from: &b, to: &c },
    ];
    let mut instrument = posix(home.path());
    // Those of the whole machine are not made here.
    let mut seen = 1_u64 << kind(&Call::SyncAll) | 1 << kind(&Call::DropCaches);
    // Nor those that this file system may not have, which a test of their own makes.
    seen |=
        1 << kind(&Call::Attribute { path: &a, key: &a }) | 1 << kind(&Call::AttributeOpen { file, key: &a });
    for call in calls {
        instrument.layer.bracket.allocated = u64::MAX;
        let timed = instrument.perform(None, call).expect("allowed");
        assert!(timed.outcome.ok(), "{call:?}: {:?}", timed.outcome);
        assert_eq!(instrument.layer.bracket.allocated, 0, "{call:?}");
        seen |= 1 << kind(&call);
    }
    assert_eq!(seen, (1 << 36) - 1, "a kind of call is missing above");
}

#[test]
fn no_memory_is_asked_for_between_the_clock_reads_of_extended_attributes() {
    let home = tempfile::tempdir().expect("a directory");
    let path = CString::new(home.path().join("a").as_os_str().as_bytes()).expect("no NUL");
    let (file, key) = (0, c"user.kind");
    let set = AttributeChange::Set { key, size: 100 };
    let mut instrument = posix(home.path());
    let flags = libc::O_RDWR | libc::O_CREAT;
    instrument.perform(None, Call::Open { path: &path, flags, mode: 0o600 }).expect("allowed");
    let calls = [
        (Call::Change { path: &path, change: set }, 0),
        (Call::Attribute { path: &path, key }, 100),
        (Call::ChangeOpen { file, change: AttributeChange::Set { key, size: 7 } }, 0),
        (Call::AttributeOpen { file, key }, 7),
        (Call::ChangeOpen { file, change: AttributeChange::Remove { key } }, 0),
        (Call::Change { path: &path, change: set }, 0),
        (Call::Change { path: &path, change: AttributeChange::Remove { key } }, 0),
    ];
    for (call, value) in calls {
        instrument.layer.bracket.allocated = u64::MAX;
        let timed = instrument.perform(None, call).expect("allowed");
        if timed.outcome.errno == libc::EOPNOTSUPP {
            println!("skipped: the file system has no attributes of users");
            return;
        }
        assert!(timed.outcome.ok() && timed.outcome.value == value, "{call:?}: {:?}", timed.outcome);
        assert_eq!(instrument.layer.bracket.allocated, 0, "{call:?}");
    }
    let none = instrument.perform(None, Call::Attribute { path: &path, key }).expect("allowed");
    assert_eq!(none.outcome.errno, libc::ENODATA);
}

#[test]
fn no_memory_is_asked_for_between_the_clock_reads_of_a_group() {
    let home = tempfile::tempdir().expect("a directory");
    let path = CString::new(home.path().join("f").as_os_str().as_bytes()).expect("no NUL");
    let mut instrument = posix(home.path());
    let block = ControlBlock::new(1, None).expect("memory");
    let comm = Processes::world(block, 0);
    let mode = ParallelMode { create: true, read: true, write: true };
    let mut all = vec![Collective::Open(&path, mode)];
    let kinds = |level| [ViewKind::Row, ViewKind::Table].map(|kind| Layout::in_turn(kind, (3, 1000), level));
    let pieces = SharedPieces(Arc::new(Pieces::new([(0, 10), (4000, 500)], (2, 4500, true), View::Listed)));
    let layouts: Vec<Layout> = (0..4)
        .flat_map(|level| kinds(level).into_iter().chain([Layout::of_pieces(pieces.clone(), level)]))
        .collect();
    for layout in &layouts {
        for direction in [Direction::Write, Direction::Read] {
            all.push(Collective::Transfer(Target::File(0), direction, layout));
            all.push(Collective::Transfer(Target::Path(&path), direction, layout));
        }
    }
    all.extend([Collective::Close(0), Collective::Delete(&path)]);
    for what in all {
        instrument.layer.bracket.allocated = u64::MAX;
        let timed = instrument.together(None, what, &comm).expect("allowed");
        assert_eq!((timed.outcome.errno, instrument.layer.bracket.allocated), (0, 0), "{what:?}");
    }
}

/// The number of the file that was opened, or the errno; `None` where the call was left to [`Instrument::perform`].
fn opened_again(instrument: &mut Instrument, path: &CStr) -> Option<Result<u32, i32>> {
    instrument.layer.bracket.allocated = u64::MAX;
    let call = Call::Open { path, flags: libc::O_RDONLY, mode: 0 };
    let timed = instrument.perform_frequent(None, call)?;
    assert_eq!(instrument.layer.bracket.allocated, 0);
    Some(if timed.outcome.ok() { Ok(timed.outcome.value as u32) } else { Err(timed.outcome.errno) })
}

#[test]
fn a_file_that_is_opened_again_is_checked_by_its_name_only() {
    let home = tempfile::tempdir().expect("a directory");
    let (here, outside) = (home.path().join("here"), home.path().join("outside"));
    std::fs::create_dir(&here).expect("mkdir");
    std::fs::write(&outside, "text").expect("write");
    let path = |name: &str| CString::new(here.join(name).as_os_str().as_bytes()).expect("no NUL");
    let (a, b, up) = (path("a"), path("b"), path("../here/a"));
    let read = |path| Call::Open { path, flags: libc::O_RDONLY, mode: 0 };
    let mut instrument = posix(&here);
    let first = |instrument: &mut Instrument, path| {
        assert_eq!(opened_again(instrument, path), None, "{path:?} is checked at first");
        instrument.perform(None, read(path)).map(|timed| (timed.outcome.value as u32, timed.outcome.errno))
    };
    let write = Call::WriteFile { path: &a, length: 100, offset: 0, flags: 0, buffer: None };
    instrument.perform(None, write).expect("allowed");
    assert_eq!(first(&mut instrument, &a).expect("allowed"), (0, 0));
    assert_eq!(opened_again(&mut instrument, &a), Some(Ok(1)));
    assert_eq!((instrument.path_of(0), instrument.path_of(1)), (Some(&*a), Some(&*a)));
    // A number is used again; one that is closed is none.
    for errno in [0, libc::EBADF] {
        let closed = instrument.perform_frequent(None, Call::Close { file: 0 }).expect("frequent");
        assert_eq!((closed.outcome.errno, instrument.path_of(0)), (errno, None));
    }
    assert_eq!(opened_again(&mut instrument, &a), Some(Ok(0)));
    // Where `..` leads is asked each time.
    assert_eq!(first(&mut instrument, &up).expect("allowed"), (2, 0));
    assert_eq!(opened_again(&mut instrument, &up), None);
    assert_eq!(opened_again(&mut instrument, &a), Some(Ok(3)));
    // What has another name now is not there, and what is called so is looked up anew.
    instrument.perform(None, Call::Rename { from: &a, to: &b }).expect("allowed");
    assert_eq!(first(&mut instrument, &a).expect("allowed").1, libc::ENOENT);
    assert_eq!(opened_again(&mut instrument, &a), Some(Err(libc::ENOENT)));
    // A link in its place that leads out.
    std::os::unix::fs::symlink(&outside, here.join("a")).expect("symlink");
    assert!(first(&mut instrument, &a).is_err());
}

#[test]
fn a_file_without_a_name_is_the_runs_until_it_is_closed() {
    let home = tempfile::tempdir().expect("a directory");
    let mut instrument = posix(home.path());
    let own = instrument.layer.guard.ownership();
    let path = CString::new(home.path().as_os_str().as_bytes()).expect("no NUL");
    let call = Call::Open { path: &path, flags: libc::O_TMPFILE | libc::O_RDWR, mode: 0o600 };
    let opened = instrument.perform(None, call).expect("allowed");
    if opened.outcome.errno == libc::EOPNOTSUPP {
        return println!("skipped: no O_TMPFILE here");
    }
    assert_eq!(opened.outcome.errno, 0);
    let handle = instrument.layer.files.handle(opened.outcome.value as u32).expect("open");
    let object = *crate::files::look_at(handle.0 as i32).expect("there").object();
    assert!(own.is_made(&object));
    let closed = instrument.perform_frequent(None, Call::Close { file: opened.outcome.value as u32 });
    assert_eq!(closed.expect("frequent").outcome.errno, 0);
    // The file system may give its number to a file of the user at once.
    assert!(!own.is_made(&object));
}
