//! Does reading survive any file that calls itself a run: a run or an error, never a panic?
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::with_suffix(".parquet").unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    let _ = store::read(file.path());
});
