//! Every published sample comes back, also after the rank was killed.

use std::sync::Arc;

use samples::{Sample, Site};

use super::*;

fn region(limit: usize) -> Arc<SampleRegion> {
    Arc::new(SampleRegion::new(3, limit, &std::env::temp_dir()).expect("a region"))
}

fn sample(n: u64) -> Sample {
    Sample { start_ns: n, duration_ps: 7 * n, rank: 3, batch: 1, ..Sample::default() }
}

#[test]
fn what_was_pushed_is_read_in_order() {
    let region = region(1 << 20);
    let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
    recorder.site(&Site { line: 4, operation: "fwrite".into(), ..Site::default() }).expect("room");
    let pushed: Vec<_> = (0..40_000).map(sample).collect();
    pushed.iter().for_each(|sample| recorder.push(*sample).expect("room"));
    recorder.finish(RecordState::Finished);
    let record = read(&region).expect("whole");
    assert_eq!((record.samples, record.state, record.spilled), (pushed, RecordState::Finished, 0));
    assert_eq!(record.sites[0].operation, "fwrite");
}

#[test]
fn past_the_limit_samples_go_to_a_file_and_come_back_in_order() {
    let region = region(1000);
    let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
    recorder.site(&Site::default()).expect("room");
    let pushed: Vec<_> = (0..10_500).map(sample).collect();
    pushed.iter().for_each(|sample| recorder.push(*sample).expect("room"));
    let record = read(&region).expect("whole");
    assert_eq!(record.spilled, 10_000);
    assert_eq!(record.samples, pushed);
}

#[test]
fn damage_is_told_and_not_read() {
    let region = region(100);
    let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
    recorder.push(sample(1)).expect("room");
    assert!(matches!(read(&region), Err(ReadError::Sample { sites: 0, .. })));
    recorder.site(&Site::default()).expect("room");
    assert_eq!(read(&region).expect("whole").samples.len(), 1);
    let journal = region.header().journal.seen();
    region.header().journal.publish(journal - 3);
    assert!(matches!(read(&region), Err(ReadError::Journal { .. })));
    region.header().samples.publish(5000);
    assert!(matches!(read(&region), Err(ReadError::Counts { published: 5000, .. })));
    region.header().spilled.publish(4990);
    region.header().journal.publish(journal);
    assert!(matches!(read(&region), Err(ReadError::Spill { found: 0, expected: 4990, .. })));
}

#[test]
fn regions_read_together_give_each_its_own_samples_and_a_damaged_one_none() {
    let recorded = |sites: usize, samples: &[Sample]| {
        let region = region(100_000);
        let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
        if sites > 0 {
            recorder.site(&Site::default()).expect("room");
        }
        recorder.note(&Entry::Unordered).expect("room");
        samples.iter().for_each(|sample| recorder.push(*sample).expect("room"));
        region
    };
    // Some of them in the spill file; those of a worker's places that stayed empty do not count.
    let many: Vec<_> = (0..190_000).map(sample).collect();
    let gaps = [sample(9), Sample { batch: 0, ..sample(7) }, sample(8)];
    let regions = [recorded(1, &many), recorded(0, &many[..50]), recorded(1, &gaps), recorded(1, &many)];
    let (records, samples) = read_together(regions.iter().map(AsRef::as_ref));
    let counts: Vec<_> = records.iter().map(|record| record.as_ref().ok().map(|(_, count)| *count)).collect();
    assert_eq!(counts, [Some(many.len()), None, Some(2), Some(many.len())]);
    assert!(matches!(records[1], Err(ReadError::Sample { index: 0, sites: 0, .. })));
    let (first, rest) = samples.split_at(many.len());
    let (second, third) = rest.split_at(2);
    assert!(first == many && third == many);
    assert_eq!(second, [sample(8), sample(9)]);
}

