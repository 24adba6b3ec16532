//! Reading any file as a run gives a run or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The Parquet library panics at some damage, which `store` catches and answers; libfuzzer's own hook would
// call that a crash. What is not caught still ends the process.
static QUIET: std::sync::Once = std::sync::Once::new();

fuzz_target!(|bytes: &[u8]| {
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let mut file = tempfile::NamedTempFile::with_suffix(".parquet").unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    let _ = store::read(file.path());
});
