//! Formatted text is the same program with the same comments, and is left as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ppl::format::{format, is_same_program};
use ppl::syntax::{Lexer, TokenKind};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(once) = format(text) else { return };
    assert!(is_same_program(text, &once), "another program:\n{once}");
    assert_eq!(format(&once).as_deref(), Ok(once.as_str()), "not the same again");
    assert_eq!(comments(text), comments(&once), "comments:\n{once}");
});

fn comments(text: &str) -> Vec<String> {
    let mut lexer = Lexer::with_trivia(text);
    let mut out = Vec::new();
    loop {
        let token = lexer.token();
        match token.kind {
            TokenKind::End => return out,
            TokenKind::Comment => {
                let found = &text[token.start as usize..token.end as usize];
                out.push(found.replace("\r\n", "\n").trim().to_owned());
            }
            _ => {}
        }
    }
}
