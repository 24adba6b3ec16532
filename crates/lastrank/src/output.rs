//! How does text reach standard output without a panic when the reader goes away?

use std::io::{self, IsTerminal, Write};

/// Write `text` to standard output; a closed pipe is an ordinary [`io::Error`].
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Write `value` as indented JSON and a final line feed.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(print(&text)?)
}

/// Is somebody watching standard error, so that a progress bar makes sense?
pub fn progress_is_seen() -> bool {
    io::stderr().is_terminal()
}
