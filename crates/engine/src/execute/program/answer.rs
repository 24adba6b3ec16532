//! What a command gives to the program.

use ppl::commands::{Command, Yields};
use ppl::interpret::Reply;
use ppl::value::Value;
use samples::Outcome;

/// What a successful command gives to the program.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Nothing,
    Bytes,
    Integer,
    File,
    Buffer,
}

impl Answer {
    /// What the table of commands says.
    pub(super) fn of(command: Command) -> Self {
        match command.spec().yields {
            // Lists are made by the interpreter itself.
            Yields::Nothing | Yields::List => Answer::Nothing,
            Yields::Bytes => Answer::Bytes,
            Yields::Int => Answer::Integer,
            Yields::File => Answer::File,
            Yields::Buffer => Answer::Buffer,
        }
    }

    #[inline(always)]
    pub(super) fn reply(self, outcome: Outcome) -> Reply {
        let errno = outcome.errno;
        if errno != 0 {
            let bytes = if matches!(self, Answer::Bytes) { outcome.value } else { 0 };
            return Reply { value: Value::Unset, errno, bytes, started: false };
        }
        match self {
            Answer::Nothing => Reply::done(),
            Answer::Bytes => Reply::moved(outcome.value),
            Answer::Integer => Reply::value(Value::Int(outcome.value as i64)),
            Answer::File => Reply::value(Value::File(outcome.value as u32)),
            Answer::Buffer => Reply::value(Value::Buffer(outcome.value as u32)),
        }
    }
}
