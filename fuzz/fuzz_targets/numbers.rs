//! `lastrank fit` reads any file: numbers with their unit, bins with their bounds, or an error, never a panic.
#![no_main]

use intake::{Error, NumberLines, Wanted, read_from};
use libfuzzer_sys::fuzz_target;

/// Names that tell formats apart whose content does not.
const NAMES: [&str; 3] = ["fuzz.csv", "fuzz_clat.1.log", "fuzz_bw.1.log"];

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let wanted = Wanted {
        column: [None, None, Some("2".into()), Some("a.b".into())][usize::from(first >> 2 & 3)].clone(),
        filters: if first & 16 > 0 { vec!["a!=1".parse().expect("a condition")] } else { Vec::new() },
        drop_missing: first & 32 > 0,
        decimal: if first & 64 > 0 { ',' } else { '.' },
        failed: first & 128 > 0,
        beside: (first & 1 > 0).then(|| "#1".into()),
        dates: first >> 2 & 3 == 1,
        ..Wanted::default()
    };
    let name = NAMES[usize::from(first & 3) % NAMES.len()];
    match read_from(bytes, name, &wanted) {
        Ok(taken) => {
            assert!(!taken.values.is_empty() && taken.values.iter().all(|value| value.is_finite()));
            assert!(taken.rows >= taken.values.len() as u64);
            let has_beside = wanted.beside.is_some() || wanted.dates;
            assert!(!has_beside || taken.beside.len() == taken.values.len());
        }
        Err(Error::Binned { histogram, .. }) => {
            let count: u64 = histogram.bins.iter().map(|bin| bin.count).sum();
            assert!(count > 0 && count == histogram.count);
            let bounds = [1, count / 2 + 1, count].map(|rank| histogram.rank(rank).expect("a rank has bounds"));
            assert!(bounds.iter().all(|[low, high]| low <= high));
            assert!(bounds.windows(2).all(|two| two[0][0] <= two[1][0] && two[0][1] <= two[1][1]));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let mut lines = NumberLines::new(&wanted, name);
    for line in String::from_utf8_lossy(bytes).lines() {
        let _ = lines.number(line);
    }
});
