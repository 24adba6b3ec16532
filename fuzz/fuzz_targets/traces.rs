//! `lastrank import` reads any file: a program that does what the trace says, or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::format::Reading;
use trace::import::{Options, import, read};

fuzz_target!(|bytes: &[u8]| {
    let _ = trace::recording::read(bytes.to_vec().into());
    let (first, rest) = bytes.split_at(bytes.len().min(1));
    let text = String::from_utf8_lossy(rest);
    let (head, body) = text.split_once("\n\n").unwrap_or(("", &text));
    let description = trace::description::Description::read(head).ok();
    let reading = Reading { directory: None, description };
    for format in trace::formats::ALL {
        let mut reader = if reading.description.is_some() { body.as_bytes() } else { rest };
        let Ok(mut trace) = read(format, &mut reader, &reading) else { continue };
        let (verbatim, model) = (first == b"v", first == b"m");
        let (open_loop, copies) = (first == b"o", if first == b"c" { 3 } else { 1 });
        let made = import(&mut trace, &Options { verbatim, model, open_loop, copies, ..Options::default() });
        assert_eq!(made.difference, None);
    }
});
