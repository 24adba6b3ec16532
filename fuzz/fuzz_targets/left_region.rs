//! Samples that a killed run left: a whole folder of a run in which the input overwrites places is read within its
//! length, or refused; never a panic.
#![no_main]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use record::live::{Found, LeftFolder, LiveFolder};
use record::{Entry, FailureKey, Recorder};
use samples::{JudgementExample, Sample, Site};
use tempfile::TempDir;

/// Of the header, and of each part behind it, so many bytes can be overwritten.
const REACH: u64 = 4096;
/// Samples that the region has room for; further ones are spilled.
const ROOM: usize = 64;

/// A folder that a run left, and what stands in the places that an input may change.
struct Left {
    _home: TempDir,
    folder: PathBuf,
    memory: File,
    length: u64,
    whole: Vec<(u64, Vec<u8>)>,
}

static LEFT: LazyLock<Left> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let home = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap();
    let folder = home.path().join("live");
    let live = LiveFolder::make(&folder, home.path(), b"{}").unwrap();
    {
        let mut recorder = Recorder::new(Arc::new(live.region(0, ROOM).unwrap())).unwrap();
        recorder.site(&Site { line: 3, operation: "fwrite".into(), ..Site::default() }).unwrap();
        recorder.site(&Site { labels: vec!["a label".into()], ..Site::default() }).unwrap();
        let of = FailureKey { errno: 5, ..FailureKey::default() };
        let example = JudgementExample { text: "it failed".into(), ..JudgementExample::default() };
        recorder.note(&Entry::Failure { of, example }).unwrap();
        for number in 0..48 {
            recorder.begin(0);
            recorder.push(Sample { start_ns: number, duration_ps: 7, ..Sample::default() }).unwrap();
        }
    }
    drop(live);
    let memory = OpenOptions::new().read(true).write(true).open(folder.join("rank-0.live")).unwrap();
    let length = memory.metadata().unwrap().len();
    let parts = [0, REACH, length - ROOM as u64 * size_of::<Sample>() as u64];
    let read = |at: u64| {
        let mut bytes = vec![0; REACH.min(length - at) as usize];
        memory.read_exact_at(&mut bytes, at).unwrap();
        (at, bytes)
    };
    let whole = parts.map(read).to_vec();
    Left { _home: home, folder, memory, length, whole }
});

fuzz_target!(|bytes: &[u8]| {
    let left = &*LEFT;
    // Each change: which part, where in it, how many bytes, and these.
    let mut rest = bytes;
    while let [part, low, high, count, following @ ..] = rest {
        let (start, _) = left.whole[usize::from(*part) % left.whole.len()];
        let at = start + u64::from(u16::from_le_bytes([*low, *high])) % REACH;
        let (new, after) = following.split_at(usize::from(*count % 16).min(following.len()));
        let room = left.length.saturating_sub(at).min(new.len() as u64) as usize;
        left.memory.write_all_at(&new[..room], at).unwrap();
        rest = after;
    }
    if let Ok(Found::Left(found)) = LeftFolder::look(&left.folder)
        && let Ok(region) = found.region(0)
    {
        let _ = record::read(&region);
    }
    for (start, whole) in &left.whole {
        left.memory.write_all_at(whole, *start).unwrap();
    }
});
