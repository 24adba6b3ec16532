//! `lastrank fit` reads any text file: numbers or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(values) = store::numbers_from(bytes, "fuzz", None) {
        assert!(values.iter().all(|value| value.is_finite()));
    }
});
