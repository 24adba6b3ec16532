//! A run comes back from its file as it was, small, and from a directory of parts as one run.

use proptest::prelude::*;
use samples::{Run, Sample, Site};

/// 16 ranks, 400 steps, five operations and the time block around the write.
fn paper_run() -> Run {
    samples::example::parallel_write(16, 400, 7)
}

fn in_file_order(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.sort_by_key(|sample| (sample.rank, sample.site));
    samples
}

#[test]
fn a_run_comes_back_with_facts_sites_and_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let run = paper_run();
    store::write(&path, &run).unwrap();
    let back = store::read(&path).unwrap();
    assert_eq!(back.facts, run.facts);
    assert_eq!(back.sites, run.sites);
    assert_eq!(back.samples, in_file_order(run.samples));
}

#[test]
fn a_sample_takes_less_than_eight_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let run = paper_run();
    store::write(&path, &run).unwrap();
    let size = std::fs::metadata(&path).unwrap().len() as f64 / run.samples.len() as f64;
    println!("{size:.2} bytes a sample");
    assert!(size < 8.0, "{size:.2} bytes a sample");
}

#[test]
fn more_rows_than_one_row_group_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let samples = (0..600_000u64).map(|n| Sample {
        start_ns: n * 40,
        duration_ps: n % 977,
        batch: 1,
        ..Default::default()
    });
    let run = Run { sites: vec![Site::default()], samples: samples.collect(), ..Run::default() };
    store::write(&path, &run).unwrap();
    assert_eq!(store::read(&path).unwrap().samples, run.samples);
}

#[test]
fn what_row_groups_have_in_common_comes_back_in_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let site = |line, operation: &str| Site { line, operation: operation.into(), ..Site::default() };
    let run = Run { sites: vec![site(3, "stat"), site(4, "fread")], ..Run::default() };
    // Whole row groups, parts that are alike on several ranks, and numbers that are the same in one of them only.
    let samples = [(0, 0, 300_000), (1, 0, 300_000), (1, 1, 300_000), (2, 1, 300_000), (3, 0, 9), (3, 1, 9)]
        .into_iter()
        .flat_map(|(rank, site, count)| {
            (0..count as u64).map(move |n| {
                let late_ns = if rank == 2 { 7 } else { 0 };
                let errno = if rank == 1 && n == 299_999 { 5 } else { 0 };
                Sample { rank, site, start_ns: n * 40, late_ns, errno, batch: 1 + rank, ..Sample::default() }
            })
        });
    let run = Run { samples: samples.collect(), ..run };
    store::write(&path, &run).unwrap();
    let back = store::read(&path).unwrap();
    assert_eq!(back.sites, run.sites);
    assert!(back.samples == run.samples);
}

#[test]
fn groups_of_a_program_with_many_sites_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let sites: Vec<Site> =
        (0..1000).map(|line| Site { line, operation: "stat".into(), ..Site::default() }).collect();
    // Two groups, each of more runs than are compared with other groups.
    let samples = (0..600 * 2).flat_map(|run: u32| {
        (0..300).map(move |n| Sample { rank: run / 600, site: run % 600, start_ns: n, ..Sample::default() })
    });
    let run = Run { sites, samples: samples.collect(), ..Run::default() };
    store::write(&path, &run).unwrap();
    let back = store::read(&path).unwrap();
    assert!(back.samples == run.samples && back.sites == run.sites);
}

#[test]
fn a_run_without_samples_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    store::write(&path, &Run::default()).unwrap();
    assert!(store::read(&path).unwrap().samples.is_empty());
}

#[test]
fn parts_of_a_directory_are_one_run_and_share_sites() {
    let folder = tempfile::tempdir().unwrap();
    let whole = paper_run();
    for rank in 0..16 {
        let mut part = whole.clone();
        part.samples.retain(|sample| sample.rank == rank);
        // Every rank numbers its sites as it meets them.
        part.sites.reverse();
        part.samples.iter_mut().for_each(|sample| sample.site = 5 - sample.site);
        part.facts.complete = rank != 3;
        store::write_part(folder.path(), rank, &part).unwrap();
    }
    let back = store::read(folder.path()).unwrap();
    assert_eq!(back.sites.len(), 6);
    assert_eq!(back.samples.len(), whole.samples.len());
    assert!(!back.facts.complete, "one rank did not reach the end");
    let writes = back.sites.iter().position(|site| site.operation == "fwrite").unwrap() as u32;
    assert_eq!(back.durations(writes), whole.durations(2));
}

#[test]
fn a_missing_part_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = paper_run();
    (run.facts.ranks, run.facts.complete) = (4, true);
    for rank in [0, 1, 3] {
        let mut part = run.clone();
        part.samples.retain(|sample| sample.rank == rank);
        store::write_part(folder.path(), rank, &part).unwrap();
    }
    let back = store::read(folder.path()).unwrap();
    assert!(!back.facts.complete);
    assert_eq!(back.facts.failures, ["1 of 4 parts are missing: of rank 2"]);
    assert_eq!(store::missing_parts(folder.path(), &run.facts), [2]);
    let nodes = samples::NodeFacts::of(&[0, 0, 1, 2], ["n1", "n2", "n3"].map(String::from).into());
    run.facts.nodes = nodes.clone();
    store::write_part(folder.path(), 0, &run).unwrap();
    let told = "2 of 3 nodes; n2 did not answer (1 of 4 parts are missing: of rank 2)";
    assert_eq!(store::read(folder.path()).unwrap().facts.failures, [told]);
    // A file may say anything.
    run.facts.nodes[1].ranks = vec![[0, u32::MAX]];
    store::write_part(folder.path(), 0, &run).unwrap();
    let told = "1 of 4 parts are missing: of rank 2";
    assert_eq!(store::read(folder.path()).unwrap().facts.failures, [told]);
    run.facts.nodes = nodes;
    run.samples.retain(|sample| sample.rank == 2);
    store::write_part(folder.path(), 2, &run).unwrap();
    assert!(store::read(folder.path()).unwrap().facts.complete);
}