#[test]
fn a_site_is_one_place_under_one_stack_of_labels() {
    let region = region(100);
    let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
    let mut table = SiteTable::new(2);
    let place =
        || StaticSite { line: 9, operation: "stat".into(), group: "writers".into(), ..StaticSite::default() };
    let outside = table.site(1, &mut recorder, place).expect("room");
    table.enter("");
    table.enter("write");
    let inside = table.site(1, &mut recorder, place).expect("room");
    table.leave();
    table.leave();
    table.enter("");
    table.enter("write");
    assert_eq!(table.site(1, &mut recorder, place).expect("room"), inside);
    table.leave();
    table.leave();
    assert_eq!(table.site(1, &mut recorder, place).expect("room"), outside);
    let sites = read(&region).expect("whole").sites;
    assert_eq!(sites.len(), 2);
    assert_eq!((sites[1].labels.as_slice(), sites[1].group.as_str()), (&["write".to_owned()][..], "writers"));
}

#[test]
fn endless_new_labels_end_in_one_shared_name() {
    let region = region(100);
    let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
    let mut table = SiteTable::new(1);
    for n in 0..100_100 {
        table.enter(&n.to_string());
        table.leave();
    }
    table.enter("late");
    table.site(0, &mut recorder, StaticSite::default).expect("room");
    assert_eq!(read(&region).expect("whole").sites[0].labels, [MORE]);
}

#[test]
fn a_record_survives_the_way_to_another_process() {
    let record = RankRecord {
        rank: 3,
        state: RecordState::Finished,
        sites: vec![Site { operation: "stat".into(), ..Site::default() }],
        samples: (0..10)
            .map(|n| Sample { errno: 2, cpu: 7, causes: 1024, blocked_ns: 9, ..sample(n) })
            .collect(),
        last_site: Some(0),
        ..RankRecord::default()
    };
    let bytes = record.to_bytes();
    assert_eq!(RankRecord::from_bytes(&bytes), Some(record));
    assert_eq!(RankRecord::from_bytes(&bytes[..bytes.len() - 1]), None);
    assert_eq!(RankRecord::from_bytes(&[]), None);
}

#[test]
fn a_follower_hands_out_each_sample_once_also_past_the_limit_and_of_many_the_newest() {
    let region = region(1000);
    let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
    recorder.site(&Site { operation: "fread".into(), ..Site::default() }).expect("room");
    let mut follower = Follower::new(Arc::clone(&region));
    assert!(follower.news(usize::MAX).is_empty());
    let (mut found, mut pushed) = (Vec::new(), 0);
    for step in [3, 700, 2_500, 0, 1, 999] {
        (pushed..pushed + step).for_each(|n| recorder.push(sample(n)).expect("room"));
        pushed += step;
        found.extend(follower.news(usize::MAX));
    }
    assert_eq!(found, (0..pushed).map(sample).collect::<Vec<_>>());
    assert_eq!(follower.sites()[0].operation, "fread");
    (0..50).for_each(|n| recorder.push(sample(n)).expect("room"));
    assert_eq!(follower.news(2), [sample(48), sample(49)]);
    assert!(follower.news(2).is_empty());
}

#[test]
fn a_follower_comes_back_to_places_that_a_worker_had_taken_and_not_filled() {
    let region = region(1 << 16);
    let mut recorder = Recorder::new(Arc::clone(&region)).expect("a recorder");
    recorder.site(&Site::default()).expect("room");
    let mut follower = Follower::new(Arc::clone(&region));
    let mut workers = recorder.part(2).expect("room");
    let mut found = Vec::new();
    for n in 0..500 {
        workers[n as usize % 2].push(sample(n)).expect("room");
        if n % 7 == 0 {
            found.extend(follower.news(usize::MAX));
        }
    }
    found.extend(follower.news(usize::MAX));
    found.sort_by_key(|sample| sample.start_ns);
    assert_eq!(found, (0..500).map(sample).collect::<Vec<_>>());
}
