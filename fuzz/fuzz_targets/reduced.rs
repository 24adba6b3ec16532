//! Any bytes are read as the sums of a run or refused, and what is read is written as the same bytes and can be added and
//! asked; never a panic. The frame around them (magic, version, checksum) is made here, so that what is inside is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samples::Reduced;

fuzz_target!(|bytes: &[u8]| {
    let _ = Reduced::decode(bytes);
    let mut all = [b"LRsu\x01".as_slice(), bytes].concat();
    all.extend_from_slice(&crc32fast::hash(&all).to_le_bytes());
    let Ok(found) = Reduced::decode(&all) else { return };
    assert_eq!(found.encode(), all);
    let mut twice = found.clone();
    twice.merge(&found);
    for (_, site) in twice.sites() {
        let _ = (site.gates(), site.quantile_s(0.99), site.mean_s(), site.errors.count());
    }
});
