//! Messages of an editor are read one by one or refused, never a panic, and nothing is read beyond their length.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../crates/lastrank/src/commands/lsp/frames.rs"]
mod frames;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    loop {
        let before = rest.len();
        match frames::message(&mut rest) {
            Ok(Some(_)) => assert!(rest.len() < before),
            Ok(None) => break assert!(rest.is_empty()),
            Err(_) => break,
        }
    }
});
