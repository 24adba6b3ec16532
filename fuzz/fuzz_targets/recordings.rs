//! Any file is read as a recording of an application or refused, and what is read makes a program or a message; never a
//! panic of ours.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::import::{Options, import};

// The Parquet library panics at some damage, which is caught and answered; libfuzzer's own hook would call that a crash.
// What is not caught still ends the process.
static QUIET: std::sync::Once = std::sync::Once::new();

fuzz_target!(|bytes: &[u8]| {
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let read = store::expecting_panics(|| trace::recording::read(bytes.to_vec().into()));
    if let Ok(Ok((mut trace, _))) = read {
        // A damaged recording may say what no application does: the command then refuses it.
        let _ = import(&mut trace, &Options::default());
    }
});
