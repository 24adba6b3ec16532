//! What the footer of a large run says of its samples.

use std::fs;
use std::path::{Path, PathBuf};

use samples::{Facts, Reduced, Run, Sample, Site};

fn large() -> Run {
    let sample = |n: u64| Sample {
        start_ns: n * 1_003,
        duration_ps: 77_000 * (n % 1_717) + 5_000_000,
        bytes: 4096,
        rank: (n / 35_000) as u32,
        site: (n / 17_500 % 2) as u32,
        batch: 1,
        ..Sample::default()
    };
    let site = |line| Site { line, operation: "fread".into(), ..Site::default() };
    let facts = Facts { name: "~~~large~~~".into(), ranks: 2, elapsed_s: 1.5, ..Facts::default() };
    Run { facts, sites: vec![site(3), site(4)], samples: (0..70_000).map(sample).collect() }
}

fn written(folder: &Path, run: &Run) -> PathBuf {
    let path = folder.join("run.parquet");
    store::write(&path, run).unwrap();
    path
}

#[test]
fn sums_in_the_footer_are_those_of_the_samples() {
    let folder = tempfile::tempdir().unwrap();
    let run = large();
    let path = written(folder.path(), &run);
    let begin = std::time::Instant::now();
    let mut sums = Reduced::of(&run);
    println!("{:.1} ns a sample", begin.elapsed().as_secs_f64() / run.samples.len() as f64 * 1e9);
    if sums.encode().len() > run.samples.len() {
        sums.leave_out_steps();
    }
    assert_eq!(store::reduced(&path), Some(sums));
    let size = fs::metadata(&path).unwrap().len();
    let small = Run { samples: run.samples[..1000].to_vec(), ..run.clone() };
    assert_eq!(store::reduced(&written(folder.path(), &small)), None);
    println!("{size} bytes");
    // Few samples have no place for an answer.
    assert!(!store::keep_answer(&path, &run.facts, "{}"));
}

#[test]
fn an_answer_is_kept_once_and_for_its_own_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = large();
    let path = written(folder.path(), &run);
    assert!(store::kept_answer(&path).is_none(), "there is none yet");
    let before = fs::read(&path).unwrap();
    let other = Facts { elapsed_s: 1.6, ..run.facts.clone() };
    assert!(!store::keep_answer(&path, &other, "{}"), "of another run");
    assert!(!store::keep_answer(&path, &run.facts, &"x".repeat(1 << 14)), "too long");
    assert_eq!(fs::read(&path).unwrap(), before);
    // Letters of several bytes take no more than the place.
    let of_letters = r#"{"p50":1,"name":"größe µs ✔"}"#;
    assert!(store::keep_answer(&path, &run.facts, of_letters));
    assert_eq!(fs::metadata(&path).unwrap().len(), before.len() as u64);
    assert_eq!(fs::read(&path).unwrap()[before.len() - 70..], before[before.len() - 70..]);
    assert!(!store::keep_answer(&path, &run.facts, r#"{"p50":2}"#));
    let (found, answer) = store::kept_answer(&path).expect("kept");
    assert_eq!((found.facts, found.sites, found.samples.len()), (run.facts.clone(), run.sites.clone(), 0));
    assert_eq!(answer, of_letters);
    let read = store::read(&path).unwrap();
    assert_eq!((read.samples, read.facts), (run.samples, run.facts));
}

#[test]
fn no_changed_byte_passes_as_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let run = large();
    let path = written(folder.path(), &run);
    assert!(store::keep_answer(&path, &run.facts, r#"{"p50":1}"#));
    let good = store::kept_answer(&path);
    let whole = fs::read(&path).unwrap();
    let key = whole.windows(15).rposition(|found| found == b"lastrank.answer").unwrap();
    let answer = key + 15..key + 45;
    for at in (4..whole.len()).step_by(4_999).chain(key - 300..key + 60).chain(whole.len() - 400..whole.len())
    {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        fs::write(&path, &changed).unwrap();
        let found = store::kept_answer(&path);
        let same = found.is_none() || found.as_ref().map(|one| &one.1) == good.as_ref().map(|one| &one.1);
        assert!(same, "byte {at}");
        assert!(found.is_none() || !answer.contains(&at), "byte {at} of the answer");
    }
}

#[test]
fn an_answer_of_parts_is_kept_in_the_first_and_holds_for_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("run.parts");
    let mut run = large();
    run.facts.job = "7".into();
    let site = |operation: &str| Site { line: 9, operation: operation.into(), ..Site::default() };
    for rank in [0, 1] {
        // The second rank has sites of its own, under other numbers.
        run.sites = if rank == 0 { vec![site("a"), site("b")] } else { vec![site("b"), site("c")] };
        run.samples.iter_mut().for_each(|sample| sample.rank = rank);
        store::write_part(&parts, rank, &run).unwrap();
    }
    let whole = store::read(&parts).unwrap();
    let mut sums = store::reduced(&parts).expect("of both");
    let mut wanted = Reduced::of(&whole);
    sums.leave_out_steps();
    wanted.leave_out_steps();
    assert_eq!(sums, wanted);
    assert!(store::kept_answer(&parts).is_none());
    let other = Facts { job: "8".into(), ..whole.facts.clone() };
    assert!(!store::keep_answer(&parts, &other, "{}"), "of another job");
    assert!(store::keep_answer(&parts, &whole.facts, r#"{"p50":1}"#));
    let kept = || store::kept_answer(&parts);
    let (found, answer) = kept().expect("kept");
    assert_eq!((found.facts, found.sites, answer.as_str()), (whole.facts, whole.sites, r#"{"p50":1}"#));
    // A part alone has no answer, and the others no other one.
    assert!(store::kept_answer(&parts.join("part-00001.parquet")).is_none());
    assert!(store::kept_answer(&parts.join("part-00000.parquet")).is_none());
    let second = parts.join("part-00001.parquet");
    let bytes = fs::read(&second).unwrap();
    for at in [100, 4_000] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&second, &changed).unwrap();
        assert!(kept().is_none(), "byte {at}");
    }
    fs::remove_file(&second).unwrap();
    assert!(kept().is_none());
    fs::write(&second, &bytes).unwrap();
    fs::write(parts.join("part-00002.parquet"), &bytes).unwrap();
    assert!(kept().is_none());
    fs::remove_file(parts.join("part-00002.parquet")).unwrap();
    assert!(kept().is_some());
}
