//! Any text becomes a plan or findings, never a panic, and a plan can be counted and explained.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let ranks = Some(1 + bytes.len() as u32 % 4);
    let settings = ppl::plan::Settings { ranks, ..Default::default() };
    for classic in [false, true] {
        let mut source = ppl::Source::new("fuzz.ppl", text);
        match ppl::compile(&mut source, &settings, classic, None) {
            Ok((plan, _)) => {
                drop(ppl::count::count(&plan, 0, 10_000));
                for layout in ppl::explain::explain(&plan, 10_000).patterns {
                    drop(layout.picture());
                }
            }
            Err(findings) => assert!(findings.iter().any(ppl::Diagnostic::is_error)),
        }
    }
});
