//! Every file that is not a whole run of this version is refused with its cause, never a panic.

use std::path::Path;

use samples::{Run, Sample, Site};
use store::Error;

fn small_run() -> Run {
    let sample = |n: u64| Sample {
        start_ns: n * 1_000_003,
        duration_ps: 77_000 * (n % 17) + 5_000_000,
        bytes: 4096,
        rank: (n / 200) as u32,
        batch: 1,
        ..Sample::default()
    };
    let facts =
        samples::Facts { name: "small".into(), seed: 77, ranks: 4, elapsed_s: 12.5, ..Default::default() };
    let sites =
        vec![Site { line: 3, labels: vec!["write".into()], operation: "fwrite".into(), ..Site::default() }];
    Run { facts, sites, samples: (0..800).map(sample).collect() }
}

fn written() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    store::write(&path, &small_run()).unwrap();
    std::fs::read(path).unwrap()
}

fn refusal(content: &[u8]) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    std::fs::write(&path, content).unwrap();
    store::read(&path).unwrap_err()
}

#[test]
fn a_file_cut_anywhere_is_refused_with_its_cause() {
    let whole = written();
    for length in (0..64).chain((64..whole.len()).step_by(97)).chain(whole.len() - 64..whole.len()) {
        let error = refusal(&whole[..length]);
        match length {
            0..4 => assert!(matches!(error, Error::NotParquet { .. }), "{length}: {error}"),
            _ => assert!(matches!(error, Error::Truncated { .. }), "{length}: {error}"),
        }
    }
}

#[test]
fn a_piece_missing_in_the_middle_is_refused() {
    let whole = written();
    for at in (4..whole.len() - 300).step_by(211) {
        let holed: Vec<u8> = whole[..at].iter().chain(&whole[at + 16..]).copied().collect();
        let error = refusal(&holed);
        assert!(matches!(error, Error::Damaged { .. } | Error::Foreign { .. }), "{at}: {error}");
    }
}

#[test]
fn changed_bytes_never_pass_as_another_run() {
    let whole = written();
    let expected = small_run();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let footer =
        whole.len() - 8 - u32::from_le_bytes(whole[whole.len() - 8..][..4].try_into().unwrap()) as usize;
    for at in (4..footer).step_by(7).chain(footer..whole.len() - 8) {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(&path, &changed).unwrap();
        // A change of the footer that touches neither data nor facts (statistics, say) goes unseen.
        if let Ok(run) = store::read(&path) {
            let same =
                (run.facts == expected.facts, run.sites == expected.sites, run.samples == expected.samples);
            assert_eq!(same, (true, true, true), "byte {at}: facts, sites, samples");
        }
    }
}

#[test]
fn other_files_are_told_apart() {
    assert_eq!(said(b"x,y\n1,2\n"), "is not a run file: it is not Parquet (it does not begin with PAR1)");
    assert_eq!(said(b""), "is not a run file: it is not Parquet (it is empty)");
    assert_eq!(
        said(b"PAR1 and no more"),
        "is cut short: it begins as Parquet but its footer is missing; copy it again"
    );
}

#[test]
fn a_newer_schema_names_itself() {
    let mut newer = written();
    let at = newer.windows(14).rposition(|w| w == b"lastrank.run/1").unwrap();
    newer[at + 13] = b'7';
    let text = refusal(&newer).to_string();
    assert!(
        text.ends_with(
            "was written by a newer lastrank (schema lastrank.run/7; this one reads lastrank.run/1)"
        ),
        "{text}"
    );
}

#[test]
fn parquet_of_another_tool_is_foreign() {
    let mut foreign = written();
    let at = foreign.windows(15).rposition(|w| w == b"lastrank.schema").unwrap();
    foreign[at] = b'X';
    assert!(matches!(refusal(&foreign), Error::Foreign { .. }));
}

#[test]
fn a_small_file_that_would_take_all_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let sites = vec![Site::default()];
    let mut writer = store::Writer::create(&path, &sites).unwrap();
    let alike = vec![Sample { batch: 1, ..Sample::default() }; 1 << 18];
    // 320 MiB of samples that are all the same.
    for _ in 0..20 {
        writer.append(&alike).unwrap();
    }
    writer.finish(&samples::Facts::default()).unwrap();
    let length = path.metadata().unwrap().len();
    assert!(length < 1 << 20, "{length}");
    assert!(matches!(store::read(&path).unwrap_err(), Error::Bomb { .. }));
}

/// A file that is a footer alone.
fn of_footer(footer: &[u8]) -> Vec<u8> {
    let mut file = b"PAR1".to_vec();
    file.extend(footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    file
}

/// A list of 2^31 - 1 items, after the type of its items.
const ENDLESS: [u8; 5] = [0xff, 0xff, 0xff, 0xff, 0x07];

#[test]
fn a_few_bytes_do_not_keep_the_library_busy() {
    // Five unknown fields, each a list of 2^31 - 1 truth values, which take no bytes: seconds each for the library.
    let lists = [&[0x09, 0x70, 0xf1][..], &ENDLESS].concat().repeat(5);
    let file = of_footer(&lists);
    assert!(file.len() < 60);
    assert_eq!(
        said(&file),
        "is damaged: Parquet error: the footer has a list of truth values, which Parquet has nowhere"
    );
    // The same within a text under the number of `version`, whose type the library does not look at.
    let hidden = [&[0x18, lists.len() as u8][..], &lists, &[0]].concat();
    assert!(said(&of_footer(&hidden)).contains("a field of another type"));
    let map = [&[0xeb][..], &ENDLESS, &[0x11, 0]].concat();
    assert!(said(&of_footer(&map)).contains("a map of truth values"));
}

#[test]
fn a_few_bytes_do_not_take_all_memory_or_the_whole_stack() {
    let group = |children: &[u8]| [&[0x35, 0, 0x18, 1, b'g', 0x15][..], children, &[0]].concat();
    // A group of 2^30 columns.
    let wide = [&[0x29, 0x1c][..], &group(&[0x80, 0x80, 0x80, 0x80, 0x08]), &[0]].concat();
    assert!(said(&of_footer(&wide)).contains("a number that is too large"));
    // A million groups within each other.
    let deep = [&[0x29, 0xfc, 0xc0, 0x84, 0x3d][..], &group(&[2]).repeat(1_000_000), &[0]].concat();
    assert!(said(&of_footer(&deep)).contains("a list that is too long"));
}

#[test]
fn an_empty_directory_and_a_missing_file_say_so() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        store::read(folder.path())
            .unwrap_err()
            .to_string()
            .ends_with("the directory holds no `part-*.parquet`")
    );
    let said = store::read(Path::new("/nowhere/run.parquet")).unwrap_err().to_string();
    assert!(said.starts_with("cannot read /nowhere/run.parquet: No such file"), "{said}");
}

fn said(content: &[u8]) -> String {
    let text = refusal(content).to_string();
    text.split_once(".parquet ").unwrap().1.to_string()
}