#[test]
fn parts_of_an_earlier_job_are_refused_and_can_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("run.parts");
    let mut run = paper_run();
    run.facts.job = "00aa".into();
    store::write_part(&parts, 0, &run).unwrap();
    store::write_part(&parts, 3, &run).unwrap();
    std::fs::write(parts.join("part-00005.parquet"), "cut short").unwrap();
    run.facts.job = "00bb".into();
    store::write_part(&parts, 0, &run).unwrap();
    store::write_part(&parts, 1, &run).unwrap();
    std::fs::remove_file(parts.join("part-00005.parquet")).unwrap();
    let said = store::read(&parts).unwrap_err().to_string();
    assert!(said.contains("part-00003.parquet are parts of different runs"), "{said}");
    // Empty, as a machine that lost power leaves it.
    std::fs::write(parts.join("part-00005.parquet"), "").unwrap();
    assert_eq!(store::remove_other_parts(&parts, "00bb").unwrap(), 2);
    assert_eq!(store::read(&parts).unwrap().facts.job, "00bb");
    assert_eq!(store::remove_other_parts(&parts, "00cc").unwrap(), 2);
    assert_eq!(std::fs::read_dir(&parts).unwrap().count(), 0);
}

#[test]
fn of_one_event_the_line_that_says_most_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = paper_run();
    run.facts.ranks = 2;
    for (rank, failure) in
        [(0, "rank 1 was killed by SIGKILL"), (1, "rank 1 was killed by SIGKILL in or after x")]
    {
        run.facts.failures = vec![failure.into()];
        store::write_part(folder.path(), rank, &run).unwrap();
    }
    assert_eq!(
        store::read(folder.path()).unwrap().facts.failures,
        ["rank 1 was killed by SIGKILL in or after x"]
    );
}

#[test]
fn parts_of_different_runs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = paper_run();
    store::write_part(folder.path(), 0, &run).unwrap();
    run.facts.seed = 8;
    store::write_part(folder.path(), 1, &run).unwrap();
    let said = store::read(folder.path()).unwrap_err().to_string();
    assert!(said.contains("parts of different runs"), "{said}");
}

#[test]
fn an_existing_run_survives_a_writer_that_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let run = paper_run();
    store::write(&path, &run).unwrap();
    let mut writer = store::Writer::create(&path, &run.sites).unwrap();
    writer.append(&run.samples[..100]).unwrap();
    drop(writer);
    assert_eq!(store::read(&path).unwrap().samples.len(), run.samples.len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn a_sample_of_an_unknown_site_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run { samples: vec![Sample { site: 4, ..Default::default() }], ..Run::default() };
    let said = store::write(&folder.path().join("run.parquet"), &run).unwrap_err().to_string();
    assert!(said.ends_with("sample 0 names site 4, and the run has 0 sites"), "{said}");
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let said = store::write("/nowhere/at/all/run.parquet".as_ref(), &Run::default()).unwrap_err().to_string();
    assert!(said.starts_with("cannot create /nowhere/at/all/run.parquet: No such file"), "{said}");
}

fn any_sample(sites: u32) -> impl Strategy<Value = Sample> {
    let wide = prop_oneof![0..1000u64, any::<u64>()];
    let times = (wide.clone(), wide.clone(), wide.clone(), wide.clone(), wide);
    (times, 0..sites, any::<u32>(), any::<i32>(), any::<u32>(), (any::<u16>(), any::<u16>(), any::<u32>()))
        .prop_map(
            |(
                (start_ns, duration_ps, late_ns, bytes, queue_ns),
                site,
                rank,
                errno,
                batch,
                (cpu, causes, blocked_ns),
            )| {
                let (cpu, rank) = (if cpu > 1 << 15 { u16::MAX } else { cpu }, rank >> (rank % 32));
                Sample {
                    start_ns,
                    duration_ps,
                    late_ns,
                    bytes,
                    queue_ns,
                    blocked_ns,
                    site,
                    rank,
                    errno,
                    batch,
                    cpu,
                    causes,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_value_of_every_field_survives(
        samples in proptest::collection::vec(any_sample(3), 0..200),
        labels in proptest::collection::vec(".*", 3),
        name in ".*",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.parquet");
        let sites = labels.into_iter().map(|label| Site { labels: vec![label], ..Site::default() }).collect();
        let run = Run { facts: samples::Facts { name, ..Default::default() }, sites, samples };
        store::write(&path, &run).unwrap();
        let back = store::read(&path).unwrap();
        prop_assert_eq!(back.samples, in_file_order(run.samples));
        prop_assert_eq!(back.sites, run.sites);
        prop_assert_eq!(back.facts, run.facts);
    }
}

#[test]
fn arranged_samples_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.parquet");
    let mut run = Run { sites: vec![Site::default(); 5], ..Run::default() };
    let mut random = 7u64;
    for n in 0..3_000u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(n);
        let (rank, site) = ((random >> 33) as u32 % 4, (random >> 40) as u32 % 5);
        run.samples.push(Sample { rank, site, start_ns: n, batch: 1, ..Sample::default() });
    }
    store::write(&path, &run).unwrap();
    let expected = in_file_order(run.samples.clone());
    assert_ne!(run.samples, expected);
    store::arrange(&mut run.samples);
    assert_eq!(run.samples, expected);
    assert_eq!(store::read(&path).unwrap().samples, run.samples);
}
