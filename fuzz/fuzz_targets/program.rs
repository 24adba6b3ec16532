//! Does the language survive any text: a plan or findings, never a panic, and can a plan be counted?
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for classic in [false, true] {
        let mut source = ppl::Source::new("fuzz.ppl", text);
        let settings = ppl::plan::Settings {
            ranks: Some(2),
            parameters: Vec::new(),
            groups: Vec::new(),
            environment: None,
            seed: 1,
        };
        match ppl::compile(&mut source, &settings, classic, None) {
            Ok((plan, _)) => drop(ppl::count::count(&plan, 0, 10_000)),
            Err(findings) => {
                assert!(findings.iter().any(ppl::Diagnostic::is_error));
                for finding in &findings {
                    assert!(finding.span.start <= finding.span.end);
                    assert!(finding.span.end as usize <= source.text().len());
                }
            }
        }
    }
});
