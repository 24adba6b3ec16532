//! Tests of the exports: content and hostile names.

use std::collections::BTreeMap;

use samples::{Facts, Run, Sample, Site, SiteKind};

use super::*;

/// Two ranks; a `time` block with a hostile name, a `ctime` block run twice with three calls, one failed.
fn example() -> Run {
    let site = |line, operation: &str, kind, labels: &[&str]| Site {
        line,
        column: 1,
        operation: operation.into(),
        kind,
        labels: labels.iter().map(ToString::to_string).collect(),
        group: String::new(),
        expects: None,
    };
    let sites = vec![
        site(1, "time", SiteKind::Time, &["a;b <\"&'\n,>"]),
        site(2, "fwrite", SiteKind::Operation, &["a;b <\"&'\n,>"]),
        site(4, "ctime", SiteKind::CommandTime, &["reads"]),
        site(5, "fread", SiteKind::Operation, &["reads"]),
        site(6, "stat", SiteKind::Operation, &["reads"]),
        site(8, "barrier", SiteKind::Barrier, &[]),
        site(9, "time", SiteKind::Time, &[]),
    ];
    let mut samples = Vec::new();
    for rank in 0..2 {
        let mut add = |site, start_ns, duration_us: u64, bytes, errno| {
            let duration_ps = duration_us * 1_000_000;
            samples.push(Sample {
                site,
                rank,
                start_ns,
                duration_ps,
                bytes,
                errno,
                batch: 1,
                ..Sample::default()
            });
        };
        add(1, 1_000, 500, 1 << 20, 0);
        add(0, 900, 600 + u64::from(rank), 1 << 20, 0);
        for turn in 0..2u64 {
            let start = 1_000_000 * (turn + 1);
            add(3, start + 10, 100, 4096, 0);
            add(4, start + 200_000, 50, 0, ENOENT);
            add(3, start + 300_000, 200 * (turn + 1), 4096, 0);
            add(2, start, 150 + 200 * (turn + 1), 8192, ENOENT);
        }
        add(5, 5_000_000, 7, 0, 0);
        add(6, 6_000_000, 1, 0, 0);
    }
    let facts = Facts {
        name: "example".into(),
        ranks: 2,
        started: "2026-01-02T03:04:05Z".into(),
        elapsed_s: 0.25,
        complete: true,
        parameters: BTreeMap::from([("dir".into(), "a\"b\u{1}".into())]),
        ..Facts::default()
    };
    Run { facts, sites, samples }
}

const ENOENT: i32 = 2;

fn exported(format: ExportFormat) -> String {
    let mut text = Vec::new();
    write(format, &example(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn the_text_of_the_original_is_rank_id_seconds() {
    insta::assert_snapshot!(exported(ExportFormat::ParabenchText));
}

#[test]
fn the_report_of_the_original_has_times_calls_and_commands() {
    insta::assert_snapshot!(exported(ExportFormat::ParabenchReport));
}

#[test]
fn the_xml_of_the_original_is_well_formed_whatever_the_names() {
    insta::assert_snapshot!(exported(ExportFormat::ParabenchXml));
}

#[test]
fn csv_has_a_line_a_sample_and_quotes_what_it_must() {
    insta::assert_snapshot!(exported(ExportFormat::Csv));
}

#[test]
fn a_failed_export_leaves_the_old_file_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    std::fs::write(&path, "old").unwrap();
    let failed = replace(&path, |out| {
        out.write_all(b"half")?;
        Err(io::Error::other("the disk is full"))
    });
    assert!(failed.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_six_times_of_a_run_stand_in_one_line_and_come_back_by_name() {
    let operations = ["alloc", "fopen", "fwrite", "fclose", "free"];
    let sites = operations.map(|operation| Site {
        operation: operation.into(),
        kind: SiteKind::Operation,
        ..Site::default()
    });
    let samples = (0..10u32).map(|n| {
        let (part, step) = (n % 5, n / 5);
        Sample {
            site: part,
            start_ns: u64::from(n) * 1_000_000,
            duration_ps: u64::from(100 * (step + 1) + part) * 1_000_000,
            ..Sample::default()
        }
    });
    let mut run = Run { facts: Facts::default(), sites: sites.into(), samples: samples.collect() };
    let mut out = Vec::new();
    write(ExportFormat::TimedWrite, &run, &mut out).expect("six times");
    let text = String::from_utf8(out).expect("text");
    assert_eq!(
        text.lines().next(),
        Some(
            "alloc=0.000100000 open=0.000101000 write=0.000102000 close=0.000103000 free=0.000104000 total=0.004104000"
        )
    );
    let read = |name| {
        let wanted = intake::Wanted::column(Some(name));
        intake::read_from(text.as_bytes(), "log", &wanted).expect("numbers").values
    };
    assert_eq!((read("write"), read("total")), (vec![0.000_102, 0.000_202], vec![0.004_104, 0.004_204]));
    run.samples.pop();
    let refused = write(ExportFormat::TimedWrite, &run, &mut Vec::new()).expect_err("a free is missing");
    assert!(refused.to_string().contains("once in each step"), "{refused}");
}
