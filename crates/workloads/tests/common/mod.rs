//! What all tests of programs share.

use ppl::plan::Settings;

/// The text, if it is in the formatter's layout and right for one rank and for four.
pub fn checked(text: String) -> String {
    assert_eq!(ppl::format::format(&text).as_deref(), Ok(text.as_str()), "not in the one layout:\n{text}");
    for ranks in [None, Some(4)] {
        let mut source = ppl::Source::new("made.ppl", &text);
        let settings = Settings { ranks, ..Settings::default() };
        match ppl::compile(&mut source, &settings, false, None) {
            Ok((_, found)) | Err(found) => {
                let words: Vec<_> =
                    found.iter().map(|one| format!("{:?} {}", one.code, one.message)).collect();
                assert!(words.is_empty(), "{words:?}\n{text}");
            }
        }
    }
    text
}
