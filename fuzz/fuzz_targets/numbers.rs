//! `lastrank fit` reads any file: numbers with their unit, or an error, never a panic.
#![no_main]

use intake::{NumberLines, Wanted, read_from};
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
        ..Wanted::default()
    };
    let name = NAMES[usize::from(first & 3) % NAMES.len()];
    if let Ok(taken) = read_from(bytes, name, &wanted) {
        assert!(!taken.values.is_empty() && taken.values.iter().all(|value| value.is_finite()));
        assert!(taken.rows >= taken.values.len() as u64);
        assert!(wanted.beside.is_none() || taken.beside.len() == taken.values.len());
    }
    let mut lines = NumberLines::new(&wanted, name);
    for line in String::from_utf8_lossy(bytes).lines() {
        let _ = lines.number(line);
    }
});
