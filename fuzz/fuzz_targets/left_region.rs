//! Samples that a killed run left: any file is read within its length, or refused; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::live::{Found, LeftFolder};

fuzz_target!(|bytes: &[u8]| {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("live");
    std::fs::create_dir(&folder).unwrap();
    let (manifest, region) = bytes.split_at(bytes.len() / 8);
    std::fs::write(folder.join("manifest.json"), manifest).unwrap();
    std::fs::write(folder.join("rank-0.live"), region).unwrap();
    if let Ok(Found::Left(left)) = LeftFolder::look(&folder)
        && let Ok(region) = left.region(0)
    {
        let _ = record::read(&region);
    }
});
