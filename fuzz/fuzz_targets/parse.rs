//! Every text is cut into tokens that together are the text, and parsed with findings that lie in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ppl::syntax::{Lexer, TokenKind, outline, parse_with};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lexer = Lexer::with_trivia(text);
    let mut end = 0;
    loop {
        let token = lexer.token();
        assert_eq!(token.start, end);
        end = token.end;
        if token.kind == TokenKind::End {
            break;
        }
        assert!(token.end > token.start);
    }
    assert_eq!(end as usize, text.len());
    for classic in [false, true] {
        let mut source = ppl::Source::new("fuzz.ppl", text);
        // A program that includes itself.
        let mut load = |_: &str| Ok(text.chars().take(200).collect());
        let parse = parse_with(&mut source, classic, Some(&mut load));
        for finding in &parse.diagnostics {
            assert!(finding.span.end as usize <= source.text().len());
            source.position(finding.span.start);
        }
        outline(&parse.tree, source.text());
    }
});
