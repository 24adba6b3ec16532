//! One line on standard error that is drawn over while a command works.
//!
//! A drawing is one write: back to the first column, the line, and the rest of the old one erased. Whatever else is
//! written takes the line away first, so that it leaves nothing behind.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::terminal;

/// The shortest time between two drawings.
const LEAST: Duration = Duration::from_millis(95);

/// Columns that stay free: a terminal echoes Ctrl-C as `^C`, and must not wrap.
const FREE: usize = 3;

/// What stands on the terminal, and since when.
static DRAWN: Mutex<Option<(String, Instant)>> = Mutex::new(None);

fn drawn() -> MutexGuard<'static, Option<(String, Instant)>> {
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Columns that a line may take; asked each time, since a window can change.
pub fn columns() -> usize {
    terminal::error_columns().unwrap_or(80).saturating_sub(FREE)
}

/// Draws the line, which has no control characters, where it changed and the last drawing is long enough ago.
pub fn show(line: &str) {
    let mut drawn = drawn();
    let is_due = |(text, at): &(String, Instant)| text != line && at.elapsed() >= LEAST;
    if drawn.as_ref().is_none_or(is_due) {
        put(&format!("\r{line}\x1b[K"));
        *drawn = Some((line.to_owned(), Instant::now()));
    }
}

/// Takes the line away, if one stands there.
pub fn clear() {
    if drawn().take().is_some() {
        put("\r\x1b[K");
    }
}

fn put(text: &str) {
    // There is no other place to say that it failed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
