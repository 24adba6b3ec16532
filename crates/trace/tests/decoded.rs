//! What each line of strace that asks for something of files becomes: a snapshot of all of them.

use std::fmt::Write;

use trace::format::Reading;
use trace::model::{NONE, UNKNOWN};

/// Lines in the order in which one application may have written them.
const LINES: &str = include_str!("decoded.strace");

#[test]
fn each_line_asks_for_what_its_call_does() {
    let format = trace::formats::detect(LINES.as_bytes(), &Reading::default()).expect("strace");
    let trace = trace::import::read(format, &mut LINES.as_bytes(), &Reading::default()).unwrap();
    let name = |number: u32| match number {
        NONE => String::new(),
        number => format!(" {}", trace.names.get(number).escape_ascii()),
    };
    let number = |what: &str, value: u64| match value {
        UNKNOWN => format!(" {what}=?"),
        value => format!(" {what}={value}"),
    };
    let mut out = String::new();
    for call in trace.calls.iter() {
        let file = if call.file == NONE { String::new() } else { format!(" #{}", call.file) };
        let (path, other) = (name(call.path), name(call.other));
        let (bytes, offset) = (number("bytes", call.bytes), number("offset", call.offset));
        let line = call.start / 1000 % 1_000_000;
        let (mut word, flags, errno) = (call.op.word().to_owned(), call.flags, call.errno);
        if call.op == trace::Op::Unrepeated {
            word += &format!(": {}", trace.unrepeated[flags as usize].what);
        }
        writeln!(out, "{line:4} {word}{file}{path}{other}{bytes}{offset} flags={flags:#o} errno={errno}")
            .unwrap();
    }
    for (why, count) in &trace.left_out {
        writeln!(out, "left out: {count} {why}").unwrap();
    }
    insta::assert_snapshot!(out);
}
