//! How does a rank's record travel to another process?

use serde::{Deserialize, Serialize};

use samples::{Sample, Site};

use super::{Entry, RankRecord, State};

#[derive(Serialize, Deserialize)]
struct Head {
    rank: u32,
    finished: bool,
    sites: Vec<Site>,
    entries: Vec<Entry>,
    failed: u64,
    last_site: Option<u32>,
    spilled: u64,
    samples: usize,
}

/// The record as bytes: the length of a JSON head, the head, the samples in 60 bytes each. For
/// processes of one program on machines of one kind, not for files.
pub fn pack(record: &RankRecord) -> serde_json::Result<Vec<u8>> {
    let head = serde_json::to_vec(&Head {
        rank: record.rank,
        finished: record.state == State::Finished,
        sites: record.sites.clone(),
        entries: record.entries.clone(),
        failed: record.failed,
        last_site: record.last_site,
        spilled: record.spilled,
        samples: record.samples.len(),
    })?;
    let mut bytes = Vec::with_capacity(8 + head.len() + record.samples.len() * SAMPLE);
    bytes.extend_from_slice(&(head.len() as u64).to_ne_bytes());
    bytes.extend_from_slice(&head);
    record.samples.iter().for_each(|sample| bytes.extend_from_slice(&flat(sample)));
    Ok(bytes)
}

/// Bytes of a sample on its way.
const SAMPLE: usize = 60;

fn flat(sample: &Sample) -> [u8; SAMPLE] {
    let mut bytes = [0; SAMPLE];
    let wide = [sample.start_ns, sample.duration_ps, sample.late_ns, sample.bytes, sample.queue_ns];
    let narrow = [sample.site, sample.rank, sample.errno as u32, sample.batch];
    let short = [sample.cpu, sample.causes];
    for (to, value) in bytes[..40].chunks_exact_mut(8).zip(wide) {
        to.copy_from_slice(&value.to_ne_bytes());
    }
    for (to, value) in bytes[40..56].chunks_exact_mut(4).zip(narrow) {
        to.copy_from_slice(&value.to_ne_bytes());
    }
    for (to, value) in bytes[56..].chunks_exact_mut(2).zip(short) {
        to.copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

fn unflat(bytes: &[u8]) -> Sample {
    let wide = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    let narrow = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    let short = |at: usize| u16::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    Sample {
        start_ns: wide(0),
        duration_ps: wide(8),
        late_ns: wide(16),
        bytes: wide(24),
        queue_ns: wide(32),
        site: narrow(40),
        rank: narrow(44),
        errno: narrow(48) as i32,
        batch: narrow(52),
        cpu: short(56),
        causes: short(58),
    }
}

/// The record that [`pack`] made bytes of; `None` where they are cut off or damaged.
pub fn unpack(bytes: &[u8]) -> Option<RankRecord> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (head, rest) = rest.split_at_checked(usize::try_from(u64::from_ne_bytes(*length)).ok()?)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    if rest.len() != head.samples.checked_mul(SAMPLE)? {
        return None;
    }
    let samples: Vec<Sample> = rest.chunks_exact(SAMPLE).map(unflat).collect();
    if samples.iter().any(|sample| sample.site as usize >= head.sites.len()) {
        return None;
    }
    Some(RankRecord {
        rank: head.rank,
        state: if head.finished { State::Finished } else { State::Stopped },
        sites: head.sites,
        samples,
        entries: head.entries,
        failed: head.failed,
        last_site: head.last_site,
        spilled: head.spilled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_travels_whole_or_not_at_all() {
        let record = RankRecord {
            rank: 3,
            state: State::Finished,
            sites: vec![Site { operation: "fwrite".into(), line: 7, ..Site::default() }],
            samples: (0..5)
                .map(|n| Sample { start_ns: n, duration_ps: n * 7, batch: 1, ..Sample::default() })
                .collect(),
            entries: vec![Entry::Communicator("mpi".into())],
            failed: 2,
            last_site: Some(0),
            spilled: 1,
        };
        let bytes = pack(&record).expect("packs");
        let back = unpack(&bytes).expect("unpacks");
        assert_eq!(format!("{back:?}"), format!("{record:?}"));
        assert!((0..bytes.len()).all(|cut| unpack(&bytes[..cut]).is_none()));
    }
}
