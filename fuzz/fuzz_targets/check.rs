//! All findings about any text lie in the text, in order, and are reported once.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for classic in [false, true] {
        let mut source = ppl::Source::new("fuzz.ppl", text);
        let parse = ppl::syntax::parse_with(&mut source, classic, None);
        let checked = ppl::check::check(&parse.tree, &source);
        let mut last = 0;
        for finding in &checked.diagnostics {
            assert!(finding.span.start >= last && finding.span.end as usize <= text.len());
            assert!(text.is_char_boundary(finding.span.start as usize));
            assert!(text.is_char_boundary(finding.span.end as usize));
            last = finding.span.start;
        }
    }
});
