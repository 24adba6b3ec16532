//! Any file is read as a recording of an application or refused; what is read makes a program that does the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::import::{Options, import};

// The Parquet library panics at some damage, which is caught and answered; libfuzzer's own hook would call that a crash.
// What is not caught still ends the process.
static QUIET: std::sync::Once = std::sync::Once::new();

fuzz_target!(|bytes: &[u8]| {
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let Ok((mut trace, _)) = trace::recording::read(bytes.to_vec().into()) else { return };
    assert_eq!(import(&mut trace, &Options::default()).difference, None);
});
